"""Which memories belong together: the clusters of Cognitive Weave's Algorithm 1, for its refinement and for sleep.

Section 3.4.1 names the criteria: alike in meaning, joined by strands, near in time. Every number here is inferred.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Graph
from ..model import Link, Mask, Rows, Scores, Vectors
from . import choose, strands, synthesis

DAY = 86_400.0
BLOCK = 512
"""Rows whose cosines with all others are looked at together: as many as keep the products within 20 MB or so."""
Near = tuple[int, Rows, Scores]
"""A row, those nearest to it, best first, and their cosines with it."""
_RELATED, _DERIVED, _REPLACES = (LINKS.index(link) for link in (Link.ASSOCIATION, Link.DERIVED_FROM, Link.SUPERSEDES))


@dataclass(frozen=True, slots=True)
class Clustering:
    """How clusters are found.

    A row's neighbours are the ``k`` nearest of cosine ``near`` or more. A cluster has ``smallest`` to ``largest`` rows
    with a mean cosine of ``tau`` or more, each joined to another by a cosine of ``tau`` or more. Two rows are joined by
    ``meaning`` cos + ``strand`` S + ``time`` exp(-days / ``month``), where the strength of a strand is S = ``alpha``
    cos + ``beta`` shared names + ``gamma`` ``confidence`` (section 5.3).
    """

    k: int = 10
    near: float = 0.4
    tau: float = 0.6
    smallest: int = 3
    largest: int = 12
    meaning: float = 0.6
    strand: float = 0.2
    time: float = 0.2
    month: float = 30.0
    alpha: float = 0.5
    beta: float = 0.3
    gamma: float = 0.2
    confidence: float = 0.5

    def strength(self, similar: NDArray[np.float32], keys: NDArray[np.float32]) -> NDArray[np.float32]:
        """S of equation 5.3 by cosines and shared names."""
        return strands.strength(similar, keys, self.confidence, alpha=self.alpha, beta=self.beta, gamma=self.gamma)


# ---- what is near


def nearest(
    graph: Graph, space: Vectors, rows: Rows, among: Mask, how: Clustering, *, earlier: bool = False
) -> Iterator[Near]:
    """Each of some rows that has a vector, with the nearest others under a mask; ``earlier`` takes those before it.

    ``space`` has the unit vectors of table ``vectored``, as they are or made comparable, shape ``(vectored, dim)``.
    Costs the product of both numbers of rows, in blocks of ``BLOCK``; in order of ``rows``.
    """
    places, of = graph.vector_places, graph.vectored["rows"].astype(np.intp)
    held, few = rows[places[rows] >= 0], np.flatnonzero(among[of])
    across = space
    if 2 * len(few) < len(of):
        across, of = space[few], of[few]
    for start in range(0, len(held), BLOCK):
        block = held[start : start + BLOCK]
        cosines = space[places[block]] @ across.T
        enough = (cosines >= how.near) & among[of]
        for row, close, cosine in zip(block.tolist(), enough, cosines, strict=True):
            near = np.flatnonzero(close)
            near = near[of[near] < row] if earlier else near[of[near] != row]
            near = near[choose.top(cosine[near], how.k)]
            yield row, of[near], cosine[near]


# ---- clusters


def potential(graph: Graph, near: Sequence[Near], how: Clustering) -> Iterator[Rows]:
    """IdentifyPotentialClusters: around each row, of what is near it and what strands lead to from there, each once."""
    found: set[bytes] = set()
    for row, others, _ in near:
        around, _ = graph.edges_from(others)
        wider = graph.edges["dst"][around[graph.edges["links"][around] == _RELATED]]
        rows = np.unique(np.concatenate([[row], others, wider])).astype(np.intp)
        cluster = joined(graph, graph.vectors.view, row, rows, how)
        if how.smallest <= len(cluster) <= how.largest and cluster.tobytes() not in found:
            found.add(cluster.tobytes())
            yield cluster


def joined(graph: Graph, space: Vectors, row: int, rows: Rows, how: Clustering) -> Rows:
    """Those of some distinct rows that belong to one of them: its part of the mutual nearest-neighbour graph."""
    vectors = space[graph.vector_places[rows]]
    similar = vectors @ vectors.T
    cosine = similar.astype(np.float64)
    days = np.abs(np.subtract.outer(*2 * [graph.nodes["happened"][rows]])) / DAY
    strand = how.strength(similar, strands.shared_keys(graph, rows))
    together = how.meaning * cosine + how.strand * strand + how.time * np.exp(-days / how.month)
    near = synthesis.mutual(np.where(cosine >= how.tau, together, 0), how.k, 1e-9)
    part = next(part for part in synthesis.components(near) if row in rows[part])
    return rows[part]


def good(graph: Graph, space: Vectors, cluster: Rows, how: Clustering) -> bool:
    """ClusterQualityCheck: alike enough, and without a memory and the one that was told in its place."""
    alike = synthesis.cohesion(space[graph.vector_places[cluster]])
    return alike >= how.tau and not replaced(graph, cluster)


def replaced(graph: Graph, cluster: Rows) -> bool:
    """Whether one of some memories was told to replace another of them."""
    into, _ = graph.edges_to(cluster)
    links, src, dst = (graph.edges[name][into] for name in ("links", "src", "dst"))
    return bool(((links == _REPLACES) & np.isin(src, cluster) & np.isin(dst, cluster)).any())


def told(graph: Graph, cluster: Rows) -> float:
    """The largest part of a cluster that one insight tells already."""
    into, _ = graph.edges_to(cluster)
    links, src = graph.edges["links"][into], graph.edges["src"][into]
    _, shared = np.unique(src[links == _DERIVED], return_counts=True)
    return float(shared.max(initial=0)) / len(cluster)
