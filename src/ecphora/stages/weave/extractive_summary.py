"""Extractive summaries of clusters, and graph helpers of clustering. Cognitive Weave, Algorithm 1 and eq. 6."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...model import Mask, Vectors

Floats = NDArray[np.float64]


def objective(places: Sequence[int], vectors: Vectors, weights: Floats, costs: Floats) -> float:
    """Equation 6 made computable: L = - sum_i w_i max_s cos(s, i) + sum_s cost_s over the chosen sentences s.

    The sentences are the sources themselves; ``vectors`` has their unit vectors, shape ``(sources, dim)``.
    """
    if not len(places):
        return 0.0
    chosen = list(places)
    coverage = np.maximum(0, vectors @ vectors[chosen].T).max(axis=1)
    return float(-(weights * coverage).sum() + costs[chosen].sum())


def select_sentences(vectors: Vectors, weights: Floats, costs: Floats) -> list[int]:
    """The indices of the chosen sources, ascending: greedy on the gain of ``objective`` per cost.

    Facility location minus a linear cost: sources are added while a gain is positive; at least one is chosen.
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


def connected_components(adjacency: Mask) -> Iterator[NDArray[np.intp]]:
    """The connected components of a symmetric adjacency matrix, each ascending."""
    remaining = np.ones(len(adjacency), np.bool_)
    while remaining.any():
        component = np.zeros(len(adjacency), np.bool_)
        component[np.argmax(remaining)] = True
        size = 0
        while size != component.sum():
            size = int(component.sum())
            component |= adjacency[component].any(axis=0)
        remaining &= ~component
        yield np.flatnonzero(component)


def mutual_neighbors(scores: Floats, k: int, min_score: float) -> Mask:
    """Which pairs are among each other's k best with ``min_score`` or more; ``scores`` is symmetric."""
    off_diagonal = scores.copy()
    np.fill_diagonal(off_diagonal, -np.inf)
    best = np.zeros(scores.shape, np.bool_)
    if len(scores) > 1:
        nearest = np.argsort(-off_diagonal, axis=1, kind="stable")[:, : min(k, len(scores) - 1)]
        np.put_along_axis(best, nearest, values=True, axis=1)
    found: Mask = best & best.T & (off_diagonal >= min_score)
    return found


def cohesion(vectors: Vectors) -> float:
    """The mean cosine of all pairs of unit vectors; 1 for a single vector."""
    n = len(vectors)
    total = vectors.sum(axis=0)
    return float((total @ total - n) / (n * (n - 1))) if n > 1 else 1.0
