"""The contract of update scorers, and two that need no model."""
# ruff: noqa: S101  # these are tests

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..language.terms import extract_terms
from ..model.ports import FactUpdateScorer

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


class FactUpdateScorerContract:
    """The contract of every update scorer. The fixture ``update_scorer`` returns the one to test."""

    pairs: Sequence[tuple[str, str]] = tuple((one, other) for one in _TEXTS for other in _TEXTS)
    """The pairs to score: texts of every kind."""

    def test_scores_are_finite_for_each_pair(self, update_scorer: FactUpdateScorer) -> None:
        """Scores are finite log-odds, one per pair."""
        scores = update_scorer.score(self.pairs)
        assert scores.shape == (len(self.pairs),)
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()

    def test_score_is_independent_of_other_pairs(self, update_scorer: FactUpdateScorer) -> None:
        """Alone, together or in reverse order: the same numbers."""
        pairs = self.pairs[:12]
        together = update_scorer.score(pairs)
        assert np.array_equal(together, np.concatenate([update_scorer.score([pair]) for pair in pairs]))
        assert np.array_equal(together, update_scorer.score(pairs[::-1])[::-1])

    def test_no_pairs_give_no_scores(self, update_scorer: FactUpdateScorer) -> None:
        """An empty list is valid."""
        assert update_scorer.score([]).shape == (0,)

    def test_has_name(self, update_scorer: FactUpdateScorer) -> None:
        """The name is not empty."""
        assert update_scorer.name


class OverlapScorer:
    """An update scorer for tests: the more terms two texts share, the likelier the later one updates the earlier."""

    name = "overlap"

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Return log-odds from -6, where no term is shared, to 6, where all are."""
        return np.array([_overlap_log_odds(*pair) for pair in pairs], np.float64)


class ConstantScorer:
    """An update scorer for tests that gives every pair the same log-odds; ``received_pairs`` records the pairs."""

    name = "constant"

    def __init__(self, log_odds: float = 12.0) -> None:
        self.log_odds = log_odds
        self.received_pairs: list[tuple[str, str]] = []

    def score(self, pairs: Sequence[tuple[str, str]], /) -> NDArray[np.float64]:
        """Return the same log-odds for each pair."""
        self.received_pairs += pairs
        return np.full(len(pairs), self.log_odds)


def _overlap_log_odds(earlier: str, later: str) -> float:
    earlier_terms, later_terms = set(extract_terms(earlier)), set(extract_terms(later))
    return 12.0 * len(earlier_terms & later_terms) / max(1, len(earlier_terms | later_terms)) - 6.0
