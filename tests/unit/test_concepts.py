"""Concepts of SYNAPSE: which of them are merged."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Kind, Link, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.synapse.concepts import find_concepts, merge_duplicates
from ecphora.strategies.synapse.strategy import FAITHFUL, LAYER_CONFIG
from ecphora.testing import sample_batch, sample_node


def unit(*numbers: float) -> NDArray[np.float32]:
    vector = np.zeros(16, np.float32)
    vector[: len(numbers)] = numbers
    return vector / np.float32(np.linalg.norm(vector))


def test_concepts_merge_from_a_cosine_of_92() -> None:
    near, far = unit(0.925, (1 - 0.925**2) ** 0.5), unit(0.915, -((1 - 0.915**2) ** 0.5))
    same = merge_duplicates(np.stack([unit(1), near, far]), np.arange(3), np.arange(3), 0.92)
    assert same.tolist() == [0, 0, 2]


def test_concepts_of_one_text_never_merge_and_merged_concepts_share_texts() -> None:
    vectors, mentions = np.stack([unit(1)] * 4), [(0, 0), (1, 1), (0, 2), (1, 2), (9, 3)]
    texts, concepts = (np.array(column) for column in zip(*mentions, strict=True))
    # 1 merges with 0 and adds its text; 2 is in both texts; 3 is in another text.
    assert merge_duplicates(vectors, texts, concepts, 0.92).tolist() == [0, 0, 2, 0]


def test_merged_concept_has_the_texts_of_all_that_were_merged_into_it() -> None:
    """1 merges with 0; 2 is in the text of 1 alone, and so in one of theirs."""
    vectors = np.stack([unit(1)] * 3)
    assert merge_duplicates(vectors, np.array([0, 1, 1]), np.array([0, 1, 2]), 0.92).tolist() == [0, 0, 2]


def test_concept_merges_with_the_nearest_older_one() -> None:
    angles = [0.0, 0.5, 0.3]
    vectors = np.stack([unit(np.cos(angle), np.sin(angle)) for angle in angles])
    assert merge_duplicates(vectors, np.arange(3), np.arange(3), 0.92).tolist() == [0, 1, 1]


def test_cosine_from_which_concepts_merge_counts_from_the_similarity_floor() -> None:
    """Of a plain cosine of .95 with a floor of .75 .8 is left."""
    vectors = np.stack([unit(1, 0), unit(0.95, np.sqrt(1 - 0.95**2))])
    for floor, merged in ((0.0, [0, 0]), (0.75, [0, 1])):
        assert merge_duplicates(vectors, np.arange(2), np.arange(2), 0.92, floor).tolist() == merged


def graph_with_mentions(*mentions: tuple[str, NDArray[np.float32]]) -> Graph:
    """An episode for each mention, of the name and with the vector."""
    episodes = [sample_node(f"e{number}", seq=number) for number, _ in enumerate(mentions, 1)]
    names = list(dict.fromkeys(name for name, _ in mentions))
    entities = [sample_node(name, kind=Kind.ENTITY, seq=100 + number) for number, name in enumerate(names)]
    edges = tuple(Edge(node.id, name, Link.MENTIONS) for node, (name, _) in zip(episodes, mentions, strict=True))
    vectors = {node.id: vector for node, (_, vector) in zip(episodes, mentions, strict=True)}
    return apply_batch(Graph(), sample_batch(*episodes, *entities, vectors=vectors, edges=edges, revision=1))


def test_concepts_merge_by_the_means_of_their_episodes() -> None:
    shared = 3.0
    graph = graph_with_mentions(
        ("Ana", unit(shared, 1)), ("Ana", unit(shared, 1)), ("Ben", unit(shared, 0, 1)), ("Ben", unit(shared, 0, 1)),
        ("Cleo", unit(0, 0, 0, 1)), ("Dora", unit(0, 0, 0, 1)),
    )  # fmt: skip
    found = find_concepts(graph, np.flatnonzero(graph.episodes), 0.9 - 1e-3)
    counts = {graph.id(row): (found.mention_concepts == place).sum() for place, row in enumerate(found.rows.tolist())}
    assert counts == {"Ana": 4, "Ben": 0, "Cleo": 2, "Dora": 0}
    assert (FAITHFUL.layer_config.tau_dup, LAYER_CONFIG.tau_dup) == (0.92, 1)


def test_mentions_that_are_not_consolidated_do_not_count() -> None:
    """The first vector of a graph is of such a mention."""
    graph = graph_with_mentions(("Ana", unit(1)), ("Ana", unit(0, 1)))
    assert graph.vector_positions[graph.row("e1")] == 0
    found = find_concepts(graph, graph.rows(["e2"]), 1.0)
    assert found.sums == pytest.approx(unit(0, 1)[None], abs=1e-3)


def test_description_without_a_vector_adds_nothing() -> None:
    graph = graph_with_mentions(("Ana", unit(1)), ("Ben", unit(0, 1)))
    edges = (Edge("said", "Ana", Link.DESCRIBES), Edge("said", "e1", Link.DESCRIBED_IN))
    batch = sample_batch(sample_node("said", kind=Kind.DESCRIPTION, seq=200), vectors={}, edges=edges, revision=2)
    graph = apply_batch(graph, batch)
    assert graph.vector_positions[graph.row("said")] == -1
    found = find_concepts(graph, np.flatnonzero(graph.episodes), 1.0)
    assert found.sums == pytest.approx(np.stack([unit(1), unit(0, 1)]), abs=1e-3)


@pytest.mark.medium
@pytest.mark.parametrize("strategy", ["synapse", "ecphory"])
@pytest.mark.parametrize("link", [Link.MENTIONS, Link.ABOUT, Link.DESCRIBES])
def test_strategies_ignore_links_to_other_nodes_than_entities(strategy: str, link: Link, tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder(64), strategy=strategy) as memory:
        one, other = memory.remember(["Ana met Bo in Porto.", "it rains often."]).ids
        edges = memory.graph().edges
        memory._store.commit("default", WriteBatch(edges=(Edge(one, other, link),)))
        assert len(memory.graph().edges) == len(edges)
        assert memory.recall("Where is Ana?", include="engrams")[0].id == one
