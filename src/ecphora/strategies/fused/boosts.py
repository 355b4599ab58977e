"""Adjustments of scores: what candidates gain that fit a goal, and what same texts lose.

Goals: candidates gain that also fit what the caller is working towards. EcphoryRAG leaves cues from an agent's goal
open (its Section 6.1). Here a goal is compared with the candidates that the question found. It adds none, and it does
not change the confidence: a goal asks nothing, so nothing answers it.

Same texts: what was said in the same words many times leaves room for what differs. "Took my tablet." of 28 days fills
the first 28 places, though each says what the first one says. All but the best few of them lose a little, so that a
memory comes before them that answers about as well. It is maximal marginal relevance for equal texts only: Jaime
Carbonell and Jade Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
summaries", 1998.
"""

import numpy as np

from ...language.question import is_quantity_question, is_time_question
from ...model.graph.graph import Graph
from ...model.types import Mask, Rows, Scores
from ...retrieval import dense, fusion
from .candidate_pool import CandidatePool

GOAL = "goal"
"""The contribution of a goal."""
MIN_DOUBT = 0.2
"""The least doubt with which a goal counts: also of several sure answers, one may fit it better."""
SMALLEST_SPREAD = 0.02
"""Added to the standard deviation, so that cosines that are nearly equal do not become far apart."""
KEPT = 3
"""How many memories with the same text, the best, lose nothing."""
LOSS = 1.0
"""What each other memory with that text loses, in log-odds: little against a memory that answers worse."""
COMPARED = 64
"""How many of the best memories are compared."""


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


def same_text_loss(pool: CandidatePool, scores: Scores) -> Scores:
    """What each row of the graph loses for having the text and speaker of :data:`KEPT` better rows; 0 or less.

    Texts are equal if their vectors are. Nothing is lost if the question asks when or how often: each memory is then an
    answer.
    """
    loss = pool.graph.zeros()
    if is_time_question(pool.query.text) or is_quantity_question(pool.query.text):
        return loss
    best = fusion.top_rows(scores, pool.eligible, COMPARED)
    _, groups, counts = np.unique(pool.first_stage.cosine.scores[best], return_inverse=True, return_counts=True)
    for group in np.flatnonzero(counts > KEPT).tolist():
        rows = best[groups == group]
        copies = rows[_says_the_same(pool.graph, rows)][KEPT:]
        loss[copies] = -np.minimum(LOSS, scores[copies])
    return loss


def _says_the_same(graph: Graph, rows: Rows) -> Mask:
    """Which rows have the vector and the speaker of the first one."""
    stored, speakers = graph.text_vectors(use_english=False), graph.nodes["speakers"][rows]
    positions = stored.positions[rows]
    if (positions < 0).any():  # without vectors all cosines are 0
        return np.zeros(len(rows), np.bool_)
    vectors = stored.values.rows(positions)
    same: Mask = (vectors == vectors[0]).all(axis=1) & (speakers == speakers[0])
    return same
