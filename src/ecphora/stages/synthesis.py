"""Which memories make an insight together, and which of their words tell it. Cognitive Weave, Algorithm 1 and eq. 6."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..model import Mask, Vectors

Numbers = NDArray[np.float64]


def objective(chosen: Sequence[int], vectors: Vectors, weights: Numbers, costs: Numbers) -> float:
    """Equation 6 made computable: L = - sum_i w_i max_s cos(s, i) + sum_s cost_s over the chosen sentences s.

    The sentences are the sources themselves; ``vectors`` has their unit vectors, shape ``(sources, dim)``.
    """
    if not len(chosen):
        return 0.0
    picked = list(chosen)
    related = np.maximum(0, vectors @ vectors[picked].T).max(axis=1)
    return float(-(weights * related).sum() + costs[picked].sum())


def extract(vectors: Vectors, weights: Numbers, costs: Numbers) -> list[int]:
    """The sources that say most for what they cost, in their order: greedy on the gain of ``objective`` a token.

    Facility location minus a linear cost: adding to the chosen while any gain is positive; at least one is chosen.
    """
    similar = np.maximum(0, vectors @ vectors.T).astype(np.float64)
    covered = np.zeros(len(vectors))
    chosen: list[int] = []
    while len(chosen) < len(vectors):
        gains = (weights[:, None] * np.maximum(0, similar - covered[:, None])).sum(axis=0) - costs
        gains[chosen] = -np.inf
        best = int(np.argmax(gains / costs))
        if gains[best] <= 0 and chosen:
            break
        chosen.append(best)
        covered = np.maximum(covered, similar[:, best])
    return sorted(chosen)


def components(near: Mask) -> Iterator[NDArray[np.intp]]:
    """The connected parts of a symmetric graph, given as a matrix of yes and no, each in ascending order."""
    left = np.ones(len(near), np.bool_)
    while left.any():
        part = np.zeros(len(near), np.bool_)
        part[np.argmax(left)] = True
        size = 0
        while size != part.sum():
            size = int(part.sum())
            part |= near[part].any(axis=0)
        left &= ~part
        yield np.flatnonzero(part)


def mutual(scores: Numbers, k: int, floor: float) -> Mask:
    """Which pairs are among each other's k best, at ``floor`` or above; ``scores`` is symmetric."""
    others = scores.copy()
    np.fill_diagonal(others, -np.inf)
    best = np.zeros(scores.shape, np.bool_)
    if len(scores) > 1:
        kept = np.argsort(-others, axis=1, kind="stable")[:, : min(k, len(scores) - 1)]
        np.put_along_axis(best, kept, values=True, axis=1)
    found: Mask = best & best.T & (others >= floor)
    return found


def cohesion(vectors: Vectors) -> float:
    """The mean cosine of all pairs of some unit vectors; 1 for a single one."""
    n = len(vectors)
    whole = vectors.sum(axis=0)
    return float((whole @ whole - n) / (n * (n - 1))) if n > 1 else 1.0
