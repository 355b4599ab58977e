"""Cognitive Weave: spatio-temporal resonance graphs of insight particles, refined into insight aggregates.

Akash Vishwakarma, Hojin Lee, Mohith Suresh, Priyam Shankar Sharma, Rahul Vishwakarma, Sparsh Gupta, Yuvraj Anupam
Chauhan, "Cognitive Weave: Synthesizing Abstracted Knowledge with a Spatio-Temporal Resonance Graph", 2025,
arXiv 2506.08098. The paper gives no number for a constant: every one here is inferred.

The four layers (section 3.3) are this graph's tables: nodes (core particle store), vectors (vectorial resonator),
the time columns (temporal index), edges (relational strands). The Semantic Oracle Interface is two ports: the
``Extractor`` extracts resonance keys and typed strands when an episode is stored (equation 1), the ``Summarizer``
writes insight aggregates.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from ...consolidation.insights import clustering
from ...consolidation.insights.summaries import ExtractiveSummarizer
from ...consolidation.insights.synthesis import derived_from_edges, insight_id, insight_node
from ...model.graph.graph import Graph, epoch_seconds
from ...model.ports import Activation, NodeSource, Summarizer
from ...model.reprs import ShortRepr
from ...model.types import Edge, Kind, Link, Mask, Node, NodeId, Query, Rows, Scores, Vectors, WriteBatch
from ...remember import triggers
from ...retrieval import dense, filters, importance, speakers, temporal
from . import persona, strand_evidence, strand_traversal, strand_types, tiers
from .insight_particle import particle
from .potential_clusters import insight_coverage, potential_clusters
from .strand_traversal import Strands, StrandSupport
from .strand_types import STORED_LINKS, TypeWeights

CURSOR = "weave"
"""The name of the cursor up to which particles are refined."""


@dataclass(frozen=True, slots=True, repr=False)
class Weave(ShortRepr):
    """The parameters, by use.

    Read path (5.4): ``candidates`` nearest particles, paths of up to ``max_hops`` strands whose strengths multiply to
    ``min_path_strength`` or more, score = ``w_sim`` cos + ``w_strand`` support + ``w_importance`` I + ``w_persona``
    affinity. Particles outside a time that the query asks about are multiplied by ``outside_time_factor``, passages
    whose time is unknown by ``undated_time_factor``, expired particles by ``expired_factor``. With ``use_tiers`` cold
    particles are among the nearest only where the others are fewer, with ``follow_insights`` insights lead to their
    sources.

    Strands (5.3): S = ``alpha`` sim + ``beta`` cooccur + ``gamma`` ``oracle_confidence``, to the ``k`` nearest earlier
    particles of cosine ``min_cosine`` or more; the memory's extractor adds strands for its relations. Each type has its
    factor in ``type_weights``; without ``use_types`` all that are followed have their mean. ``use_weight`` and
    ``evidence_weight`` are theta_4 of equation 8 for use and for later evidence.

    Synthesis (Algorithm 1), with ``use_insights``: every ``omega`` particles; clusters of ``min_cluster_size`` to
    ``max_cluster_size`` with cohesion ``tau_cluster``, at most ``max_overlap`` of which a single insight has already;
    ``lambda_comp`` is the cost of a token in equation 6. With ``use_signifiers`` questions and requests are no sources.
    All cosines count from the embedder's similarity floor.
    """

    candidates: int = 50
    max_hops: int = 2
    min_path_strength: float = 0.2
    w_sim: float = 0.55  # training/weave_constants.py chooses this and the weights of types
    w_strand: float = 0.45
    w_importance: float = 0.0
    w_persona: float = 0.0
    outside_time_factor: float = 0.5
    undated_time_factor: float = 1.0
    expired_factor: float = 0.3
    use_tiers: bool = False
    follow_insights: bool = False
    alpha: float = 0.5
    beta: float = 0.3
    gamma: float = 0.2
    oracle_confidence: float = 0.5
    k: int = 10
    min_cosine: float = 0.4
    use_types: bool = True
    type_weights: TypeWeights = field(default_factory=TypeWeights)
    use_weight: float = 0.0
    evidence_weight: float = 0.0
    use_insights: bool = True
    use_signifiers: bool = True
    omega: int = 20
    tau_cluster: float = 0.6
    min_cluster_size: int = 3
    max_cluster_size: int = 12
    max_overlap: float = 0.8
    lambda_comp: float = 0.002
    importance_decay: importance.ImportanceDecay = field(default_factory=importance.ImportanceDecay)
    summarizer: Summarizer = field(default_factory=ExtractiveSummarizer)
    needs_full_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "weave"

    # ---- read path: temporal filter, then vectors, then strands (section 5.4)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score the particles nearest to the query and the particles that strands reach from them."""
        eligible = filters.eligible(graph, query)
        if not eligible.any() or query.vector is None:
            return Activation(graph.zeros())
        now = epoch_seconds(query.as_of or query.now)
        particle_importance = importance.importance(graph, self.importance_decay, now)
        time_factors = self._time_factors(graph, query)
        cosine = dense.above_floor(dense.cosine(graph, query), query.similarity_floor)
        similarity = np.maximum(0, cosine) * time_factors  # equation 3
        is_insight = graph.of_kind(Kind.INSIGHT) & self._is_fully_eligible(graph, eligible)
        is_entry = eligible | is_insight if self.follow_insights else eligible
        is_cold = tiers.is_cold(graph, particle_importance, now) & self.use_tiers
        seeds = tiers.find_seeds(similarity, is_entry, is_cold, self.candidates)
        support = self._support(graph, query, seeds, similarity, through=is_entry, now=now)
        is_active = eligible & (support.scores > 0)
        is_active[seeds] |= eligible[seeds]
        parts = {
            "dense similarity": self.w_sim * similarity,
            "strands": self.w_strand * support.scores * time_factors,
            "importance": self.w_importance * particle_importance,
            "persona": self.w_persona * self._persona_affinity(graph, query, eligible, is_active, particle_importance),
        }
        contributions = {
            name: np.where(is_active, part, 0).astype(np.float32) for name, part in parts.items() if part.any()
        }
        scores = np.sum([graph.zeros(), *contributions.values()], axis=0).astype(np.float32)
        insight_scores = is_insight * np.sum([graph.zeros(), *parts.values()], axis=0)
        return Activation(
            scores,
            contributions,
            {"strands": support.path},
            confidence=query.embedder_coverage * float(np.clip(similarity[seeds].max(initial=0.0), 0, 1)),
            eligible=eligible,
            context_scores=insight_scores.astype(np.float32),
        )

    def _support(
        self, graph: Graph, query: Query, seeds: Rows, similarity: Scores, *, through: Mask, now: float
    ) -> StrandSupport:
        """The support of each row along typed strands, which use and later evidence strengthen."""
        factors = self.type_weights.factors(is_typed=self.use_types)
        asked = graph.rows(query.entity_ids)

        def strands_of(rows: Rows) -> Strands:
            found = strand_traversal.join_strands(
                strand_traversal.temporal_strands(graph, rows),
                strand_traversal.thematic_strands(graph, rows, asked),
                *(strand_traversal.stored_strands(graph, rows, one, self.evidence_weight) for one in STORED_LINKS),
            )
            strengths = found.strengths * factors[found.types]
            if self.use_weight:
                uses = strand_evidence.uses_together(
                    graph, rows[found.index], found.rows, half_life=self.importance_decay.half_life, now=now
                )
                strengths = strand_evidence.strengthen(strengths, uses, self.use_weight)
            return replace(found, strengths=strengths)

        return strand_traversal.strand_support(
            graph,
            seeds,
            similarity,
            strands_of,
            through=through,
            max_hops=self.max_hops,
            min_path_strength=self.min_path_strength,
        )

    def _persona_affinity(
        self, graph: Graph, query: Query, eligible: Mask, is_active: Mask, particle_importance: Scores
    ) -> Scores:
        """Equation 9: how much of the persona of the speakers named in the query each active particle mentions."""
        found = graph.zeros()
        if self.w_persona and len(named := speakers.named_speakers(graph, query)):
            rows = np.flatnonzero(is_active)
            found[rows] = persona.affinity(graph, persona.persona(graph, named, particle_importance, eligible), rows)
        return found

    def _time_factors(self, graph: Graph, query: Query) -> Scores:
        """Equation 4's filter: 1 for particles valid and inside the times asked about, else the factors left."""
        factor = np.where(temporal.expired_mask(graph, query), self.expired_factor, 1.0)
        if query.time_ranges and (inside := temporal.is_in_query_time(graph, query) > 0).any():
            outside = np.where(self._is_undated_passage(graph), self.undated_time_factor, self.outside_time_factor)
            factor = np.where(inside, factor, factor * outside)
        return factor.astype(np.float32)

    def _is_undated_passage(self, graph: Graph) -> Mask:
        """The rows with a title that were given no time: when they happened is unknown."""
        has_title = np.zeros(len(graph), np.bool_)
        has_title[graph.edges["src"][graph.edges_of_link(Link.ABOUT)]] = True
        undated: Mask = has_title & (graph.nodes["happened"] == graph.nodes["recorded"])
        return undated

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

    def process(self, graph: Graph, read: NodeSource, now: datetime, /, *, similarity_floor: float = 0.0) -> WriteBatch:
        """Add strands to the next particles, and the insights of the clusters that they complete."""
        new = triggers.pending_rows(graph, CURSOR)[: self.omega]
        config, space = self._clustering_config(similarity_floor), graph.vectors.view
        neighbors = list(clustering.nearest_neighbors(graph, space, new, graph.episodes, config, earlier_only=True))
        edges = list(strand_types.new_strands(graph, neighbors, config.strand_strength))
        edges.extend(self._causal_strands(graph, new, read))
        nodes: dict[NodeId, Node] = {}
        for cluster in self._new_clusters(graph, neighbors, config) if self.use_insights else ():
            insight, sources = self._synthesize_insight(graph, read(cluster), nodes, now)
            if insight is not None:
                nodes[insight.id] = insight
                edges.extend(derived_from_edges(insight.id, sources))
        return WriteBatch(
            nodes=tuple(nodes.values()), edges=tuple(edges), cursors={CURSOR: int(graph.nodes["seq"][new[-1]])}
        )

    def _causal_strands(self, graph: Graph, new: Rows, read: NodeSource) -> Iterator[Edge]:
        """The causal strands of new particles, by cue words."""
        previous = graph.previous_rows[new]
        particles = {graph.row(node.id): particle(node) for node in read(np.union1d(new, previous[previous >= 0]))}
        known = [row for row in new.tolist() if row in particles]  # others were forgotten meanwhile
        for row in known:
            strand = strand_types.cued_strand(particles[row], particles.get(int(graph.previous_rows[row])))
            if strand is not None:
                yield strand

    def _new_clusters(
        self, graph: Graph, neighbors: Sequence[clustering.Neighbors], config: clustering.ClusteringConfig
    ) -> Iterator[Rows]:
        """IdentifyPotentialClusters and ClusterQualityCheck, without what an insight or an earlier cluster covers.

        The largest come first: clusters inside them are covered.
        """
        drawn: list[Rows] = []
        for cluster in sorted(potential_clusters(graph, neighbors, config), key=len, reverse=True):
            overlaps = [float(np.isin(cluster, one).mean()) for one in drawn]
            if max(
                [insight_coverage(graph, cluster), *overlaps]
            ) <= self.max_overlap and clustering.passes_quality_check(graph, graph.vectors.view, cluster, config):
                drawn.append(cluster)
                yield cluster

    def _clustering_config(self, similarity_floor: float) -> clustering.ClusteringConfig:
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
            similarity_floor=similarity_floor,
        )

    def _synthesize_insight(
        self, graph: Graph, cluster: Sequence[Node], drawn: Container[NodeId], now: datetime
    ) -> tuple[Node | None, Sequence[NodeId]]:
        """SynthesizeInsight: the oracle's text over a cluster, weighted by importance (omega_i of equation 6).

        With ``use_signifiers`` questions and requests are no sources. Returns the insight, None if there is none, and
        the ids of its sources.
        """
        sources = [node for node in cluster if particle(node).is_statement or not self.use_signifiers]
        ids = [node.id for node in sources]
        id_ = insight_id(ids)
        is_known = id_ in drawn or graph.row(id_) is not None or id_ in graph.tombstones
        if is_known or len(sources) < self.min_cluster_size:
            return None, ids  # the oracle is not asked for what is there already, or was forgotten
        rows = graph.rows(ids)
        weights = importance.importance(graph, self.importance_decay, epoch_seconds(now))[rows].astype(np.float64)
        vectors: Vectors = graph.vectors.rows(graph.vector_positions[rows])
        text = self.summarizer.summarize(sources, vectors, weights / weights.sum(), self.lambda_comp)
        return (insight_node(text, sources, now) if text else None), ids


FAITHFUL = Weave(
    w_sim=0.6,
    w_strand=0.2,
    w_importance=0.2,
    w_persona=0.1,
    undated_time_factor=0.5,
    use_tiers=True,
    follow_insights=True,
    type_weights=TypeWeights(
        temporal=0.5,
        causal=0.5,
        thematic=0.5,
        derived=1.0,
        association=1.0,
        supports=0.7,
        contradicts=0.7,
        elaborates=0.7,
        precedes=0.7,
    ),
    use_weight=0.5,
    evidence_weight=0.5,
    tau_cluster=0.75,
    needs_full_log=True,
    name="weave-faithful",
)
"""As specified; the paper prints no constant, so all are inferred (5.7), as proposed before any measurement."""
