"""The update scorers fulfill their contract."""

import pytest

from ecphora.ports import FactUpdateScorer
from ecphora.testing import ConstantScorer, FactUpdateScorerContract, OverlapScorer
from ecphora.update_scorers.minilm_lora import MiniLMUpdateScorer

MINILM = MiniLMUpdateScorer()


class TestOverlap(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return OverlapScorer()


class TestConstant(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return ConstantScorer()


class TestMiniLM(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return MINILM
