"""How reliable a confidence is: how often the answer is there at each confidence, pure.

Answerable and unanswerable questions have the same total weight, since the confidence of ``fused`` is calibrated so,
and since the number of unanswerable questions of a set is an accident of the set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.types import Mask

from . import intervals

BINS = 10
"""The most bins of a reliability curve."""
MIN_BIN_SIZE = 10
"""Questions for each bin; fewer questions make fewer bins."""


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Questions of similar confidence: how many, their part of all weights, and what is so at this confidence.

    ``confidence`` is their mean confidence, ``answerable`` the share of the answerable ones, from ``low`` to ``high``
    in a 95% bootstrap.
    """

    n: int
    weight: float
    confidence: float
    answerable: float
    low: float
    high: float


def reliability_bins(confidence: Numbers, is_answerable: Mask) -> list[ReliabilityBin]:
    """The reliability curve, the lowest confidence first: up to ten bins of equally many questions.

    Questions of equal confidence share a bin. Both kinds of questions must be there.
    """
    weights = np.where(is_answerable, 0.5 / is_answerable.sum(), 0.5 / (~is_answerable).sum())
    count = max(1, min(BINS, len(confidence) // MIN_BIN_SIZE))
    places = np.searchsorted(np.sort(confidence), confidence)  # how many questions have less confidence
    numbers = places * count // len(confidence)
    return [_make_bin(confidence, is_answerable, weights, numbers == number) for number in np.unique(numbers)]


def _make_bin(confidence: Numbers, is_answerable: Mask, weights: Numbers, some: Mask) -> ReliabilityBin:
    weight = float(weights[some].sum())
    answerable_weights = np.where(is_answerable, weights, 0.0)[some]
    low, high = intervals.percentile_interval(intervals.resample_ratios(answerable_weights, weights[some]))
    mean = float(weights[some] @ confidence[some]) / weight
    return ReliabilityBin(int(some.sum()), weight, mean, float(answerable_weights.sum()) / weight, low, high)


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    """The expected calibration error: the mean distance of the confidence from the share of answerable questions.

    Mahdi Pakdaman Naeini, Gregory Cooper, Milos Hauskrecht, "Obtaining well calibrated probabilities using Bayesian
    binning", 2015.
    """
    return sum(one.weight * abs(one.confidence - one.answerable) for one in bins)
