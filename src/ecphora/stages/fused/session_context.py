"""Session scores: how well the session of a memory matches the query."""

import numpy as np

from ...graph import Graph
from ...grouping import rank_in_group
from ...model import Scores
from ..retrieval.top_k import top_k

TURNS_PER_SESSION = 3
"""How many of a session's turns count for it."""
MAX_ROWS = 500
"""How many of the best rows count, so that the cost does not grow with the memory."""


def session_scores(graph: Graph, scores: Scores) -> Scores:
    """The mean of the best three scores in each session, of the rows among the best 500 overall.

    The last entry is 0 and stands for no session.
    """
    means = np.zeros(len(graph.sessions.names) + 1, np.float32)
    sessions = graph.nodes["sessions"]
    rows = top_k(np.where(sessions >= 0, scores, 0), MAX_ROWS)
    rows = rows[(sessions[rows] >= 0) & (scores[rows] > 0)]
    if not len(rows):
        return means
    rows = rows[np.argsort(sessions[rows], kind="stable")]  # by session, the best of each first
    number = sessions[rows]
    counts = rank_in_group(number) < TURNS_PER_SESSION
    return np.bincount(number[counts], scores[rows[counts]] / TURNS_PER_SESSION, len(means)).astype(np.float32)
