"""The built-in embedders fulfill the contract of embedders."""

import pytest

from ecphora.model.ports import Embedder
from ecphora.models.embedders.e5 import E5Embedder
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.models.embedders.minilm import MiniLMEmbedder
from ecphora.models.embedders.openai_embeddings import OpenAIEmbedder
from ecphora.models.embedders.sentence_transformers import SentenceTransformersEmbedder
from ecphora.testing import EmbedderContract

MINILM = MiniLMEmbedder()
MULTILINGUAL = E5Embedder()


class TestHashing(EmbedderContract):
    @pytest.fixture(params=[1, 16, 256])
    def embedder(self, request: pytest.FixtureRequest) -> Embedder:
        return HashingEmbedder(request.param)


@pytest.mark.medium
class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return MINILM


@pytest.mark.medium
class TestE5(EmbedderContract):
    texts = tuple(text[:50] for text in EmbedderContract.texts)

    @pytest.fixture
    def embedder(self) -> Embedder:
        return MULTILINGUAL


def test_embedders_have_distinct_names() -> None:
    every: list[Embedder] = [
        MINILM,
        MULTILINGUAL,
        HashingEmbedder(),
        OpenAIEmbedder("m"),
        SentenceTransformersEmbedder("m"),
    ]
    assert len({embedder.name for embedder in every}) == len(every)
