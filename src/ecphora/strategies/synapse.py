"""SYNAPSE: activation spreads from the memories that match a question over turns and concepts.

Jiang et al. (11 authors), "SYNAPSE", arXiv 2601.02744, January 2026 (v3 February 2026). Neither its full text nor its
code was available: the equations come from secondary sources; sections (§) are those of docs/papers.md. Not
"Synapse: Trajectory-as-Exemplar Prompting", another paper. No semantic node is written: the layer of concepts is
derived from the graph, see :mod:`ecphora.stages.synapse.semantic_layer`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Kind, Mask, Query, Scores
from ..ports import Activation
from ..reprs import ShortRepr
from ..stages.retrieval import fusion
from ..stages.retrieval.confidence import MIN_WEAK, from_activation, heuristic_confidence
from ..stages.retrieval.filters import eligible as eligible_rows
from ..stages.retrieval.top_k import top_rows
from ..stages.synapse import dual_trigger, spreading_activation
from ..stages.synapse.dormancy import dormant_mask
from ..stages.synapse.dual_trigger import TriggerResult
from ..stages.synapse.semantic_layer import Layer, LayerConfig, consolidated_layer

LAYER_CONFIG = LayerConfig(tau_dup=1.0, max_stale_share=0.02)
"""``N``, ``K``, ``rho`` as published. deviation: no concepts are merged, as the mean vectors of two entities are close.
deviation: a memory of more than 500 turns consolidates less often, at the latest when a fiftieth of it is new."""
MIN_NODES = 10
"""A graph with fewer nodes is too small for the gate and for spreading: the paper's cold start."""
E0 = 30
"""The number of edges around the anchors from which the graph has full weight. inferred: §2.10, 1."""
MAX_TUNNELING = 0.2
"""The tunneling index above which the last iteration is repeated with half of β, and with each inhibitor's part divided
by ``1 + ln fan``. inferred: §2.10, 2."""
DEFAULT_TOP_K = 30
"""The number of results the tunneling index looks at if ``top_k`` is 0: the paper's top-k."""
LAST_TURN_WEIGHT = 0.1
"""The weight of the last turn in a cold start, where nothing spreads. inferred."""


@dataclass(frozen=True, slots=True, repr=False)
class Synapse(ShortRepr):
    """The paper's parameters by its symbols, and below them our additions; each can be switched off.

    ``tau_gate`` 0 switches the gate off, ``W`` 0 dormancy, ``T`` 0 spreading; ``top_k`` 0 returns all active memories.
    ``anchors_per_trigger`` is the number of anchors of each trigger; ``use_fan_effect`` divides by the out-degree.
    ``use_previous_turn``: both triggers also read each turn together with the turn before it.
    ``use_lexical_similarity``: BM25 is half of a row's similarity. ``include_unreached``: rows that activation did not
    reach are scored too. ``protect_anchors``: no anchor of both triggers is inhibited below its initial activation, and
    if anchors are suppressed the last iteration is repeated with less inhibition. ``blend_cold_start``: the fewer edges
    there are, the less they count. ``ground_confidence``: above the gate, the confidence is computed from the best
    memories.
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
    tau_gate: float = 0.1  # recalibrated by `confidence.calibrate_gate`, on musique; published .12
    anchors_per_trigger: int = 10  # inferred: §2.8
    use_lexical_trigger: bool = True
    use_fan_effect: bool = True
    layer_config: LayerConfig = LAYER_CONFIG
    use_previous_turn: bool = True
    use_lexical_similarity: bool = True
    include_unreached: bool = True
    protect_anchors: bool = True
    blend_cold_start: bool = True
    ground_confidence: bool = True
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "synapse"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Spread the activation of the anchors, and score the episodes."""
        eligible = eligible_rows(graph, query)
        if not eligible.any():
            return Activation(graph.zeros())
        trigger = dual_trigger.find_anchors(
            graph,
            query,
            eligible,
            self.anchors_per_trigger,
            use_lexical_trigger=self.use_lexical_trigger,
            use_previous_turn=self.use_previous_turn,
            use_lexical_similarity=self.use_lexical_similarity,
        )
        layer = consolidated_layer(graph, self.layer_config)
        iteration = self._spread(graph, trigger, layer, eligible)
        contributions = self._contributions(graph, trigger, iteration, layer, eligible)
        if self.protect_anchors and self._has_tunneling(trigger, iteration, contributions, eligible):  # §2.10, 2
            fan = layer.edges_from(graph, np.flatnonzero(iteration.u)).fan(len(graph))
            iteration = self._inhibit_and_activate(iteration, trigger, self.beta / 2, 1 + np.log(np.maximum(1, fan)))
            contributions = self._contributions(graph, trigger, iteration, layer, eligible)
        scores = fusion.sum_contributions(contributions)
        if self.top_k:  # §2.4, 5
            listed = top_rows(scores, eligible, self.top_k)
            scores *= np.isin(np.arange(len(graph)), listed)
        stimulus = np.where(graph.episodes & (iteration.activation >= self.epsilon), iteration.activation, 0)
        return Activation(
            scores=scores,
            contributions=contributions,
            paths={"activation": spreading_activation.activation_path(graph.episodes, iteration.parent)},
            stimulus=stimulus if self.W else np.zeros(0, np.float32),
            confidence=self._confidence(query, graph, trigger, scores, float(iteration.activation.max())),
            eligible=eligible,
        )

    def _spread(
        self, graph: Graph, trigger: TriggerResult, layer: Layer, eligible: Mask
    ) -> spreading_activation.Iteration:
        """§2.4, 2 and 3: T iterations from the anchors."""
        reachable = eligible | ~graph.episodes
        if self.W:  # §2.5: dormant memories are out of the graph, but may still be anchors
            reachable &= ~dormant_mask(graph, self.W)
        activation = graph.zeros()
        activation[trigger.anchors] = self.alpha * trigger.initial_activation[trigger.anchors]
        iteration = spreading_activation.initial(activation)
        for _ in range(self.T):
            edges = layer.edges_from(graph, np.flatnonzero(iteration.activation))
            iteration = spreading_activation.propagate(
                iteration, edges, reachable, S=self.S, delta=self.delta, use_fan_effect=self.use_fan_effect
            )
            iteration = self._inhibit_and_activate(iteration, trigger, self.beta)
        return iteration

    def _inhibit_and_activate(
        self,
        iteration: spreading_activation.Iteration,
        trigger: TriggerResult,
        beta: float,
        divisor: spreading_activation.Floats | None = None,
    ) -> spreading_activation.Iteration:
        """Inhibition and sigmoid, the end of an iteration."""
        u_hat = spreading_activation.inhibit(iteration.u, beta=beta, M=self.M, divisor=divisor)
        if self.protect_anchors:
            shared = np.intersect1d(trigger.lexical_anchors, trigger.dense_anchors)
            u_hat[shared] = np.maximum(
                u_hat[shared], np.minimum(iteration.u[shared], trigger.initial_activation[shared])
            )
        return spreading_activation.apply_sigmoid(iteration, u_hat, gamma=self.gamma, theta=self.theta)

    def _contributions(
        self,
        graph: Graph,
        trigger: TriggerResult,
        iteration: spreading_activation.Iteration,
        layer: Layer,
        eligible: Mask,
    ) -> dict[str, Scores]:
        """§2.4, 4: the contributions of episodes that are anchors, are reached, or are similar."""
        is_scored = iteration.activation > 0
        is_scored[trigger.anchors] = True
        if self.include_unreached:
            is_scored |= trigger.similarity > 0
        rank = graph.zeros()
        rank[: len(layer.pagerank)] = layer.pagerank
        g = self._connectivity(graph, trigger, layer) if self.blend_cold_start else 1.0
        contributions = {
            "dense similarity": g * self.lambda1 * trigger.similarity + (1 - g) * trigger.similarity,
            "activation": g * self.lambda2 * iteration.activation,
            "pagerank": g * self.lambda3 * rank,
        }
        contributions = {
            name: (share * (is_scored & eligible)).astype(np.float32) for name, share in contributions.items()
        }
        if self.blend_cold_start and _is_cold_start(graph):
            rows = np.flatnonzero(eligible)
            contributions["recency"] = graph.zeros()
            contributions["recency"][rows] = LAST_TURN_WEIGHT * np.arange(1, len(rows) + 1) / len(rows)
        return contributions

    def _connectivity(self, graph: Graph, trigger: TriggerResult, layer: Layer) -> float:
        """g of §2.10, 1, from the edges that leave the anchors and their neighbors; 0 in a cold start."""
        nearby = np.union1d(trigger.anchors, layer.edges_from(graph, trigger.anchors).dst)
        return 0.0 if _is_cold_start(graph) else min(1.0, len(layer.edges_from(graph, nearby)) / E0)

    def _has_tunneling(
        self,
        trigger: TriggerResult,
        iteration: spreading_activation.Iteration,
        contributions: Mapping[str, Scores],
        eligible: Mask,
    ) -> bool:
        top_anchors = np.union1d(trigger.lexical_anchors[:5], trigger.dense_anchors[:5])
        listed = top_rows(fusion.sum_contributions(contributions), eligible, self.top_k or DEFAULT_TOP_K)
        return spreading_activation.tunneling_index(top_anchors, listed, iteration) > MAX_TUNNELING

    def _confidence(
        self, query: Query, graph: Graph, trigger: TriggerResult, scores: Scores, max_activation: float
    ) -> float:
        """§2.4, 6: below the gate the band is NONE, whatever the other scores."""
        if not (scores > 0).any():
            return 0.0
        gated = from_activation(max_activation, 0.0 if _is_cold_start(graph) else self.tau_gate)
        if not self.ground_confidence:
            return gated
        confidence = heuristic_confidence(
            graph, query, scores, trigger.cosine, fusion.max_normalize(trigger.similarity)
        )
        return confidence if gated >= MIN_WEAK else min(confidence, gated)


def _is_cold_start(graph: Graph) -> bool:
    """Whether a graph has too few nodes; stored questions do not count."""
    return len(graph) - len(graph.rows_of_kind(Kind.QUESTION)) < MIN_NODES


FAITHFUL = Synapse(
    W=10,
    top_k=30,
    tau_gate=0.12,
    layer_config=LayerConfig(link_whole_window=True),
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
