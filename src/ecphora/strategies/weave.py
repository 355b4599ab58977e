"""Cognitive Weave: spatio-temporal resonance graphs of insight particles, refined into insight aggregates.

Akash Vishwakarma, Hojin Lee, Mohith Suresh, Priyam Shankar Sharma, Rahul Vishwakarma, Sparsh Gupta, Yuvraj Anupam
Chauhan, "Cognitive Weave: Synthesizing Abstracted Knowledge with a Spatio-Temporal Resonance Graph", 2025,
arXiv 2506.08098. The paper gives no number for a constant: every one here is inferred.

The four layers (section 3.3) are this graph's tables: nodes (core particle store), vectors (vectorial resonator),
the time columns (temporal index), edges (relational strands). The Semantic Oracle Interface is two ports: the
``Extractor`` draws resonance keys when an episode is stored (equation 1), the ``Oracle`` writes insight aggregates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ..graph import LINKS, Graph, seconds
from ..model import Change, Cue, Edge, Kind, Link, Mask, Node, Rows, Scores, Vectors
from ..ports import Activation, Oracle, Reader
from ..reprs import ShortRepr
from ..stages import choose, clusters, importance, seed, strands, times
from ..stages.oracle import Extractive, insight_of

MARK = "weave"
"""The name under which the memory keeps how far refinement has come."""
_DERIVED = LINKS.index(Link.DERIVED_FROM)


@dataclass(frozen=True, slots=True, repr=False)
class Weave(ShortRepr):
    """The parameters, by what they do.

    Read path (5.4): ``candidates`` nearest particles, strands of up to ``hops`` whose strengths multiply to ``floor``,
    score = ``w_sim`` cos + ``w_strand`` support + ``w_importance`` I. Particles outside of a time the cue asks about
    count ``outside``, those that no longer hold ``outdated``.

    Strands (5.3): S = ``alpha`` sim + ``beta`` cooccur + ``gamma`` ``confidence``, to the ``k`` nearest earlier
    particles of cosine ``near`` or more. Synthesis (Algorithm 1): every ``omega`` particles; clusters of ``smallest``
    to ``largest`` with cohesion ``tau_cluster``; ``lambda_comp`` is what a token costs in equation 6.
    """

    candidates: int = 50
    hops: int = 2
    floor: float = 0.2
    w_sim: float = 0.85
    w_strand: float = 0.15
    w_importance: float = 0.0
    outside: float = 0.5
    outdated: float = 0.3
    alpha: float = 0.5
    beta: float = 0.3
    gamma: float = 0.2
    confidence: float = 0.5
    k: int = 10
    near: float = 0.4
    omega: int = 20
    tau_cluster: float = 0.6
    smallest: int = 3
    largest: int = 12
    overlap: float = 0.8
    lambda_comp: float = 0.002
    insights: bool = True
    fading: importance.Fading = field(default_factory=importance.Fading)
    oracle: Oracle = field(default_factory=Extractive)
    whole_log: bool = False  # `FAITHFUL` keeps every access; the last of each memory serve as well
    name: str = "weave"

    # ---- read path: temporal filter, then vectors, then strands (section 5.4)

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score the particles near the cue and those that strands lead to from them."""
        may = choose.allowed(graph, cue)
        if not may.any() or cue.vector is None:
            return Activation(graph.zeros())
        timely = self._timely(graph, cue)
        near = np.maximum(0, seed.meaning(graph, cue)) * timely  # equation 3
        entering = may | (graph.of_kind(Kind.INSIGHT) & self._drawn_from(graph, may) & self.insights)
        first = choose.best(near, entering, self.candidates)
        reached = strands.support(graph, first, near, through=entering, hops=self.hops, floor=self.floor)
        now = seconds(cue.as_of or cue.now)
        active = may & (reached.scores > 0)
        active[first] |= may[first]
        parts = {
            "meaning": self.w_sim * near,
            "strands": self.w_strand * reached.scores * timely,
            "importance": self.w_importance * importance.importance(graph, self.fading, now),
        }
        shares = {stage: np.where(active, part, 0).astype(np.float32) for stage, part in parts.items() if part.any()}
        scores = np.sum([graph.zeros(), *shares.values()], axis=0).astype(np.float32)
        best = float(near[first].max(initial=0.0))
        return Activation(scores, shares, {"strands": reached.trail}, confidence=cue.meaning * min(1.0, best))

    def _timely(self, graph: Graph, cue: Cue) -> Scores:
        """Equation 4's filter: 1 inside the times asked about and still holding, else the factors that remain."""
        factor = np.where(times.outdated(graph, cue), self.outdated, 1.0)
        if cue.when and (inside := times.told_then(graph, cue) > 0).any():
            factor = np.where(inside, factor, factor * self.outside)
        return factor.astype(np.float32)

    def _drawn_from(self, graph: Graph, may: Mask) -> Mask:
        """The insights all of whose sources may come back: the others would tell of what may not."""
        derived = graph.edges["links"] == _DERIVED
        src, dst = graph.edges["src"][derived], graph.edges["dst"][derived]
        whole = np.ones(len(graph), np.bool_)
        whole[src[~may[dst]]] = False
        return whole

    # ---- cognitive refinement (sections 3.4 and 5.3)

    def due(self, graph: Graph, /) -> bool:
        """Omega_synth: whether ``omega`` particles are new."""
        return len(self._new(graph)) >= self.omega

    def sleep(self, graph: Graph, read: Reader, now: datetime, /) -> Change:
        """Weave the next particles in, and draw the insights that they complete."""
        new = self._new(graph)[: self.omega]
        how, space = self._clustering, graph.vectors.view
        near = list(clusters.nearest(graph, space, new, graph.episodes, how, earlier=True))
        edges = list(self._strands(graph, near))
        nodes: list[Node] = []
        for cluster in self._clusters(graph, near) if self.insights else ():
            insight = self._insight(graph, cluster, read(cluster), now)
            if insight is not None and graph.row(insight.id) is None:
                nodes.append(insight)
                edges.extend(Edge(insight.id, graph.id(row), Link.DERIVED_FROM, 1.0) for row in cluster.tolist())
        return Change(nodes=tuple(nodes), edges=tuple(edges), marks={MARK: int(graph.nodes["seq"][new[-1]])})

    def _new(self, graph: Graph) -> Rows:
        first = int(np.searchsorted(graph.nodes["seq"], graph.marks.get(MARK, 0), "right"))
        return np.flatnonzero(graph.episodes[first:]) + first

    def _strands(self, graph: Graph, near: Sequence[clusters.Near]) -> Iterator[Edge]:
        """Strands from each new particle to the nearest earlier ones (pattern-based creation, 3.4.2; eq. 8 linear)."""
        for row, others, similar in near:
            keys = strands.shared_keys(graph, np.concatenate([[row], others]))[0, 1:]
            weights = self._clustering.strength(similar, keys)
            for other, weight in zip(others.tolist(), weights.tolist(), strict=True):
                yield Edge(graph.id(row), graph.id(other), Link.ASSOCIATION, weight)

    def _clusters(self, graph: Graph, near: Sequence[clusters.Near]) -> Iterator[Rows]:
        """IdentifyPotentialClusters and ClusterQualityCheck, of what no insight tells already."""
        how = self._clustering
        for cluster in clusters.potential(graph, near, how):
            if clusters.good(graph, graph.vectors.view, cluster, how) and clusters.told(graph, cluster) <= self.overlap:
                yield cluster

    @property
    def _clustering(self) -> clusters.Clustering:
        return clusters.Clustering(
            k=self.k, near=self.near, tau=self.tau_cluster, smallest=self.smallest, largest=self.largest,
            alpha=self.alpha, beta=self.beta, gamma=self.gamma, confidence=self.confidence,
        )  # fmt: skip

    def _insight(self, graph: Graph, cluster: Rows, sources: Sequence[Node], now: datetime) -> Node | None:
        """SynthesizeInsight: the oracle's text over a cluster, weighted by importance (omega_i of equation 6)."""
        if len(sources) != len(cluster):
            return None  # one was forgotten meanwhile
        weights = importance.importance(graph, self.fading, seconds(now))[cluster].astype(np.float64)
        vectors: Vectors = graph.vectors.view[graph.vector_places[cluster]]
        text = self.oracle.synthesise(sources, vectors, weights / weights.sum(), self.lambda_comp)
        return insight_of(text, sources, now) if text else None


FAITHFUL = Weave(w_sim=0.6, w_strand=0.2, w_importance=0.2, tau_cluster=0.75, whole_log=True, name="weave-faithful")
"""As specified; the paper prints no constant, so all are inferred (5.7), as proposed before any measurement."""
