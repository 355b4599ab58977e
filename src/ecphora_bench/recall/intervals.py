"""How sure a number is, pure: percentile bootstrap intervals of means, percentiles and areas under a curve."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ecphora.maintenance.learn.metrics import auroc
from ecphora.maintenance.learn.regression import Numbers
from ecphora.strategies.synapse import confidence_gate

Statistic = Callable[[Numbers], Numbers]
"""Maps samples, shape ``(…, n)``, to one number each, shape ``(…)``."""

RESAMPLES = 1_000
"""Number of resamples of a bootstrap."""
SEED = 20_230_508
"""Every interval starts from this seed, so none depends on earlier measurements."""


def mean(samples: Numbers) -> Numbers:
    """The arithmetic mean along the last axis."""
    return np.asarray(samples.mean(axis=-1), np.float64)


def percentile(percent: float) -> Statistic:
    """The statistic that takes samples to their percentile, interpolated linearly."""

    def of(samples: Numbers) -> Numbers:
        return np.asarray(np.percentile(samples, percent, axis=-1), np.float64)

    return of


def bootstrap_interval(values: Numbers, statistic: Statistic = mean) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of a statistic of values, one a question.

    The statistic of 1,000 resamples of the questions, drawn with replacement; from their 2.5th to their 97.5th
    percentile. Bradley Efron, Robert Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13. Questions are
    taken as independent, though those of one conversation are not quite.
    """
    return percentile_interval(resample(values, statistic))


def auroc_bootstrap_interval(positives: Numbers, negatives: Numbers) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of the AUROC; positives and negatives are resampled apart."""
    return percentile_interval(resample_auroc(positives, negatives))


def brier_bootstrap_interval(positives: Numbers, negatives: Numbers) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of the Brier score; positives and negatives are resampled apart."""
    ours, theirs = _two_sample_bootstrap_rows(len(positives), len(negatives))
    return percentile_interval((mean((1 - positives[ours]) ** 2) + mean(negatives[theirs] ** 2)) / 2)


# ---- resamples: those of equally many questions are the same, so their differences are differences of pairs


def percentile_interval(samples: Numbers) -> tuple[float, float]:
    """From the 2.5th to the 97.5th percentile."""
    low, high = np.percentile(samples, (2.5, 97.5)).tolist()
    return low, high


def resample(values: Numbers, statistic: Statistic = mean) -> Numbers:
    """A statistic of every resample of values, one a question."""
    return statistic(values[_bootstrap_rows(len(values))])


def resample_ratios(numerators: Numbers, denominators: Numbers) -> Numbers:
    """The sum of one measure divided by that of another, in every resample; 0 where there is nothing to divide by."""
    rows = _bootstrap_rows(len(numerators))
    sums = denominators[rows].sum(axis=-1)
    return np.divide(numerators[rows].sum(axis=-1), sums, out=np.zeros(RESAMPLES), where=sums != 0)


def resample_auroc(positives: Numbers, negatives: Numbers) -> Numbers:
    """:func:`~ecphora.maintenance.learn.metrics.auroc` of every resample."""
    ours, theirs = _two_sample_bootstrap_rows(len(positives), len(negatives))
    return np.array([auroc(positives[a], negatives[b]) for a, b in zip(ours, theirs, strict=True)])


def resample_gate_refusals(positives: Numbers, negatives: Numbers, max_loss: float) -> Numbers:
    """The part of the negatives below the gate of :func:`confidence_gate.calibrate_gate`, in every resample."""
    ours, theirs = _two_sample_bootstrap_rows(len(positives), len(negatives))
    return mean(
        (negatives[theirs] < confidence_gate.calibrate_gate(positives[ours], max_loss)[:, None]).astype(np.float64)
    )


@lru_cache(maxsize=2)
def _bootstrap_rows(n: int) -> NDArray[np.int64]:
    return _generator().integers(n, size=(RESAMPLES, n))


@lru_cache(maxsize=1)
def _two_sample_bootstrap_rows(n: int, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    draw = _generator()
    rows = [(draw.integers(n, size=n), draw.integers(m, size=m)) for _ in range(RESAMPLES)]
    return np.array([ours for ours, _ in rows]), np.array([theirs for _, theirs in rows])


def _generator() -> np.random.Generator:
    return np.random.default_rng(SEED)  # noqa: TID251  # a bootstrap draws; the fixed seed makes it the same every time
