"""The cross-encoders keep their contract."""

import pytest

from ecphora.embedders.changes import MiniLMChanges
from ecphora.ports import CrossEncoder
from ecphora.testing import ConstantCrossEncoder, CrossEncoderContract, Overlap

READER = MiniLMChanges()


class TestOverlap(CrossEncoderContract):
    @pytest.fixture
    def comparer(self) -> CrossEncoder:
        return Overlap()


class TestConstantCrossEncoder(CrossEncoderContract):
    @pytest.fixture
    def comparer(self) -> CrossEncoder:
        return ConstantCrossEncoder()


class TestMiniLMChanges(CrossEncoderContract):
    @pytest.fixture
    def comparer(self) -> CrossEncoder:
        return READER
