"""Same texts: what was said in the same words many times leaves room for what differs.

"Took my tablet." of 28 days fills the first 28 places, though each says what the first one says. All but the best few
of them lose a little, so that a memory comes before them that answers about as well. It is maximal marginal relevance
for equal texts only: Jaime Carbonell and Jade Goldstein, "The use of MMR, diversity-based reranking for reordering
documents and producing summaries", 1998.
"""

import numpy as np

from ...graph import Graph
from ...language.question import is_quantity_question, is_time_question
from ...model import Mask, Rows, Scores
from ..retrieval import top_k
from .candidate_pool import CandidatePool

KEPT = 3
"""How many memories of one text lose nothing: the best."""
LOSS = 1.0
"""What each other one loses, in log-odds: little against a memory that answers worse."""
COMPARED = 64
"""How many of the best memories are compared."""


def same_text_loss(pool: CandidatePool, scores: Scores) -> Scores:
    """What each row of the graph loses for having the text and speaker of :data:`KEPT` better ones; 0 or less.

    Texts are equal if their vectors are. Nothing is lost if the question asks when or how often: each memory is then an
    answer.
    """
    loss = pool.graph.zeros()
    if is_time_question(pool.query.text) or is_quantity_question(pool.query.text):
        return loss
    best = top_k.top_rows(scores, pool.eligible, COMPARED)
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
