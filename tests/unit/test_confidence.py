"""Bands of evidence and confidence."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora import EvidenceBands
from ecphora.errors import InvalidInput
from ecphora.model import Evidence
from ecphora.stages.fused.candidate_pool import build_pool
from ecphora.stages.fused.newer_answers import NewerAnswerModel, ShareModel
from ecphora.stages.fused.reading import (
    ReadCandidates,
    ReadingModel,
    ReadingPolicy,
    confidence_features,
    does_name_speaker,
)
from ecphora.stages.retrieval import confidence, dense
from ecphora.stages.retrieval.linear import LinearModel
from ecphora.testing import sample_graph, sample_query


def test_confidence_falls_into_bands_of_evidence() -> None:
    assert [EvidenceBands().band(value) for value in (0, 0.199, 0.2, 0.499, 0.5, 1)] == [
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


def test_confidence_with_reading_is_a_logistic_regression() -> None:
    no_share = ShareModel(0.0, 0.0, 0.0, 0.0)
    regression = LinearModel(0.25, {"log sum of readings": 1.5, "log count": -0.5})
    policy = ReadingPolicy(ReadingModel((1.0,) * 5, NewerAnswerModel(no_share, no_share), regression, {}))
    pool = build_pool(sample_graph(), sample_query("Where is the flat?"))
    read = ReadCandidates(np.arange(2), np.array([0.0, 1.0], np.float32))
    total = 0.5 + 1 / (1 + np.exp(-1.0))
    log_odds = 0.25 + 1.5 * np.log(total + 1e-4) - 0.5 * np.log(2)
    assert policy.confidence(pool, 0.1, read) == pytest.approx(1 / (1 + np.exp(-log_odds)), abs=1e-5)


def test_confidence_counts_unread_candidates_as_the_worse_half() -> None:
    no_share = ShareModel(0.0, 0.0, 0.0, 0.0)
    regression = LinearModel(0.25, {"log sum of readings": 1.5, "log count": -1.5})
    policy = ReadingPolicy(ReadingModel((1.0,) * 5, NewerAnswerModel(no_share, no_share), regression, {}))
    pool = build_pool(sample_graph(), sample_query("Where is the flat?"))
    some = ReadCandidates(np.arange(3), np.array([2.0, -1.0, -3.0], np.float32), unread_count=2)
    rows = np.array([0, 1, 2, 2, 2])
    all_read = ReadCandidates(rows, np.array([2.0, -1.0, -3.0, -2.0, -2.0], np.float32))
    found = policy.confidence(pool, 0.1, some)
    assert found == pytest.approx(policy.confidence(pool, 0.1, all_read), abs=1e-6)
    assert found < policy.confidence(pool, 0.1, replace(some, unread_count=0))


def test_confidence_features() -> None:
    total = sum(1 / (1 + np.exp(-value)) for value in (-2.0, 3.0, 1.0))
    found = confidence_features(np.array([-2.0, 3.0, 1.0], np.float32))
    assert found == pytest.approx([np.log(total + 1e-4), np.log(3)])


def test_question_names_a_speaker() -> None:
    assert does_name_speaker("Where does Ana live?", ["Bo", "Ana Reis"])
    assert not does_name_speaker("Where do I live?", ["Bo", "Ana Reis"])
    assert not does_name_speaker("Where does Ana live?", [])


def test_cosines_of_a_row_without_a_vector_are_zero() -> None:
    graph = sample_graph()
    rows = np.arange(len(graph))
    has_vector = graph.vector_positions >= 0
    found = dense.pairwise_cosines(graph, rows, rows)
    assert not has_vector.all()
    assert not found[~has_vector].any()
    assert np.diag(found)[has_vector] == pytest.approx(1, abs=1e-3)
