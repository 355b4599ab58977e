"""The update scorers fulfill their contract."""

from typing import Any

import pytest

from ecphora.model.ports import FactUpdateScorer
from ecphora.models.embedders.pair_scoring import PairAdapters
from ecphora.models.update_scorer import E5UpdateScorer
from ecphora.testing import ConstantScorer, FactUpdateScorerContract, OverlapScorer

BUILT_IN = E5UpdateScorer()


class TestOverlap(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return OverlapScorer()


class TestConstant(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return ConstantScorer()


@pytest.mark.medium
class TestBuiltIn(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return BUILT_IN

    def test_pair_is_scored_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        count = 0
        score_pair = PairAdapters.score_pair

        def count_and_score(*args: Any) -> float:
            nonlocal count
            count += 1
            return score_pair(*args)

        monkeypatch.setattr(PairAdapters, "score_pair", count_and_score)
        scorer, pairs = E5UpdateScorer(), [("I live in Lisbon.", "I moved to Porto."), ("It rains.", "The dog sleeps.")]
        first, second = scorer.score(pairs), scorer.score(pairs[::-1])
        assert first.tolist() == second[::-1].tolist()
        assert count == len(pairs)
