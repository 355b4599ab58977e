"""What the access log of a graph says of its rows: marks, and the last access.

Marks are entries of the access log but no accesses; of PINNED and UNPINNED, and of ARCHIVED and UNARCHIVED, the latest
decides.
"""

import numpy as np
from numpy.typing import NDArray

from ..types import AccessKind, Kind, Mark, Mask, Rows
from .graph import CachedDerivation, Graph


def pinned_mask(graph: Graph) -> Mask:
    """The rows that are pinned, so that they lose nothing by age."""
    return _mark_mask(graph, Mark.PINNED, Mark.UNPINNED)


def archived_mask(graph: Graph) -> Mask:
    """The rows that are archived, so that they rank behind all others."""
    return _mark_mask(graph, Mark.ARCHIVED, Mark.UNARCHIVED)


def _mark_mask(graph: Graph, on: Mark, off: Mark) -> Mask:
    """The rows whose last mark of the two is ``on``; for a grown graph only new log entries are read."""
    return graph.derive(("mark", on), lambda grown, before: _fold_marks(grown, before, on, off), depends_on_log=True)


def _fold_marks(graph: Graph, before: CachedDerivation[Mask] | None, on: Mark, off: Mark) -> Mask:
    mask, start = np.zeros(len(graph), np.bool_), 0
    if before is not None:
        mask[: before.node_count], start = before.value, before.access_count
    entries = graph.accesses_of_kind(on, off, first=start)
    # in order of seq: the last one wins
    mask[graph.accesses["rows"][entries]] = graph.has_access_kind(on, accesses=entries)
    return mask


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
