"""Bands of evidence and confidence."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora import EvidenceBands
from ecphora.errors import InvalidInput
from ecphora.model.types import Evidence
from ecphora.retrieval import confidence, dense
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel, answerability_features
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.feature_matrix import FeatureMatrix, Genre, build_feature_matrix
from ecphora.strategies.fused.ranker import RankedPool
from ecphora.testing import sample_graph, sample_query


def test_confidence_falls_into_bands_of_evidence() -> None:
    assert [EvidenceBands().band(value) for value in (0, 0.199, 0.2, 0.599, 0.6, 1)] == [
        Evidence.NONE, Evidence.NONE, Evidence.WEAK, Evidence.WEAK, Evidence.STRONG, Evidence.STRONG,
    ]  # fmt: skip
    assert [EvidenceBands(strong=0.9, weak=0.4).band(value) for value in (0.399, 0.4, 0.899, 0.9)] == [
        Evidence.NONE, Evidence.WEAK, Evidence.WEAK, Evidence.STRONG,
    ]  # fmt: skip


def test_bands_may_be_empty() -> None:
    assert [EvidenceBands(strong=0.3, weak=0.3).band(value) for value in (0.29, 0.3)] == [
        Evidence.NONE, Evidence.STRONG,
    ]  # fmt: skip
    assert EvidenceBands(strong=1, weak=0).band(0) is Evidence.WEAK


@pytest.mark.parametrize(
    ("strong", "weak", "message"),
    [
        (0.1, 0.2, r"weak is 0.2 and strong only 0.1; give a weak of at most strong"),
        (1.1, 0.2, r"strong is 1.1; give a number from 0 to 1"),
        (0.5, -0.1, r"weak is -0.1; give a number from 0 to 1"),
        (float("nan"), 0.2, r"strong is nan; give a number from 0 to 1"),
        (0.5, "0.2", r"weak is '0.2'; give a number from 0 to 1"),
    ],
)
def test_bands_out_of_order_or_range_are_rejected(strong: float, weak: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        EvidenceBands(strong, weak)


def test_confidence_counts_cosines_from_the_similarity_floor() -> None:
    graph, query = sample_graph(), replace(sample_query("zorro", vector=None), similarity_floor=0.7)
    ones = graph.episodes.astype(np.float32)
    found = [confidence.heuristic_confidence(graph, query, ones, np.float32(x) * ones, ones) for x in (0.7, 0.85, 1.0)]
    assert found == pytest.approx([0, 0.3, 0.5])
    assert [dense.confidence(np.float32(x) * ones, query) for x in (0.7, 0.85, 1.0)] == pytest.approx([0, 0.5, 1])


def test_confidence_rises_with_covered_terms() -> None:
    graph = sample_graph()
    queries = [sample_query(text, vector=None) for text in ("river lovely", "river zorro", "zorro")]
    ones = graph.episodes.astype(np.float32)
    found = [confidence.heuristic_confidence(graph, query, ones, graph.zeros(), ones) for query in queries]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[1] > found[2] == 0
    assert confidence.heuristic_confidence(graph, queries[0], graph.zeros(), graph.zeros(), ones) == 0


def test_confidence_is_that_of_the_five_best_memories() -> None:
    graph, query = sample_graph(), sample_query("zorro", vector=None)
    rows = np.flatnonzero(graph.episodes)
    scores, ones = graph.zeros(), graph.episodes.astype(np.float32)
    scores[rows] = np.linspace(1, 0.5, len(rows))

    def found(rank: int) -> float:
        cosine = graph.zeros()
        cosine[rows[rank]] = 1
        return confidence.heuristic_confidence(graph, query, scores, cosine, ones)

    assert [found(rank) > 0 for rank in range(7)] == [True] * 5 + [False] * 2


def read_matrix(*log_odds: float) -> tuple[FeatureMatrix, RankedPool]:
    """A matrix whose first rows were read, and its ranked pool, in which the first row is the best."""
    matrix = build_feature_matrix(build_pool(sample_graph(), sample_query("Where is the flat?")))
    reranker_scores = np.full(len(matrix), np.nan, np.float32)
    reranker_scores[: len(log_odds)] = log_odds
    scores = np.arange(len(matrix), 0, -1, dtype=np.float32)
    return replace(matrix, reranker_scores=reranker_scores), RankedPool({}, scores, scores - 14)


def reading_values(*log_odds: float) -> list[float]:
    """What the confidence depends on that a reranker says."""
    values = dict(zip(ANSWERABILITY_FEATURES, answerability_features(*read_matrix(*log_odds)).tolist(), strict=True))
    return [values[name] for name in RERANKING_NAMES]


RERANKING_NAMES = (
    "best reranker score",
    "reranker score of top",
    "log sum of reranker scores",
    "second best reranker score",
)


def test_confidence_depends_on_the_readings() -> None:
    total = sum(1 / (1 + np.exp(-value)) for value in (-2.0, 3.0, 1.0))
    assert reading_values(-2.0, 3.0, 1.0) == pytest.approx([3.0, -2.0, np.log(total + 1e-4), 1.0], abs=1e-5)
    assert reading_values(2.0) == pytest.approx([2.0, 2.0, np.log(1 / (1 + np.exp(-2.0)) + 1e-4), 2.0], abs=1e-5)
    assert reading_values() == [0.0, 0.0, 0.0, 0.0]


def test_confidence_knows_whether_the_first_hit_has_the_asked_identifier() -> None:
    matrix, ranked_pool = read_matrix()
    for match in (1.0, 0.0):
        column = np.where(np.arange(len(matrix)) == 0, match, 0.5).astype(np.float32)
        held = replace(matrix, features={**matrix.features, "identifier match": column})
        values = dict(zip(ANSWERABILITY_FEATURES, answerability_features(held, ranked_pool).tolist(), strict=True))
        assert values["identifier of top"] == match


def test_confidence_weighs_passages_apart() -> None:
    """By how many of the best five are passages."""
    matrix, ranked_pool = read_matrix(2.0)
    genres = np.full(len(matrix), Genre.STATEMENT)
    genres[[0, 3, 5]] = Genre.PASSAGE  # the sixth is not looked at
    found = answerability_features(replace(matrix, genres=genres), ranked_pool)
    values = dict(zip(ANSWERABILITY_FEATURES, found.tolist(), strict=True))
    assert values["passage share"] == pytest.approx(0.4)
    assert values["top log-odds, of passages"] == pytest.approx(0.4 * values["top log-odds"])
    assert values["best reranker score, of passages"] == pytest.approx(0.4 * 2.0)


def test_first_hit_that_was_not_read_counts_as_the_worst() -> None:
    assert reading_values(np.nan, 3.0, -1.0)[:2] == [3.0, -1.0]


def test_confidence_has_weights_for_pools_that_were_read_and_for_others() -> None:
    places = [ANSWERABILITY_FEATURES.index(name) for name in RERANKING_NAMES]
    weights = np.zeros(len(ANSWERABILITY_FEATURES))
    weights[places] = (0.5, -0.25, 1.5, 0.125)
    top = np.zeros(len(weights))
    top[ANSWERABILITY_FEATURES.index("top log-odds")] = 0.1
    model = AnswerabilityModel(tuple(weights), 0.25, tuple(top), 0.75)
    matrix, ranked_pool = read_matrix(1.0, 2.0)
    log_sum = np.log(1 / (1 + np.exp(-1.0)) + 1 / (1 + np.exp(-2.0)) + 1e-4)
    log_odds = 0.25 + 0.5 * 2.0 - 0.25 * 1.0 + 1.5 * log_sum + 0.125 * 1.0
    assert model.probability(matrix, ranked_pool) == pytest.approx(1 / (1 + np.exp(-log_odds)), abs=1e-5)
    unread, _ = read_matrix()
    log_odds = 0.75 + 0.1 * float(ranked_pool.log_odds[0])
    assert model.probability(unread, ranked_pool) == pytest.approx(1 / (1 + np.exp(-log_odds)), abs=1e-5)
    nothing = replace(ranked_pool, scores=0 * ranked_pool.scores)
    assert model.probability(matrix, nothing) == 0


def test_cosines_of_a_row_without_a_vector_are_zero() -> None:
    graph = sample_graph()
    rows = np.arange(len(graph))
    has_vector = graph.vector_positions >= 0
    found = dense.pairwise_cosines(graph, rows, rows)
    assert not has_vector.all()
    assert not found[~has_vector].any()
    assert np.diag(found)[has_vector] == pytest.approx(1, abs=1e-3)
