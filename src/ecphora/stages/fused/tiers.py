"""Tiers: literal evidence ranks before a model's opinion. Within a tier, the order stays."""

import numpy as np
from numpy.typing import NDArray

from ...model import Mask, Rows, Scores

TIER_STEP = 0.001
"""How far a tier ranks before the best of the tier below: this share of its score, and this at least."""


def raise_tiers(scores: Scores, eligible: Mask, tiers: Rows, times: NDArray[np.float64] | None = None) -> Scores:
    """Scores whose descending order is first by tier, then as before.

    Rows of tier 0 keep their scores, as do rows of higher tiers that rank before all lower ones already. An eligible
    row of a higher tier gets a positive score even if it had none. Rows that are not eligible stay as they are. If
    there are ``times``, rows of a higher tier that are equal otherwise are ordered by them, the earliest first.
    """
    raised = scores.copy()
    best = float(scores[eligible & (tiers <= 0)].max(initial=0.0))
    for tier in np.unique(tiers[eligible & (tiers > 0)]).tolist():
        rows = np.flatnonzero(eligible & (tiers == tier))
        ties = None if times is None else times[rows]
        worst, least = float(scores[rows].min()), best + TIER_STEP * max(best, 1.0)
        if worst < least or times is not None:
            raised[rows] = _shift(scores[rows], max(0.0, least - worst), ties)
        best = float(raised[rows].max())
    return raised


def _shift(scores: Scores, by: float, times: NDArray[np.float64] | None) -> Scores:
    """Scores plus a number; different scores stay different although rounding might make them equal.

    Nor are scores equal that differ in their ``times``: the later one is the lower.
    """
    keys = scores[None] if times is None else np.stack([scores, -times])
    (distinct, *_), rank = np.unique(keys, axis=1, return_inverse=True)
    bits = (distinct.astype(np.float64) + by).astype(np.float32).view(np.int32).astype(np.int64)
    steps = np.arange(len(distinct))
    apart = steps + np.maximum.accumulate(bits - steps)  # the bits of positive floats are in their order
    shifted: Scores = apart.astype(np.int32).view(np.float32)[rank]
    return shifted
