"""``fused`` and the baselines fulfill the contract of strategies; ``tests/papers`` tests the published models."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation, Passage, Strategy
from ecphora.model.types import Mask, Query, Rows, Scores
from ecphora.strategies import BUILT_IN, ENGLISH, FAITHFUL, PAPERS
from ecphora.strategies.baselines import Simple
from ecphora.testing import StrategyContract, sample_graph, sample_query, sample_question_batch


@pytest.mark.parametrize(
    "strategy",
    [*(one for name, one in BUILT_IN.items() if name not in PAPERS), *ENGLISH.values()],
    ids=lambda s: s.name,
)
class TestBuiltIn(StrategyContract):
    pass


class RowNumberReranker:
    """A row reranker whose log-odds depend on the row; it skips every third."""

    is_mandatory = False

    def __call__(self, rows: Rows, _eligible: Mask, /) -> Scores:
        return np.where(rows % 3 == 2, np.nan, 5 * np.cos(rows)).astype(np.float32)

    def rescore(self, _rows: Rows, _log_odds: Scores, /) -> Scores:
        raise AssertionError("simple rereads nothing")

    def passages(self, _rows: Rows, /) -> list[Passage]:
        raise AssertionError("simple looks at no texts")


class SimpleWithReranker:
    """``simple`` with a reranker."""

    name = "simple with reranker"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        return Simple(max_candidates=4).activate_with_reranker(query, graph, RowNumberReranker())


class TestSimpleWithReranker(StrategyContract):
    @pytest.fixture
    def strategy(self) -> Strategy:
        return SimpleWithReranker()


WITHOUT_FEEDBACK = [
    strategy for strategy in (*BUILT_IN.values(), *ENGLISH.values(), *FAITHFUL.values()) if strategy.name != "fused"
]


@pytest.mark.parametrize("strategy", WITHOUT_FEEDBACK, ids=lambda s: s.name)
@pytest.mark.parametrize("size", [5, 7, 40])  # with its entities, 7 turns are one node below SYNAPSE's smallest graph
def test_stored_questions_change_no_score(strategy: Strategy, size: int) -> None:
    query = sample_query("Where does Ana live in Porto?")
    before = sample_graph(size)
    after = before
    for number in range(9):
        question = sample_question_batch(f"{number} {query.text}", "t0", "t3")
        after = apply_batch(after, replace(question, revision=2 + number))
    expected, found = strategy.activate(query, before), strategy.activate(query, after)
    assert np.array_equal(found.scores[: len(before)], expected.scores)
    assert np.array_equal(found.stimulus[: len(before)], expected.stimulus)
    assert found.confidence == expected.confidence
    assert not found.scores[len(before) :].any()


def test_feedback_lifts_the_used_memory_for_a_similar_question_only() -> None:
    query, fused = sample_query("Where does Ana live in Porto?"), BUILT_IN["fused"]
    before = sample_graph(7)
    with_feedback = apply_batch(before, replace(sample_question_batch(query.text, "t3"), revision=2))
    expected, found = fused.activate(query, before), fused.activate(query, with_feedback)
    gain = found.scores[: len(before)] - expected.scores
    row = before.rows(["t3"])[0]
    assert gain[row] == pytest.approx(3.0, abs=1e-2)
    assert not np.delete(gain, row).any()
    assert found.paths["similar question feedback"].parent[row] == len(with_feedback) - 1
    assert found.confidence == expected.confidence
    other = sample_query("What is for lunch on Sunday?")
    expected_other, found_other = fused.activate(other, before), fused.activate(other, with_feedback)
    assert np.array_equal(found_other.scores[: len(before)], expected_other.scores)
