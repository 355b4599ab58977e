"""Scores of rows: their normalization and fusion, the k highest, and linear models over named features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.reprs import ShortRepr
from ..model.types import Mask, Rows, Scores


def top_rows(scores: Scores, mask: Mask, k: int) -> Rows:
    """The rows of the highest positive scores under a mask, best first, equal ones in order of rows."""
    rows = np.flatnonzero(mask & (scores > 0))
    return rows[top_k(scores[rows], k)]


def top_k(scores: Scores, k: int) -> Rows:
    """The rows of the highest scores, best first, equal ones in order of rows."""
    if k < 1:
        return np.empty(0, np.intp)
    if k >= len(scores):
        return np.argsort(-scores, kind="stable")
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > cut)
    equal = np.flatnonzero(scores == cut)[: k - len(above)]  # equal scores need no sorting
    return np.concatenate([above[np.argsort(-scores[above], kind="stable")], equal])


@dataclass(frozen=True, slots=True, repr=False)
class LinearModel(ShortRepr):
    """Weights by feature, 0 for features not named, and a bias: the log-odds of a row whose features are all 0."""

    bias: float
    weights: Mapping[str, float]


def parse_linear_model(found: Mapping[str, Any]) -> LinearModel:
    """The model of a JSON object with a ``bias`` and ``features``; raises ``KeyError`` if one is missing."""
    return LinearModel(float(found["bias"]), {str(name): float(weight) for name, weight in found["features"].items()})


ALL_ROWS = slice(None)
"""All rows."""


def reciprocal_rank(scores: Scores, *, k: int = 60) -> Scores:
    """1 / (k + rank) for every positive score, ranks from 1, equal scores in order of rows; 0 for the others."""
    fused = np.zeros(len(scores), np.float32)
    active = np.flatnonzero(scores > 0)
    order = active[np.argsort(-scores[active], kind="stable")]
    fused[order] = 1 / (k + np.arange(1, len(order) + 1))
    return fused


@dataclass(frozen=True, slots=True)
class NormalizedScores:
    """Scores, their mean and standard deviation over some rows, and their maximum over others."""

    scores: Scores
    mean: float
    std: float
    maximum: float

    @staticmethod
    def from_scores(scores: Scores, among: Mask, eligible: Mask) -> "NormalizedScores":
        """Take mean and deviation over the rows of ``among``, and the maximum over the ``eligible`` rows."""
        part = scores[among]
        mean, deviation = (float(part.mean()), float(part.std())) if len(part) else (0.0, 0.0)
        return NormalizedScores(scores, mean, deviation, float((scores * eligible).max(initial=0.0)))

    def zscore(self, rows: Rows | slice = ALL_ROWS) -> Scores:
        """Scores as standard deviations above the mean; 0 below it, and 0 if the scores do not vary."""
        scores = self.scores[rows]
        if self.std < 1e-6:
            return np.zeros(len(scores), np.float32)
        return np.maximum(0, (scores - self.mean) / self.std).astype(np.float32)

    def standardize(self, rows: Rows | slice = ALL_ROWS) -> Scores:
        """Scores as standard deviations from the mean, of either sign; 0 if the scores do not vary."""
        scores = self.scores[rows]
        if self.std < 1e-6:
            return np.zeros(len(scores), np.float32)
        return ((scores - self.mean) / self.std).astype(np.float32)

    def max_normalize(self, rows: Rows | slice = ALL_ROWS) -> Scores:
        """Scores divided by the maximum; 0 if none is positive."""
        scores = self.scores[rows]
        return np.maximum(0, scores / self.maximum).astype(np.float32) if self.maximum > 0 else np.zeros_like(scores)


def max_normalize(scores: Scores) -> Scores:
    """Scores divided by their maximum; 0 if none is positive."""
    best = float(scores.max(initial=0.0))
    return np.maximum(0, scores / best).astype(np.float32) if best > 0 else np.zeros(len(scores), np.float32)


def sum_contributions(contributions: Mapping[str, Scores]) -> Scores:
    """The sum of the contributions to a score; at least one is required."""
    return np.sum(list(contributions.values()), axis=0, dtype=np.float32)
