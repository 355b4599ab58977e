"""SynapticRAG: every memory is a neuron, and storing a memory is a query too.

Yuki Hou, Haruki Tamoto, Qinghua Zhao, Homei Miyashita, "SynapticRAG: Enhancing Temporal Memory Retrieval in Large
Language Models through Synaptic Mechanisms", Findings of ACL 2025, pp. 20422-20436, arXiv 2410.13553. Sections are
those of docs/papers.md, which has equations and constants from the authors' code.

A cue stimulates the memories similar to it, these pass a weakened stimulus on, and those whose membrane potential
crosses a threshold fire and are recalled. Potential, current, time constant and spike train of each memory follow from
the access log (``stages/synaptic/membrane.py``); nothing but the stimuli is stored.
"""
# ruff: noqa: N803, N806  # the paper's symbols

import math
from dataclasses import dataclass, replace

import numpy as np

from ..graph import Graph
from ..model import Query, Rows, Scores
from ..ports import Activation, ActivationPath
from ..reprs import ShortRepr
from ..stages.retrieval import dense, filters
from ..stages.synaptic.lif import Floats, Neuron, stimulate
from ..stages.synaptic.membrane import network_state
from ..stages.synaptic.propagation import (
    Coupling,
    Delivery,
    Propagation,
    Receivers,
    Senders,
    adjacent_stimuli,
    strongest_stimuli,
)
from ..stages.synaptic.similarity_threshold import cosine_quantile
from ..stages.synaptic.spike_trains import SpikeTrains

MIN_STIMULUS = float(np.finfo(np.float32).tiny)
"""The least stimulus: 0 does not count, even if ``stimulus_th`` is 0."""


@dataclass(frozen=True, slots=True, repr=False)
class Synaptic(ShortRepr):
    """The published constants (1.2), and the parameters of the practical mode.

    Two memories are connected when cos >= ``cos_th``; None takes the ``quantile`` of the cosines of stored pairs. A
    stimulus below ``stimulus_th`` does not count. ``bond_scale`` damps every hop. A memory fires at ``v_th``; ``tau_*``
    and ``time_scale`` shape its time constant, ``v_rest`` and ``i_rest`` are the rest values of the published neuron.

    Ablations: without ``use_temporal_score`` the stimulus is the cosine, without ``use_dynamic_tau`` time constants do
    not grow, ``stimulus_th=0`` does not limit propagation, ``max_generations=1`` propagates nothing,
    ``alignment_version=1`` aligns spike trains as arXiv version 1 did.

    deviations of the practical mode, each switched off in ``FAITHFUL``: ``is_physiological``, the exact neuron at rest
    0, as the published one fires after five turns whatever reaches it (1.6). ``is_cue_timeless``, a cue has no spike of
    its own and T = 1 at the first hop, as T is mere recency there. ``rank_by_stimulus``, memories are ranked by the
    stimulus that the cue sends them, even below ``stimulus_th``. ``epsilon``, only the strongest memories reached are
    stimulated, while each adds that fraction of what was added before (1.11.1). ``max_spikes`` and ``band``, spike
    trains and their tables are cut (1.11.2). ``adjacency_tau``, stimulated memories add to those of nearby turns, with
    this time constant in turns, as that of the neurons, 119 and more, does not distinguish the turns of one dialogue.
    """

    cos_th: float | None = None
    v_th: float = 0.09965483747846116
    stimulus_th: float = 0.036644412598255786
    tau_init: float = 43.071022365235635
    tau_scale: float = 2.7037589108368674
    time_scale: float = 7.933361005067098
    bond_scale: float = 0.4636666711414976
    v_rest: float = 2.9030838107636145
    i_rest: float = -7.127504404013959
    use_temporal_score: bool = True
    use_dynamic_tau: bool = True
    max_generations: float = math.inf
    alignment_version: int = 2
    is_physiological: bool = True
    is_cue_timeless: bool = True
    rank_by_stimulus: bool = True
    quantile: float = 0.95  # inferred: 1.11.3
    epsilon: float = 0.05  # inferred: 1.11.1
    max_spikes: int | None = 16  # inferred: 1.11.2
    band: int | None = 4  # inferred: 1.11.2
    adjacency_tau: float = 3.0  # inferred: 1.11.3, the time scale of nearby turns; 0 switches it off
    writes_on_store: bool = True
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "synaptic"

    @property
    def neuron(self) -> Neuron:
        """The constants of every memory's neuron, the key of the cached state."""
        return Neuron(
            self.v_th, self.tau_init, self.tau_scale, self.time_scale, self.v_rest, self.i_rest,
            self.is_physiological, self.use_dynamic_tau,
        )  # fmt: skip

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Stimulate, generation by generation (1.4), and rank the memories reached."""
        eligible = filters.eligible(graph, query)
        is_open = eligible & (graph.vector_positions >= 0)
        if query.vector is None or not is_open.any():
            return Activation(graph.zeros())
        # SR-code, ablation: without T the stimulus is S_p cos, undamped.
        coupling = Coupling(
            self.bond_scale if self.use_temporal_score else 1,
            self.use_temporal_score,
            self.alignment_version,
            self.max_spikes,
            self.band,
        )
        cos_th = cosine_quantile(graph, self.quantile) if self.cos_th is None else self.cos_th
        receivers = Receivers(graph, network_state(graph, self.neuron), self.neuron, coupling, cos_th)
        parents = Senders(
            np.array([-1]), query.vector[None], np.ones(1), np.ones(1),
            SpikeTrains.single_spikes(np.array([float(receivers.state.now)])),
        )  # fmt: skip
        propagation = Propagation.empty(graph)
        delivery = self._first_hop(receivers, parents, np.where(is_open, dense.cosine(graph, query), -1), propagation)
        parents, generation = self._stimulate(receivers, parents, delivery, propagation), 1
        if self.adjacency_tau and self.use_temporal_score and generation < self.max_generations:
            adjacent = adjacent_stimuli(graph, parents, scale=self.bond_scale, tau=self.adjacency_tau)
            propagation.adjacent_stimulus[adjacent.rows] = adjacent.S * is_open[adjacent.rows]
            propagation.adjacent_parent[adjacent.rows] = parents.rows[adjacent.senders]
        while len(parents) and generation < self.max_generations:
            is_open[delivery.rows] = False  # a memory is reached once
            delivery = strongest_stimuli(receivers, parents, is_open, self._min_stimulus(propagation))
            parents, generation = self._stimulate(receivers, parents, delivery, propagation), generation + 1
        return replace(self._rank(propagation, query.embedder_coverage), eligible=eligible)

    def _min_stimulus(self, propagation: Propagation) -> float:
        """The least stimulus that counts: ``stimulus_th``, and ``epsilon`` of the sum of stimuli so far (1.11.1)."""
        return max(self.stimulus_th, self.epsilon * float(propagation.stimulus.sum()), MIN_STIMULUS)

    def _first_hop(self, receivers: Receivers, cue: Senders, cosines: Scores, propagation: Propagation) -> Delivery:
        """The stimuli that the cue sends to the memories similar to it."""
        if self.is_cue_timeless:
            receivers = replace(receivers, coupling=replace(receivers.coupling, use_temporal_score=False))
        rows = np.flatnonzero(cosines > 0 if self.rank_by_stimulus else cosines >= receivers.cos_th)
        S = receivers.stimuli(cue, np.zeros(len(rows), np.intp), rows, cosines[rows].astype(np.float64))
        propagation.S[rows] = S
        counted = np.flatnonzero((cosines[rows] >= receivers.cos_th) & (self._min_stimulus(propagation) <= S))
        return Delivery(rows[counted], S[counted], np.zeros(len(counted), np.intp))

    def _stimulate(
        self, receivers: Receivers, senders: Senders, delivery: Delivery, propagation: Propagation
    ) -> Senders:
        """Stimulate the memories reached; those stimulated, whether they fire or not, are the next parents."""
        chosen = self._strongest(delivery.S, float(propagation.stimulus.sum()))
        # The log has 32-bit numbers: replaying them must give the same state.
        rows, S = delivery.rows[chosen], delivery.S[chosen].astype(np.float32).astype(np.float64)
        outcome = stimulate(
            self.neuron, receivers.state.neurons.select(rows), S, receivers.state.turns_since_spike(rows)
        )
        propagation.stimulus[rows] = S
        propagation.S[rows] = np.maximum(propagation.S[rows], S)
        propagation.has_fired[rows], propagation.potential[rows] = outcome.has_fired, outcome.potential
        propagation.parent[rows] = senders.rows[delivery.senders[chosen]]
        vectors = receivers.graph.vectors.view[receivers.graph.vector_positions[rows]]
        return Senders(
            rows,
            vectors,
            S,
            outcome.state.tau,
            receivers.state.spike_trains(rows, max_spikes=self.max_spikes, has_new_spike=~outcome.has_fired),
        )

    def _strongest(self, S: Floats, stimulus_sum: float) -> Rows:
        """The indices to stimulate, ascending: the strongest, while each adds ``epsilon`` of the stimuli before it."""
        order = np.argsort(-S, kind="stable")
        before = stimulus_sum + np.cumsum(S[order]) - S[order]
        is_enough = S[order] >= self.epsilon * before
        return np.sort(order if is_enough.all() else order[: int(is_enough.argmin())])

    def _rank(self, propagation: Propagation, embedder_coverage: float) -> Activation:
        """By stimulus, or in the published order (1.4): fired V + 1000, stimulated V + 100, others not at all.

        The confidence is multiplied by ``embedder_coverage``, the scores are not.
        """
        is_stimulated = propagation.stimulus > 0
        if self.rank_by_stimulus:
            sent, adjacent = propagation.S.astype(np.float32), propagation.adjacent_stimulus.astype(np.float32)
            scores = sent + adjacent
            contributions = {
                "fired": np.where(propagation.has_fired, sent, 0),
                "stimulus": np.where(propagation.has_fired, 0, sent),
            }
            contributions["adjacent turn"] = adjacent
            max_potential = float(propagation.S.max()) / math.e  # the potential that it causes in a memory at rest
        else:
            # As float32, V + 1000 keeps two digits of V: so V is replaced by its rank in 0..1, which keeps the order.
            potential = np.zeros(len(propagation.S), np.float32)
            potentials, rank = np.unique(propagation.potential[is_stimulated], return_inverse=True)
            potential[is_stimulated] = (rank + 1) / (len(potentials) + 1)
            contributions = {"fired": propagation.has_fired.astype(np.float32), "potential": potential}
            scores = contributions["fired"] + potential
            max_potential = float(propagation.potential[is_stimulated].max(initial=0.0))
        no_entity = np.full(len(scores), -1, np.intp)
        paths = dict.fromkeys(contributions, ActivationPath(propagation.parent, no_entity)) | {
            "adjacent turn": ActivationPath(propagation.adjacent_parent, no_entity)
        }
        confidence = float(np.clip(max_potential / (2 * self.v_th), 0, 1))  # inferred: 0.5 where a memory just fires
        return Activation(
            scores=scores,
            contributions=contributions,
            paths=paths,
            stimulus=propagation.stimulus.astype(np.float32),
            confidence=embedder_coverage * confidence,
        )


FAITHFUL = Synaptic(
    cos_th=0.26234455963372794,
    is_physiological=False,
    is_cue_timeless=False,
    rank_by_stimulus=False,
    epsilon=0,
    max_spikes=None,
    band=None,
    adjacency_tau=0,
    needs_full_log=True,
    name="synaptic-faithful",
)
"""The published model with the constants of the authors' code."""
