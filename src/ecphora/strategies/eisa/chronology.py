"""EISA's chronology: the weights of memories by the order of their last access. They need no storage of their own.

A permutation of the episodes that is changed at every retrieval, as published, would be rewritten again and again. One
counter serves as well: the sequence number of the access log. The weight of a memory is the rank of its last access,
and a recall logs its memories in their previous order, so that they move up and keep it.
"""

import numpy as np

from ...model.graph.graph import Graph, sort_by_last_access
from ...model.types import Mask, Scores


def chronology_weight(graph: Graph, mask: Mask) -> Scores:
    """EISA's chronology weight of n rows: the rank of their last access over n, w / n in (0, 1]; 0 for other rows."""
    scores = graph.zeros()
    order = sort_by_last_access(graph, np.flatnonzero(mask))
    scores[order] = np.arange(1, len(order) + 1) / max(1, len(order))
    return scores
