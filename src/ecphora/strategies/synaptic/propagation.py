"""SynapticRAG's propagation (papers.md 1.4): stimuli pass from a cue to similar memories, generation by generation.

Each generation is found without a loop over all pairs. Only the strongest parent of a child counts: pairs that cannot
win, or cannot deliver enough to count, are excluded by an upper bound. The result is exact.
"""
# ruff: noqa: N803, N806  # the paper's symbols

from dataclasses import dataclass, replace

import numpy as np

from ...model.graph.columns import best_of_group
from ...model.graph.graph import Graph
from ...model.types import Floats, Mask, Rows, Scores, Vector, Vectors
from ...retrieval import dense
from . import temporal_association
from .lif_neuron import Neuron, stimulate
from .network_state import NetworkState
from .spike_trains import SpikeTrains

MIN_STIMULUS = float(np.finfo(np.float32).tiny)
"""The least stimulus: 0 does not count, even if ``stimulus_th`` is 0."""
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
class Acceptance:
    """Which stimuli count: stimuli of at least ``stimulus_th``, and of ``epsilon`` of all that were accepted before.

    ``epsilon`` is our remedy for over-retrieval (papers.md 1.11.1); 0 switches it off, as in the published model.
    """

    stimulus_th: float
    epsilon: float = 0.0

    def min_stimulus(self, accepted: float) -> float:
        """The least stimulus that counts after stimuli of sum ``accepted``."""
        return max(self.stimulus_th, self.epsilon * accepted, MIN_STIMULUS)

    def accept(self, S: Floats, accepted: float) -> Rows:
        """The places of the stimuli to accept, ascending: the strongest, while each adds ``epsilon`` of the sum before.

        ``accepted`` is the sum of the stimuli of earlier generations.
        """
        order = np.argsort(-S, kind="stable")
        before = accepted + np.cumsum(S[order]) - S[order]
        is_enough = S[order] >= self.epsilon * before
        return np.sort(order if is_enough.all() else order[: int(is_enough.argmin())])


@dataclass(frozen=True, slots=True)
class Senders:
    """The parents that pass a stimulus S on, each with its row (-1 for the cue), vector, tau and spike train."""

    rows: Rows
    vectors: Vectors
    S: Floats
    tau: Floats
    trains: SpikeTrains

    @classmethod
    def cue(cls, vector: Vector, now: int) -> "Senders":
        """A cue: a parent that sends S = 1, with tau = 1 and one spike at its own turn."""
        trains = SpikeTrains.single_spikes(np.array([float(now)]))
        return cls(np.array([-1]), vector[None], np.ones(1), np.ones(1), trains)

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

    def select(self, places: Mask | Rows) -> "Delivery":
        """The stimuli under a mask, or at some places."""
        return Delivery(self.rows[places], self.S[places], self.senders[places])


@dataclass(frozen=True, slots=True)
class Propagation:
    """The effect of a cue, filled generation by generation: one entry per row.

    ``S`` is the stimulus sent, ``stimulus`` the stimulus that was accepted; ``parent`` is the row whose stimulus won,
    -1 for the cue.
    """

    S: Floats
    stimulus: Floats
    potential: Floats
    has_fired: Mask
    parent: Rows

    @classmethod
    def empty(cls, graph: Graph) -> "Propagation":
        """No stimuli yet."""
        n = len(graph)
        return cls(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.bool_), np.full(n, -1, np.intp))

    @property
    def stimulus_sum(self) -> float:
        """The sum of the accepted stimuli."""
        return float(self.stimulus.sum())

    @property
    def first_generation(self) -> Rows:
        """The memories that the cue itself stimulated."""
        return np.flatnonzero((self.stimulus > 0) & (self.parent < 0))


@dataclass(frozen=True, slots=True)
class Receivers:
    """The memories that stimuli reach: the graph, the state of its rows, the neurons' constants and their coupling.

    Two memories are coupled if the cosine of their vectors is ``cos_th`` or more. Cosines count from ``floor``, the
    cosine of two unrelated texts.
    """

    graph: Graph
    state: NetworkState
    neuron: Neuron
    coupling: Coupling
    cos_th: float
    floor: float = 0.0

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
        tau = self.neuron.time_constant.of_pair(senders.tau[places], self.state.neurons.tau[rows])
        parents = senders.trains.select(places)
        if coupling.alignment_version == 1:
            L = temporal_association.dtw_similarity(parents, children, tau)
        else:
            L = temporal_association.cumulative_similarity(parents, children, tau, band=coupling.band)
        return temporal_association.temporal_score(L)

    def max_temporal_scores(self, senders: Senders, rows: Rows) -> Floats:
        """An upper bound of T over some parents: all spiked just now, and L is at most the sum of a single path.

        That path is first the other spikes of the parent, at most 1 each, then the row of the spike just now.
        """
        coupling, state = self.coupling, self.state
        other_spikes = int(senders.trains.lengths.max()) - 1
        if not coupling.use_temporal_score or (
            other_spikes and (coupling.alignment_version == 1 or coupling.band is not None)
        ):
            return np.ones(len(rows))
        tau = self.neuron.time_constant.of_pair(senders.tau.max(), state.neurons.tau[rows])
        now = np.full(len(rows), float(state.now))
        return temporal_association.temporal_score(
            other_spikes
            + temporal_association.discounted_count(now, state.spike_trains(rows, max_spikes=coupling.max_spikes), tau)
        )


def propagate(
    receivers: Receivers,
    cue: Senders,
    cosines: Scores,
    is_open: Mask,
    acceptance: Acceptance,
    *,
    max_generations: float,
    is_cue_timeless: bool,
    include_dissimilar: bool,
) -> Propagation:
    """Stimulate memories generation by generation: the children, whether they fire or not, are the next parents.

    ``cosines`` are the cue's, counted from the floor. Only rows under ``is_open`` are visited, and no row twice.
    """
    propagation, excluded, cosines = Propagation.empty(receivers.graph), ~is_open, np.where(is_open, cosines, -1)
    sent = first_hop(receivers, cue, cosines, is_cue_timeless=is_cue_timeless, include_dissimilar=include_dissimilar)
    propagation.S[sent.rows] = sent.S
    is_similar = cosines[sent.rows] >= receivers.cos_th
    delivery = sent.select(is_similar & (acceptance.min_stimulus(propagation.stimulus_sum) <= sent.S))
    parents, generation = _stimulate_children(receivers, cue, delivery, acceptance, propagation), 1
    while len(parents) and generation < max_generations:
        excluded[delivery.rows] = True  # visited at most once
        delivery = strongest_stimuli(receivers, parents, ~excluded, acceptance.min_stimulus(propagation.stimulus_sum))
        parents = _stimulate_children(receivers, parents, delivery, acceptance, propagation)
        generation += 1
    return propagation


def first_hop(
    receivers: Receivers, cue: Senders, cosines: Scores, *, is_cue_timeless: bool, include_dissimilar: bool
) -> Delivery:
    """The stimuli that a cue sends to the memories similar to it, or to all whose cosine with it is above 0.

    With ``is_cue_timeless`` T = 1: a cue has no spike of its own.
    """
    if is_cue_timeless:
        receivers = replace(receivers, coupling=replace(receivers.coupling, use_temporal_score=False))
    rows = np.flatnonzero(cosines > 0 if include_dissimilar else cosines >= receivers.cos_th)
    cue_place = np.zeros(len(rows), np.intp)
    return Delivery(rows, receivers.stimuli(cue, cue_place, rows, cosines[rows].astype(np.float64)), cue_place)


def _stimulate_children(
    receivers: Receivers, senders: Senders, delivery: Delivery, acceptance: Acceptance, propagation: Propagation
) -> Senders:
    """Stimulate the memories whose stimulus is accepted; fired or not, they are the next parents."""
    state = receivers.state
    accepted = delivery.select(acceptance.accept(delivery.S, propagation.stimulus_sum))
    # The log has 32-bit numbers: replaying them must give the same state.
    rows, S = accepted.rows, accepted.S.astype(np.float32).astype(np.float64)
    outcome = stimulate(receivers.neuron, state.neurons.select(rows), S, state.turns_since_spike(rows))
    propagation.stimulus[rows] = S
    propagation.S[rows] = np.maximum(propagation.S[rows], S)
    propagation.has_fired[rows], propagation.potential[rows] = outcome.has_fired, outcome.potential
    propagation.parent[rows] = senders.rows[accepted.senders]
    vectors = receivers.graph.vectors.rows(receivers.graph.vector_positions[rows])
    trains = state.spike_trains(rows, max_spikes=receivers.coupling.max_spikes, has_new_spike=~outcome.has_fired)
    return Senders(rows, vectors, S, outcome.state.tau, trains)


def strongest_stimuli(receivers: Receivers, senders: Senders, open_rows: Mask, min_stimulus: float) -> Delivery:
    """The strongest stimulus of at least ``min_stimulus`` for each open row; of equal stimuli the later parent's."""
    graph, scale = receivers.graph, receivers.coupling.scale
    places, vectors = graph.vector_rows["rows"], graph.vectors.view
    best, parents = np.zeros(len(graph)), graph.no_rows()
    # The strongest first, so that the others seldom win; single spikes before all, as their bound is tight.
    order = np.lexsort((-senders.S, senders.trains.lengths > 1))
    order = order[senders.S[order] * scale * _SLACK >= min_stimulus]
    for start in range(0, len(order), BLOCK):
        p = order[start : start + BLOCK]
        block = senders.select(p)
        cos = dense.above_floor(_cosines(block.vectors, vectors), receivers.floor)
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
            keep_strongest(best, parents, rows[j[counts]], S[counts], p[i[counts]])
    reached = np.flatnonzero(parents >= 0)
    return Delivery(reached, best[reached], parents[reached])


def _cosines(vectors: Vectors, all_vectors: Vectors) -> Vectors:
    """The cosine of each of ``vectors`` with each of ``all_vectors``, all unit."""
    if len(vectors) * len(all_vectors) > MAX_SINGLE_THREAD:
        return vectors @ all_vectors.T
    return np.einsum("ij,kj->ik", vectors, all_vectors)  # BLAS would start a second thread: see dense.cosine_with


def keep_strongest(best: Floats, best_senders: Rows, rows: Rows, S: Floats, senders: Rows) -> None:
    """Keep the strongest stimulus of each row and its parent; of equal stimuli the later parent."""
    strongest = best_of_group(rows, S, ties=-senders)
    rows, S, senders = rows[strongest], S[strongest], senders[strongest]
    is_stronger = (best[rows] < S) | ((best[rows] == S) & (senders > best_senders[rows]))
    best[rows[is_stronger]], best_senders[rows[is_stronger]] = S[is_stronger], senders[is_stronger]
