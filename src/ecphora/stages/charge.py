"""What the access log has left in each memory: potential, current, time constant and spike train of SynapticRAG.

None of it is stored. It follows from the log: an episode is encoded with one spike at its own turn, and every
``STIMULATED`` access is a stimulus of that strength. What follows from the log so far is kept and grown.

The clock counts turns: an episode's turn is its number among the episodes. A stimulus that was logged when an episode
was stored came with it, at its turn; one that a recall logged came a turn after the newest episode, as if the question
had been stored. The log tells the two apart by time: what is stored and what it stirs are of one instant.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..columns import Column
from ..graph import TOUCHES, Earlier, Graph
from ..model import Rows, Touch
from .neuron import Charge, Neuron, Turns, stimulated
from .spikes import Trains

_ENCODED, _STIMULATED = TOUCHES.index(Touch.ENCODED), TOUCHES.index(Touch.STIMULATED)


@dataclass(frozen=True, slots=True)
class Charged:
    """The state of every row of a graph, after its last stimulus.

    ``now`` is the turn of a cue that is asked now. ``heads`` are the accesses by which each row spiked last, -1 for
    rows that are no episodes; ``counts`` is how many spikes a train has. ``turns`` and ``before`` say of each access in
    which turn it was and which access was the spike before it.
    """

    now: int
    charge: Charge
    heads: Rows
    counts: NDArray[np.int64]
    turns: Column
    before: Column

    def waited(self, rows: Rows) -> Turns:
        """Turns since the last spike of some episodes."""
        waited: Turns = self.now - self.turns.view[self.heads[rows]]
        return waited

    def trains(self, rows: Rows, *, last: int | None = None, spike: NDArray[np.bool_] | None = None) -> Trains:
        """The spike trains of some episodes, at most the ``last`` spikes of each.

        Where ``spike`` is given, those under it have spiked once more now, and the others now for the first time.
        """
        counts = self.counts[rows] if spike is None else np.where(spike, self.counts[rows] + 1, 1)
        if last is not None:
            counts = np.minimum(counts, last)
        starts = np.concatenate([[0], np.cumsum(counts)])
        times, turns, before = np.empty(starts[-1]), self.turns.view, self.before.view
        at, end = self.heads[rows], starts[1:] - 1
        if spike is not None:
            times[end] = self.now
            end, counts = end - 1, counts - 1
        left = np.flatnonzero(counts > 0)
        while len(left):  # one step back in every train that goes on
            times[end[left]] = turns[at[left]]
            at[left], end[left], counts[left] = before[at[left]], end[left] - 1, counts[left] - 1
            left = left[counts[left] > 0]
        return Trains(times, starts)


def charged(graph: Graph, neuron: Neuron) -> Charged:
    """The state of every row, replayed from the log: what is new of it, onto what an earlier graph had."""
    return graph.derived(("charged", neuron), lambda grown, before: _replayed(grown, before, neuron), log=True)


def _replayed(graph: Graph, before: Earlier[Charged] | None, neuron: Neuron) -> Charged:
    n, accesses = len(graph), graph.accesses
    first = before.accesses if before is not None else 0
    old = before.value if before is not None else Charged(
        0, Charge.new(0), np.empty(0, np.intp), np.empty(0, np.int64), Column(np.empty(0, np.int64)),
        Column(np.empty(0, np.intp)),
    )  # fmt: skip
    more = n - len(old.heads)
    charge = old.charge.with_(Charge.new(more))
    heads = np.concatenate([old.heads, np.full(more, -1, np.intp)])
    counts = np.concatenate([old.counts, np.zeros(more, np.int64)])
    turns = _turns(graph, first)
    previous = np.full(len(turns), -1, np.intp)
    rows, touches = accesses["rows"][first:].astype(np.intp), accesses["touches"][first:]
    born = np.flatnonzero((touches == _ENCODED) & (accesses["seq"][first:] == graph.nodes["seq"][rows]))
    heads[rows[born]], counts[rows[born]] = first + born, 1
    clock = old.turns.plus(turns)
    for some in _rounds(rows, np.flatnonzero((touches == _STIMULATED) & (heads[rows] >= 0))):
        row = rows[some]
        waited = turns[some] - clock.view[heads[row]]
        outcome = stimulated(neuron, charge.of(row), accesses["strengths"][first + some].astype(np.float64), waited)
        charge.put(row, outcome.charge)
        previous[some], heads[row] = heads[row], first + some
        counts[row] = np.where(outcome.fired, 1, counts[row] + 1)
    return Charged(int(graph.episodes.sum()) + 1, charge, heads, counts, clock, old.before.plus(previous))


def _turns(graph: Graph, first: int) -> Turns:
    """The turn of each access from ``first`` on."""
    nodes, accesses = graph.nodes, graph.accesses
    episodes = np.flatnonzero(graph.episodes)
    count = np.searchsorted(nodes["seq"][episodes], accesses["seq"][first:], "right")
    newest = episodes[np.maximum(count - 1, 0)] if len(episodes) else np.zeros(len(count), np.intp)
    asked = accesses["touches"][first:] == _STIMULATED
    if len(episodes):
        asked &= accesses["at"][first:] != nodes["recorded"][newest]
    return (count + asked).astype(np.int64)


def _rounds(rows: Rows, events: Rows) -> list[Rows]:
    """Events in rounds: the first of every row, then the second of every row, and so on."""
    order = events[np.argsort(rows[events], kind="stable")]
    ordered = rows[order]
    firsts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else np.empty(0, np.intp)
    place = np.arange(len(order)) - np.repeat(firsts, np.diff(np.r_[firsts, len(order)]))
    by_round = order[np.argsort(place, kind="stable")]
    return np.split(by_round, np.cumsum(np.bincount(place))[:-1]) if len(order) else []
