"""The clusters of Cognitive Weave's Algorithm 1: memories of which an insight may be drawn.

Section 3.4.1 names the criteria: similar, joined by strands, near in time. Every number here is inferred.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import DAY, Graph
from ...model.types import MENTION_LINKS, Link, Mask, Rows, Scores, Vectors
from ...retrieval import dense, fusion, validity

BLOCK = 512
"""How many rows are compared with all others in one matrix product, to keep a product within about 20 MB."""
Floats32 = NDArray[np.float32]
Neighbors = tuple[int, Rows, Scores]
"""A row, its nearest neighbors, best first, and their cosines with it."""


@dataclass(frozen=True, slots=True)
class ClusteringConfig:
    """The parameters of clustering.

    A row's neighbors are the ``k`` nearest of cosine ``min_cosine`` or more. A cluster has ``min_size`` to
    ``max_size`` rows with a mean cosine of ``tau`` or more, each joined to another by a cosine of ``tau`` or more.
    Cosines count from ``similarity_floor``, the embedder's cosine of two unrelated texts, so that a threshold means the
    same for every embedder. The similarity of two rows is ``cosine_weight`` cos + ``strand_weight`` S + ``time_weight``
    exp(-days / ``time_scale_days``), where the strength of a strand is S = ``alpha`` cos + ``beta`` key overlap +
    ``gamma`` ``oracle_confidence`` (section 5.3).
    """

    k: int = 10
    min_cosine: float = 0.4
    tau: float = 0.6
    min_size: int = 3
    max_size: int = 12
    cosine_weight: float = 0.6
    strand_weight: float = 0.2
    time_weight: float = 0.2
    time_scale_days: float = 30.0
    alpha: float = 0.5
    beta: float = 0.3
    gamma: float = 0.2
    oracle_confidence: float = 0.5
    similarity_floor: float = 0.0

    def strand_strength(self, similarity: Floats32, key_overlap: Floats32) -> Floats32:
        """S_ij = alpha sim + beta cooccur + gamma conf, the linear form of section 5.3."""
        found: Floats32 = (
            self.alpha * similarity + self.beta * key_overlap + self.gamma * np.float32(self.oracle_confidence)
        )
        return found


def nearest_neighbors(
    graph: Graph, space: Vectors, rows: Rows, mask: Mask, config: ClusteringConfig, *, earlier_only: bool = False
) -> Iterator[Neighbors]:
    """The nearest neighbors under a mask of each of ``rows`` that has a vector, in order of ``rows``.

    With ``earlier_only`` neighbors are rows before it. ``space`` has a unit vector for each entry of
    ``graph.vector_rows``, stored or transformed, shape ``(vectors, dim)``. The cost is the product of the numbers of
    rows and of rows under the mask, in blocks of ``BLOCK``.
    """
    positions, row_of = graph.vector_positions, graph.vector_rows["rows"].astype(np.intp)
    with_vector, masked = rows[positions[rows] >= 0], np.flatnonzero(mask[row_of])
    compared = space
    if 2 * len(masked) < len(row_of):
        compared, row_of = space[masked], row_of[masked]
    for start in range(0, len(with_vector), BLOCK):
        block = with_vector[start : start + BLOCK]
        cosines = dense.above_floor(space[positions[block]] @ compared.T, config.similarity_floor)
        is_candidate = (cosines >= config.min_cosine) & mask[row_of]
        for row, is_near, cosine in zip(block.tolist(), is_candidate, cosines, strict=True):
            near = np.flatnonzero(is_near)
            near = near[row_of[near] < row] if earlier_only else near[row_of[near] != row]
            near = near[fusion.top_k(cosine[near], config.k)]
            yield row, row_of[near], cosine[near]


def grow_cluster(graph: Graph, space: Vectors, row: int, rows: Rows, config: ClusteringConfig) -> Rows:
    """The cluster of ``row`` among distinct rows: its connected part of the mutual nearest-neighbor graph."""
    vectors = space[graph.vector_positions[rows]]
    cosine32 = dense.above_floor(vectors @ vectors.T, config.similarity_floor)
    cosine = cosine32.astype(np.float64)
    days = np.abs(np.subtract.outer(*2 * [graph.nodes["happened"][rows]])) / DAY
    strand = config.strand_strength(cosine32, key_overlap(graph, rows))
    similarity = (
        config.cosine_weight * cosine
        + config.strand_weight * strand
        + config.time_weight * np.exp(-days / config.time_scale_days)
    )
    adjacency = mutual_neighbors(np.where(cosine >= config.tau, similarity, 0), config.k, 1e-9)
    component = next(component for component in connected_components(adjacency) if row in rows[component])
    return rows[component]


def key_overlap(graph: Graph, rows: Rows) -> Floats32:
    """The Jaccard index of the entities of every pair of distinct memories; 0 where neither mentions any."""
    edges, row_index = graph.edges_from(rows, *MENTION_LINKS)
    keys, key_index = np.unique(graph.edges["dst"][edges], return_inverse=True)
    has = np.zeros((len(rows), len(keys)), np.float32)
    has[row_index, key_index] = 1
    shared, size = has @ has.T, has.sum(axis=1)
    found: Floats32 = shared / np.maximum(1, size[:, None] + size - shared)
    return found


def has_valid_size(graph: Graph, rows: Rows, config: ClusteringConfig) -> bool:
    """Whether a cluster has enough distinct sources, the chunks of one text counting as one, and not too many rows."""
    documents = graph.nodes["documents"][rows]
    document_count = int((documents < 0).sum()) + len(np.unique(documents[documents >= 0]))
    return document_count >= config.min_size and len(rows) <= config.max_size


def passes_quality_check(graph: Graph, space: Vectors, cluster: Rows, config: ClusteringConfig) -> bool:
    """ClusterQualityCheck: cohesion of ``tau`` or more, and no memory together with a memory that supersedes it."""
    mean_cosine = cohesion(space[graph.vector_positions[cluster]], config.similarity_floor)
    return mean_cosine >= config.tau and not has_supersession(graph, cluster)


def has_supersession(graph: Graph, cluster: Rows) -> bool:
    """Whether one memory of a cluster supersedes another of them."""
    in_edges, _ = graph.edges_to(cluster, Link.SUPERSEDES)
    return bool(np.isin(graph.edges["src"][in_edges], cluster).any())


def has_fact_update(graph: Graph, rows: Rows) -> bool:
    """Whether one of some memories supersedes or contradicts another of them."""
    updates = validity.supersessions(graph)
    return len(updates) > 0 and bool((np.isin(updates.old, rows) & np.isin(updates.new, rows)).any())


def connected_components(adjacency: Mask) -> Iterator[Rows]:
    """The connected components of a symmetric adjacency matrix, each ascending."""
    remaining = np.ones(len(adjacency), np.bool_)
    while remaining.any():
        component = np.zeros(len(adjacency), np.bool_)
        component[np.argmax(remaining)] = True
        size = 0
        while size != component.sum():
            size = int(component.sum())
            component |= adjacency[component].any(axis=0)
        remaining &= ~component
        yield np.flatnonzero(component)


def mutual_neighbors(scores: NDArray[np.float64], k: int, min_score: float) -> Mask:
    """Which pairs are among each other's k best with ``min_score`` or more; ``scores`` is symmetric."""
    off_diagonal = scores.copy()
    np.fill_diagonal(off_diagonal, -np.inf)
    best = np.zeros(scores.shape, np.bool_)
    if len(scores) > 1:
        nearest = np.argsort(-off_diagonal, axis=1, kind="stable")[:, : min(k, len(scores) - 1)]
        np.put_along_axis(best, nearest, values=True, axis=1)
    found: Mask = best & best.T & (off_diagonal >= min_score)
    return found


def cohesion(vectors: Vectors, similarity_floor: float = 0.0) -> float:
    """The mean cosine of all pairs of unit vectors, counted from ``similarity_floor``; 1 for a single vector."""
    n = len(vectors)
    total = vectors.sum(axis=0)
    mean = np.asarray((total @ total - n) / (n * (n - 1)) if n > 1 else 1, np.float32)
    return float(dense.above_floor(mean, similarity_floor))
