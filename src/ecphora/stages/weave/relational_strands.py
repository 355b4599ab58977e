"""Strands: typed, weighted connections between memories, and support along them. Cognitive Weave, 5.3."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...grouping import best_of_group
from ...model import MENTION_LINKS, Edge, Link, Mask, NodeId, Rows, Scores
from ...ports import ActivationPath

Floats32 = NDArray[np.float32]

STRAND_LINKS = (Link.ASSOCIATION, Link.DERIVED_FROM, Link.SUPPORTS, Link.CONTRADICTS, Link.SUPERSEDES)
"""The types of strands between memories, beside ``PRECEDES`` between adjacent turns, which is not stored."""
PRECEDES_STRENGTH = 0.5
"""The strength of the strand from a turn to the next, which follows from their order. Inferred."""


@dataclass(frozen=True, slots=True)
class Strand:
    """A relational strand: its link, the particle at its other end, its strength."""

    link: Link
    other_id: NodeId
    strength: float


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
    """Strands from rows to their neighbors without a link: pattern-based creation, section 3.4.2, equation 8 linear.

    ``neighbors`` are rows, each with others that are similar and their cosines; ``strength`` weighs cosines and the
    overlap of keys.
    """
    for row, others, cosines in neighbors:
        overlap = key_overlap(graph, np.concatenate([[row], others]))[0, 1:]
        for other, weight in zip(others.tolist(), strength(cosines, overlap).tolist(), strict=True):
            yield Edge(graph.id(row), graph.id(other), Link.ASSOCIATION, weight)


@dataclass(frozen=True, slots=True)
class StrandSupport:
    """The support of each row along strands, and the row it comes from."""

    scores: Scores
    path: ActivationPath


def strand_support(
    graph: Graph, seeds: Rows, scores: Scores, *, through: Mask, max_hops: int, min_path_strength: float
) -> StrandSupport:
    """The strongest path to each row: the score of a seed times the strengths of the strands from it.

    Paths of up to ``max_hops`` strands count while the product of their strengths is ``min_path_strength`` or more and
    every row on them is under the mask ``through``. Strands lead both ways: ASSOCIATION, DERIVED_FROM between an
    insight and its sources, and PRECEDES between adjacent turns.
    """
    best = np.zeros(len(graph), np.float32)
    parents = graph.no_rows()
    frontier, carried, product = seeds, scores[seeds], np.ones(len(seeds), np.float32)
    for _ in range(max_hops):
        source, target, strands = _strands_from(graph, frontier)
        path_strength = product[source] * strands
        is_kept = (path_strength >= min_path_strength) & through[target]
        source, target, path_strength = source[is_kept], target[is_kept], path_strength[is_kept]
        value = (carried[source] * path_strength / product[source]).astype(np.float32)
        strongest = best_of_group(target, value, ties=frontier[source])
        improved = strongest[value[strongest] > best[target[strongest]]]
        rows = target[improved]
        best[rows], parents[rows] = value[improved], frontier[source[improved]]
        frontier, carried, product = rows, value[improved], path_strength[improved]
    return StrandSupport(best, ActivationPath(parents, graph.no_rows()))


def _strands_from(graph: Graph, rows: Rows) -> tuple[Rows, Rows, Floats32]:
    """Every strand of some distinct rows: the index of its row, the row at its other end, its strength."""
    edges = graph.edges
    outgoing, of_outgoing = graph.edges_from(rows, Link.ASSOCIATION, Link.DERIVED_FROM)
    incoming, of_incoming = graph.edges_to(rows, Link.ASSOCIATION, Link.DERIVED_FROM)
    adjacent = np.concatenate([graph.previous_rows[rows], graph.next_rows[rows]])
    adjacent_of = np.tile(np.arange(len(rows)), 2)[adjacent >= 0]
    return (
        np.concatenate([of_outgoing, of_incoming, adjacent_of]),
        np.concatenate([edges["dst"][outgoing], edges["src"][incoming], adjacent[adjacent >= 0]]).astype(np.intp),
        np.concatenate(
            [
                edges["weights"][np.concatenate([outgoing, incoming])],
                np.full(len(adjacent_of), PRECEDES_STRENGTH, np.float32),
            ]
        ),
    )
