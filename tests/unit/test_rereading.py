"""Reading the best candidates again with the second model of a reranker: which ones, deadlines and failures."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ecphora import Episode, Memory, RecallOptions
from ecphora.errors import RerankerUnavailable
from ecphora.maintenance.learn.fused_training import UNTRAINED
from ecphora.model.ports import Passage, Reranker
from ecphora.model.types import Mask, Rows, Scores
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.candidate_reranking import CandidateReranking
from ecphora.retrieval.fusion import LinearModel
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.feature_matrix import FeatureMatrix, Genre, build_feature_matrix
from ecphora.strategies.fused.ranker import MIN_LOG_ODDS, Ranker
from ecphora.strategies.fused.reranking import MAX_LOG_ODDS, RERANKING, SECOND_RERANKING, RerankPolicy
from ecphora.testing import ConstantReranker, FakeClock, sample_graph, sample_query

pytestmark = pytest.mark.medium

TURNS = [
    Episode("Where does your sister live?", speaker="Bo", session="chat", happened_at="2026-03-01T10:00"),
    Episode("In Porto, near the river.", speaker="Ana", session="chat", happened_at="2026-03-01T10:01"),
    Episode("My sister plays the cello.", speaker="Ana", session="chat", happened_at="2026-03-02T10:00"),
    Episode("The sister of a friend lives abroad.", speaker="Bo", session="chat", happened_at="2026-03-03T10:00"),
]
QUESTION = "Where does the sister of Ana live?"
ANSWERABILITY = UNTRAINED.answerability
RANKER = Ranker(*[LinearModel(MIN_LOG_ODDS, {"given": 1.0, RERANKING: 0.5})] * len(Genre))
POLICY = RerankPolicy({}, max_rescore=4)


def open_memory(path: Path, reranker: Reranker | None) -> Memory:
    memory = Memory(path / "m.db", embedder=HashingEmbedder(64), reranker=reranker, clock=FakeClock())
    memory.remember(TURNS)
    return memory


class SecondReranker:
    """A row reranker whose second model gives much to all rows; ``calls`` has the rows and log-odds of each call."""

    is_mandatory = True

    def __init__(self, log_odds: Scores) -> None:
        self.log_odds = log_odds
        self.calls: list[tuple[list[int], list[float]]] = []

    def __call__(self, rows: Rows, _eligible: Mask, /) -> Scores:
        return self.log_odds[: len(rows)]

    def rescore(self, rows: Rows, log_odds: Scores, /) -> Scores:
        self.calls.append((rows.tolist(), log_odds.tolist()))
        return log_odds + np.float32(20.0)

    def passages(self, rows: Rows, /) -> list[Passage]:
        return [Passage("It rained.")] * len(rows)


def read_again(policy: RerankPolicy, given: Scores, read: SecondReranker) -> FeatureMatrix:
    """The matrix of a pool with these scores before reading, once it has been read."""
    pool = build_pool(sample_graph(), sample_query("Where did Ana go?"))
    matrix = build_feature_matrix(pool)
    matrix = replace(matrix, features={**matrix.features, "given": given})
    return policy.rerank(pool, matrix, RANKER.score(matrix), RANKER, ANSWERABILITY, 0.5, read)


def test_best_candidates_after_reading_are_read_again() -> None:
    rows = build_pool(sample_graph(), sample_query("Where did Ana go?")).rows
    places = np.arange(len(rows))
    assert len(places) > POLICY.max_rescore
    given = 2 * (len(places) - places).astype(np.float32)
    first = np.where(places == 1, np.nan, 4 * places).astype(np.float32)
    read = SecondReranker(first)
    found = read_again(POLICY, given, read)
    cut = np.minimum(first, MAX_LOG_ODDS)
    after = given + 0.5 * cut
    best = [place for place in np.argsort(-after, kind="stable").tolist() if place != 1][: POLICY.max_rescore]
    assert 1 < len(best) < len(places)
    assert read.calls == [(rows[best].tolist(), cut[best].tolist())]
    expected = cut.copy()
    expected[best] = MAX_LOG_ODDS
    assert np.array_equal(found.reranker_scores, expected, equal_nan=True)
    assert found.features[SECOND_RERANKING].tolist() == np.nan_to_num(expected - cut).tolist()


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_candidates_are_read_again_than_the_policy_says(limit: int) -> None:
    same = np.ones(len(build_pool(sample_graph(), sample_query("Where did Ana go?")).rows), np.float32)
    read = SecondReranker(same)
    read_again(RerankPolicy({}, max_rescore=limit), same, read)
    assert [len(rows) for rows, _ in read.calls] == [limit]
    assert RerankPolicy({}).max_rescore == 1


class TwoModelReranker(ConstantReranker):
    """A reranker whose second model adds 1 to the log-odds of the first; ``texts`` are those that it read."""

    rescore_batch_size = 1

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__(2.0)
        self.batch_size = 1
        self.fails = fails
        self.texts: list[str] = []

    def rescore(
        self, _question: str, passages: Sequence[Passage], log_odds: NDArray[np.float64], /, *, asked_on: date
    ) -> NDArray[np.float64]:
        """Return the log-odds with 1 added."""
        del asked_on
        if self.fails:
            raise RerankerUnavailable("no second model")
        self.texts += [passage.text for passage in passages]
        return log_odds + 1


@pytest.mark.parametrize(
    ("time_limit", "read", "read_again"),
    [(None, 4, 3), (15.0, 4, 3), (14.0, 4, 2), (11.0, 4, 1), (10.0, 4, 0), (6.0, 3, 0), (2.0, 1, 0), (0.1, 1, 0)],
)
def test_best_are_read_again_in_the_time_that_the_first_reading_leaves(
    tmp_path: Path, *, time_limit: float | None, read: int, read_again: int
) -> None:
    reranker, seconds = TwoModelReranker(), count()  # every look at the clock is a second later, so a batch takes one
    with open_memory(tmp_path, None) as memory:
        graph, query = memory.graph(), memory.build_query(QUESTION)
        rows, read_nodes = np.flatnonzero(graph.episodes), memory._scope_writer.node_source(graph)
        clock = lambda: float(next(seconds))  # noqa: E731
        reading = CandidateReranking(reranker, graph, query, read_nodes, time_limit, clock=clock)
        first = reading(rows, graph.episodes)
    assert np.isfinite(first).sum() == read
    again, seconds_before = rows[np.isfinite(first)][::-1][:3], reading.seconds
    found = reading.rescore(again, np.full(len(again), 2.0, np.float32))
    assert found.tolist() == [3.0] * read_again + [2.0] * (len(again) - read_again)
    expected = [TURNS[row].text for row in np.flatnonzero(np.isin(rows, again))[::-1].tolist()][:read_again]
    assert reranker.texts == expected
    assert reading.seconds > seconds_before
    assert (reading.count, reading.unread_count, reading.error) == (read, len(TURNS) - read, None)


@pytest.mark.parametrize(("rerank_ms", "read"), [(1e-9, 1), (None, len(TURNS))])
def test_deadline_that_is_over_leaves_all_but_the_first_batch_unread(
    rerank_ms: float | None, read: int, tmp_path: Path
) -> None:
    with open_memory(tmp_path, TwoModelReranker()) as memory:
        cost = memory.recall(QUESTION, rerank="always", options=RecallOptions(rerank_ms=rerank_ms)).cost
    assert (cost.passages_reranked, cost.passages_left) == (read, len(TURNS) - read)


@pytest.mark.parametrize(("fails", "error"), [(True, "no second model"), (False, None)])
def test_first_readings_stay_if_the_second_model_fails(fails: bool, error: str | None, tmp_path: Path) -> None:
    with open_memory(tmp_path, TwoModelReranker(fails=fails)) as memory:
        found = memory.recall(QUESTION, rerank="always")
    assert len(found) == found.cost.passages_reranked == len(TURNS)
    assert found.cost.reranker_error == error
