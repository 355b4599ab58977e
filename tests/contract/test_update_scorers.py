"""The update scorers fulfill their contract."""

import pytest

from ecphora.ports import FactUpdateScorer
from ecphora.testing import ConstantScorer, FactUpdateScorerContract, OverlapScorer
from ecphora.update_scorers.built_in import BuiltInUpdateScorer
from ecphora.update_scorers.late_interaction import LateInteractionUpdateScorer
from ecphora.update_scorers.minilm_lora import MiniLMUpdateScorer

BUILT_IN, LATE_INTERACTION, MINILM = BuiltInUpdateScorer(), LateInteractionUpdateScorer(), MiniLMUpdateScorer()


class TestOverlap(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return OverlapScorer()


class TestConstant(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return ConstantScorer()


class TestBuiltIn(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return BUILT_IN


class TestLateInteraction(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return LATE_INTERACTION


class TestMiniLM(FactUpdateScorerContract):
    @pytest.fixture
    def update_scorer(self) -> FactUpdateScorer:
        return MINILM
