"""SYNAPSE: activation spreads from the memories that match a question over turns and concepts.

Jiang et al. (11 authors), "SYNAPSE", arXiv 2601.02744, January 2026 (v3 February 2026). Neither its full text nor its
code was available: the equations come from secondary sources; sections (§) refer to docs/explanation/papers.md. Not
"Synapse: Trajectory-as-Exemplar Prompting", another paper. No semantic node is written: the layer of concepts is
derived from the graph, see :mod:`ecphora.strategies.synapse.layer_consolidation`.
"""

from dataclasses import dataclass, replace

import numpy as np

from ...model.graph.graph import Graph
from ...model.ports import Activation
from ...model.reprs import ShortRepr
from ...model.types import Mask, Query, Scores
from ...retrieval import filters, fusion
from ...retrieval.confidence import heuristic_confidence
from ...retrieval.fusion import top_rows
from . import dual_trigger, spreading_activation, tunneling
from .confidence_gate import GATE_CONFIDENCE, from_activation, is_cold_start
from .dormancy import dormant_mask
from .dual_trigger import TriggerResult
from .layer_consolidation import Layer, LayerConfig, consolidated_layer
from .spreading_activation import Dynamics, Iteration

LAYER_CONFIG = LayerConfig(tau_dup=1.0, max_stale_share=0.02)
"""``N``, ``K``, ``rho`` as published. deviation: no concepts are merged, as the mean vectors of two entities are close.
deviation: no concept is an anchor, as that changes no recall beyond chance. deviation: a memory of more than 500 turns
consolidates less often, at the latest when a fiftieth of it is new."""
E0 = 30
"""The number of edges around the anchors from which the graph has full weight. inferred: §2.10, 1."""
DEFAULT_TOP_K = 30
"""The number of results the tunneling index looks at if ``top_k`` is 0: the paper's top-k."""


@dataclass(frozen=True, slots=True, repr=False)
class Synapse(ShortRepr):
    """The paper's parameters by its symbols, and below them our additions; each can be switched off.

    ``tau_gate`` 0 switches the gate off, ``W`` 0 dormancy, ``T`` 0 spreading; ``top_k`` 0 returns all active memories.
    ``anchors_per_trigger`` is the number of anchors of each trigger; ``use_fan_effect`` divides by the out-degree.
    ``use_previous_turn``: both triggers also read each turn together with the turn before it.
    ``use_lexical_similarity``: BM25 is half of a row's similarity. ``use_similarity_floor``: cosines count from the
    embedder's cosine of two unrelated texts, 0 with MiniLM and .72 with multilingual-e5-small. ``include_unreached``:
    rows that activation did not reach are scored too. ``protect_anchors``: no anchor of both triggers is inhibited
    below its initial activation. ``blend_cold_start``: the fewer edges there are, the less they count.
    ``ground_confidence``: above the gate, the confidence is computed from the best memories.
    """

    alpha: float = 1.0  # inferred: from an implementation alone
    delta: float = 0.5
    S: float = 0.8
    T: int = 3
    beta: float = 0.15
    M: int = 7
    gamma: float = 5.0
    theta: float = 0.5
    lambda1: float = 0.5
    lambda2: float = 0.3
    lambda3: float = 0.2
    epsilon: float = 0.01
    W: int = 0  # deviation: off, so that no retrieval is logged row by row; published 10
    top_k: int = 0  # deviation: the caller's limit cuts; published 30
    tau_gate: float = 0.1  # recalibrated by `confidence_gate.calibrate_gate`, on musique; published .12
    anchors_per_trigger: int = 10  # inferred: §2.8
    use_lexical_trigger: bool = True
    use_fan_effect: bool = True
    layer_config: LayerConfig = LAYER_CONFIG
    use_previous_turn: bool = True
    use_lexical_similarity: bool = True
    use_similarity_floor: bool = True
    include_unreached: bool = True
    protect_anchors: bool = True
    blend_cold_start: bool = True
    ground_confidence: bool = True
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "synapse"

    @property
    def dynamics(self) -> Dynamics:
        """The parameters of an iteration."""
        return Dynamics(self.S, self.delta, self.beta, self.M, self.gamma, self.theta, self.use_fan_effect)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """The read path (§2.4): spread the activation of the anchors, and score the episodes."""
        eligible = filters.eligible(graph, query)
        if not eligible.any():
            return Activation(graph.zeros())
        trigger, iteration, contributions = self._spread(query, graph, eligible)  # 1 to 4
        scores = fusion.sum_contributions(contributions)
        if self.top_k:  # 5
            listed = top_rows(scores, eligible, self.top_k)
            scores *= np.isin(np.arange(len(graph)), listed)
        stimulus = np.where(graph.episodes & (iteration.activation >= self.epsilon), iteration.activation, 0)
        return Activation(
            scores=scores,
            contributions=contributions,
            paths={"activation": spreading_activation.activation_path(graph.episodes, iteration.parent)},
            stimulus=stimulus if self.W else np.zeros(0, np.float32),
            confidence=self._confidence(query, graph, trigger, scores, float(iteration.activation.max())),  # 6
            eligible=eligible,
        )

    def tunneling_index(self, query: Query, graph: Graph) -> float:
        """The tunneling index of a recall (§2.10, 2), in 0..1: of its last iteration."""
        eligible = filters.eligible(graph, query)
        if not eligible.any():
            return 0.0
        trigger, iteration, contributions = self._spread(query, graph, eligible)
        results = top_rows(fusion.sum_contributions(contributions), eligible, self.top_k or DEFAULT_TOP_K)
        anchors = tunneling.top_anchors(trigger)
        return tunneling.tunneling_index(anchors[graph.episodes[anchors]], results, iteration)  # a concept is no result

    def _spread(self, query: Query, graph: Graph, eligible: Mask) -> tuple[TriggerResult, Iteration, dict[str, Scores]]:
        """The anchors, the last iteration, and the contributions to the scores."""
        layer = consolidated_layer(graph, replace(self.layer_config, similarity_floor=query.similarity_floor))
        # 1: the anchors, topk_BM25(q) ∪ topk_dense(q)
        trigger = self._find_anchors(query, graph, eligible, layer)
        # 2 and 3: a_i(0) = α·cos for the anchors, then T times propagation, inhibition, activation
        floor = tunneling.anchor_floor(trigger) if self.protect_anchors else graph.zeros()
        iteration = spreading_activation.spread(
            spreading_activation.initial_activation(trigger.anchors, trigger.initial_activation, self.alpha),
            lambda rows: layer.edges_from(graph, rows),
            self._reachable(graph, eligible),
            self.dynamics,
            T=self.T,
            floor=floor,
        )
        # 4: λ1·cos + λ2·a + λ3·PageRank
        return trigger, iteration, self._contributions(graph, trigger, iteration.activation, layer, eligible)

    def _find_anchors(self, query: Query, graph: Graph, eligible: Mask, layer: Layer) -> TriggerResult:
        return dual_trigger.find_anchors(
            graph,
            query,
            eligible,
            self.anchors_per_trigger,
            use_lexical_trigger=self.use_lexical_trigger,
            use_previous_turn=self.use_previous_turn,
            use_lexical_similarity=self.use_lexical_similarity,
            use_similarity_floor=self.use_similarity_floor,
            concepts=layer.concepts,
        )

    def _reachable(self, graph: Graph, eligible: Mask) -> Mask:
        """The rows that activation may reach: concepts, and eligible memories. Anchors may be others."""
        reachable = eligible | ~graph.episodes
        if self.W:  # §2.5: dormant memories are out of the graph
            reachable &= ~dormant_mask(graph, self.W)
        return reachable

    def _contributions(
        self,
        graph: Graph,
        trigger: TriggerResult,
        activation: Scores,
        layer: Layer,
        eligible: Mask,
    ) -> dict[str, Scores]:
        """§2.4, 4: the contributions of episodes that are anchors, are reached, or are similar."""
        is_scored = activation > 0
        is_scored[trigger.anchors] = True
        if self.include_unreached:
            is_scored |= trigger.similarity > 0
        rank = graph.zeros()
        rank[: len(layer.pagerank)] = layer.pagerank
        g = self._connectivity(graph, trigger, layer) if self.blend_cold_start else 1.0
        contributions = {
            "dense similarity": g * self.lambda1 * trigger.similarity + (1 - g) * trigger.similarity,
            "activation": g * self.lambda2 * activation,
            "pagerank": g * self.lambda3 * rank,
        }
        return {name: (share * (is_scored & eligible)).astype(np.float32) for name, share in contributions.items()}

    def _connectivity(self, graph: Graph, trigger: TriggerResult, layer: Layer) -> float:
        """g of §2.10, 1, from the edges that leave the anchors and their neighbors."""
        nearby = np.union1d(trigger.anchors, layer.edges_from(graph, trigger.anchors).dst)
        return min(1.0, len(layer.edges_from(graph, nearby)) / E0)

    def _confidence(
        self, query: Query, graph: Graph, trigger: TriggerResult, scores: Scores, max_activation: float
    ) -> float:
        """§2.4, 6: below the gate the default band is NONE, whatever the other scores."""
        if not (scores > 0).any():
            return 0.0
        gated = from_activation(max_activation, 0.0 if is_cold_start(graph) else self.tau_gate)
        if not self.ground_confidence:
            return gated
        confidence = heuristic_confidence(
            graph, query, scores, trigger.cosine, fusion.max_normalize(trigger.similarity)
        )
        return confidence if gated >= GATE_CONFIDENCE else min(confidence, gated)


FAITHFUL = Synapse(
    W=10,
    top_k=30,
    tau_gate=0.12,
    layer_config=LayerConfig(link_whole_window=True, use_concept_anchors=True),
    use_previous_turn=False,
    use_lexical_similarity=False,
    include_unreached=False,
    protect_anchors=False,
    blend_cold_start=False,
    ground_confidence=False,
    needs_full_log=True,
    name="synapse-faithful",
)
"""The paper as described by secondary sources; constants without a published number are inferred (2.8)."""
