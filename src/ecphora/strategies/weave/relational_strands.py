"""Associations: strands between similar memories, and their strength. Cognitive Weave, 5.3."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import Graph
from ...model.types import MENTION_LINKS, Edge, Link, Rows, Scores

Floats32 = NDArray[np.float32]


def strand_strength(
    similarity: Floats32, cooccurrence: Floats32, oracle_confidence: float, *, alpha: float, beta: float, gamma: float
) -> Floats32:
    """S_ij = alpha sim + beta cooccur + gamma conf, the linear form of section 5.3."""
    found: Floats32 = alpha * similarity + beta * cooccurrence + gamma * np.float32(oracle_confidence)
    return found


def key_overlap(graph: Graph, rows: Rows) -> Floats32:
    """The Jaccard index of the entities of every pair of distinct memories; 0 where neither mentions any."""
    edges, row_index = graph.edges_from(rows, *MENTION_LINKS)
    keys, key_index = np.unique(graph.edges["dst"][edges], return_inverse=True)
    has = np.zeros((len(rows), len(keys)), np.float32)
    has[row_index, key_index] = 1
    shared, size = has @ has.T, has.sum(axis=1)
    found: Floats32 = shared / np.maximum(1, size[:, None] + size - shared)
    return found


def new_strands(
    graph: Graph,
    neighbors: Iterable[tuple[int, Rows, Scores]],
    strength: Callable[[Floats32, Floats32], Floats32],
) -> Iterator[Edge]:
    """Strands from rows to similar ones that have no link yet: pattern-based creation, 3.4.2; equation 8 linear.

    ``neighbors`` are rows, each with others that are similar and their cosines; ``strength`` weighs cosines and the
    overlap of keys.
    """
    for row, others, cosines in neighbors:
        overlap = key_overlap(graph, np.concatenate([[row], others]))[0, 1:]
        for other, weight in zip(others.tolist(), strength(cosines, overlap).tolist(), strict=True):
            yield Edge(graph.id(row), graph.id(other), Link.ASSOCIATION, weight)
