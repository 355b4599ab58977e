"""EISA's chronology: memories by their last access, and the weights of that order. They need no storage of their own.

A permutation of the episodes that is changed at every retrieval, as published, would be rewritten again and again. One
counter serves as well: the sequence number of the access log. The weight of a memory is the rank of its last access,
and a recall logs its memories in their previous order, so that they move up and keep it.
"""

import numpy as np
from numpy.typing import NDArray

from ...graph import CachedDerivation, Graph
from ...model import AccessKind, Kind, Mask, Rows, Scores


def chronology_weight(graph: Graph, mask: Mask) -> Scores:
    """EISA's chronology weight of n rows: the rank of their last access over n, w / n in (0, 1]; 0 for other rows."""
    scores = graph.zeros()
    order = sort_by_last_access(graph, np.flatnonzero(mask))
    scores[order] = np.arange(1, len(order) + 1) / max(1, len(order))
    return scores


def last_access(graph: Graph) -> NDArray[np.int64]:
    """The ``seq`` of the last access by which each row was encoded, recalled or used; 0 for rows without one.

    An exchange is encoded by the ``seq`` of its own; the access log does not have that.
    """
    return graph.derive("last access", _extend_last_access, depends_on_log=True)


def sort_by_last_access(graph: Graph, rows: Rows) -> Rows:
    """Rows by their last access, the oldest first: the order in which a recall logs them, so that they keep it."""
    return rows[np.argsort(last_access(graph)[rows], kind="stable")]


def _extend_last_access(graph: Graph, cached: CachedDerivation[NDArray[np.int64]] | None) -> NDArray[np.int64]:
    last = np.zeros(len(graph), np.int64)
    start = 0
    if cached is not None:
        last[: cached.node_count], start = cached.value, cached.access_count
    new_exchanges = graph.rows_of_kind(Kind.EXCHANGE, 0 if cached is None else cached.node_count)
    last[new_exchanges] = graph.nodes["seq"][new_exchanges]
    accesses = graph.accesses
    counted = graph.accesses_of_kind(AccessKind.ENCODED, AccessKind.RECALLED, AccessKind.USED, first=start)
    last[accesses["rows"][counted]] = accesses["seq"][counted]  # in order of seq: the last one wins
    return last
