"""SynapticRAG: every memory is a neuron, and storing a memory is a query too.

Yuki Hou, Haruki Tamoto, Qinghua Zhao, Homei Miyashita, "SynapticRAG: Enhancing Temporal Memory Retrieval in Large
Language Models through Synaptic Mechanisms", Findings of ACL 2025, pp. 20422-20436, arXiv 2410.13553. Section numbers
refer to docs/explanation/papers.md, which has equations and constants from the authors' code.

A cue stimulates the memories similar to it, these pass a weakened stimulus on, and memories whose membrane potential
crosses a threshold fire and are recalled.

:class:`Synaptic` keeps no history: it has the stimulus, the neuron and the propagation (lab/models.md).
:class:`PublishedSynaptic` has all of the model: potential, current, time constant and spike train of each memory follow
from the access log (``strategies/synaptic/network_state.py``); nothing but the stimuli is stored.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InvalidInput
from ...model.graph.graph import Graph
from ...model.ports import Activation, ActivationPath
from ...model.reprs import ShortRepr
from ...model.types import Query
from ...retrieval import dense, filters
from .adjacent_turns import AdjacentStimuli, adjacent_stimuli
from .firing_cascade import Alignment, History, Synapses, fire_cascade
from .lif_neuron import Neuron, TimeConstant
from .network_state import network_state
from .propagation import Acceptance, Coupling, Propagation, Receivers, Senders, propagate
from .threshold_calibration import cosine_quantile


@dataclass(frozen=True, slots=True, repr=False)
class Synaptic(ShortRepr):
    """The model without history, with constants chosen on two sets of conversations (lab/models.md).

    A cue sends every similar memory the stimulus S = cos ``bond_scale``, with the cosine counted from the embedder's
    similarity floor. A memory fires if its potential is at least ``firing_fraction`` of the highest. Memories that fire
    pass on S cos T ``bond_scale`` to others, which adds to the cue's stimulus; of several parents the strongest counts.
    The memories that fire then are the next parents. Memories are ranked by S.

    deviations: ``firing_fraction``, the threshold moves with the cue, as the potentials of two embedders or two cues
    cannot be compared; published is a fixed ``v_th``. Only memories that fire pass a stimulus on; published, all that
    are stimulated do. Stimuli of the cue and of a parent add up, as in the paper's equation; the authors' code keeps
    the stronger. ``tau``, T = 2 σ(exp(-|A - B| / tau)) - 1 of the turns A and B at which two memories were encoded;
    published T is never below 1/2, with a time constant of 119 turns and more, which does not distinguish the turns
    of one dialogue. Memories have neither an earlier potential nor the spikes of earlier cues.

    ``keeps_potential`` and ``counts_past_spikes`` switch on each part of the history; both need ``writes_on_store``,
    and a ``firing_fraction`` above 0. Stimuli are then scaled to the cue, so that its threshold is the published
    ``v_th`` (see ``firing_cascade.History``). Logged are the memories that fire, and of the others the strongest, while
    each adds ``epsilon`` of the stimuli before (1.11.1), about 20 a turn; published, all that are stimulated. A memory
    that is stimulated without firing keeps a potential, to which the next stimulus adds, and gets one more spike.

    Ablations: without ``use_temporal_score`` T = 1, ``max_generations=1`` propagates nothing, with
    ``firing_fraction=0`` every stimulated memory passes its stimulus on.
    """

    firing_fraction: float = 0.9  # inferred: 1.11.1, homeostasis; published: a fixed v_th
    tau: float = 3.0  # inferred: 1.11.3, the time scale of nearby turns
    bond_scale: float = 0.4636666711414976
    use_temporal_score: bool = True
    max_generations: float = math.inf
    keeps_potential: bool = False
    counts_past_spikes: bool = False
    epsilon: float = 0.05  # inferred: 1.11.1
    writes_on_store: bool = False
    needs_full_log: bool = False
    name: str = "synaptic"

    def __post_init__(self) -> None:
        if self._has_history and self.firing_fraction <= 0:
            raise InvalidInput("a history needs a firing_fraction above 0: where all fire, none keeps anything")

    @property
    def neuron(self) -> Neuron:
        """The constants of every memory's neuron: at rest 0, with the published threshold and time constant."""
        return Neuron(is_physiological=True, keeps_potential=self.keeps_potential)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Stimulate, let fire, pass on, generation by generation, and rank by the stimulus."""
        eligible = filters.eligible(graph, query)
        is_open = eligible & (graph.vector_positions >= 0)
        if query.vector is None or not is_open.any():
            return Activation(graph.zeros(), eligible=eligible)
        cosines = dense.above_floor(dense.cosine(graph, query), query.similarity_floor)
        sent = np.where(is_open, np.maximum(cosines, 0), 0).astype(np.float64) * self.bond_scale
        cascade = fire_cascade(
            graph,
            sent,
            is_open,
            Synapses(self.bond_scale, self.tau, query.similarity_floor, self._alignment),
            firing_fraction=self.firing_fraction,
            max_generations=self.max_generations,
            history=History.replay(graph, self.neuron, Acceptance(0.0, self.epsilon)) if self._has_history else None,
        )
        contributions = {
            "fired": np.where(cascade.has_fired, sent, 0).astype(np.float32),
            "stimulus": np.where(cascade.has_fired, 0, sent).astype(np.float32),
            "adjacent turn": cascade.passed_on.astype(np.float32),
        }
        max_potential = float(sent.max()) / math.e  # the potential that it causes in a memory at rest
        return Activation(
            scores=np.add(np.add(contributions["fired"], contributions["stimulus"]), contributions["adjacent turn"]),
            contributions=contributions,
            paths={"adjacent turn": ActivationPath(cascade.parent, graph.no_rows())},
            stimulus=cascade.logged.astype(np.float32),
            # inferred: 0.5 where a memory just reaches the published threshold
            confidence=query.embedder_coverage * min(1.0, max_potential / (2 * self.neuron.v_th)),
            eligible=eligible,
        )

    @property
    def _has_history(self) -> bool:
        return self.keeps_potential or self.counts_past_spikes

    @property
    def _alignment(self) -> Alignment:
        if not self.use_temporal_score:
            return Alignment.NONE
        return Alignment.ALL_SPIKES if self.counts_past_spikes else Alignment.ENCODING


@dataclass(frozen=True, slots=True, repr=False)
class PublishedSynaptic(ShortRepr):
    """The published constants (1.2), and remedies of papers.md 1.11.

    Two memories are connected when cos >= ``cos_th``; None takes the ``quantile`` of the cosines of stored pairs;
    cosines count from the embedder's similarity floor. A
    stimulus below ``stimulus_th`` does not count. ``bond_scale`` damps every hop. A memory fires at ``v_th``; ``tau_*``
    and ``time_scale`` shape its time constant, ``v_rest`` and ``i_rest`` are the rest values of the published neuron.

    Ablations: without ``use_temporal_score`` the stimulus is the cosine, without ``use_dynamic_tau`` time constants do
    not grow, without ``keeps_potential`` every stimulus finds V = I = 0, ``stimulus_th=0`` does not limit propagation,
    ``max_generations=1`` propagates nothing, ``alignment_version=1`` aligns spike trains as arXiv version 1 did.

    The defaults have remedies for the limitations that the paper names, each switched off in ``FAITHFUL``:
    ``is_physiological``, the exact neuron at rest 0, as the published one fires after five turns whatever reaches it
    (1.6). ``is_cue_timeless``, a cue has no spike of its own and T = 1 at the first hop, as T is mere recency there.
    ``rank_by_stimulus``, memories are ranked by the stimulus that the cue sends them, even below ``stimulus_th``.
    ``epsilon``, only the strongest memories reached are stimulated, while each adds that fraction of what was added
    before (1.11.1). ``max_spikes`` and ``band``, spike trains and their tables are cut (1.11.2). ``adjacency_tau``,
    stimulated memories stimulate memories of nearby turns, with this time constant in turns, as the time constant of
    the neurons, 119 and more, does not distinguish the turns of one dialogue.
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
    keeps_potential: bool = True
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
    name: str = "synaptic-remedied"

    @property
    def neuron(self) -> Neuron:
        """The constants of every memory's neuron, the key of the cached state."""
        time_constant = TimeConstant(self.tau_init, self.tau_scale, self.time_scale, self.use_dynamic_tau)
        return Neuron(self.v_th, self.v_rest, self.i_rest, self.is_physiological, time_constant, self.keeps_potential)

    @property
    def coupling(self) -> Coupling:
        """How much of a stimulus passes between two memories. SR-code, ablation: without T it is S_p cos, undamped."""
        bond_scale = self.bond_scale if self.use_temporal_score else 1
        return Coupling(bond_scale, self.use_temporal_score, self.alignment_version, self.max_spikes, self.band)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """The read path (1.4): stimulate, generation by generation, and rank the memories reached."""
        eligible = filters.eligible(graph, query)
        is_open = eligible & (graph.vector_positions >= 0)
        if query.vector is None or not is_open.any():
            return Activation(graph.zeros())
        # 1.1: two memories are connected when cos >= cos_th; 1.6: V, I and tau of each before this cue
        floor = query.similarity_floor
        cos_th = cosine_quantile(graph, self.quantile, floor) if self.cos_th is None else self.cos_th
        receivers = Receivers(graph, network_state(graph, self.neuron), self.neuron, self.coupling, cos_th, floor)
        # 1.4: S = 1 at the cue, S_c = S_p P, P = cos T bond_scale; what is stimulated fires if V >= v_th
        propagation = propagate(
            receivers,
            Senders.cue(query.vector, receivers.state.now),
            dense.above_floor(dense.cosine(graph, query), floor),
            is_open,
            Acceptance(self.stimulus_th, self.epsilon),
            max_generations=self.max_generations,
            is_cue_timeless=self.is_cue_timeless,
            include_dissimilar=self.rank_by_stimulus,
        )
        adjacent = AdjacentStimuli.empty(graph)
        if self.adjacency_tau and self.use_temporal_score and self.max_generations > 1:
            rows = propagation.first_generation
            adjacent = adjacent_stimuli(
                graph,
                rows,
                propagation.stimulus[rows],
                is_open,
                scale=self.bond_scale,
                tau=self.adjacency_tau,
                floor=floor,
            )
        return replace(self._rank(propagation, adjacent, query.embedder_coverage), eligible=eligible)

    def _rank(self, propagation: Propagation, adjacent: AdjacentStimuli, embedder_coverage: float) -> Activation:
        """By stimulus, or in the published order (1.4): fired V + 1000, stimulated V + 100, others not at all.

        The confidence is multiplied by ``embedder_coverage``, the scores are not.
        """
        is_stimulated = propagation.stimulus > 0
        if self.rank_by_stimulus:
            sent, sent_by_adjacent = propagation.S.astype(np.float32), adjacent.S.astype(np.float32)
            scores = sent + sent_by_adjacent
            contributions = {
                "fired": np.where(propagation.has_fired, sent, 0),
                "stimulus": np.where(propagation.has_fired, 0, sent),
                "adjacent turn": sent_by_adjacent,
            }
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
            "adjacent turn": ActivationPath(adjacent.parent, no_entity)
        }
        confidence = float(np.clip(max_potential / (2 * self.v_th), 0, 1))  # inferred: 0.5 where a memory just fires
        return Activation(
            scores=scores,
            contributions=contributions,
            paths=paths,
            stimulus=propagation.stimulus.astype(np.float32),
            confidence=embedder_coverage * confidence,
        )


FAITHFUL = PublishedSynaptic(
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
