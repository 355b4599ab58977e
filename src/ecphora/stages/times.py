"""Time in the question against time in the memory: dates asked and told, and what no longer holds."""

import numpy as np

from ..graph import LINKS, Graph, seconds
from ..model import Cue, Link, Mask, Rows, Scores
from ..ports import Trail

CHAIN = 8
"""How many times a fact may have changed for the newest to be found from the oldest."""


def told_then(graph: Graph, cue: Cue) -> Scores:
    """1 for each row that happened in, or speaks of, a stretch of time the cue asks about."""
    scores = graph.zeros()
    told, happened = graph.told, graph.nodes["happened"]
    for time in cue.when:
        start, end = seconds(time.start), seconds(time.end)
        scores[told["rows"][(told["starts"] < end) & (told["ends"] > start)]] = 1
        scores[(happened >= start) & (happened < end)] = 1
    return scores


def dated(graph: Graph, rows: Rows) -> Mask:
    """Which of some rows speak of a time."""
    told = np.zeros(len(graph), np.bool_)
    told[graph.told["rows"]] = True
    return told[rows]


def outdated(graph: Graph, cue: Cue) -> Mask:
    """The rows that no longer hold at the time asked about, as far as was known at the time of knowing."""
    asked = seconds(cue.as_of or cue.now)
    known = seconds(cue.known_at or cue.now)
    return np.logical_and(graph.nodes["valid_to"] <= asked, graph.nodes["closed"] <= known)


def succeeded(graph: Graph, scores: Scores, old: Mask) -> tuple[Scores, Trail]:
    """What each row lacks to the score of the outdated row that it replaced, and that row as the way to it.

    So the cue that finds a fact as it was leads to the fact as it is, though that may be told in other words.
    """
    lacking, reached = graph.zeros(), scores.astype(np.float32)
    by = np.full(len(graph), -1, np.intp)
    edges = graph.edges
    replaces = np.flatnonzero((edges["links"] == LINKS.index(Link.SUPERSEDES)) & old[edges["dst"]])
    new, former = edges["src"][replaces], edges["dst"][replaces]
    for _ in range(CHAIN if len(replaces) else 0):
        before = reached.copy()
        np.maximum.at(reached, new, reached[former])
        gained = reached[new] > before[new]
        if not gained.any():
            break
        by[new[gained]] = former[gained]
        lacking = reached - scores
    return lacking, Trail(by, np.full(len(graph), -1, np.intp))
