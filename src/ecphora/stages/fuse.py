"""Several scores made one."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..model import Mask, Rows, Scores

ALL = slice(None)
"""All rows."""


def reciprocal_rank(scores: Scores, *, k: int = 60) -> Scores:
    """1 / (k + rank) for every active row, ranks from 1, equal scores in order of rows; 0 for the others."""
    fused = np.zeros(len(scores), np.float32)
    active = np.flatnonzero(scores > 0)
    order = active[np.argsort(-scores[active], kind="stable")]
    fused[order] = 1 / (k + np.arange(1, len(order) + 1))
    return fused


@dataclass(frozen=True, slots=True)
class Measured:
    """Scores, their mean and standard deviation over some rows, and the best of some."""

    scores: Scores
    mean: float
    deviation: float
    best: float

    @staticmethod
    def of(scores: Scores, among: Mask, allowed: Mask) -> "Measured":
        """Measure scores over the rows of ``among``, and the best of those that are ``allowed``."""
        part = scores[among]
        mean, deviation = (float(part.mean()), float(part.std())) if len(part) else (0.0, 0.0)
        return Measured(scores, mean, deviation, float((scores * allowed).max(initial=0.0)))

    def above_mean(self, rows: Rows | slice = ALL) -> Scores:
        """The scores of rows as standard deviations above the mean; 0 below it, and where they do not vary."""
        scores = self.scores[rows]
        if self.deviation < 1e-6:
            return np.zeros(len(scores), np.float32)
        return np.maximum(0, (scores - self.mean) / self.deviation).astype(np.float32)

    def of_best(self, rows: Rows | slice = ALL) -> Scores:
        """The scores of rows in parts of the best; 0 where none is positive."""
        scores = self.scores[rows]
        return np.maximum(0, scores / self.best).astype(np.float32) if self.best > 0 else np.zeros_like(scores)


def of_best(scores: Scores) -> Scores:
    """Scores in parts of the highest; 0 where none is positive."""
    best = float(scores.max(initial=0.0))
    return np.maximum(0, scores / best).astype(np.float32) if best > 0 else np.zeros(len(scores), np.float32)


def summed(shares: Mapping[str, Scores]) -> Scores:
    """The sum of the named parts of a score; at least one."""
    return np.sum(list(shares.values()), axis=0, dtype=np.float32)
