"""Membrane states replayed from the access log: potential, current, time constant and spike train of each memory.

None of it is stored. An episode is encoded with one spike at its own turn, and every ``STIMULATED`` access is a
stimulus of that strength. The state of an earlier graph is extended by the new log entries.

The clock counts turns: an episode's turn is its number among the episodes. A stimulus that was logged when an episode
was stored has the turn of that episode; one that a recall logged has the turn after the newest episode, as if the
question had been stored. The two differ by time: a stored episode and the stimuli of storing it have the same time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...columns import Column
from ...graph import CachedDerivation, Graph
from ...grouping import rank_in_group
from ...model import AccessKind, Rows
from .lif import Neuron, NeuronState, Turns, stimulate
from .spike_trains import SpikeTrains


@dataclass(frozen=True, slots=True)
class NetworkState:
    """The state of every row of a graph, after its last stimulus.

    ``now`` is the turn of a cue asked now. ``last_spikes`` are the accesses of each row's last spike, -1 for rows that
    are no episodes; ``spike_counts`` are the lengths of the spike trains. ``access_turns`` has the turn of each access,
    ``previous_spikes`` the access of the spike before it.
    """

    now: int
    neurons: NeuronState
    last_spikes: Rows
    spike_counts: NDArray[np.int64]
    access_turns: Column
    previous_spikes: Column

    def turns_since_spike(self, rows: Rows) -> Turns:
        """Turns since the last spike of some episodes."""
        turns: Turns = self.now - self.access_turns.view[self.last_spikes[rows]]
        return turns

    def spike_trains(
        self, rows: Rows, *, max_spikes: int | None = None, has_new_spike: NDArray[np.bool_] | None = None
    ) -> SpikeTrains:
        """The spike trains of some episodes, at most the last ``max_spikes`` spikes of each.

        With ``has_new_spike``, episodes under it get one more spike now; the train of the others is a single spike now.
        """
        counts = (
            self.spike_counts[rows]
            if has_new_spike is None
            else np.where(has_new_spike, self.spike_counts[rows] + 1, 1)
        )
        if max_spikes is not None:
            counts = np.minimum(counts, max_spikes)
        starts = np.concatenate([[0], np.cumsum(counts)])
        times, turns, previous = np.empty(starts[-1]), self.access_turns.view, self.previous_spikes.view
        spikes, end = self.last_spikes[rows], starts[1:] - 1
        if has_new_spike is not None:
            times[end] = self.now
            end, counts = end - 1, counts - 1
        remaining = np.flatnonzero(counts > 0)
        while len(remaining):  # one step back in every train with spikes left
            times[end[remaining]] = turns[spikes[remaining]]
            spikes[remaining], end[remaining], counts[remaining] = (
                previous[spikes[remaining]],
                end[remaining] - 1,
                counts[remaining] - 1,
            )
            remaining = remaining[counts[remaining] > 0]
        return SpikeTrains(times, starts)


def network_state(graph: Graph, neuron: Neuron) -> NetworkState:
    """The state of every row, replayed from the access log: its new entries, onto the state of an earlier graph."""
    return graph.derive(("membrane", neuron), lambda grown, before: _replay(grown, before, neuron), depends_on_log=True)


def _replay(graph: Graph, cached: CachedDerivation[NetworkState] | None, neuron: Neuron) -> NetworkState:
    n, accesses = len(graph), graph.accesses
    first = cached.access_count if cached is not None else 0
    old = cached.value if cached is not None else NetworkState(
        0, NeuronState.initial(0), np.empty(0, np.intp), np.empty(0, np.int64), Column(np.empty(0, np.int64)),
        Column(np.empty(0, np.intp)),
    )  # fmt: skip
    new_count = n - len(old.last_spikes)
    neurons = old.neurons.append(NeuronState.initial(new_count))
    last_spikes = np.concatenate([old.last_spikes, np.full(new_count, -1, np.intp)])
    spike_counts = np.concatenate([old.spike_counts, np.zeros(new_count, np.int64)])
    turns = _access_turns(graph, first)
    previous = np.full(len(turns), -1, np.intp)
    rows, new = accesses["rows"][first:].astype(np.intp), slice(first, None)
    is_encoded = graph.has_access_kind(AccessKind.ENCODED, accesses=new)
    encoded = np.flatnonzero(is_encoded & (accesses["seq"][new] == graph.nodes["seq"][rows]))
    last_spikes[rows[encoded]], spike_counts[rows[encoded]] = first + encoded, 1
    access_turns = old.access_turns.append(turns)
    is_stimulated = graph.has_access_kind(AccessKind.STIMULATED, accesses=new)
    for events in _split_rounds(rows, np.flatnonzero(is_stimulated & (last_spikes[rows] >= 0))):
        row = rows[events]
        elapsed = turns[events] - access_turns.view[last_spikes[row]]
        outcome = stimulate(
            neuron, neurons.select(row), accesses["strengths"][first + events].astype(np.float64), elapsed
        )
        neurons.assign(row, outcome.state)
        previous[events], last_spikes[row] = last_spikes[row], first + events
        spike_counts[row] = np.where(outcome.has_fired, 1, spike_counts[row] + 1)
    return NetworkState(
        int(graph.episodes.sum()) + 1,
        neurons,
        last_spikes,
        spike_counts,
        access_turns,
        old.previous_spikes.append(previous),
    )


def _access_turns(graph: Graph, first_access: int) -> Turns:
    """The turn of each access from ``first_access`` on."""
    nodes, accesses = graph.nodes, graph.accesses
    episodes = np.flatnonzero(graph.episodes)
    count = np.searchsorted(nodes["seq"][episodes], accesses["seq"][first_access:], "right")
    newest = episodes[np.maximum(count - 1, 0)] if len(episodes) else np.zeros(len(count), np.intp)
    is_recall = graph.has_access_kind(AccessKind.STIMULATED, accesses=slice(first_access, None))
    if len(episodes):
        is_recall &= accesses["at"][first_access:] != nodes["recorded"][newest]
    return (count + is_recall).astype(np.int64)


def _split_rounds(rows: Rows, events: Rows) -> list[Rows]:
    """Split events into rounds: the first of every row, then the second of every row, and so on."""
    order = events[np.argsort(rows[events], kind="stable")]
    nth = rank_in_group(rows[order])
    by_round = order[np.argsort(nth, kind="stable")]
    return np.split(by_round, np.cumsum(np.bincount(nth))[:-1]) if len(order) else []
