"""Descriptions: what a memory says of a name, a node that is deleted with the memory, and its part in recall."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from ecphora import Episode, Filter, Memory, rechunk, reembed
from ecphora.language.chunking import Chunk
from ecphora.language.names.mentions import entity_id
from ecphora.maintenance.doctor import examine
from ecphora.model.graph.graph import Graph, epoch_seconds
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Extraction, Kind, Link, Mention, MentionType, Node
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import documents
from ecphora.retrieval.entity_links import entity_vectors, with_descriptions
from ecphora.retrieval.importance import ImportanceDecay, importance
from ecphora.strategies.ecphory import engram_index
from ecphora.strategies.ecphory.strategy import FAITHFUL, Ecphory
from ecphora.strategies.synapse.concepts import find_concepts
from ecphora.strategies.synapse.confidence_gate import is_cold_start
from ecphora.testing import NOON, FakeClock

PORTO = Mention("Porto", type=MentionType.PLACE, description="a harbor with port wine", importance=5)
GHENT = Mention("Ghent", type=MentionType.PLACE, importance=1)
MODEL = HashingEmbedder(128)


class Named:
    """Finds given mentions in the texts that have their names."""

    def __init__(self, *mentions: Mention) -> None:
        self.mentions = mentions

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        return [Extraction(tuple(one for one in self.mentions if one.name in text)) for text in texts]


def open_memory(path: Path, *mentions: Mention) -> Memory:
    return Memory(
        path,
        extractor=Named(*mentions),
        embedder=MODEL,
        strategy="ecphory",
        update_scorer=None,
        clock=FakeClock(NOON),
        reranker=None,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path, PORTO, GHENT, Mention("Ana")) as opened:
        opened.remember([Episode("Ana moved to Porto.", "a", "Ana"), Episode("Ana left Ghent.", "b", "Ben")])
        yield opened


def described(memory: Memory) -> list[Node]:
    graph = memory.graph()
    return memory._scope_writer.node_source(graph)(graph.rows_of_kind(Kind.DESCRIPTION))


def test_typed_mention_becomes_a_node_with_a_vector(memory: Memory) -> None:
    nodes = described(memory)
    assert [node.text for node in nodes] == ["Porto: a harbor with port wine", "Ghent"]
    assert [node.metadata for node in nodes] == [
        {"type": "place", "importance": 5},
        {"type": "place", "importance": 1},
    ]
    graph = memory.graph()
    row = graph.row(nodes[0].id)
    assert row is not None
    assert graph.vectors.view[graph.vector_positions[row]] == pytest.approx(MODEL.embed([nodes[0].text])[0], abs=1e-2)
    edges, _ = graph.edges_from(np.array([row]))
    found = {(graph.link(edge), graph.id(int(graph.edges["dst"][edge]))) for edge in edges}
    assert found == {(Link.DESCRIBED_IN, "a"), (Link.DESCRIBES, entity_id("Porto"))}
    assert set(graph.edges["weights"][edges].tolist()) == {1.0}


def test_description_is_no_memory(memory: Memory) -> None:
    assert len(memory) == memory.count() == 2
    assert {node.id for node in memory.find()} == {"a", "b"}
    assert {hit.id for hit in memory.recall("a harbor with port wine")} <= {"a", "b"}


def test_forgetting_a_memory_erases_its_descriptions(memory: Memory, path: Path) -> None:
    memory.forget("a")
    assert [node.text for node in described(memory)] == ["Ghent"]
    memory.update("b", "Ana stayed at home.", mode="replace")
    assert described(memory) == []
    memory.update("b", "Ana likes Porto.", mode="replace")
    assert [node.text for node in described(memory)] == ["Porto: a harbor with port wine"]
    memory.close()
    assert examine(path).findings == ()
    assert b"Ghent" not in path.read_bytes()


def test_export_carries_descriptions_and_reembedding_keeps_them(memory: Memory, path: Path) -> None:
    out = io.StringIO()
    memory.export(out)
    with open_memory(path.with_name("b.db")) as other:
        other.import_(out.getvalue().splitlines())
        assert [node.text for node in described(other)] == [node.text for node in described(memory)]
    memory.close()
    reembed(path, embedder=HashingEmbedder(64))
    with Memory(path, embedder=HashingEmbedder(64), update_scorer=None) as again:
        graph = again.graph()
        assert (graph.vector_positions[graph.rows_of_kind(Kind.DESCRIPTION)] >= 0).all()


@pytest.mark.medium
def test_cutting_a_text_anew_drops_its_descriptions(path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch, open_memory(path, PORTO) as memory:
        patch.setattr(
            documents,
            "split_into_chunks",
            lambda text, **_: tuple(Chunk(at, text[at : at + 500]) for at in range(0, len(text), 500)),
        )
        memory.remember([Episode("Ana moved to Porto. " * 200, "long"), Episode("Porto.", "short")])
        assert len(described(memory)) > 2
    assert rechunk(path, embedder=MODEL) == 1
    assert examine(path).findings == ()
    with open_memory(path) as memory:
        assert [node.text for node in described(memory)] == ["Porto: a harbor with port wine"]


def test_question_finds_a_memory_by_a_description(tmp_path: Path) -> None:
    texts = [Episode(f"Ana visited {name}.", name) for name in ("Ghent", "Porto", "Leiden")]
    scores = {}
    for name, mention in (("plain", Mention("Porto")), ("described", PORTO)):
        with open_memory(tmp_path / f"{name}.db", mention, Mention("Ghent"), Mention("Leiden")) as memory:
            memory.remember(texts)
            hits = memory.recall("Which harbor has port wine?", limit=3)
            scores[name] = {hit.id: hit.score for hit in hits}
    assert scores["described"]["Porto"] > scores["plain"]["Porto"]
    assert scores["described"]["Porto"] == max(scores["described"].values())


def test_description_of_a_memory_that_is_left_out_counts_nothing(memory: Memory) -> None:
    query = memory.build_query("Which harbor has port wine?", where=Filter(speakers="Ben"))
    graph = memory.graph()
    eligible = graph.episodes & (np.arange(len(graph)) == graph.row("b"))
    search = engram_index.prepare_search(graph, eligible)
    assert query.vector is not None
    similarities = search.similarities(engram_index.cosines(graph, query.vector[None, :])[0])
    assert similarities[search.index.places(graph.rows([entity_id("Porto")]))] == 0
    sources = with_descriptions(graph, eligible)
    assert {graph.id(row) for row in np.flatnonzero(sources).tolist()} == {"b", described(memory)[1].id}


def test_index_grown_with_descriptions_is_the_one_built_anew(memory: Memory) -> None:
    before = engram_index.engram_index(memory.graph())
    memory.remember(["Ben saw Porto.", "Ghent and Porto are far."])
    grown = engram_index.engram_index(memory.graph())
    fresh = engram_index.engram_index(apply_batch(Graph(), memory._store.changes_since("default", 0)))
    assert len(before) == len(grown)
    for name in ("rows", "lengths", "mention_counts", "title_counts", "description_counts", "importance_sums"):
        assert getattr(grown, name) == pytest.approx(getattr(fresh, name), abs=1e-5)
    assert sorted(zip(*map(np.ndarray.tolist, (grown.sources["at"], grown.sources["of"])), strict=True)) == sorted(
        zip(*map(np.ndarray.tolist, (fresh.sources["at"], fresh.sources["of"])), strict=True)
    )


def test_importance_of_an_engram_weighs_it(memory: Memory) -> None:
    graph = memory.graph()
    index = engram_index.engram_index(graph)
    factors = dict(
        zip(
            (graph.id(row) for row in index.rows.tolist()),
            engram_index.importance_factor(index, np.arange(len(index))).tolist(),
            strict=True,
        )
    )
    assert factors[entity_id("Ana")] == 1
    assert factors[entity_id("Porto")] == pytest.approx(1.0 / 0.92)
    assert factors[entity_id("Ghent")] == pytest.approx(0.84 / 0.92)
    query = memory.build_query("Porto or Ghent?")
    ratios = []
    for strategy in (Ecphory(), Ecphory(use_importance=False)):
        scores = strategy.activate(query, graph).contributions["engrams"]
        ratios.append(scores[graph.row("a")] / scores[graph.row("b")])
    assert ratios[0] == pytest.approx(ratios[1] / 0.84, rel=1e-4)
    assert not FAITHFUL.use_importance


def test_importance_of_a_memory_begins_with_that_of_its_descriptions(memory: Memory) -> None:
    memory.remember(Episode("Porto and Ghent are far.", "c"))
    memory.remember(Episode("Ana sleeps.", "d"))
    graph = memory.graph()
    found = importance(graph, ImportanceDecay(), epoch_seconds(NOON))
    initial = {id_: round(float(found[graph.row(id_)]), 3) for id_ in "abcd"}
    assert initial == {"a": 1.0, "b": 0.2, "c": 0.6, "d": 0.6}


def test_concept_of_synapse_has_the_vectors_of_its_descriptions(memory: Memory) -> None:
    graph = memory.graph()
    episodes = np.flatnonzero(graph.episodes)
    first, both = (find_concepts(graph, rows, 1.0) for rows in (episodes[:1], episodes))
    place = {graph.id(row): at for at, row in enumerate(both.rows.tolist())}
    plain = entity_vectors(graph).sums
    porto, ghent = (MODEL.embed([text])[0] for text in ("Porto: a harbor with port wine", "Ghent"))
    assert both.sums[place[entity_id("Porto")]] - plain[place[entity_id("Porto")]] == pytest.approx(porto, abs=1e-2)
    assert both.sums[place[entity_id("Ghent")]] - plain[place[entity_id("Ghent")]] == pytest.approx(ghent, abs=1e-2)
    assert both.sums[place[entity_id("Ana")]] == pytest.approx(plain[place[entity_id("Ana")]])
    assert np.abs(first.sums[place[entity_id("Ghent")]]).max() < 1e-2  # its memory is not consolidated


def test_title_does_not_hide_what_is_said_of_the_same_name(memory: Memory) -> None:
    memory.remember(Episode("Ghent is small.", "t", title="Ghent"))
    graph = memory.graph()
    edges, _ = graph.edges_to(graph.rows(["t"]), Link.DESCRIBED_IN)
    assert graph.edges["weights"][edges].tolist() == pytest.approx([0.2])


def test_same_name_twice_has_one_description(path: Path) -> None:
    with open_memory(path, PORTO, Mention("Porto", type=MentionType.THING, importance=1)) as memory:
        memory.remember("Porto is a town.")
        assert [node.metadata["importance"] for node in described(memory)] == [5]
        assert len(memory.graph().edges_of_link(Link.DESCRIBED_IN, Link.DESCRIBES)) == 2


@pytest.mark.medium
def test_descriptions_do_not_end_the_cold_start_of_synapse(memory: Memory) -> None:
    graph = memory.graph()
    assert is_cold_start(graph)
    memory.remember([Episode("Porto and Ghent.", f"n{number}") for number in range(4)])
    graph = memory.graph()
    assert len(graph) > 10 > len(graph) - len(graph.rows_of_kind(Kind.DESCRIPTION))
    assert is_cold_start(graph)
