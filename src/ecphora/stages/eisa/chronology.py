"""Chronology: EISA's weights by the order of the last accesses; they need no storage of their own."""

import numpy as np

from ...graph import Graph
from ...model import Mask, Scores
from ..retrieval.last_access import sort_by_last_access


def chronology_weight(graph: Graph, mask: Mask) -> Scores:
    """EISA's chronology weight of n rows: the rank of their last access over n, w / n in (0, 1]; 0 for other rows."""
    scores = graph.zeros()
    order = sort_by_last_access(graph, np.flatnonzero(mask))
    scores[order] = np.arange(1, len(order) + 1) / max(1, len(order))
    return scores
