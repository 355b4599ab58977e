"""Strands: typed, weighted connections between memories, and what reaches a memory along them. Cognitive Weave, 5.3."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Graph
from ..model import Link, Mask, Rows, Scores
from ..ports import Trail

Numbers = NDArray[np.float32]

_RELATED, _DERIVED = LINKS.index(Link.ASSOCIATION), LINKS.index(Link.DERIVED_FROM)
_KEYS = (LINKS.index(Link.MENTIONS), LINKS.index(Link.ABOUT))
PRECEDES = 0.5
"""The strength of the strand from a turn to the next, which follows from their order. Inferred."""


def strength(
    similarity: Numbers, together: Numbers, confidence: float, *, alpha: float, beta: float, gamma: float
) -> Numbers:
    """S_ij = alpha sim + beta cooccur + gamma conf, the linear form of section 5.3."""
    found: Numbers = alpha * similarity + beta * together + gamma * np.float32(confidence)
    return found


def shared_keys(graph: Graph, rows: Rows) -> Numbers:
    """The Jaccard index of the names that two distinct memories mention, for every pair; 0 where neither has any."""
    edges, which = graph.edges_from(rows)
    named = np.isin(graph.edges["links"][edges], _KEYS)
    keys, key = np.unique(graph.edges["dst"][edges[named]], return_inverse=True)
    has = np.zeros((len(rows), len(keys)), np.float32)
    has[which[named], key] = 1
    both, size = has @ has.T, has.sum(axis=1)
    found: Numbers = both / np.maximum(1, size[:, None] + size - both)
    return found


@dataclass(frozen=True, slots=True)
class Support:
    """What reaches each row along strands: how much, and from which row."""

    scores: Scores
    trail: Trail


def support(graph: Graph, seeds: Rows, scores: Scores, *, through: Mask, hops: int, floor: float) -> Support:
    """The strongest way to each row: the score of a seed times the strengths of the strands from it.

    Ways of up to ``hops`` strands count while their strengths multiply to ``floor`` at least and every row on them is
    under the mask ``through``. Strands carry both ways:
    ASSOCIATION, DERIVED_FROM between an insight and its sources, and PRECEDES between turns beside each other.
    """
    best = np.zeros(len(graph), np.float32)
    by = np.full(len(graph), -1, np.intp)
    here, carried, product = seeds, scores[seeds], np.ones(len(seeds), np.float32)
    for _ in range(hops):
        of, there, strands = _leaving(graph, here)
        way = product[of] * strands
        reaching = (way >= floor) & through[there]
        of, there, way = of[reaching], there[reaching], way[reaching]
        value = (carried[of] * way / product[of]).astype(np.float32)
        order = np.lexsort((here[of], -value, there))  # the strongest way to each row first, of equal ones by row
        first = order[np.flatnonzero(np.r_[True, np.diff(there[order]) != 0])] if len(order) else order
        better = first[value[first] > best[there[first]]]
        rows = there[better]
        best[rows], by[rows] = value[better], here[of[better]]
        here, carried, product = rows, value[better], way[better]
    return Support(best, Trail(by, np.full(len(graph), -1, np.intp)))


def _leaving(graph: Graph, rows: Rows) -> tuple[Rows, Rows, Numbers]:
    """Every strand of some distinct rows: the number of its row, the row at its other end, its strength."""
    edges = graph.edges
    out, of_out = graph.edges_from(rows)
    into, of_into = graph.edges_to(rows)
    places, of = np.concatenate([out, into]), np.concatenate([of_out, of_into])
    ends = np.concatenate([edges["dst"][out], edges["src"][into]]).astype(np.intp)
    strands = np.isin(edges["links"][places], (_RELATED, _DERIVED))
    beside = np.concatenate([graph.previous[rows], graph.following[rows]])
    number = np.tile(np.arange(len(rows)), 2)[beside >= 0]
    return (
        np.concatenate([of[strands], number]),
        np.concatenate([ends[strands], beside[beside >= 0]]),
        np.concatenate([edges["weights"][places[strands]], np.full(len(number), PRECEDES, np.float32)]),
    )
