"""Dormancy: what many retrievals in a row did not touch is asleep. SYNAPSE, §2.5."""

from dataclasses import dataclass

import numpy as np

from ..graph import TOUCHES, Earlier, Graph
from ..model import MARKING, Mask, Rows, Touch

_STIMULATED = TOUCHES.index(Touch.STIMULATED)
_ACCESSES = np.array([number for number, touch in enumerate(TOUCHES) if touch not in MARKING])


def dormant(graph: Graph, W: int) -> Mask:  # noqa: N803
    """The rows that were not touched in the last ``W`` retrievals that stirred anything.

    A touch is any access: stored, stirred, brought back or used. To be marked is none.
    """
    slept = graph.derived("retrievals", _retrievals, log=True)
    return graph.episodes & (slept.count - slept.last >= W)


@dataclass(frozen=True, slots=True)
class _Retrievals:
    """How many retrievals stirred anything, and how many had when each row was touched last."""

    count: int
    last: Rows


def _retrievals(graph: Graph, before: Earlier[_Retrievals] | None) -> _Retrievals:
    last, count, start = np.zeros(len(graph), np.intp), 0, 0
    if before is not None:
        last[: before.nodes], count, start = before.value.last, before.value.count, before.accesses
    table = graph.accesses
    stirred = table["touches"] == _STIMULATED
    places = np.flatnonzero(stirred[start:]) + start
    # A retrieval logs what it stirred row by row, at one time: another begins where the time changes or rows fall.
    earlier = np.flatnonzero(stirred[:start])[-1:]
    told = np.concatenate([earlier, places])
    rows, at = table["rows"][told], table["at"][told]
    begins = np.r_[[True] * (1 - len(earlier)), (at[1:] != at[:-1]) | (rows[1:] <= rows[:-1])][: len(places)]
    number = np.zeros(len(table) - start, np.intp)
    number[places - start] = begins
    number = count + np.cumsum(number)
    accessed = np.isin(table["touches"][start:], _ACCESSES)
    last[table["rows"][start:][accessed]] = number[accessed]
    return _Retrievals(int(number[-1]) if len(number) else count, last)
