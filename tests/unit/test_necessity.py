"""The necessity checker: what it reads, when it may read vectors, and the weights that come with the package."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import documents, encode, weights
from ecphora.embedders.minilm import MiniLMEmbedder
from ecphora.errors import InvalidRecord
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.language.question import is_question
from ecphora.language.terms import extract_terms
from ecphora.model import Edge, Episode, Interval, Link, Node, Query, Vector, WriteBatch
from ecphora.query import build_query
from ecphora.stages.eisa import banks, necessity
from ecphora.stages.eisa.necessity import FEATURES, LogisticModel, NecessityClassifier
from ecphora.testing import NOON, sample_batch, sample_entity, sample_graph, sample_node, sample_query, sample_vector
from ecphora.weights import former_names

ROOT = Path(__file__).parents[2]
LINES = ROOT / "scripts" / "data" / "encm.jsonl"
SHIPPED = ROOT / "src" / "ecphora" / "weights" / "necessity.json"
MINILM = weights.load_necessity_classifier(MiniLMEmbedder.name)
HAND = NecessityClassifier(feature_model=LogisticModel(-1.0, (2.0, 1.0, -0.5, -1.0, 0.25)))
TALE = "Ana told me " + " ".join(f"word{number}" for number in range(60))


def read(*episodes: Episode) -> Graph:
    """A graph of episodes as a memory encodes them, without vectors."""
    drafts = [documents.check_episode(replace(one, id=f"e{number}"), NOON) for number, one in enumerate(episodes)]
    change = encode.encode(
        drafts, Graph(), vectors={}, mentions={node.id: () for one in drafts for node in one.chunks},
        embedder="none", now=NOON,
    )  # fmt: skip
    nodes = tuple(replace(node, seq=seq) for seq, node in enumerate(change.nodes, 1))
    return apply_batch(Graph(), replace(change, nodes=nodes, revision=1))


def cue(text: str, vector: Vector | None = None, meaning: float = 1.0) -> Query:
    return build_query(text, NOON, vector=vector, embedder_coverage=meaning)


def columns(node: Node, *, titled: bool, dated: bool) -> list[float]:
    """The readable twin, for texts in scripts with spaces."""
    spoken = node.speaker is not None or node.session is not None
    distinct = len(set(extract_terms(encode.indexed_text(node))))
    return [
        float(is_question(node.text)),
        float(spoken),
        0.0 if spoken else np.log1p(distinct),
        float(titled),
        float(dated),
    ]


# ---- what is read


def test_columns_by_hand() -> None:
    graph = read(
        Episode("Where is the boat?"),
        Episode("Where is the boat?", speaker="Ana"),
        Episode("Boats float. Boats sink.", title="Boat"),
        Episode("We sailed on 3 May 2025.", session="s"),
    )
    found = necessity.row_features(graph)
    expected = [
        [1, 0, np.log1p(1), 0, 0],  # boat
        [1, 1, 0, 0, 0],
        [0, 0, np.log1p(3), 1, 0],  # boat, float, sink
        [0, 1, 0, 0, 1],
    ]
    assert found.features[graph.episodes] == pytest.approx(np.array(expected), abs=1e-6)
    assert found.is_vector_usable.all()


def test_a_cue_is_read_as_if_it_were_stored_bare() -> None:
    for text in ("Where is the boat?", "what did we do on 3 May 2025", "钥匙在哪里？", TALE):
        graph = read(Episode(text))
        assert necessity.query_features(cue(text)) == pytest.approx(
            necessity.row_features(graph).features[:1], abs=1e-6
        )
        assert necessity.is_vector_usable(cue(text)) == necessity.row_features(graph).is_vector_usable[0]
        assert necessity.query_probability(cue(text), HAND) == pytest.approx(
            float(necessity.episode_probabilities(graph, HAND)[0]), abs=1e-6
        )


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("Where is the boat?", False),
        ("钥匙在哪里？", True),
        ("鍵をどこに置いたっけ", True),
        ("열쇠는 어디에 있나요", True),
        ("The best 寿司 in the whole wide world is what my old neighbour makes", False),
        ("?!", False),
    ],
)
def test_scripts_without_spaces_are_known_by_their_words(text: str, dense: bool) -> None:
    """There a text has five times as many words, and no vector of an English model is read."""
    graph = read(Episode(text))
    assert necessity.row_features(graph).is_vector_usable.tolist() == [not dense]
    count = len(set(extract_terms(text)))
    assert necessity.row_features(graph).features[0, 2] == pytest.approx(np.log1p(count / (5 if dense else 1)))


turns = st.tuples(
    st.sampled_from(["Where?", "A boat.", "We met on 3 May 2025.", "钥匙在哪里？", TALE]),
    st.sampled_from([None, "Ana"]),
    st.sampled_from([None, "monday"]),
    st.sampled_from([None, "Boats"]),
)


@given(st.lists(turns, min_size=1, max_size=8), st.integers(1, 7))
def test_grown_is_read_at_once_and_is_the_twin(told: list[tuple[str, str, str, str]], cut: int) -> None:
    """However a graph came about, with a title that is known only later too."""
    nodes = [
        sample_node(f"n{number}", text, speaker=speaker, session=session, title=title, seq=number + 1)
        for number, (text, speaker, session, title) in enumerate(told)
    ]
    dated = {node.id for node in nodes if "2025" in node.text}
    may = Interval(NOON, NOON)
    change = sample_batch(sample_entity("Boats"), *nodes, without_vectors=[node.id for node in nodes], revision=1)
    readings = {
        id_: replace(
            encode.analyze(next(node for node in nodes if node.id == id_)), time_mentions=(may,) if id_ in dated else ()
        )
        for id_ in change.analyses
    }
    edges = tuple(Edge(node.id, entity_id("Boats"), Link.ABOUT) for node in nodes if node.title)
    whole = replace(change, analyses=readings, edges=edges)
    at_once = necessity.row_features(apply_batch(Graph(), whole))
    graph = Graph()
    parts = (nodes[:cut], nodes[cut:])
    for revision, part in enumerate(parts, 1):
        new = (*change.nodes[:1], *part) if revision == 1 else tuple(part)
        graph = apply_batch(graph, replace(whole, nodes=new, edges=(), revision=revision))
        necessity.row_features(graph)
    graph = apply_batch(graph, WriteBatch(edges=edges, revision=3))
    grown = necessity.row_features(graph)
    assert grown.features.tolist() == at_once.features.tolist()
    assert grown.is_vector_usable.tolist() == at_once.is_vector_usable.tolist()
    for row, node in enumerate(nodes, 1):
        if at_once.is_vector_usable[row]:
            twin = columns(node, titled=node.title is not None, dated=node.id in dated)
            assert at_once.features[row] == pytest.approx(twin, abs=1e-6)


# ---- how it judges


def test_the_probability_by_hand() -> None:
    """σ(bias + weights · columns)."""
    graph = read(Episode("Where is the boat?"), Episode("Boats float. Boats sink.", title="Boat"))
    values = np.array([-1 + 2 - 0.5 * np.log1p(1), -1 - 0.5 * np.log1p(3) - 1])
    assert necessity.episode_probabilities(graph, HAND)[graph.episodes] == pytest.approx(
        1 / (1 + np.exp(-values)), abs=1e-6
    )


def test_the_uncertain_is_needed() -> None:
    """Only what lies below the threshold is not: at the threshold, and at even odds, a text is an episode."""
    even = NecessityClassifier(feature_model=LogisticModel(0.0, (0.0,) * len(FEATURES)), threshold=0.5)
    assert necessity.needs_episodes(cue("Boats float."), even)
    assert banks.episodic_bank(sample_graph(7), even).tolist() == sample_graph(7).episodes.tolist()
    assert not necessity.needs_episodes(cue("Boats float."), replace(even, threshold=0.51))
    assert necessity.THRESHOLD < 0.5


def test_vectors_are_read_where_they_fit() -> None:
    """Of the right length, in a script that the embedder reads; else the columns decide."""
    by_vector = LogisticModel(0.0, (0.0,) * len(FEATURES), tuple([100.0] + [0.0] * 15))
    encm = NecessityClassifier(feature_model=LogisticModel(-3.0, (0.0,) * len(FEATURES)), vector_model=by_vector)
    right, wrong = np.eye(16, dtype=np.float32)[0], np.eye(8, dtype=np.float32)[0]
    assert necessity.query_probability(cue("boat", right), encm) > 0.99
    alone = 1 / (1 + np.exp(3))
    for asked in (cue("boat"), cue("boat", wrong), cue("boat", right, 0.4), cue("钥匙在哪里", right)):
        assert necessity.query_probability(asked, encm) == pytest.approx(alone)
    nodes = [sample_node("a", "boat", seq=1), sample_node("b", "钥匙在哪里", seq=2), sample_node("c", "river", seq=3)]
    known = {"a": right, "b": right}
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=known, revision=1))
    assert necessity.episode_probabilities(graph, encm) == pytest.approx([1, alone, alone], abs=1e-3)
    other = apply_batch(Graph(), sample_batch(*nodes, vectors={"a": wrong}, revision=1))
    assert necessity.episode_probabilities(other, encm) == pytest.approx([alone] * 3)
    more = sample_batch(sample_node("d", "stone", seq=4), vectors={"d": right}, revision=2)
    assert necessity.episode_probabilities(apply_batch(graph, more), encm) == pytest.approx(
        [1, alone, alone, 1], abs=1e-3
    )


def test_only_episodes_are_in_a_bank() -> None:
    graph = sample_graph(7)
    assert not banks.episodic_bank(graph, weights.load_necessity_classifier())[~graph.episodes].any()


# ---- the weights that come with the package


def test_shipped_weights_are_those_of_the_lines() -> None:
    """Whoever changes the lines trains anew: ``python scripts/train_necessity.py``."""
    provenance = json.loads(SHIPPED.read_text(encoding="utf-8"))["provenance"]
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    assert provenance["lines_sha256"] == hashlib.sha256(LINES.read_bytes()).hexdigest()
    assert (provenance["lines"], provenance["needed"]) == (len(lines), sum(line["need"] for line in lines))
    assert len(lines) >= 600
    assert len({(line["text"], line["speaker"], line["title"]) for line in lines}) == len(lines)


def test_shipped_error_is_published() -> None:
    """By head, for memories and cues, inside and outside of the lines it was trained on."""
    provenance: Any = json.loads(SHIPPED.read_text(encoding="utf-8"))["provenance"]
    assert provenance["cross_validated"].keys() == {
        f"{model} model, {kind}" for model in ("feature", "vector") for kind in ("memories", "queries")
    }
    for found in provenance["cross_validated"].values():
        assert found["false_negative_rate"] < 0.07
        assert found["false_positive_rate"] < 0.4
    assert provenance["cross_validated"]["vector model, memories"]["error_rate_at_half"] < 0.05
    assert {name.partition(",")[0] for name in provenance["out_of_domain"]} >= {"locomo", "musique", "lihua"}


def test_vectors_are_read_only_for_the_embedder_it_was_trained_on() -> None:
    assert MINILM.vector_model is not None
    assert len(MINILM.vector_model.vector_weights) == MiniLMEmbedder.dim
    for name in (None, "hashing/384", "all-MiniLM-L12-v2/int8"):
        assert weights.load_necessity_classifier(name).vector_model is None
        assert weights.load_necessity_classifier(name).feature_model == MINILM.feature_model
    assert weights.load_necessity_classifier() is weights.load_necessity_classifier()


def test_weights_of_other_columns_are_refused() -> None:
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    with pytest.raises(InvalidRecord, match="train it again"):
        weights.parse_necessity_classifier(json.dumps({**found, "features": ["is question"]}))


def test_weights_with_former_names_load() -> None:
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    former_by_name = {name: former for former, name in former_names.NECESSITY_FEATURES.items()}
    former: dict[str, Any] = {
        "embedder": found["embedder"],
        "threshold": found["threshold"],
        "columns": [former_by_name[name] for name in found["features"]],
    }
    for name, part in (("alone", found["feature_model"]), ("reading", found["vector_model"])):
        former[name] = {"bias": part["bias"], "columns": part["feature_weights"], "vector": part["vector_weights"]}
    assert former["columns"] == ["asks", "spoken", "words", "titled", "dated"]
    assert weights.parse_necessity_classifier(json.dumps(former), found["embedder"]) == MINILM


def test_columns_alone_err_on_their_own_lines_as_published() -> None:
    """Not the cross-validated error, but near it; what it misses is little, what it lets in is more."""
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    graph = read(*(Episode(line["text"], speaker=line["speaker"], title=line["title"]) for line in lines))
    rows = np.flatnonzero(graph.episodes)
    number = [int(graph.id(row).partition("#")[0][1:]) for row in rows.tolist()]
    needed = np.array([lines[place]["need"] for place in number])
    taken = banks.episodic_bank(graph, weights.load_necessity_classifier())[rows]
    assert (~taken[needed]).mean() < 0.06
    assert taken[~needed].mean() < 0.4


@pytest.mark.parametrize(
    "text", ["Where does Ana live?", "buy milk", "ok", "What is a monad?", "钥匙在哪里？", "lol same"]
)
def test_short_prompts_are_needed(text: str) -> None:
    assert necessity.needs_episodes(cue(text), weights.load_necessity_classifier())


def test_with_vectors_it_tells_a_tale_from_a_treatise() -> None:
    """Two long bare texts that differ in nothing but what they say; written after the training, not for it."""
    tale = (
        "On the way back we stopped at the bakery where my father used to work, and the woman behind the counter "
        "recognised me before I recognised her. She gave my son a bun and would not take the money. I had not been "
        "there for fifteen years, and the smell was still the same."
    )
    treatise = (
        "A bakery produces bread, rolls and cakes from flour in ovens. The dough is mixed, left to rise, shaped and "
        "baked at temperatures between 180 and 250 degrees. Crust forms when the surface dries and sugars brown. Large "
        "bakeries use continuous ovens through which the loaves travel on a belt."
    )
    for text, needed in ((tale, True), (treatise, False)):
        vector = MiniLMEmbedder().embed([text], is_query=True)[0]
        assert necessity.needs_episodes(cue(text, vector), MINILM) is needed


def test_samples_have_vectors_of_their_own() -> None:
    """The weights for MiniLM's 384 numbers leave a graph of 16 alone."""
    graph = sample_graph(7)
    asked = sample_query("Where is Ana?", vector=sample_vector("Ana"))
    assert (
        necessity.episode_probabilities(graph, MINILM).tolist()
        == necessity.episode_probabilities(graph, weights.load_necessity_classifier()).tolist()
    )
    assert necessity.query_probability(asked, MINILM) == necessity.query_probability(
        asked, weights.load_necessity_classifier()
    )


def test_what_a_row_gets_does_not_depend_on_its_neighbors() -> None:
    columns = np.random.RandomState(0).normal(size=(1000, len(necessity.FEATURES))).astype(np.float32)
    head = weights.load_necessity_classifier().feature_model
    alone = np.concatenate([necessity._feature_logits(columns[row : row + 1], head) for row in range(len(columns))])
    assert necessity._feature_logits(columns, head).tobytes() == alone.tobytes()
