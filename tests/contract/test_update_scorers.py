"""The cross-encoders keep their contract."""

import pytest

from ecphora.ports import FactUpdateScorer
from ecphora.testing import ConstantScorer, FactUpdateScorerContract, OverlapScorer
from ecphora.update_scorers.minilm_lora import MiniLMUpdateScorer

READER = MiniLMUpdateScorer()


class TestOverlap(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return OverlapScorer()


class TestConstantCrossEncoder(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return ConstantScorer()


class TestMiniLMChanges(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return READER
