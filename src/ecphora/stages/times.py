"""Time in the question against time in the memory: dates asked and told, and what no longer holds."""

import numpy as np

from ..graph import Graph, seconds
from ..model import Cue, Mask, Scores


def told_then(graph: Graph, cue: Cue) -> Scores:
    """1 for each row that happened in, or speaks of, a stretch of time the cue asks about."""
    scores = graph.zeros()
    told, happened = graph.told, graph.nodes["happened"]
    for time in cue.when:
        start, end = seconds(time.start), seconds(time.end)
        scores[told["rows"][(told["starts"] < end) & (told["ends"] > start)]] = 1
        scores[(happened >= start) & (happened < end)] = 1
    return scores


def outdated(graph: Graph, cue: Cue) -> Mask:
    """The rows that no longer hold at the time asked about, as far as was known at the time of knowing."""
    asked = seconds(cue.as_of or cue.now)
    known = seconds(cue.known_at or cue.now)
    return np.logical_and(graph.nodes["valid_to"] <= asked, graph.nodes["closed"] <= known)
