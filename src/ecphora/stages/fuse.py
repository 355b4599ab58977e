"""Several scores made one."""

from collections.abc import Mapping

import numpy as np

from ..model import Mask, Scores


def reciprocal_rank(scores: Scores, *, k: int = 60) -> Scores:
    """1 / (k + rank) for every active row, ranks from 1, equal scores in order of rows; 0 for the others."""
    fused = np.zeros(len(scores), np.float32)
    active = np.flatnonzero(scores > 0)
    order = active[np.argsort(-scores[active], kind="stable")]
    fused[order] = 1 / (k + np.arange(1, len(order) + 1))
    return fused


def above_mean(scores: Scores, among: Mask) -> Scores:
    """Scores as standard deviations above their mean over some rows; 0 below it, and where they do not vary."""
    part = scores[among]
    spread = float(part.std()) if len(part) else 0.0
    if spread < 1e-6:
        return np.zeros(len(scores), np.float32)
    return np.maximum(0, (scores - part.mean()) / spread).astype(np.float32)


def of_best(scores: Scores) -> Scores:
    """Scores in parts of the highest; 0 where none is positive."""
    best = float(scores.max(initial=0.0))
    return np.maximum(0, scores / best).astype(np.float32) if best > 0 else np.zeros(len(scores), np.float32)


def summed(shares: Mapping[str, Scores]) -> Scores:
    """The sum of the named parts of a score; at least one."""
    return np.sum(list(shares.values()), axis=0, dtype=np.float32)
