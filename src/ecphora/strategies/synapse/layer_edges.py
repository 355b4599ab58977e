"""The edges of SYNAPSE's graph: temporal, abstraction and association edges, their weights, and the limit K.

Episodes have temporal edges to each other and abstraction edges to the concepts of their window; concepts of one window
have association edges.
"""
# ruff: noqa: N803  # the paper's symbols

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import group_starts, rank_in_group
from ...model.graph.graph import DAY, Graph
from ...model.types import Mask, Rows, Scores
from .concepts import Concepts, normalize


@dataclass(frozen=True, slots=True)
class EdgeList:
    """Directed edges, ``src[i] -> dst[i]`` with ``weights[i]`` in 0..1."""

    src: Rows
    dst: Rows
    weights: Scores

    def __len__(self) -> int:
        return len(self.src)

    def concat(self, *others: "EdgeList") -> "EdgeList":
        """These edges followed by others."""
        parts = (self, *others)
        return EdgeList(
            np.concatenate([edges.src for edges in parts]),
            np.concatenate([edges.dst for edges in parts]),
            np.concatenate([edges.weights for edges in parts]),
        )

    def select(self, places: Mask | Rows) -> "EdgeList":
        """The edges under a mask, or at the given places in their order."""
        return EdgeList(self.src[places], self.dst[places], self.weights[places])

    def fan(self, size: int) -> NDArray[np.intp]:
        """How many edges of the list leave each row: its out-degree if all its edges are in the list."""
        return np.bincount(self.src, minlength=size)


def temporal_weight(seconds: NDArray[np.floating], rho: float) -> Scores:
    """``exp(-ρ·|τ_i - τ_j|)``, τ in days: the weight of a temporal edge over so many seconds."""
    return np.exp(-rho / DAY * np.abs(seconds)).astype(np.float32)


def temporal_edges(graph: Graph, src: Rows, dst: Rows, rho: float) -> EdgeList:
    """Temporal edges between pairs of rows; a pair with -1 is left out."""
    is_edge = (src >= 0) & (dst >= 0)
    src, dst = src[is_edge], dst[is_edge]
    happened = graph.nodes["happened"]
    return EdgeList(src, dst, temporal_weight(happened[dst] - happened[src], rho))


def temporal_chain(graph: Graph, episodes: Rows, rho: float, *, is_bidirectional: bool) -> tuple[EdgeList, EdgeList]:
    """The temporal edges among some episodes: within sessions, and from each session to the next."""
    is_consolidated = np.zeros(len(graph), np.bool_)
    is_consolidated[episodes] = True
    previous = graph.previous_rows[episodes]
    while (skipped := (previous >= 0) & ~is_consolidated[previous]).any():
        previous[skipped] = graph.previous_rows[previous[skipped]]
    is_utterance = graph.nodes["speakers"][episodes] >= 0
    turns = episodes[is_utterance]
    turns = turns[np.argsort(graph.nodes["happened"][turns], kind="stable")]
    is_first = np.isin(turns, episodes[previous < 0])
    last = np.r_[-1, turns[:-1]][is_first]
    chain = (
        temporal_edges(graph, previous, episodes, rho),
        temporal_edges(graph, last, turns[is_first], rho),
    )
    if not is_bidirectional:
        return chain
    return chain[0].concat(_reverse(chain[0])), chain[1].concat(_reverse(chain[1]))


def _reverse(edges: EdgeList) -> EdgeList:
    return EdgeList(edges.dst, edges.src, edges.weights)


def abstraction_edges(
    concepts: Concepts, episodes: Rows, window_size: int, *, weight: float, link_whole_window: bool
) -> EdgeList:
    """Edges both ways between the episodes and the concepts that they mention.

    With ``link_whole_window`` a concept belongs to every episode of a window that mentions it.
    """
    src, dst = episodes[concepts.mention_episodes], concepts.rows[concepts.mention_concepts]
    if link_whole_window:
        windows, window_concepts = concepts.by_window(window_size)
        src = episodes.reshape(-1, window_size)[windows].ravel()
        dst = np.repeat(concepts.rows[window_concepts], window_size)
    weights = np.full(len(src), weight, np.float32)
    return EdgeList(src, dst, weights).concat(EdgeList(dst, src, weights))


def association_edges(concepts: Concepts, window_size: int) -> EdgeList:
    """Edges between every two concepts of a window, both ways, weighted by their cosine, where that is positive."""
    windows, concept_places = concepts.by_window(window_size)
    vectors, starts = normalize(concepts.sums), group_starts(windows)
    cosines, pairs = [np.empty(0, np.float32)], [np.empty(0, np.intp)]
    for members in np.split(concept_places, starts[1:]):
        if len(members) > 1:
            member_vectors = vectors[members]
            cosines.append((member_vectors @ member_vectors.T).ravel())
            pairs.append((members[:, None] * len(vectors) + members).ravel())
    pair, first = np.unique(np.concatenate(pairs), return_index=True)
    src, dst = np.divmod(pair, max(1, len(vectors)))
    cosine = np.minimum(1, np.concatenate(cosines)[first])
    edges = EdgeList(concepts.rows[src], concepts.rows[dst], cosine)
    return edges.select((src != dst) & (cosine > 0))


def limit_edges(semantic: EdgeList, temporal: EdgeList, K: int) -> EdgeList:
    """The ``K`` strongest semantic edges of each row, and all temporal edges: a chain must not be cut."""
    return prune(semantic, K).concat(temporal)


def prune(edges: EdgeList, K: int) -> EdgeList:
    """The ``K`` strongest edges that leave each row; of equal edges, the edges to the newest rows."""
    order = np.lexsort((-edges.dst, -edges.weights, edges.src))
    return edges.select(order[rank_in_group(edges.src[order]) < K])
