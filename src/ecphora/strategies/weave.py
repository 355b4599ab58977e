"""Cognitive Weave: spatio-temporal resonance graphs of insight particles, refined into insight aggregates.

Akash Vishwakarma, Hojin Lee, Mohith Suresh, Priyam Shankar Sharma, Rahul Vishwakarma, Sparsh Gupta, Yuvraj Anupam
Chauhan, "Cognitive Weave: Synthesizing Abstracted Knowledge with a Spatio-Temporal Resonance Graph", 2025,
arXiv 2506.08098. The paper gives no number for a constant: every one here is inferred.

The four layers (section 3.3) are this graph's tables: nodes (core particle store), vectors (vectorial resonator),
the time columns (temporal index), edges (relational strands). The Semantic Oracle Interface is two ports: the
``Extractor`` extracts resonance keys when an episode is stored (equation 1), the ``Summarizer`` writes insight
aggregates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ..consolidation import triggers
from ..graph import Graph, epoch_seconds
from ..model import Kind, Link, Mask, Node, Query, Rows, Scores, Vectors, WriteBatch
from ..ports import Activation, NodeReader, Summarizer
from ..reprs import ShortRepr
from ..stages.retrieval import dense, filters, importance, temporal, top_k
from ..stages.weave import clustering, relational_strands
from ..stages.weave.extractive_summary import ExtractiveSummarizer
from ..stages.weave.insight_aggregate import derived_from_strands, insight_id, insight_node

CURSOR = "weave"
"""The name of the cursor up to which particles are refined."""


@dataclass(frozen=True, slots=True, repr=False)
class Weave(ShortRepr):
    """The parameters, by use.

    Read path (5.4): ``candidates`` nearest particles, paths of up to ``max_hops`` strands whose strengths multiply to
    ``min_path_strength`` or more, score = ``w_sim`` cos + ``w_strand`` support + ``w_importance`` I. Particles outside
    a time that the query asks about are multiplied by ``outside_time_factor``, expired ones by ``expired_factor``.

    Strands (5.3): S = ``alpha`` sim + ``beta`` cooccur + ``gamma`` ``oracle_confidence``, to the ``k`` nearest earlier
    particles of cosine ``min_cosine`` or more. Synthesis (Algorithm 1): every ``omega`` particles; clusters of
    ``min_cluster_size`` to ``max_cluster_size`` with cohesion ``tau_cluster``, at most ``max_overlap`` of which one
    insight has already; ``lambda_comp`` is the cost of a token in equation 6.
    """

    candidates: int = 50
    max_hops: int = 2
    min_path_strength: float = 0.2
    w_sim: float = 0.85
    w_strand: float = 0.15
    w_importance: float = 0.0
    outside_time_factor: float = 0.5
    expired_factor: float = 0.3
    alpha: float = 0.5
    beta: float = 0.3
    gamma: float = 0.2
    oracle_confidence: float = 0.5
    k: int = 10
    min_cosine: float = 0.4
    omega: int = 20
    tau_cluster: float = 0.6
    min_cluster_size: int = 3
    max_cluster_size: int = 12
    max_overlap: float = 0.8
    lambda_comp: float = 0.002
    use_insights: bool = True
    importance_decay: importance.ImportanceDecay = field(default_factory=importance.ImportanceDecay)
    summarizer: Summarizer = field(default_factory=ExtractiveSummarizer)
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "weave"

    # ---- read path: temporal filter, then vectors, then strands (section 5.4)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score the particles nearest to the query and those that strands reach from them."""
        eligible = filters.eligible(graph, query)
        if not eligible.any() or query.vector is None:
            return Activation(graph.zeros())
        time_factors = self._time_factors(graph, query)
        similarity = np.maximum(0, dense.cosine(graph, query)) * time_factors  # equation 3
        is_entry = eligible | (
            graph.of_kind(Kind.INSIGHT) & self._is_fully_eligible(graph, eligible) & self.use_insights
        )
        seeds = top_k.top_rows(similarity, is_entry, self.candidates)
        support = relational_strands.strand_support(
            graph, seeds, similarity, through=is_entry, max_hops=self.max_hops, min_path_strength=self.min_path_strength
        )
        now = epoch_seconds(query.as_of or query.now)
        is_active = eligible & (support.scores > 0)
        is_active[seeds] |= eligible[seeds]
        parts = {
            "dense similarity": self.w_sim * similarity,
            "strands": self.w_strand * support.scores * time_factors,
            "importance": self.w_importance * importance.importance(graph, self.importance_decay, now),
        }
        contributions = {
            name: np.where(is_active, part, 0).astype(np.float32) for name, part in parts.items() if part.any()
        }
        scores = np.sum([graph.zeros(), *contributions.values()], axis=0).astype(np.float32)
        is_insight = is_entry & ~eligible
        insight_scores = is_insight * np.sum([graph.zeros(), *parts.values()], axis=0)
        return Activation(
            scores,
            contributions,
            {"strands": support.path},
            confidence=query.embedder_coverage * dense.confidence(similarity[seeds], query),
            eligible=eligible,
            context_scores=insight_scores.astype(np.float32),
        )

    def _time_factors(self, graph: Graph, query: Query) -> Scores:
        """Equation 4's filter: 1 for particles valid and inside the times asked about, else the factors left."""
        factor = np.where(temporal.expired_mask(graph, query), self.expired_factor, 1.0)
        if query.time_ranges and (inside := temporal.is_in_query_time(graph, query) > 0).any():
            factor = np.where(inside, factor, factor * self.outside_time_factor)
        return factor.astype(np.float32)

    def _is_fully_eligible(self, graph: Graph, eligible: Mask) -> Mask:
        """The insights whose sources are all eligible; the others would reveal ineligible memories."""
        derived = graph.edges_of_link(Link.DERIVED_FROM)
        src, dst = graph.edges["src"][derived], graph.edges["dst"][derived]
        is_eligible = np.ones(len(graph), np.bool_)
        is_eligible[src[~eligible[dst]]] = False
        return is_eligible

    # ---- cognitive refinement (sections 3.4 and 5.3)

    def has_pending(self, graph: Graph, /) -> bool:
        """Omega_synth: whether ``omega`` new particles wait for refinement."""
        return triggers.has_enough_pending(graph, CURSOR, self.omega)

    def process(self, graph: Graph, read: NodeReader, now: datetime, /) -> WriteBatch:
        """Add strands to the next particles, and the insights of the clusters that they complete."""
        new = triggers.pending_rows(graph, CURSOR)[: self.omega]
        config, space = self._clustering_config, graph.vectors.view
        neighbors = list(clustering.nearest_neighbors(graph, space, new, graph.episodes, config, earlier_only=True))
        edges = list(relational_strands.new_strands(graph, neighbors, config.strand_strength))
        nodes: list[Node] = []
        for cluster in self._new_clusters(graph, neighbors) if self.use_insights else ():
            id_ = insight_id(map(graph.id, cluster.tolist()))
            if graph.row(id_) is not None or id_ in graph.tombstones:
                continue  # the oracle is not asked for what is there already, or was forgotten
            insight = self._synthesize_insight(graph, cluster, read(cluster), now)
            if insight is not None:
                nodes.append(insight)
                edges.extend(derived_from_strands(insight.id, map(graph.id, cluster.tolist())))
        return WriteBatch(nodes=tuple(nodes), edges=tuple(edges), cursors={CURSOR: int(graph.nodes["seq"][new[-1]])})

    def _new_clusters(self, graph: Graph, neighbors: Sequence[clustering.Neighbors]) -> Iterator[Rows]:
        """IdentifyPotentialClusters and ClusterQualityCheck, without clusters that an insight covers already."""
        config = self._clustering_config
        for cluster in clustering.potential_clusters(graph, neighbors, config):
            if (
                clustering.passes_quality_check(graph, graph.vectors.view, cluster, config)
                and clustering.insight_coverage(graph, cluster) <= self.max_overlap
            ):
                yield cluster

    @property
    def _clustering_config(self) -> clustering.ClusteringConfig:
        return clustering.ClusteringConfig(
            k=self.k,
            min_cosine=self.min_cosine,
            tau=self.tau_cluster,
            min_size=self.min_cluster_size,
            max_size=self.max_cluster_size,
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
            oracle_confidence=self.oracle_confidence,
        )

    def _synthesize_insight(self, graph: Graph, cluster: Rows, sources: Sequence[Node], now: datetime) -> Node | None:
        """SynthesizeInsight: the oracle's text over a cluster, weighted by importance (omega_i of equation 6)."""
        if len(sources) != len(cluster):
            return None  # one was forgotten meanwhile
        weights = importance.importance(graph, self.importance_decay, epoch_seconds(now))[cluster].astype(np.float64)
        vectors: Vectors = graph.vectors.view[graph.vector_positions[cluster]]
        text = self.summarizer.summarize(sources, vectors, weights / weights.sum(), self.lambda_comp)
        return insight_node(text, sources, now) if text else None


FAITHFUL = Weave(
    w_sim=0.6, w_strand=0.2, w_importance=0.2, tau_cluster=0.75, needs_full_log=True, name="weave-faithful"
)
"""As specified; the paper prints no constant, so all are inferred (5.7), as proposed before any measurement."""
