"""The update scorers fulfill their contract."""

import pytest

from ecphora.ports import FactUpdateScorer
from ecphora.testing import ConstantScorer, FactUpdateScorerContract, OverlapScorer
from ecphora.update_scorers.e5_cross_encoder import E5UpdateScorer

BUILT_IN = E5UpdateScorer()


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
