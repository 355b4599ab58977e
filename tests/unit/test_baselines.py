"""The baselines ``simple`` and ``dense-english``: worked examples."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation, Passage
from ecphora.model.types import PRIOR, Filter, Mask, Query, Rows, Scores, Vector
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies import resolve_strategy
from ecphora.strategies.baselines import Dense, DenseEnglish, Simple
from ecphora.testing import ConstantReranker, sample_batch, sample_entity, sample_node, sample_query

NAMES = ("a", "b", "c", "d")
SIMILARITY, RERANKING = "dense similarity z-score", "reranking"
Z = np.array([0.3, 0.1, -0.1, -0.3]) / np.sqrt(0.05)
"""The z-scores of the cosines .8, .6, .4 and .2: their mean is .5, their variance .05."""


def vector(cosine: float) -> Vector:
    """A unit vector with a cosine to that of :func:`question`."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], np.float32)


def build_graph(cosines: Sequence[float | None], english: Sequence[float | None] = ()) -> Graph:
    """Memories called a, b, …, with these cosines to the question by both models, None for no vector."""
    nodes = [sample_node(chr(ord("a") + place), minutes=place, seq=place + 1) for place in range(len(cosines))]
    batch = sample_batch(
        *nodes,
        sample_entity("Porto"),
        vectors={node.id: vector(one) for node, one in zip(nodes, cosines, strict=True) if one is not None},
        english_vectors={node.id: vector(one) for node, one in zip(nodes, english, strict=False) if one is not None},
    )
    return apply_batch(Graph(), replace(batch, revision=1))


def question(*, is_english: bool = False, **fields: object) -> Query:
    query = replace(sample_query("Where?", vector=vector(1.0)), **fields)  # type: ignore[arg-type]
    return replace(query, english_vector=vector(1.0) if is_english else None)


class GivenReranker:
    """A row reranker with given log-odds, by place; ``received_rows`` records the rows."""

    is_mandatory = False

    def __init__(self, *log_odds: float) -> None:
        self.log_odds = log_odds
        self.received_rows: list[int] = []

    def __call__(self, rows: Rows, eligible: Mask, /) -> Scores:
        assert len(rows)
        assert eligible[rows].all()
        self.received_rows += rows.tolist()
        return np.resize(np.array(self.log_odds, np.float32), len(rows))

    def rescore(self, _rows: Rows, _log_odds: Scores, /) -> Scores:
        raise AssertionError("simple rereads nothing")

    def passages(self, _rows: Rows, /) -> list[Passage]:
        raise AssertionError("simple looks at no texts")


def activate(graph: Graph, query: Query, *log_odds: float, limit: int = 24) -> Activation:
    return Simple(max_candidates=limit).activate_with_reranker(query, graph, GivenReranker(*log_odds))


def episodes(scores: Scores) -> NDArray[np.float64]:
    """What concerns the memories; the entity has 0."""
    assert scores[-1] == 0
    return scores[:-1].astype(np.float64)


def test_simple_is_the_z_score_and_a_quarter_of_the_reading() -> None:
    graph = build_graph([0.2, 0.8, 0.4, 0.6])
    reranker = GivenReranker(-4.0, 2.0, 0.0, 8.0)
    found = Simple().activate_with_reranker(question(), graph, reranker)
    z, reading = Z[[3, 0, 2, 1]], np.array([2.0, -1.0, 0.0, 0.5])
    assert reranker.received_rows == [1, 3, 2, 0]  # by z
    assert episodes(found.contributions[SIMILARITY]) == pytest.approx(z, abs=1e-5)
    assert episodes(found.contributions[RERANKING]) == pytest.approx(reading)
    lowest = float((z + reading).min())
    assert episodes(found.contributions[PRIOR]) == pytest.approx([1 - lowest] * 4, abs=1e-5)
    assert episodes(found.scores) == pytest.approx(z + reading + 1 - lowest, abs=1e-5)


def test_simple_without_a_reader_ranks_by_the_z_score() -> None:
    graph = build_graph([0.8, 0.6, 0.4, 0.2])
    found = Simple().activate(question(), graph)
    assert episodes(found.scores) == pytest.approx(Z - Z[3] + 1, abs=1e-5)
    assert not found.contributions[RERANKING].any()


def test_memories_behind_the_candidates_stay_behind_them() -> None:
    graph = build_graph([0.8, 0.6, 0.4, 0.2])
    found = activate(graph, question(), 4.0, -12.0, limit=2)
    assert episodes(found.contributions[RERANKING]) == pytest.approx([1.0, -3.0, -3.0, -3.0])
    assert np.argsort(-episodes(found.scores)).tolist() == [0, 1, 2, 3]


def test_candidates_that_were_not_read_count_as_the_worst() -> None:
    graph = build_graph([0.8, 0.6, 0.4, 0.2])
    found = activate(graph, question(), -2.0, np.nan, 6.0, np.nan)
    assert episodes(found.contributions[RERANKING]) == pytest.approx([-0.5, -0.5, 1.5, -0.5])
    failed = activate(graph, question(), np.nan)
    assert failed.scores.tobytes() == Simple().activate(question(), graph).scores.tobytes()


def test_24_memories_are_read() -> None:
    reranker = GivenReranker(0.0)
    graph = build_graph(np.linspace(0.1, 0.9, 30).tolist())
    Simple().activate_with_reranker(question(), graph, reranker)
    assert reranker.received_rows == [*range(29, 5, -1)]


def test_english_question_compares_english_vectors_where_there_are_some() -> None:
    graph = build_graph([0.9, 0.1, 0.1, 0.7, 0.9], [0.2, 0.4, 0.6, None, None])
    found = Simple().activate(question(is_english=True), graph).contributions[SIMILARITY]
    spread = np.sqrt(1.5)
    assert episodes(found) == pytest.approx([-spread, 0, spread, -1, 1], abs=1e-5)
    other = Simple().activate(question(), graph).contributions[SIMILARITY]
    cosines = np.array([0.9, 0.1, 0.1, 0.7, 0.9])
    assert episodes(other) == pytest.approx((cosines - cosines.mean()) / cosines.std(), abs=1e-5)


def test_memories_without_a_vector_or_ineligible_are_not_scored_or_read() -> None:
    graph = build_graph([0.8, 0.6, 0.4, 0.2, None])
    query, reranker = (
        question(known_at=None, where=Filter(before=sample_node("d", minutes=3).happened_at)),
        GivenReranker(1),
    )
    found = Simple().activate_with_reranker(query, graph, reranker)
    assert reranker.received_rows == [0, 1, 2]
    assert (episodes(found.scores) > 0).tolist() == [True, True, True, False, False]
    assert episodes(found.contributions[SIMILARITY]) == pytest.approx([*Z[:3], 0, 0], abs=1e-5)  # over all episodes


@pytest.mark.parametrize("cosines", [[0.5], [0.5, 0.5, 0.5]])
def test_cosines_that_do_not_vary_have_the_z_score_0(cosines: list[float]) -> None:
    found = Simple().activate(question(), build_graph(cosines))
    assert episodes(found.scores).tolist() == [1.0] * len(cosines)


def test_graph_without_comparable_memories_is_neither_scored_nor_read() -> None:
    for graph, query in (
        (build_graph([None, None]), question()),
        (build_graph([0.5, 0.7]), question(vector=None)),
        (build_graph([0.5, 0.7]), question(where=Filter(sessions="elsewhere"))),
    ):
        reranker = GivenReranker(1.0)
        found = Simple().activate_with_reranker(query, graph, reranker)
        assert not found.scores.any()
        assert found.confidence == 0
        assert not reranker.received_rows


def test_confidence_is_that_of_dense() -> None:
    graph, query = build_graph([0.8, 0.6], [0.1, 0.2]), question(is_english=True, similarity_floor=0.6)
    assert activate(graph, query, 5.0).confidence == pytest.approx(0.5)
    assert Dense().activate(query, graph).confidence == pytest.approx(0.5)


def test_dense_english_is_the_cosine_of_the_english_vectors() -> None:
    graph = build_graph([0.9, 0.9, 0.9, 0.9], [0.2, 0.6, None, -0.5])
    found = DenseEnglish().activate(question(is_english=True, similarity_floor=0.7), graph)
    assert episodes(found.scores) == pytest.approx([0.2, 0.6, 0, -0.5])
    assert found.confidence == pytest.approx(0.6)
    longer = replace(question(), english_vector=2 * vector(1.0))
    assert DenseEnglish().activate(longer, graph).confidence == 1
    before = Filter(before=sample_node("b", minutes=1).happened_at)
    assert episodes(DenseEnglish().activate(question(is_english=True, where=before), graph).scores)[1] == 0
    other = DenseEnglish().activate(question(), graph)
    assert not other.scores.any()
    assert other.confidence == 0


@pytest.mark.medium
def test_reader_is_asked_without_doubt(tmp_path: Path) -> None:
    reranker = ConstantReranker()
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), reranker=reranker, strategy="simple") as memory:
        memory.remember(["Ana moved to Porto.", "The boat is red."])
        memory.recall("Where did Ana move?", rerank="never")
        assert not reranker.received_passages
        found = memory.recall("Where did Ana move?")
        assert [passage.text for passage in reranker.received_passages] == ["Ana moved to Porto.", "The boat is red."]
        assert found[0].text == "Ana moved to Porto."


def test_names_are_those_of_the_classes() -> None:
    assert resolve_strategy("simple") == Simple()
    assert resolve_strategy("dense-english") == DenseEnglish()
