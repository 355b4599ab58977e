"""PageRank: the importance of a node by the edges that lead to it. SYNAPSE refreshes it at consolidation only."""

import numpy as np

from ...model.types import Mask, Scores
from .layer_edges import EdgeList

DAMPING = 0.85
"""PageRank's damping, at its textbook value; the restart is uniform."""
MAX_ITERATIONS, TOLERANCE = 100, 1e-6
"""The largest number of iterations; PageRank has converged once no row changes by more than this part of the mean."""


def pagerank(edges: EdgeList, nodes: Mask) -> Scores:
    """PageRank of the nodes over weighted edges among them, divided by the highest.

    Lawrence Page, Sergey Brin, Rajeev Motwani, Terry Winograd, "The PageRank Citation Ranking", 1999. The rank of a
    node without outgoing edges is spread over all nodes.
    """
    size, n = len(nodes), max(1, int(nodes.sum()))
    edges = edges.select(edges.weights > 0)  # after decades the weight of a temporal edge is 0
    out_weight = np.bincount(edges.src, edges.weights, minlength=size)
    share = edges.weights / out_weight[edges.src]
    dangling, rank = nodes & (out_weight == 0), nodes / n
    for _ in range(MAX_ITERATIONS):
        incoming = np.bincount(edges.dst, share * rank[edges.src], minlength=size)
        updated = np.where(nodes, (1 - DAMPING) / n + DAMPING * (incoming + rank[dangling].sum() / n), 0.0)
        has_converged = np.abs(updated - rank).max(initial=0.0) < TOLERANCE / n
        rank = updated
        if has_converged:
            break
    return (rank / max(rank.max(initial=0.0), 1e-12)).astype(np.float32)
