"""Measures of recall, pure: numbers from ranked ids and gold sets, and how sure such a number is.

Every measure of one question is in 0..1. ``ranked`` are distinct ids, best first; ``gold`` is never empty.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import log2

import numpy as np
from numpy.typing import NDArray

from ecphora.strategies.synapse import confidence_gate

Numbers = NDArray[np.float64]
Statistic = Callable[[Numbers], Numbers]
"""Maps samples, shape ``(…, n)``, to one number each, shape ``(…)``."""

RESAMPLES = 1_000
"""Number of resamples of a bootstrap."""
SEED = 20_230_508
"""Every interval starts from this seed, so none depends on earlier measurements."""


def recall_at_k(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Recall at k: the part of the gold that is among the first k, ``|first k ∩ gold| / |gold|``."""
    return len(gold & set(ranked[:k])) / len(gold)


def recall_any_at_k(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """1 if any of the gold is among the first k, else 0: the hit rate."""
    return float(not gold.isdisjoint(ranked[:k]))


def recall_all_at_k(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """1 if all of the gold is among the first k, else 0; 0 for more gold than k."""
    return float(gold <= set(ranked[:k]))


def ndcg(ranked: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Normalized discounted cumulative gain at k, with binary relevance.

    The sum of ``1 / log2(1 + place)`` over the places 1..k that hold gold, divided by that sum of the best possible
    order, which has gold on the first ``min(k, |gold|)`` places. Kalervo Järvelin, Jaana Kekäläinen, "Cumulated
    gain-based evaluation of IR techniques", 2002.
    """
    gain = sum(1 / log2(1 + place) for place, id_ in enumerate(ranked[:k], 1) if id_ in gold)
    return gain / sum(1 / log2(1 + place) for place in range(1, min(k, len(gold)) + 1))


def auroc(positives: Numbers, negatives: Numbers) -> float:
    """The area under the ROC curve: how often a positive scores above a negative, a tie counting half.

    The Mann-Whitney statistic U divided by ``len(positives) * len(negatives)``; 0.5 is guessing, 1 a perfect order.
    """
    ordered = np.sort(negatives)
    below = np.searchsorted(ordered, positives, "left")
    up_to = np.searchsorted(ordered, positives, "right")
    return float((below + up_to).sum() / (2 * len(positives) * len(negatives)))


def brier_score(positives: Numbers, negatives: Numbers) -> float:
    """The mean squared distance of positives from 1 and of negatives from 0, both kinds counting the same.

    Always saying 0.5 gives 0.25. Glenn Brier, "Verification of forecasts expressed in terms of probability", 1950.
    """
    return float((((1 - positives) ** 2).mean() + (negatives**2).mean()) / 2)


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
    """The 95% percentile bootstrap interval of :func:`auroc`; positives and negatives are resampled apart."""
    return percentile_interval(resample_auroc(positives, negatives))


def brier_bootstrap_interval(positives: Numbers, negatives: Numbers) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of :func:`brier_score`; positives and negatives are resampled apart."""
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
    """:func:`auroc` of every resample."""
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
