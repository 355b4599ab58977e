"""Similarity to the best memories: EcphoryRAG's centroid, and redundancy, after SYNAPSE's lateral inhibition."""

import numpy as np

from ....model.types import Scores
from ..candidate_pool import CandidatePool

CENTROID_SIZE, RESIDUAL_SIZE = 3, 8
"""How many of the best make the centroid, and for how many the residual is taken."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the pool as a whole.

    ``centroid similarity`` is the cosine with the centroid of the best three, weighted by their scores; ``redundancy``
    the highest cosine with a candidate among the best that scores higher; ``residual similarity`` the cosine with the
    rest of the query after a candidate among the best eight is projected out.
    """
    if not len(pool.rows):
        return dict.fromkeys(("centroid similarity", "redundancy", "residual similarity"), pool.scores)
    scores = pool.scores
    is_better = scores[pool.top_candidates][None, :] > scores[:, None]
    return {
        "centroid similarity": _centroid_similarity(pool, CENTROID_SIZE),
        "redundancy": np.max(pool.similarity_to_top * is_better, axis=1, initial=0).astype(np.float32),
        "residual similarity": _residual_similarity(pool, RESIDUAL_SIZE),
    }


def _centroid_similarity(pool: CandidatePool, k: int) -> Scores:
    """The cosine of each row with the weighted sum of the best k, from the cosines with each of them."""
    top = pool.top_candidates[:k]
    weights = pool.scores[top]
    inner = pool.similarity_to_top[top, :k].copy()
    diagonal = np.arange(len(top))
    inner[diagonal, diagonal] = 1
    length = float(np.sqrt(max(float(weights @ inner @ weights), 1e-12)))
    with_self = pool.similarity_to_top[:, :k].copy()
    with_self[top, diagonal] = 1
    return (with_self @ weights / length).astype(np.float32)


def _residual_similarity(pool: CandidatePool, k: int) -> Scores:
    """The highest cosine with the query's residual without one of the best k rows, times that row's score."""
    cosine = pool.first_stage.cosine.scores[pool.rows]
    top = pool.top_candidates[:k]
    top_cosine = cosine[top]
    residual = (cosine[:, None] - pool.similarity_to_top[:, :k] * top_cosine) / np.sqrt(
        np.maximum(1 - top_cosine**2, 1e-3)
    )
    residual[top, np.arange(len(top))] = 0
    return np.max(residual * pool.scores[top], axis=1, initial=0).astype(np.float32)
