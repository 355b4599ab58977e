"""Memories that fire pass their stimulus on, which makes others fire: the propagation of the practical ``synaptic``.

Differences to :mod:`.propagation`, the published one, stand in the docstring of ``strategies.synaptic.Synaptic``.
"""
# ruff: noqa: N803, N806  # the paper's symbols

from dataclasses import dataclass
from enum import Enum, auto

import numpy as np

from ...graph import Graph
from ...model import Floats, Mask, Rows
from ..retrieval import dense
from .adjacent_turns import AdjacentStimuli, adjacent_stimuli
from .lif_neuron import Neuron, NeuronState, stimulate
from .network_state import NetworkState, network_state
from .propagation import keep_strongest
from .temporal_association import cumulative_similarity, temporal_score

BLOCK = 64
"""How many parents' cosines with all rows are held at once."""


class Alignment(Enum):
    """What the temporal score of two memories compares."""

    ENCODING = auto()
    """The turns at which they were encoded."""
    ALL_SPIKES = auto()
    """Their spike trains, with the spikes of earlier cues."""
    NONE = auto()
    """Nothing: T = 1."""


@dataclass(frozen=True, slots=True)
class Synapses:
    """How much of a stimulus passes between two memories: cos T ``scale``, the cosine counted from ``floor``."""

    scale: float
    tau: float
    floor: float = 0.0
    alignment: Alignment = Alignment.ENCODING


@dataclass(frozen=True, slots=True)
class Cascade:
    """One entry a row: the stimulus that memories which fired passed on to it, the row that did, and if it fired."""

    passed_on: Floats
    parent: Rows
    has_fired: Mask


def fire_cascade(
    graph: Graph,
    sent: Floats,
    is_open: Mask,
    synapses: Synapses,
    *,
    firing_fraction: float,
    max_generations: float,
    state: tuple[Neuron, NetworkState] | None = None,
) -> Cascade:
    """Let memories fire whose potential is at least ``firing_fraction`` of the highest, and pass their stimulus on.

    ``sent`` is what the cue sent to each row. Neurons are at rest, or in ``state``.
    """
    cascade = Cascade(np.zeros(len(graph)), graph.no_rows(), np.zeros(len(graph), np.bool_))
    threshold = firing_fraction * float(_potential(sent, is_open, state).max(initial=0.0))
    generation = 1
    while True:
        total = sent + cascade.passed_on
        fires = is_open & (total > 0) & (_potential(total, is_open, state) >= threshold) & ~cascade.has_fired
        cascade.has_fired[fires] = True
        if not fires.any() or generation >= max_generations:
            return cascade
        parents = np.flatnonzero(fires)
        passed = _passed_by(graph, parents, total[parents], is_open, synapses)
        is_stronger = cascade.passed_on < passed.S
        cascade.passed_on[is_stronger], cascade.parent[is_stronger] = passed.S[is_stronger], passed.parent[is_stronger]
        generation += 1


def _potential(S: Floats, is_open: Mask, state: tuple[Neuron, NetworkState] | None) -> Floats:
    """The highest potential that a stimulus will cause in each row; of a neuron at rest it is S / e."""
    potential: Floats = S / np.e
    if state is not None:
        neuron, network = state
        rows = np.flatnonzero(is_open)
        neurons: NeuronState = network.neurons.select(rows)
        potential = np.zeros(len(S))
        potential[rows] = stimulate(neuron, neurons, S[rows], network.turns_since_spike(rows)).potential
    return potential


def _passed_by(graph: Graph, parents: Rows, S: Floats, is_open: Mask, synapses: Synapses) -> AdjacentStimuli:
    """What some memories of stimuli S pass on to all open rows but themselves."""
    if synapses.alignment is Alignment.ENCODING:
        return adjacent_stimuli(
            graph, parents, S, is_open, scale=synapses.scale, tau=synapses.tau, floor=synapses.floor
        )
    passed = AdjacentStimuli.empty(graph)
    rows, vectors, positions = np.flatnonzero(is_open), graph.vectors.view, graph.vector_positions
    network = network_state(graph, Neuron(is_physiological=True))
    trains, own_trains = network.spike_trains(rows), network.spike_trains(parents)
    for start in range(0, len(parents), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(parents)))
        cos = dense.above_floor(vectors[positions[parents[block]]] @ vectors[positions[rows]].T, synapses.floor)
        cos[parents[block, None] == rows] = 0
        i, j = np.nonzero(cos > 0)
        T = np.ones(len(i))
        if synapses.alignment is Alignment.ALL_SPIKES:
            tau = np.full(len(i), synapses.tau)
            L = cumulative_similarity(own_trains.select(block[i]), trains.select(j), tau)
            T = 2 * temporal_score(L) - 1
        stimuli = S[block[i]] * cos[i, j] * T * synapses.scale
        keep_strongest(passed.S, passed.parent, rows[j], stimuli, parents[block[i]])
    return passed
