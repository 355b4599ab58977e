"""The contract of embedders."""
# ruff: noqa: S101  # these are tests

from collections.abc import Sequence

import numpy as np

from ..ports import Embedder


class EmbedderContract:
    """What every embedder must keep. The fixture ``embedder`` gives the one to prove."""

    texts: Sequence[str] = (
        "Ana moved to Porto.", "Where does Ana live?", "Wo wohnt Ana?", "アナはどこに住んでいますか", "你好", "👋", "a",
        " ", "", "\ud800", "\0", "word " * 2_000,
    )  # fmt: skip
    """What is embedded: texts of every kind that may come."""

    def test_rows_are_unit_vectors(self, embedder: Embedder) -> None:
        """One float32 row of ``dim`` numbers a text, of length 1, for questions too."""
        for cue in (False, True):
            vectors = embedder.embed(self.texts, cue=cue)
            assert vectors.shape == (len(self.texts), embedder.dim)
            assert vectors.dtype == np.float32
            assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)

    def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: Embedder) -> None:
        """Alone, together or turned round: the same numbers."""
        together = embedder.embed(self.texts)
        alone = np.concatenate([embedder.embed([text]) for text in self.texts])
        turned = embedder.embed(self.texts[::-1])[::-1]
        assert np.allclose(together, alone, atol=1e-6)
        assert np.allclose(together, turned, atol=1e-6)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        """An empty list is no error."""
        assert embedder.embed([]).shape == (0, embedder.dim)

    def test_it_says_what_it_is(self, embedder: Embedder) -> None:
        """A name, and how far it reads a text."""
        assert embedder.name
        assert embedder.dim > 0
        assert all(0 <= embedder.reads(text) <= 1 for text in self.texts)
