"""PageRank: how important a node is by what leads to it. SYNAPSE refreshes it at consolidation only."""

import numpy as np

from ..model import Mask, Scores
from .spread import Ways

DAMPING = 0.85
"""PageRank's damping, at its textbook value; the restart is uniform."""
STEPS, CLOSE = 100, 1e-6
"""PageRank has converged where no row changes by more than this part of the mean; at most so many steps."""


def pagerank(ways: Ways, nodes: Mask) -> Scores:
    """PageRank of the nodes over weighted edges among them, in parts of the highest.

    Lawrence Page, Sergey Brin, Rajeev Motwani, Terry Winograd, "The PageRank Citation Ranking", 1999. The rank of a
    node that no edge leaves goes to all nodes alike.
    """
    size, n = len(nodes), max(1, int(nodes.sum()))
    ways = ways.only(ways.weights > 0)  # after some decades nothing is left of a temporal edge
    leaves = np.bincount(ways.src, ways.weights, minlength=size)
    share = ways.weights / leaves[ways.src]
    stuck, rank = nodes & (leaves == 0), nodes / n
    for _ in range(STEPS):
        arrived = np.bincount(ways.dst, share * rank[ways.src], minlength=size)
        moved = np.where(nodes, (1 - DAMPING) / n + DAMPING * (arrived + rank[stuck].sum() / n), 0.0)
        settled = np.abs(moved - rank).max(initial=0.0) < CLOSE / n
        rank = moved
        if settled:
            break
    return (rank / max(rank.max(initial=0.0), 1e-12)).astype(np.float32)
