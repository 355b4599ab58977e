"""The contract of cross-encoders, and two that need no model."""
# ruff: noqa: S101  # these are tests

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..language.words import words
from ..ports import CrossEncoder

_TEXTS = (
    "Ana: I live in Lisbon.",
    "Ana: I moved to Porto.",
    "阿娜住在里斯本",
    "👋",
    " ",
    "",
    "\ud800",
    "word " * 2_000,
)


class CrossEncoderContract:
    """What every cross-encoder must keep. The fixture ``comparer`` gives the one to prove."""

    pairs: Sequence[tuple[str, str]] = tuple((one, other) for one in _TEXTS for other in _TEXTS)
    """What is read: texts of every kind that may come."""

    def test_a_finite_score_for_each_pair(self, comparer: CrossEncoder) -> None:
        """Log-odds in the order of the pairs."""
        scores = comparer.score(self.pairs)
        assert scores.shape == (len(self.pairs),)
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()

    def test_a_score_does_not_depend_on_its_neighbours(self, comparer: CrossEncoder) -> None:
        """Alone, together or turned round: the same numbers."""
        pairs = self.pairs[:12]
        together = comparer.score(pairs)
        assert np.array_equal(together, np.concatenate([comparer.score([pair]) for pair in pairs]))
        assert np.array_equal(together, comparer.score(pairs[::-1])[::-1])

    def test_no_pairs_give_no_scores(self, comparer: CrossEncoder) -> None:
        """An empty list is no error."""
        assert comparer.score([]).shape == (0,)

    def test_it_says_what_it_is(self, comparer: CrossEncoder) -> None:
        """A name."""
        assert comparer.name


class Overlap:
    """A cross-encoder for tests: the more words two texts share, the likelier the later one replaces the earlier."""

    name = "overlap"

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Log-odds from -6 where no word is shared to 6 where all are."""
        return np.array([_shared(*pair) for pair in pairs], np.float64)


class ConstantCrossEncoder:
    """A cross-encoder for tests that gives every pair the same log-odds; ``shown`` keeps what it was shown."""

    name = "constant"

    def __init__(self, odds: float = 12.0) -> None:
        self.odds = odds
        self.shown: list[tuple[str, str]] = []

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """The same log-odds for each pair."""
        self.shown += pairs
        return np.full(len(pairs), self.odds)


def _shared(earlier: str, later: str) -> float:
    one, other = set(words(earlier)), set(words(later))
    return 12.0 * len(one & other) / max(1, len(one | other)) - 6.0
