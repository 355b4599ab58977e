"""What SYNAPSE refreshes only at consolidation: the layer of concepts and edges over the memory graph, and PageRank.

Every N episodes the layer is rebuilt from the whole windows that exist then. So it follows from the graph alone, is
never stored, and all recalls between two consolidations share it.
"""

from dataclasses import dataclass

import numpy as np

from ...model.graph.columns import concatenate_ranges
from ...model.graph.graph import CachedDerivation, Graph
from ...model.types import Rows, Scores
from . import layer_edges
from .concepts import Concepts, find_concepts
from .layer_edges import EdgeList, temporal_edges
from .pagerank import pagerank


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """The parameters of a layer.

    ``N``: episodes of a window, and between two consolidations; ``max_stale_share``: the share of all episodes that may
    be new without a consolidation, as its cost grows with the memory. ``K``: semantic edges that each row keeps.
    ``tau_dup``: the cosine from which two concepts are merged, 1 for never; it counts from ``similarity_floor``, the
    embedder's cosine of two unrelated texts. ``abstraction_weight``: the weight between an episode and a concept.
    ``link_whole_window``: a concept belongs to every episode of a window that mentions it, not only to the episodes
    that mention it. ``rho``: the decay of temporal edges per day. ``is_bidirectional``: temporal edges lead back as
    well. ``use_concept_anchors``: the dense trigger finds concepts too.
    """

    N: int = 5
    K: int = 15
    tau_dup: float = 0.92
    abstraction_weight: float = 1.0
    link_whole_window: bool = False
    rho: float = 0.01
    is_bidirectional: bool = False
    use_concept_anchors: bool = False
    max_stale_share: float = 0.0
    similarity_floor: float = 0.0

    def consolidated_count(self, episode_count: int) -> int:
        """How many of n episodes the last consolidation had: a multiple of a period that doubles with the memory."""
        period = self.N
        while 2 * period <= self.max_stale_share * episode_count:
            period *= 2
        return episode_count // period * period


@dataclass(frozen=True, slots=True)
class Layer:
    """The layer of a consolidation: edges by source, the edges of a row from ``starts[row]`` to ``starts[row + 1]``.

    They join episodes and concepts, concepts and concepts, and the last turn of a session with the first of the next;
    the turns of a session are joined by the graph itself. ``pagerank`` is the PageRank of each row divided by the
    highest. Later rows are beyond the end of both. ``concepts`` are the concepts that may be anchors, None for none.
    ``episode_count`` is the number of consolidated episodes.
    """

    config: LayerConfig
    starts: Rows
    targets: Rows
    weights: Scores
    pagerank: Scores
    concepts: Concepts | None
    episode_count: int

    def edges_from(self, graph: Graph, rows: Rows) -> EdgeList:
        """Every edge that leaves some rows of the graph, including the edges to adjacent turns."""
        in_layer = rows[rows < len(self.starts) - 1]
        counts = self.starts[in_layer + 1] - self.starts[in_layer]
        places = concatenate_ranges(self.starts[in_layer], counts)
        stored = EdgeList(np.repeat(in_layer, counts), self.targets[places], self.weights[places])
        edges = stored.concat(temporal_edges(graph, rows, graph.next_rows[rows], self.config.rho))
        return (
            edges.concat(temporal_edges(graph, rows, graph.previous_rows[rows], self.config.rho))
            if self.config.is_bidirectional
            else edges
        )


def consolidated_layer(graph: Graph, config: LayerConfig) -> Layer:
    """The layer of a graph as of its last consolidation."""
    return graph.derive(("semantic layer", config), lambda grown, before: _build_layer(grown, before, config))


def _build_layer(graph: Graph, cached: CachedDerivation[Layer] | None, config: LayerConfig) -> Layer:
    episodes = np.flatnonzero(graph.episodes)
    episodes = episodes[: config.consolidated_count(len(episodes))]
    if cached is not None and cached.value.episode_count == len(episodes):
        return cached.value
    concepts = find_concepts(
        graph,
        episodes,
        config.tau_dup,
        similarity_floor=config.similarity_floor,
    )
    abstraction = layer_edges.abstraction_edges(
        concepts, episodes, config.N, weight=config.abstraction_weight, link_whole_window=config.link_whole_window
    )
    association = layer_edges.association_edges(concepts, config.N)
    chain, bridges = layer_edges.temporal_chain(graph, episodes, config.rho, is_bidirectional=config.is_bidirectional)
    edges = layer_edges.limit_edges(abstraction.concat(association), bridges, config.K)
    edges = edges.select(np.argsort(edges.src, kind="stable"))
    nodes = np.zeros(len(graph), np.bool_)
    nodes[episodes] = nodes[concepts.rows[concepts.mention_concepts]] = True
    return Layer(
        config=config,
        starts=np.searchsorted(edges.src, np.arange(len(graph) + 1)),
        targets=edges.dst,
        weights=edges.weights,
        pagerank=pagerank(edges.concat(chain), nodes),
        concepts=concepts if config.use_concept_anchors else None,
        episode_count=len(episodes),
    )
