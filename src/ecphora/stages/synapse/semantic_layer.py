"""The episodic-semantic graph of SYNAPSE as a layer over the memory graph: derived, never stored.

Episodes have temporal edges to each other and abstraction edges to the concepts of their window; concepts of one window
have association edges. Concepts are the entities of the graph. The layer is rebuilt at every consolidation from the
whole windows that exist then: so it follows from the graph alone, and all recalls between two consolidations share it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import CachedDerivation, Graph
from ...grouping import concatenate_ranges, group_starts, rank_in_group
from ...model import MENTION_LINKS, Kind, Rows, Scores, Vectors
from ..retrieval.entity_vectors import entity_vectors
from .pagerank import pagerank
from .spreading_activation import EdgeList

DAY = 86_400.0
BLOCK = 512
"""How many concepts are compared with all others in one matrix product."""


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """The parameters of a layer.

    ``N``: episodes of a window, and between two consolidations; ``max_stale_share``: the share of all episodes that may
    be new without a consolidation, as its cost grows with the memory. ``K``: semantic edges that each row keeps.
    ``tau_dup``: the cosine from which two concepts are merged, 1 for never. ``abstraction_weight``: the weight between
    an episode and a concept. ``link_whole_window``: a concept belongs to every episode of a window that mentions it,
    not only to those that do. ``rho``: the decay of temporal edges per day. ``is_bidirectional``: temporal edges lead
    back as well.
    """

    N: int = 5
    K: int = 15
    tau_dup: float = 0.92
    abstraction_weight: float = 1.0
    link_whole_window: bool = False
    rho: float = 0.01
    is_bidirectional: bool = False
    max_stale_share: float = 0.0

    def consolidated_count(self, episode_count: int) -> int:
        """How many of n episodes the last consolidation had: a multiple of a period that doubles with the memory."""
        period = self.N
        while 2 * period <= self.max_stale_share * episode_count:
            period *= 2
        return episode_count // period * period


@dataclass(frozen=True, slots=True)
class Layer:
    """The layer of a consolidation: edges by source, those of a row from ``starts[row]`` to ``starts[row + 1]``.

    They join episodes and concepts, concepts and concepts, and the last turn of a session with the first of the next;
    the turns of a session are joined by the graph itself. ``pagerank`` is the PageRank of each row divided by the
    highest. Later rows are beyond the end of both. ``episode_count`` is the number of consolidated episodes.
    """

    config: LayerConfig
    starts: Rows
    targets: Rows
    weights: Scores
    pagerank: Scores
    episode_count: int

    def edges_from(self, graph: Graph, rows: Rows) -> EdgeList:
        """Every edge that leaves some rows of the graph, including those to adjacent turns."""
        in_layer = rows[rows < len(self.starts) - 1]
        counts = self.starts[in_layer + 1] - self.starts[in_layer]
        places = concatenate_ranges(self.starts[in_layer], counts)
        stored = EdgeList(np.repeat(in_layer, counts), self.targets[places], self.weights[places])
        edges = stored.concat(_temporal_edges(graph, rows, graph.next_rows[rows], self.config.rho))
        return (
            edges.concat(_temporal_edges(graph, rows, graph.previous_rows[rows], self.config.rho))
            if self.config.is_bidirectional
            else edges
        )


def consolidated_layer(graph: Graph, config: LayerConfig) -> Layer:
    """The layer of a graph as of its last consolidation."""
    return graph.derive(("semantic layer", config), lambda grown, before: _build_layer(grown, before, config))


def temporal_weight(seconds: NDArray[np.floating], rho: float) -> Scores:
    """``exp(-ρ·|τ_i - τ_j|)``, τ in days: the weight of a temporal edge over so many seconds."""
    return np.exp(-rho / DAY * np.abs(seconds)).astype(np.float32)


def _temporal_edges(graph: Graph, src: Rows, dst: Rows, rho: float) -> EdgeList:
    """Temporal edges between pairs of rows; a pair with -1 is left out."""
    is_edge = (src >= 0) & (dst >= 0)
    src, dst = src[is_edge], dst[is_edge]
    happened = graph.nodes["happened"]
    return EdgeList(src, dst, temporal_weight(happened[dst] - happened[src], rho))


# ---- consolidation


def _build_layer(graph: Graph, cached: CachedDerivation[Layer] | None, config: LayerConfig) -> Layer:
    episodes = np.flatnonzero(graph.episodes)
    episodes = episodes[: config.consolidated_count(len(episodes))]
    if cached is not None and cached.value.episode_count == len(episodes):
        return cached.value
    concepts = _find_concepts(graph, episodes, config)
    chain, bridges = _temporal_chain(graph, episodes, config)
    edges = prune(_semantic_edges(concepts, episodes, config), config.K).concat(bridges)
    edges = edges.select(np.argsort(edges.src, kind="stable"))
    nodes = np.zeros(len(graph), np.bool_)
    nodes[episodes] = nodes[concepts.rows[concepts.mention_concepts]] = True
    return Layer(
        config=config,
        starts=np.searchsorted(edges.src, np.arange(len(graph) + 1)),
        targets=edges.dst,
        weights=edges.weights,
        pagerank=pagerank(edges.concat(chain), nodes),
        episode_count=len(episodes),
    )


@dataclass(frozen=True, slots=True)
class _Concepts:
    """The concepts of some episodes: ``rows`` of the graph, each with the vector sum of its mentions.

    ``mention_episodes[i]``, the number of an episode, mentions ``mention_concepts[i]``, the place of a concept; pairs
    are distinct.
    """

    rows: Rows
    sums: Vectors
    mention_episodes: Rows
    mention_concepts: Rows

    def by_window(self, window_size: int) -> tuple[Rows, Rows]:
        """Each window of ``window_size`` episodes with each of its concepts, by window."""
        return _distinct_pairs(self.mention_episodes // window_size, self.mention_concepts, len(self.rows))


def _find_concepts(graph: Graph, episodes: Rows, config: LayerConfig) -> _Concepts:
    entities, edges = entity_vectors(graph), graph.edges
    number = np.full(len(graph), -1, np.intp)
    number[episodes] = np.arange(len(episodes))
    is_mention = graph.has_link(*MENTION_LINKS) & graph.of_kind(Kind.ENTITY)[edges["dst"]]
    src, concepts = edges["src"][is_mention], entities.index_of(edges["dst"][is_mention])
    later = np.flatnonzero(number[src] < 0)
    later = later[graph.vector_positions[src[later]] >= 0]
    sums = entities.sums.copy() if len(later) or config.tau_dup < 1 else entities.sums
    if len(later):  # entity vectors include mentions that are not consolidated yet
        np.subtract.at(sums, concepts[later], graph.vectors.view[graph.vector_positions[src[later]]])
    is_consolidated = number[src] >= 0
    mention_episodes, concepts = _distinct_pairs(
        number[src[is_consolidated]], concepts[is_consolidated], len(entities.rows)
    )
    if config.tau_dup < 1:
        merged_into = merge_duplicates(
            _center_concepts(graph, episodes, sums, concepts), mention_episodes, concepts, config.tau_dup
        )
        merged = np.flatnonzero(merged_into != np.arange(len(merged_into)))
        np.add.at(sums, merged_into[merged], sums[merged])
        mention_episodes, concepts = _distinct_pairs(mention_episodes, merged_into[concepts], len(merged_into))
    return _Concepts(entities.rows, sums, mention_episodes, concepts)


def _distinct_pairs(a: Rows, b: Rows, size: int) -> tuple[Rows, Rows]:
    """The distinct pairs of two columns, ascending; ``b`` is below ``size``."""
    return np.divmod(np.unique(a * max(1, size) + b), max(1, size))


def _normalize(sums: Vectors) -> Vectors:
    return sums / np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), 1e-12)[:, None]


def _semantic_edges(concepts: _Concepts, episodes: Rows, config: LayerConfig) -> EdgeList:
    """Abstraction edges, both ways, and association edges."""
    src, dst = episodes[concepts.mention_episodes], concepts.rows[concepts.mention_concepts]
    windows, window_concepts = concepts.by_window(config.N)
    if config.link_whole_window:
        src = episodes.reshape(-1, config.N)[windows].ravel()
        dst = np.repeat(concepts.rows[window_concepts], config.N)
    weights = np.full(len(src), config.abstraction_weight, np.float32)
    return EdgeList(src, dst, weights).concat(
        EdgeList(dst, src, weights), _association_edges(concepts, windows, window_concepts)
    )


def _association_edges(concepts: _Concepts, windows: Rows, concept_places: Rows) -> EdgeList:
    """Edges between every two concepts of a window, both ways, weighted by their cosine, where that is positive."""
    vectors, starts = _normalize(concepts.sums), group_starts(windows)
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


def prune(edges: EdgeList, K: int) -> EdgeList:  # noqa: N803
    """The ``K`` strongest edges that leave each row; of equal ones those to the newest rows."""
    order = np.lexsort((-edges.dst, -edges.weights, edges.src))
    return edges.select(order[rank_in_group(edges.src[order]) < K])


def _center_concepts(graph: Graph, episodes: Rows, sums: Vectors, concept_places: Rows) -> Vectors:
    """The concepts' mean vectors minus the mean of all episodes, as unit rows; 0 for concepts mentioned once.

    The more mentions a concept has, the nearer its mean is to the mean of all episodes: without centering, all
    frequent concepts would be merged.
    """
    counts = np.bincount(concept_places, minlength=len(sums))
    positions = graph.vector_positions[episodes]
    episode_weights = np.zeros(len(graph.vector_rows), np.float32)
    episode_weights[positions[positions >= 0]] = 1 / max(1, int((positions >= 0).sum()))
    mean = np.einsum("i,ij->j", episode_weights, graph.vectors.view)
    centered = _normalize(sums / np.maximum(1, counts)[:, None] - mean)
    centered[counts < 2] = 0
    return centered


def merge_duplicates(vectors: Vectors, episode_numbers: Rows, concept_places: Rows, tau_dup: float) -> Rows:
    """For each concept the oldest concept it is merged into, often itself.

    A concept is merged with the nearest older one of cosine ``tau_dup`` or more, and with all that were merged with
    that one. Two concepts that one text mentions are never merged. ``vectors`` are unit rows, or 0 for concepts that
    are not compared, in order of age; ``episode_numbers[i]`` mentions ``concept_places[i]``.
    """
    merged_into = np.arange(len(vectors))
    pairs = _duplicate_pairs(vectors, tau_dup)
    involved = {concept for _, older, newer in pairs for concept in (older, newer)}
    order = np.argsort(concept_places, kind="stable")
    ends = np.searchsorted(concept_places[order], np.arange(len(vectors) + 1))
    episodes = {
        concept: set(episode_numbers[order[ends[concept] : ends[concept + 1]]].tolist()) for concept in involved
    }
    for _, older, newer in sorted(pairs, key=lambda pair: (pair[2], pair[0], pair[1])):
        oldest = int(merged_into[older])
        if merged_into[newer] == newer and oldest != newer and episodes[oldest].isdisjoint(episodes[newer]):
            merged_into[newer] = oldest
            episodes[oldest] |= episodes[newer]
    return merged_into


def _duplicate_pairs(vectors: Vectors, tau_dup: float) -> list[tuple[float, int, int]]:
    """Pairs of rows ``i < j`` of cosine ``tau_dup`` or more, each with minus that cosine."""
    rows = np.flatnonzero(np.einsum("ij,ij->i", vectors, vectors) > 0)
    compared, pairs = vectors[rows], []
    for start in range(0, len(rows), BLOCK):
        cosines = compared[start : start + BLOCK] @ compared[start:].T
        older, newer = np.nonzero(cosines >= tau_dup)
        for i, j in zip(older.tolist(), newer.tolist(), strict=True):
            if i < j:
                pairs.append((-float(cosines[i, j]), int(rows[start + i]), int(rows[start + j])))
    return pairs


def _temporal_chain(graph: Graph, episodes: Rows, config: LayerConfig) -> tuple[EdgeList, EdgeList]:
    """The temporal edges among some episodes: those of the sessions, and those from each session to the next."""
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
        _temporal_edges(graph, previous, episodes, config.rho),
        _temporal_edges(graph, last, turns[is_first], config.rho),
    )
    if not config.is_bidirectional:
        return chain
    return chain[0].concat(_reverse(chain[0])), chain[1].concat(_reverse(chain[1]))


def _reverse(edges: EdgeList) -> EdgeList:
    return EdgeList(edges.dst, edges.src, edges.weights)
