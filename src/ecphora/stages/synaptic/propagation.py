"""Propagation of stimuli between similar memories: the coupling of two, and the strongest stimulus of each.

SynapticRAG's propagation (papers.md 1.4) without its loop over all pairs. Only the strongest parent of a child counts:
pairs that cannot win, or cannot deliver enough to count, are excluded by an upper bound. The result is exact.
"""
# ruff: noqa: N803, N806  # the paper's symbols

from dataclasses import dataclass

import numpy as np

from ...graph import Graph
from ...grouping import best_of_group
from ...model import Mask, Rows, Vectors
from . import spike_trains
from .lif import Floats, Neuron, effective_tau
from .membrane import NetworkState
from .spike_trains import SpikeTrains

BLOCK = 128
"""How many parents' cosines with all others are held at once."""
MAX_SINGLE_THREAD = 1 << 14
"""The number of cosines up to which one thread is faster."""
_SLACK = 1 + 1e-5
"""The tolerance of a bound: cosines are 32-bit numbers."""


@dataclass(frozen=True, slots=True)
class Coupling:
    """How much of a stimulus passes: cos T ``scale``, or without ``use_temporal_score`` cos ``scale``.

    ``alignment_version`` 2 is the accumulating table, 1 dynamic time warping. Trains are cut to the last
    ``max_spikes``, paths through the table to a ``band`` around its diagonal, unless these are None.
    """

    scale: float
    use_temporal_score: bool = True
    alignment_version: int = 2
    max_spikes: int | None = None
    band: int | None = None


@dataclass(frozen=True, slots=True)
class Senders:
    """The parents that pass a stimulus S on, each with its row (-1 for the cue), vector, tau and spike train."""

    rows: Rows
    vectors: Vectors
    S: Floats
    tau: Floats
    trains: SpikeTrains

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, places: Rows) -> "Senders":
        """Some of the parents."""
        return Senders(
            self.rows[places], self.vectors[places], self.S[places], self.tau[places], self.trains.select(places)
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """The stimulus S that reached each of ``rows``, ascending, and the index of its parent."""

    rows: Rows
    S: Floats
    senders: Rows


@dataclass(frozen=True, slots=True)
class Propagation:
    """The effect of a cue, filled generation by generation: one entry per row.

    ``S`` is the stimulus sent, ``stimulus`` the one that was strong enough to count; ``parent`` is the row whose
    stimulus won. ``adjacent_stimulus`` comes from a memory told in a nearby turn, ``adjacent_parent``.
    """

    S: Floats
    stimulus: Floats
    potential: Floats
    has_fired: Mask
    parent: Rows
    adjacent_stimulus: Floats
    adjacent_parent: Rows

    @classmethod
    def empty(cls, graph: Graph) -> "Propagation":
        """No stimuli yet."""
        n = len(graph)
        none = np.full(n, -1, np.intp)
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.bool_), none, np.zeros(n), none.copy())


@dataclass(frozen=True, slots=True)
class Receivers:
    """The memories that stimuli reach: the graph, the state of its rows, the neurons' constants and their coupling.

    Two memories are coupled if the cosine of their vectors is ``cos_th`` or more.
    """

    graph: Graph
    state: NetworkState
    neuron: Neuron
    coupling: Coupling
    cos_th: float

    def stimuli(self, senders: Senders, places: Rows, rows: Rows, cosines: Floats) -> Floats:
        """The stimulus that each pair of a parent and a row passes: S_p P, P = cos T ``scale``."""
        passed: Floats = senders.S[places] * cosines * self.coupling.scale * self.temporal_scores(senders, places, rows)
        return passed

    def temporal_scores(self, senders: Senders, places: Rows, rows: Rows) -> Floats:
        """T of pairs of a parent and a row (papers.md 1.5)."""
        coupling = self.coupling
        if not coupling.use_temporal_score:
            return np.ones(len(places))
        distinct, row_index = np.unique(rows, return_inverse=True)
        children = self.state.spike_trains(distinct, max_spikes=coupling.max_spikes).select(row_index)
        tau = effective_tau(self.neuron, 0.5 * (senders.tau[places] + self.state.neurons.tau[rows]))
        if coupling.alignment_version == 1:
            return spike_trains.temporal_score(
                spike_trains.dtw_similarity(senders.trains.select(places), children, tau)
            )
        return spike_trains.temporal_score(
            spike_trains.cumulative_similarity(senders.trains.select(places), children, tau, band=coupling.band)
        )

    def max_temporal_scores(self, senders: Senders, rows: Rows) -> Floats:
        """An upper bound of T over some parents: all spiked just now, and L is at most the sum of one path.

        That path is first the other spikes of the parent, at most 1 each, then the row of the spike just now.
        """
        coupling, state = self.coupling, self.state
        other_spikes = int(senders.trains.lengths.max()) - 1
        if not coupling.use_temporal_score or (
            other_spikes and (coupling.alignment_version == 1 or coupling.band is not None)
        ):
            return np.ones(len(rows))
        tau = effective_tau(self.neuron, 0.5 * (senders.tau.max() + state.neurons.tau[rows]))
        now = np.full(len(rows), float(state.now))
        return spike_trains.temporal_score(
            other_spikes
            + spike_trains.discounted_count(now, state.spike_trains(rows, max_spikes=coupling.max_spikes), tau)
        )


def strongest_stimuli(receivers: Receivers, senders: Senders, open_rows: Mask, min_stimulus: float) -> Delivery:
    """The strongest stimulus of at least ``min_stimulus`` for each open row; of equal ones the later parent's."""
    graph, scale = receivers.graph, receivers.coupling.scale
    places, vectors = graph.vector_rows["rows"], graph.vectors.view
    best, parents = np.zeros(len(graph)), np.full(len(graph), -1, np.intp)
    # The strongest first, so that the others seldom win; single spikes before all, as their bound is tight.
    order = np.lexsort((-senders.S, senders.trains.lengths > 1))
    order = order[senders.S[order] * scale * _SLACK >= min_stimulus]
    for start in range(0, len(order), BLOCK):
        p = order[start : start + BLOCK]
        block = senders.select(p)
        cos = _cosines(block.vectors, vectors)
        is_candidate = (cos >= receivers.cos_th) & open_rows[places]
        is_candidate &= cos * (block.S * scale * _SLACK)[:, None] >= np.maximum(best[places], min_stimulus)
        columns = np.flatnonzero(is_candidate.any(0))
        rows = places[columns].astype(np.intp)
        strength = np.where(is_candidate[:, columns], block.S[:, None] * cos[:, columns], 0)
        bound = strength * scale * _SLACK * receivers.max_temporal_scores(block, rows)
        # The likeliest parent of each row, then all others that might still deliver as much.
        likeliest = np.zeros(bound.shape, np.bool_)
        likeliest[bound.argmax(0), np.arange(len(columns))] = True
        for pairs in (likeliest, ~likeliest):
            i, j = np.nonzero(pairs & is_candidate[:, columns] & (bound >= np.maximum(best[rows], min_stimulus)))
            S = receivers.stimuli(senders, p[i], rows[j], cos[i, columns[j]].astype(np.float64))
            counts = min_stimulus <= S
            _keep_strongest(best, parents, rows[j[counts]], S[counts], p[i[counts]])
    reached = np.flatnonzero(parents >= 0)
    return Delivery(reached, best[reached], parents[reached])


def adjacent_stimuli(graph: Graph, senders: Senders, *, scale: float, tau: float) -> Delivery:
    """The strongest stimulus that passes from some memories to those of nearby turns: S_p cos T ``scale``.

    Here T = 2 σ(exp(-|A - B| / tau)) - 1 of the turns A and B of two memories; published T is never below 1/2, its
    value for unrelated spike trains. Beyond 5 ``tau`` turns nothing passes.
    """
    episodes = np.flatnonzero(graph.episodes)
    offsets = np.arange(-int(5 * tau), int(5 * tau) + 1)
    turns = np.searchsorted(episodes, senders.rows)[:, None] + offsets
    p, step = np.nonzero((turns >= 0) & (turns < len(episodes)) & (offsets != 0))
    rows = episodes[turns[p, step]]
    p, step, rows = (column[graph.vector_positions[rows] >= 0] for column in (p, step, rows))
    cos = np.einsum("ij,ij->i", senders.vectors[p], graph.vectors.view[graph.vector_positions[rows]]).astype(np.float64)
    T = 2 * spike_trains.temporal_score(np.exp(-np.abs(offsets[step]) / tau)) - 1
    best, parents = np.zeros(len(graph)), np.full(len(graph), -1, np.intp)
    _keep_strongest(best, parents, rows, senders.S[p] * np.maximum(cos, 0) * T * scale, p)
    reached = np.flatnonzero(parents >= 0)
    return Delivery(reached, best[reached], parents[reached])


def _cosines(vectors: Vectors, all_vectors: Vectors) -> Vectors:
    """The cosine of each of ``vectors`` with each of ``all_vectors``, all unit."""
    if len(vectors) * len(all_vectors) > MAX_SINGLE_THREAD:
        return vectors @ all_vectors.T
    return np.einsum("ij,kj->ik", vectors, all_vectors)  # BLAS would start a second thread: see dense.cosine_with


def _keep_strongest(best: Floats, best_senders: Rows, rows: Rows, S: Floats, senders: Rows) -> None:
    """Keep the strongest stimulus of each row and its parent; of equal ones the later parent."""
    strongest = best_of_group(rows, S, ties=-senders)
    rows, S, senders = rows[strongest], S[strongest], senders[strongest]
    is_stronger = (best[rows] < S) | ((best[rows] == S) & (senders > best_senders[rows]))
    best[rows[is_stronger]], best_senders[rows[is_stronger]] = S[is_stronger], senders[is_stronger]
