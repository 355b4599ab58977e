"""Memories that fire pass their stimulus on, which makes others fire: the propagation of the practical ``synaptic``.

Differences to :mod:`.propagation`, the published one, stand in the docstring of ``strategies.synaptic.Synaptic``.
"""
# ruff: noqa: N803, N806  # the paper's symbols

from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Floats, Mask, Rows
from ...retrieval import dense
from .adjacent_turns import AdjacentStimuli, adjacent_stimuli
from .lif_neuron import Neuron, stimulate
from .network_state import NetworkState, network_state
from .propagation import Acceptance, keep_strongest
from .temporal_association import cumulative_similarity, temporal_score

BLOCK = 64
"""How many parents' cosines with all rows are held at once."""
_SLACK = 1 + 1e-6
"""The tolerance of the threshold: the log has 32-bit numbers."""


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
class History:
    """The state in which earlier cues left the neurons, and which stimuli of a cue count.

    Stimuli are scaled to the cue: a stimulus that just reaches the cue's threshold becomes e v_th, which makes a neuron
    at rest fire (papers.md 1.6). So the published ``v_th`` fits every embedder, and a replay of the logged stimuli
    fires the same memories. A stimulus below the threshold leaves a current, from which a potential grows, and later
    stimuli add to both.

    The stimuli that count make a neuron at rest fire, or are the strongest, as ``acceptance`` says; published, all do.
    """

    neuron: Neuron
    state: NetworkState
    acceptance: Acceptance

    @classmethod
    def replay(cls, graph: Graph, neuron: Neuron, acceptance: Acceptance) -> "History":
        """The history in the log of a graph."""
        return cls(neuron, network_state(graph, neuron), acceptance)

    def scale(self, S: Floats, threshold: float) -> Floats:
        """Stimuli in the neuron's units, rounded as the log rounds them, of a cue whose threshold is ``threshold``."""
        scaled = S * (np.e * self.neuron.v_th / threshold * _SLACK) if threshold > 0 else np.zeros(len(S))
        return scaled.astype(np.float32).astype(np.float64)

    def effective_rows(self, S: Floats) -> Rows:
        """The rows whose scaled stimuli count."""
        stimulated = np.flatnonzero(S > 0)
        is_counted = S[stimulated] >= np.e * self.neuron.v_th
        is_counted[self.acceptance.accept(S[stimulated], 0.0)] = True
        return stimulated[is_counted]

    def fires(self, S: Floats) -> Mask:
        """Which memories fire at scaled stimuli, one entry a row."""
        rows, fires = self.effective_rows(S), np.zeros(len(S), np.bool_)
        neurons, turns = self.state.neurons.select(rows), self.state.turns_since_spike(rows)
        fires[rows] = stimulate(self.neuron, neurons, S[rows], turns).has_fired
        return fires

    def log_strengths(self, S: Floats, has_fired: Mask) -> Floats:
        """The scaled stimuli to log: stimuli that count, and stimuli that made a memory fire."""
        strengths = np.where(has_fired, S, 0)
        rows = self.effective_rows(S)
        strengths[rows] = S[rows]
        return strengths


@dataclass(frozen=True, slots=True)
class Cascade:
    """One entry a row: the stimulus that memories which fired passed on to it, the row that did, and if it fired.

    ``logged`` is the stimulus that counts for later cues, scaled as :class:`History` says; 0 without a history.
    """

    passed_on: Floats
    parent: Rows
    has_fired: Mask
    logged: Floats


def fire_cascade(
    graph: Graph,
    sent: Floats,
    is_open: Mask,
    synapses: Synapses,
    *,
    firing_fraction: float,
    max_generations: float,
    history: History | None = None,
) -> Cascade:
    """Let memories fire whose potential is at least ``firing_fraction`` of the highest, and pass their stimulus on.

    ``sent`` is the stimulus that the cue sent to each row; its highest value S causes the highest potential, S / e in a
    neuron at rest. Neurons are at rest, or as their ``history`` left them, which ``Alignment.ALL_SPIKES`` needs.
    """
    cascade = Cascade(np.zeros(len(graph)), graph.no_rows(), np.zeros(len(graph), np.bool_), np.zeros(len(graph)))
    threshold = firing_fraction * (float(sent.max(initial=0.0)) / np.e)
    generation = 1
    while True:
        total = sent + cascade.passed_on
        scaled = np.zeros(0) if history is None else history.scale(total, threshold * np.e)
        reaches_threshold = total / np.e >= threshold if history is None else history.fires(scaled)
        fires = is_open & (total > 0) & reaches_threshold & ~cascade.has_fired
        cascade.has_fired[fires] = True
        if not fires.any() or generation >= max_generations:
            break
        parents = np.flatnonzero(fires)
        passed = _passed_by(graph, parents, total[parents], is_open, synapses, history=history)
        is_stronger = cascade.passed_on < passed.S
        cascade.passed_on[is_stronger], cascade.parent[is_stronger] = passed.S[is_stronger], passed.parent[is_stronger]
        generation += 1
    return cascade if history is None else replace(cascade, logged=history.log_strengths(scaled, cascade.has_fired))


def _passed_by(
    graph: Graph, parents: Rows, S: Floats, is_open: Mask, synapses: Synapses, *, history: History | None
) -> AdjacentStimuli:
    """What some memories of stimuli S pass on to all open rows but themselves."""
    if synapses.alignment is Alignment.ENCODING:
        return adjacent_stimuli(
            graph, parents, S, is_open, scale=synapses.scale, tau=synapses.tau, floor=synapses.floor
        )
    passed = AdjacentStimuli.empty(graph)
    rows, vectors, positions = np.flatnonzero(is_open), graph.vectors.view, graph.vector_positions
    all_spikes = history.state if history is not None and synapses.alignment is Alignment.ALL_SPIKES else None
    if all_spikes is not None:
        trains, own_trains = all_spikes.spike_trains(rows), all_spikes.spike_trains(parents)
    for start in range(0, len(parents), BLOCK):
        block = np.arange(start, min(start + BLOCK, len(parents)))
        cos = dense.above_floor(vectors[positions[parents[block]]] @ vectors[positions[rows]].T, synapses.floor)
        cos[parents[block, None] == rows] = 0
        i, j = np.nonzero(cos > 0)
        T = np.ones(len(i))
        if all_spikes is not None:
            tau = np.full(len(i), synapses.tau)
            L = cumulative_similarity(own_trains.select(block[i]), trains.select(j), tau)
            T = 2 * temporal_score(L) - 1
        stimuli = S[block[i]] * cos[i, j] * T * synapses.scale
        keep_strongest(passed.S, passed.parent, rows[j], stimuli, parents[block[i]])
    return passed
