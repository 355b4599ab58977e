"""The necessity classifier: its features, its use of vectors, and the weights of the package."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import InvalidRecord
from ecphora.language.names.mentions import entity_id
from ecphora.language.question import is_question
from ecphora.language.terms import extract_terms
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Episode, Interval, Link, Node, Query, Vector, WriteBatch
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.remember import documents, encode
from ecphora.retrieval.query import build_query
from ecphora.strategies.eisa import banks, episodic_necessity, weights
from ecphora.strategies.eisa.episodic_necessity import FEATURES, LogisticModel, NecessityClassifier
from ecphora.testing import NOON, sample_batch, sample_entity, sample_graph, sample_node, sample_query, sample_vector

ROOT = Path(__file__).parents[2]
LINES = ROOT / "training" / "data" / "encm.jsonl"
SHIPPED = ROOT / "src" / "ecphora" / "strategies" / "eisa" / "weights" / "necessity.json"
MINILM = weights.load_necessity_classifier(MiniLMEmbedder.name)
BY_HAND = NecessityClassifier(feature_model=LogisticModel(-1.0, (2.0, 1.0, -0.5, -1.0, 0.25)))
STORY = "Ana told me " + " ".join(f"word{number}" for number in range(60))


def encoded_graph(*episodes: Episode) -> Graph:
    """A graph of episodes as a memory encodes them, without vectors."""
    drafts = [
        documents.check_episode(replace(episode, id=f"e{number}"), NOON) for number, episode in enumerate(episodes)
    ]
    batch = encode.encode(
        drafts, Graph(), vectors={}, extractions={},
        embedder="none", now=NOON,
    )  # fmt: skip
    nodes = tuple(replace(node, seq=seq) for seq, node in enumerate(batch.nodes, 1))
    return apply_batch(Graph(), replace(batch, nodes=nodes, revision=1))


def query(text: str, vector: Vector | None = None, embedder_coverage: float = 1.0) -> Query:
    return build_query(text, NOON, vector=vector, embedder_coverage=embedder_coverage)


def reference_features(node: Node, *, has_title: bool, has_date: bool) -> list[float]:
    """The reference implementation, for texts in scripts with spaces."""
    spoken = node.speaker is not None or node.session is not None
    distinct = len(set(extract_terms(encode.indexed_text(node))))
    return [
        float(is_question(node.text)),
        float(spoken),
        0.0 if spoken else np.log1p(distinct),
        float(has_title),
        float(has_date),
    ]


# ---- features


def test_row_features_equal_values_computed_by_hand() -> None:
    graph = encoded_graph(
        Episode("Where is the boat?"),
        Episode("Where is the boat?", speaker="Ana"),
        Episode("Boats float. Boats sink.", title="Boat"),
        Episode("We sailed on 3 May 2025.", session="s"),
    )
    found = episodic_necessity.row_features(graph)
    expected = [
        [1, 0, np.log1p(1), 0, 0],  # boat
        [1, 1, 0, 0, 0],
        [0, 0, np.log1p(3), 1, 0],  # boat, float, sink
        [0, 1, 0, 0, 1],
    ]
    assert found.features[graph.episodes] == pytest.approx(np.array(expected), abs=1e-6)
    assert found.is_vector_usable.all()


@pytest.mark.medium
def test_query_features_equal_those_of_a_bare_episode() -> None:
    for text in ("Where is the boat?", "what did we do on 3 May 2025", "钥匙在哪里？", STORY):
        graph = encoded_graph(Episode(text))
        assert episodic_necessity.query_features(query(text)) == pytest.approx(
            episodic_necessity.row_features(graph).features[:1], abs=1e-6
        )
        assert (
            episodic_necessity.is_vector_usable(query(text))
            == episodic_necessity.row_features(graph).is_vector_usable[0]
        )
        assert episodic_necessity.query_probability(query(text), BY_HAND) == pytest.approx(
            float(episodic_necessity.episode_probabilities(graph, BY_HAND)[0]), abs=1e-6
        )


@pytest.mark.parametrize(
    ("text", "is_unspaced"),
    [
        ("Where is the boat?", False),
        ("钥匙在哪里？", True),
        ("鍵をどこに置いたっけ", True),
        ("열쇠는 어디에 있나요", True),
        ("The best 寿司 in the whole wide world is what my old neighbour makes", False),
        ("?!", False),
    ],
)
def test_term_count_is_scaled_for_scripts_without_spaces(text: str, is_unspaced: bool) -> None:
    """Such a text has five times as many terms, and vectors of an English model are not used."""
    graph = encoded_graph(Episode(text))
    assert episodic_necessity.row_features(graph).is_vector_usable.tolist() == [not is_unspaced]
    count = len(set(extract_terms(text)))
    assert episodic_necessity.row_features(graph).features[0, 2] == pytest.approx(
        np.log1p(count / (5 if is_unspaced else 1))
    )


turns = st.tuples(
    st.sampled_from(["Where?", "A boat.", "We met on 3 May 2025.", "钥匙在哪里？", STORY]),
    st.sampled_from([None, "Ana"]),
    st.sampled_from([None, "monday"]),
    st.sampled_from([None, "Boats"]),
)


@pytest.mark.medium
@given(st.lists(turns, min_size=1, max_size=8), st.integers(1, 7))
def test_features_of_a_grown_graph_equal_the_reference(
    turn_fields: list[tuple[str, str, str, str]], split: int
) -> None:
    """For any way of growth, even if a title becomes known later."""
    nodes = [
        sample_node(f"n{number}", text, speaker=speaker, session=session, title=title, seq=number + 1)
        for number, (text, speaker, session, title) in enumerate(turn_fields)
    ]
    has_date = {node.id for node in nodes if "2025" in node.text}
    interval = Interval(NOON, NOON)
    batch = sample_batch(sample_entity("Boats"), *nodes, without_vectors=[node.id for node in nodes], revision=1)
    analyses = {
        id_: replace(
            encode.analyze(next(node for node in nodes if node.id == id_)),
            time_mentions=(interval,) if id_ in has_date else (),
        )
        for id_ in batch.analyses
    }
    edges = tuple(Edge(node.id, entity_id("Boats"), Link.ABOUT) for node in nodes if node.title)
    full_batch = replace(batch, analyses=analyses, edges=edges)
    built_at_once = episodic_necessity.row_features(apply_batch(Graph(), full_batch))
    graph = Graph()
    parts = (nodes[:split], nodes[split:])
    for revision, part in enumerate(parts, 1):
        new = (*batch.nodes[:1], *part) if revision == 1 else tuple(part)
        graph = apply_batch(graph, replace(full_batch, nodes=new, edges=(), revision=revision))
        episodic_necessity.row_features(graph)
    graph = apply_batch(graph, WriteBatch(edges=edges, revision=3))
    grown = episodic_necessity.row_features(graph)
    assert grown.features.tolist() == built_at_once.features.tolist()
    assert grown.is_vector_usable.tolist() == built_at_once.is_vector_usable.tolist()
    for row, node in enumerate(nodes, 1):
        if built_at_once.is_vector_usable[row]:
            expected = reference_features(node, has_title=node.title is not None, has_date=node.id in has_date)
            assert built_at_once.features[row] == pytest.approx(expected, abs=1e-6)


# ---- probabilities


def test_probability_equals_values_computed_by_hand() -> None:
    """σ(bias + weights · columns)."""
    graph = encoded_graph(Episode("Where is the boat?"), Episode("Boats float. Boats sink.", title="Boat"))
    values = np.array([-1 + 2 - 0.5 * np.log1p(1), -1 - 0.5 * np.log1p(3) - 1])
    assert episodic_necessity.episode_probabilities(graph, BY_HAND)[graph.episodes] == pytest.approx(
        1 / (1 + np.exp(-values)), abs=1e-6
    )


def test_undecided_text_is_needed() -> None:
    """Only a probability below the threshold is unneeded: at the threshold, and at 0.5, a text is an episode."""
    undecided = NecessityClassifier(feature_model=LogisticModel(0.0, (0.0,) * len(FEATURES)), threshold=0.5)
    assert episodic_necessity.needs_episodes(query("Boats float."), undecided)
    assert banks.episodic_bank(sample_graph(7), undecided).tolist() == sample_graph(7).episodes.tolist()
    assert not episodic_necessity.needs_episodes(query("Boats float."), replace(undecided, threshold=0.51))
    assert episodic_necessity.THRESHOLD < 0.5


def test_vectors_are_used_if_they_fit() -> None:
    """They need the right length and a script that the embedder supports; else the features decide."""
    vector_model = LogisticModel(0.0, (0.0,) * len(FEATURES), tuple([100.0] + [0.0] * 15))
    classifier = NecessityClassifier(
        feature_model=LogisticModel(-3.0, (0.0,) * len(FEATURES)), vector_model=vector_model
    )
    valid, too_short = np.eye(16, dtype=np.float32)[0], np.eye(8, dtype=np.float32)[0]
    assert episodic_necessity.query_probability(query("boat", valid), classifier) > 0.99
    by_features = 1 / (1 + np.exp(3))
    for query_ in (query("boat"), query("boat", too_short), query("boat", valid, 0.4), query("钥匙在哪里", valid)):
        assert episodic_necessity.query_probability(query_, classifier) == pytest.approx(by_features)
    nodes = [sample_node("a", "boat", seq=1), sample_node("b", "钥匙在哪里", seq=2), sample_node("c", "river", seq=3)]
    known = {"a": valid, "b": valid}
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=known, revision=1))
    assert episodic_necessity.episode_probabilities(graph, classifier) == pytest.approx(
        [1, by_features, by_features], abs=1e-3
    )
    other = apply_batch(Graph(), sample_batch(*nodes, vectors={"a": too_short}, revision=1))
    assert episodic_necessity.episode_probabilities(other, classifier) == pytest.approx([by_features] * 3)
    more = sample_batch(sample_node("d", "stone", seq=4), vectors={"d": valid}, revision=2)
    assert episodic_necessity.episode_probabilities(apply_batch(graph, more), classifier) == pytest.approx(
        [1, by_features, by_features, 1], abs=1e-3
    )


def test_only_episodes_are_in_a_bank() -> None:
    graph = sample_graph(7)
    assert not banks.episodic_bank(graph, weights.load_necessity_classifier())[~graph.episodes].any()


# ---- weights of the package


def test_shipped_weights_match_the_training_lines() -> None:
    """After changing the lines, train again: ``python training/train_necessity.py``."""
    provenance = json.loads(SHIPPED.read_text(encoding="utf-8"))["provenance"]
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    assert provenance["lines_sha256"] == hashlib.sha256(LINES.read_bytes()).hexdigest()
    assert (provenance["lines"], provenance["needed"]) == (len(lines), sum(line["need"] for line in lines))
    assert len(lines) >= 600
    assert len({(line["text"], line["speaker"], line["title"]) for line in lines}) == len(lines)


def test_shipped_error_is_published() -> None:
    """By model, for memories and queries, cross-validated."""
    provenance: Any = json.loads(SHIPPED.read_text(encoding="utf-8"))["provenance"]
    assert provenance["cross_validated"].keys() == {
        f"{model} model, {kind}" for model in ("feature", "vector") for kind in ("memories", "queries")
    }
    for found in provenance["cross_validated"].values():
        assert found["false_negative_rate"] < 0.07
        assert found["false_positive_rate"] < 0.4
    assert provenance["cross_validated"]["vector model, memories"]["error_rate_at_half"] < 0.05
    assert {name.partition(",")[0] for name in provenance["out_of_domain"]} >= {"locomo", "musique", "lihua"}


def test_vector_model_needs_the_embedder_of_its_training() -> None:
    assert MINILM.vector_model is not None
    assert len(MINILM.vector_model.vector_weights) == MiniLMEmbedder.dim
    for name in (None, "hashing/384", "all-MiniLM-L12-v2/int8"):
        assert weights.load_necessity_classifier(name).vector_model is None
        assert weights.load_necessity_classifier(name).feature_model == MINILM.feature_model
    assert weights.load_necessity_classifier() is weights.load_necessity_classifier()


def test_weights_of_other_features_are_rejected() -> None:
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    with pytest.raises(InvalidRecord, match="train it again"):
        weights.parse_necessity_classifier(json.dumps({**found, "features": ["is question"]}))


@pytest.mark.medium
def test_feature_model_errs_as_published_on_its_training_lines() -> None:
    """The error on the training lines, near the cross-validated one: few false negatives, more false positives."""
    lines = [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]
    graph = encoded_graph(*(Episode(line["text"], speaker=line["speaker"], title=line["title"]) for line in lines))
    rows = np.flatnonzero(graph.episodes)
    number = [int(graph.id(row).partition("#")[0][1:]) for row in rows.tolist()]
    needed = np.array([lines[place]["need"] for place in number])
    classified = banks.episodic_bank(graph, weights.load_necessity_classifier())[rows]
    assert (~classified[needed]).mean() < 0.06
    assert classified[~needed].mean() < 0.4


@pytest.mark.parametrize(
    "text", ["Where does Ana live?", "buy milk", "ok", "What is a monad?", "钥匙在哪里？", "lol same"]
)
def test_short_prompts_are_needed(text: str) -> None:
    assert episodic_necessity.needs_episodes(query(text), weights.load_necessity_classifier())


@pytest.mark.medium
def test_vector_model_distinguishes_a_story_from_an_article() -> None:
    """Two long texts that differ in content only, written after the training."""
    story = (
        "On the way back we stopped at the bakery where my father used to work, and the woman behind the counter "
        "recognised me before I recognised her. She gave my son a bun and would not take the money. I had not been "
        "there for fifteen years, and the smell was still the same."
    )
    article = (
        "A bakery produces bread, rolls and cakes from flour in ovens. The dough is mixed, left to rise, shaped and "
        "baked at temperatures between 180 and 250 degrees. Crust forms when the surface dries and sugars brown. Large "
        "bakeries use continuous ovens through which the loaves travel on a belt."
    )
    for text, needed in ((story, True), (article, False)):
        vector = MiniLMEmbedder().embed([text], is_query=True)[0]
        assert episodic_necessity.needs_episodes(query(text, vector), MINILM) is needed


def test_vectors_of_another_size_are_ignored() -> None:
    """Weights for MiniLM's 384 dimensions are not applied to vectors of 16."""
    graph = sample_graph(7)
    query_ = sample_query("Where is Ana?", vector=sample_vector("Ana"))
    assert (
        episodic_necessity.episode_probabilities(graph, MINILM).tolist()
        == episodic_necessity.episode_probabilities(graph, weights.load_necessity_classifier()).tolist()
    )
    assert episodic_necessity.query_probability(query_, MINILM) == episodic_necessity.query_probability(
        query_, weights.load_necessity_classifier()
    )


def test_row_logits_do_not_depend_on_other_rows() -> None:
    features = np.random.RandomState(0).normal(size=(1000, len(episodic_necessity.FEATURES))).astype(np.float32)
    feature_model = weights.load_necessity_classifier().feature_model
    row_logits = np.concatenate(
        [episodic_necessity._feature_logits(features[row : row + 1], feature_model) for row in range(len(features))]
    )
    assert episodic_necessity._feature_logits(features, feature_model).tobytes() == row_logits.tobytes()
