"""IdentifyPotentialClusters of Cognitive Weave's Algorithm 1, and what of a cluster an insight covers already."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...consolidation.insights.clustering import ClusteringConfig, Neighbors, grow_cluster
from ...model.graph.graph import Graph
from ...model.types import Link, Rows


def potential_clusters(graph: Graph, neighbors: Sequence[Neighbors], config: ClusteringConfig) -> Iterator[Rows]:
    """Each distinct cluster around a row, of its neighbors and their associations."""
    seen: set[bytes] = set()
    for row, others, _ in neighbors:
        out_edges, _ = graph.edges_from(others, Link.ASSOCIATION)
        rows = np.unique(np.concatenate([[row], others, graph.edges["dst"][out_edges]])).astype(np.intp)
        cluster = grow_cluster(graph, graph.vectors.view, row, rows, config)
        if config.min_size <= len(cluster) <= config.max_size and cluster.tobytes() not in seen:
            seen.add(cluster.tobytes())
            yield cluster


def insight_coverage(graph: Graph, cluster: Rows) -> float:
    """The largest fraction of a cluster from which a single insight is derived already."""
    in_edges, _ = graph.edges_to(cluster, Link.DERIVED_FROM)
    _, counts = np.unique(graph.edges["src"][in_edges], return_counts=True)
    return float(counts.max(initial=0)) / len(cluster)
