"""The hashing embedder."""

from collections.abc import Sequence

import numpy as np
import pytest

from ecphora.errors import InvalidInput
from ecphora.model.types import Vectors
from ecphora.models.embedders.hashing import HashingEmbedder

SIMILAR = ["A man is eating food.", "A man is eating a piece of bread."]


ODD = ["", " \n\t", "\ud800", "a\ud800b\udfff", "\x00", "\u200b", "[PAD]", "你好", "x" * 5_000, "word " * 2_000]


def assert_unit(vectors: Vectors, texts: Sequence[str], dim: int) -> None:
    assert vectors.shape == (len(texts), dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_hashing_gives_unit_vectors_with_shared_words_similar() -> None:
    model = HashingEmbedder()
    vectors = model.embed([*SIMILAR, "Stocks fell sharply today!"])
    assert model.name == "hashing/256"
    assert model.coverage("我们") == 1
    assert_unit(vectors, [*SIMILAR, ""], 256)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert_unit(model.embed(ODD), ODD, 256)
    np.testing.assert_array_equal(vectors[1], model.embed(SIMILAR[1:])[0])
    assert HashingEmbedder(8).embed([]).shape == (0, 8)


def test_hashing_is_the_same_on_every_machine() -> None:
    expected = np.zeros(16, np.float32)
    expected[[0, 12]] = -1, -1
    np.testing.assert_allclose(HashingEmbedder(16).embed(["A"])[0], expected / np.sqrt(2), atol=1e-6)


def test_hashing_needs_a_dimension() -> None:
    with pytest.raises(InvalidInput, match="dim"):
        HashingEmbedder(0)
