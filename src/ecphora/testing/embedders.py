"""The contract of embedders."""
# ruff: noqa: S101  # these are tests

from collections.abc import Sequence

import numpy as np

from ..model.ports import Embedder, embedder_coverage


class EmbedderContract:
    """The contract of every embedder. The fixture ``embedder`` returns the one to test."""

    texts: Sequence[str] = (
        "Ana moved to Porto.", "Where does Ana live?", "Wo wohnt Ana?", "アナはどこに住んでいますか", "你好", "👋", "a",
        " ", "", "\ud800", "\0", "word " * 2_000,
    )  # fmt: skip
    """The texts to embed, of every kind."""

    def test_rows_are_unit_vectors(self, embedder: Embedder) -> None:
        """One float32 row of ``dim`` numbers per text, of length 1, for queries too."""
        for is_query in (False, True):
            vectors = embedder.embed(self.texts, is_query=is_query)
            assert vectors.shape == (len(self.texts), embedder.dim)
            assert vectors.dtype == np.float32
            assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)

    def test_vector_is_independent_of_other_texts(self, embedder: Embedder) -> None:
        """Alone, together or in reverse order: the same numbers."""
        together = embedder.embed(self.texts)
        alone = np.concatenate([embedder.embed([text]) for text in self.texts])
        reversed_ = embedder.embed(self.texts[::-1])[::-1]
        assert np.allclose(together, alone, atol=1e-6)
        assert np.allclose(together, reversed_, atol=1e-6)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        """An empty list is valid."""
        assert embedder.embed([]).shape == (0, embedder.dim)

    def test_has_name_dim_and_coverage(self, embedder: Embedder) -> None:
        """The name is not empty, ``dim`` is positive, and the coverage is in 0..1."""
        assert embedder.name
        assert embedder.dim > 0
        assert all(0 <= embedder_coverage(embedder, text) <= 1 for text in self.texts)
