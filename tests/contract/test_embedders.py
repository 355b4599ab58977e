"""The embedders that need no network keep the contract of embedders."""

import pytest

from ecphora.embedders.hashing import Hashing
from ecphora.embedders.minilm import MiniLM
from ecphora.ports import Embedder
from ecphora.testing import EmbedderContract

MINILM = MiniLM()


class TestHashing(EmbedderContract):
    @pytest.fixture(params=[1, 16, 256])
    def embedder(self, request: pytest.FixtureRequest) -> Embedder:
        return Hashing(request.param)


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return MINILM
