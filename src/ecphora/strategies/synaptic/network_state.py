"""The state of all neurons, replayed from the access log: potential, current, time constant and spike train of each.

None of it is stored. An episode is encoded with one spike at its own turn, and every ``STIMULATED`` access is a
stimulus of that strength. The state of an earlier graph is extended by the new log entries.
"""
# ruff: noqa: N806  # the paper's symbols

from dataclasses import dataclass

import numpy as np

from ...model.graph.columns import rank_in_group
from ...model.graph.graph import CachedDerivation, Graph
from ...model.types import AccessKind, Mask, Rows
from .lif_neuron import Neuron, NeuronState, stimulate
from .spike_trains import SpikeHistory, SpikeRecorder, SpikeTrains, Turns, access_turns, current_turn


@dataclass(frozen=True, slots=True)
class NetworkState:
    """The state of every row of a graph after its last stimulus, and its spikes; ``now`` is the turn of a cue."""

    now: int
    neurons: NeuronState
    spikes: SpikeHistory

    def turns_since_spike(self, rows: Rows) -> Turns:
        """Turns since the last spike of some episodes."""
        return self.spikes.turns_since_spike(rows, self.now)

    def spike_trains(
        self, rows: Rows, *, max_spikes: int | None = None, has_new_spike: Mask | None = None
    ) -> SpikeTrains:
        """The spike trains of some episodes; see ``SpikeHistory.trains``."""
        return self.spikes.trains(rows, self.now, max_spikes=max_spikes, has_new_spike=has_new_spike)


def network_state(graph: Graph, neuron: Neuron) -> NetworkState:
    """The state of every row, replayed from the access log: its new entries, onto the state of an earlier graph."""
    return graph.derive(
        ("network state", neuron), lambda grown, before: _replay(grown, before, neuron), depends_on_log=True
    )


def _replay(graph: Graph, cached: CachedDerivation[NetworkState] | None, neuron: Neuron) -> NetworkState:
    old = cached.value if cached is not None else NetworkState(0, NeuronState.initial(0), SpikeHistory.empty())
    first, accesses = (cached.access_count if cached is not None else 0), graph.accesses
    neurons = old.neurons.append(NeuronState.initial(len(graph) - len(old.neurons)))
    spikes = SpikeRecorder(old.spikes, len(graph), access_turns(graph, first))
    rows, new = accesses["rows"][first:].astype(np.intp), slice(first, None)
    is_encoded = graph.has_access_kind(AccessKind.ENCODED, accesses=new)
    encoded = np.flatnonzero(is_encoded & (accesses["seq"][new] == graph.nodes["seq"][rows]))
    spikes.add_initial_spikes(rows[encoded], encoded)
    is_stimulated = graph.has_access_kind(AccessKind.STIMULATED, accesses=new)
    for events in _split_rounds(rows, np.flatnonzero(is_stimulated & spikes.has_spikes(rows))):
        row = rows[events]
        S = accesses["strengths"][first + events].astype(np.float64)
        outcome = stimulate(neuron, neurons.select(row), S, spikes.turns_since_spike(row, events))
        neurons.assign(row, outcome.state)
        spikes.add_spikes(row, events, outcome.has_fired)
    return NetworkState(current_turn(graph), neurons, spikes.history())


def _split_rounds(rows: Rows, events: Rows) -> list[Rows]:
    """Split events into rounds: the first of every row, then the second of every row, and so on."""
    order = events[np.argsort(rows[events], kind="stable")]
    nth = rank_in_group(rows[order])
    by_round = order[np.argsort(nth, kind="stable")]
    return np.split(by_round, np.cumsum(np.bincount(nth))[:-1]) if len(order) else []
