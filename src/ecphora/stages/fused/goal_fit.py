"""Goal cues: what candidates gain that also fit what the caller is working towards.

EcphoryRAG leaves cues from an agent's goal open (its Section 6.1). Here a goal is compared with the candidates that the
question found. It adds none, and it does not change the confidence: a goal asks nothing, so nothing answers it.
"""

import numpy as np

from ...model import Scores
from ..retrieval import dense
from .candidate_pool import CandidatePool

GOAL = "goal"
"""The contribution of a goal."""
MIN_DOUBT = 0.2
"""The least doubt with which a goal counts: also of several sure answers, one may fit it better."""
SMALLEST_SPREAD = 0.02
"""Added to the standard deviation, so that cosines that are nearly equal do not become far apart."""


def goal_fit(pool: CandidatePool) -> Scores:
    """How well each candidate fits the goal, 0 to 1: how far its cosine with the goal is above the mean of the pool.

    It is 1 at the deviation that the largest of as many random numbers has, about ``sqrt(2 ln n)`` standard deviations:
    of many candidates, some are far above the mean by chance. Times the share of the goal's language that the embedder
    reads.
    """
    goal, count = pool.query.goal, len(pool.rows)
    if goal is None or goal.vector is None or count < 2:
        return np.zeros(count, np.float32)
    cosines = dense.above_floor(dense.cosine_with(pool.graph, goal.vector), pool.query.similarity_floor)[pool.rows]
    deviations = (cosines - cosines.mean()) / (cosines.std() + np.float32(SMALLEST_SPREAD))
    fit: Scores = np.clip(deviations / np.float32(np.sqrt(2 * np.log(count))), 0, 1)
    return np.float32(goal.embedder_coverage) * fit


def goal_doubt(confidence: float) -> float:
    """How much a goal counts, 0.2 to 1: the less sure the question is of its answer, the more."""
    return max(MIN_DOUBT, 1 - confidence)
