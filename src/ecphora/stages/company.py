"""The company a memory keeps: the session it was told in."""

import numpy as np

from ..graph import Graph
from ..model import Scores
from .choose import top

BEST = 3
"""How many of a session's turns speak for it."""
CONSIDERED = 500
"""How many of the best rows are looked at: the cost does not grow with the memory."""


def sessions(graph: Graph, scores: Scores) -> Scores:
    """The mean of the best three scores in each session, of the rows among the best 500 in all.

    The last number is 0 and stands for no session.
    """
    means = np.zeros(len(graph.sessions.names) + 1, np.float32)
    sessions = graph.nodes["sessions"]
    rows = top(np.where(sessions >= 0, scores, 0), CONSIDERED)
    rows = rows[(sessions[rows] >= 0) & (scores[rows] > 0)]
    if not len(rows):
        return means
    rows = rows[np.argsort(sessions[rows], kind="stable")]  # by session, the best of each first
    number = sessions[rows]
    first = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    place = np.arange(len(rows)) - np.repeat(first, np.diff(np.r_[first, len(rows)]))
    leading = place < BEST
    return np.bincount(number[leading], scores[rows[leading]] / BEST, len(means)).astype(np.float32)
