"""Measures of recall, pure: numbers from ranked ids and gold sets.

Every measure of one question is in 0..1. ``ranked`` are distinct ids, best first; ``gold`` is never empty.
"""

from collections.abc import Sequence
from math import log2

import numpy as np

from .regression import Numbers


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
