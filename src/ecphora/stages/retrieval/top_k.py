"""The k highest scores."""

import numpy as np

from ...model import Mask, Rows, Scores


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
