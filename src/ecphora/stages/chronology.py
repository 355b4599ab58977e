"""Chronology: the order of the last touches. EISA's weights, which need no storage of their own."""

import numpy as np
from numpy.typing import NDArray

from ..graph import TOUCHES, Earlier, Graph
from ..model import Mask, Rows, Scores, Touch

_RETURNED = np.array([TOUCHES.index(touch) for touch in (Touch.ENCODED, Touch.RECALLED, Touch.USED)])


def last_touch(graph: Graph) -> NDArray[np.int64]:
    """The ``seq`` at which each row was stored, brought back or used last; 0 for rows that never were."""
    return graph.derived("last touch", _grown, log=True)


def in_order(graph: Graph, rows: Rows) -> Rows:
    """Rows by their last touch, the one touched longest ago first."""
    return rows[np.argsort(last_touch(graph)[rows], kind="stable")]


def rank(graph: Graph, among: Mask) -> Scores:
    """EISA's chronology weight of some rows as a part of n: the rank of their last touch, w / n in (0, 1]; else 0."""
    scores = graph.zeros()
    order = in_order(graph, np.flatnonzero(among))
    scores[order] = np.arange(1, len(order) + 1) / max(1, len(order))
    return scores


def _grown(graph: Graph, before: Earlier[NDArray[np.int64]] | None) -> NDArray[np.int64]:
    last = np.zeros(len(graph), np.int64)
    start = 0
    if before is not None:
        last[: before.nodes], start = before.value, before.accesses
    accesses = graph.accesses
    returned = np.flatnonzero(np.isin(accesses["touches"][start:], _RETURNED)) + start
    last[accesses["rows"][returned]] = accesses["seq"][returned]  # in order of seq: the last stays
    return last
