"""When each memory was last encoded, recalled or used (EISA, section 3)."""

import numpy as np
from numpy.typing import NDArray

from ...graph import CachedDerivation, Graph
from ...model import AccessKind, Rows


def last_access(graph: Graph) -> NDArray[np.int64]:
    """The ``seq`` of the last access by which each row was encoded, recalled or used; 0 for rows without one."""
    return graph.derive("last access", _extend_last_access, depends_on_log=True)


def sort_by_last_access(graph: Graph, rows: Rows) -> Rows:
    """Rows by their last access, the oldest first."""
    return rows[np.argsort(last_access(graph)[rows], kind="stable")]


def _extend_last_access(graph: Graph, cached: CachedDerivation[NDArray[np.int64]] | None) -> NDArray[np.int64]:
    last = np.zeros(len(graph), np.int64)
    start = 0
    if cached is not None:
        last[: cached.node_count], start = cached.value, cached.access_count
    accesses = graph.accesses
    counted = graph.accesses_of_kind(AccessKind.ENCODED, AccessKind.RECALLED, AccessKind.USED, first=start)
    last[accesses["rows"][counted]] = accesses["seq"][counted]  # in order of seq: the last one wins
    return last
