"""Insights: summaries of clusters of memories, made by consolidation. Cognitive Weave, Algorithm 1 and equation 6.

An insight quotes the sources that say most for their length, or is a language model's text, if that scores better and a
source supports each of its sentences. It is deleted with the first of its sources that is forgotten, and invalid once
one of them is superseded. It is retrieved by dense similarity alone: its terms are not indexed, so it changes no
lexical rank.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from ...model.graph.graph import Graph, epoch_seconds
from ...model.ids import INSIGHT_PREFIX, content_id
from ...model.ports import NodeSource, SecondsLeft
from ...model.types import Edge, Kind, Link, Mask, Node, NodeId, Rows, Vector, Vectors
from ...retrieval import importance, insight_index
from . import summaries
from .clustering import (
    ClusteringConfig,
    grow_cluster,
    has_fact_update,
    has_valid_size,
    nearest_neighbors,
    passes_quality_check,
)
from .summaries import InsightWriter


def insight_node(text: str, sources: Sequence[Node], now: datetime, level: int = 1) -> Node:
    """The insight node of some memories, or of insights of the level below; it happened when the last of them did."""
    last = max(node.happened_at for node in sources)
    metadata = {"level": level, "sources": len(sources)}
    return Node(insight_id(node.id for node in sources), Kind.INSIGHT, text, last, now, metadata=metadata)


def insight_id(sources: Iterable[NodeId]) -> NodeId:
    """The id of the insight over some nodes; it depends on their ids alone, not on text or time."""
    return content_id(*sorted(sources), prefix=INSIGHT_PREFIX)


def derived_from_edges(insight: NodeId, sources: Iterable[NodeId]) -> list[Edge]:
    """The edges from an insight to its sources."""
    return [Edge(insight, source, Link.DERIVED_FROM) for source in sources]


@dataclass(frozen=True, slots=True)
class InsightConfig:
    """The settings for drawing insights. All inferred.

    ``clustering`` compares vectors centered on the mean of all memories. At most the fraction ``max_overlap`` of a
    cluster may be covered by other insights. A memory is eligible if its content is at least ``min_content_ratio`` of
    the median and it asks nothing. There is at most one insight for ``memories_per_insight`` memories. ``token_cost``
    is lambda of equation 6; each sentence of a language model needs a source of cosine ``min_support_cosine``.
    """

    clustering: ClusteringConfig = field(default_factory=lambda: ClusteringConfig(min_cosine=0.45, tau=0.45))
    max_overlap: float = 0.5
    min_content_ratio: float = 0.6
    memories_per_insight: int = 20
    token_cost: float = 0.002
    min_support_cosine: float = summaries.MIN_SUPPORT_COSINE
    importance_decay: importance.ImportanceDecay = field(default_factory=importance.ImportanceDecay)


@dataclass(frozen=True, slots=True)
class InsightBatch:
    """Insights and the edges to their sources; ``rejection_count`` texts of a language model were not used.

    ``is_complete`` says that no insight is missing because the time ran out.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    rejection_count: int = 0
    is_complete: bool = True


def draw_insights(
    graph: Graph,
    new_rows: Rows,
    read: NodeSource,
    now: datetime,
    writer: InsightWriter | None = None,
    *,
    config: InsightConfig | None = None,
    time_left: SecondsLeft | None = None,
) -> InsightBatch:
    """Draw the insights that new memories complete, and the insights over insights that no higher insight covers.

    The cost is the number of new memories times the number of all memories. Deterministic except for the texts of
    ``writer``; an id is derived from the sources. ``time_left`` bounds the time: if it runs out, the last insights are
    missing, never the first. The same call finds them once the others are written.
    """
    context = _Context(graph, config or InsightConfig(), now)
    clusters = list(_find_clusters(context, new_rows))
    rows = (
        np.unique(np.concatenate([np.concatenate([cluster.rows, cluster.leaves]) for cluster in clusters]))
        if clusters
        else new_rows[:0]
    )
    node_by_row = {graph.row(node.id): node for node in read(rows)} if clusters else {}
    nodes: list[Node] = []
    edges: list[Edge] = []
    rejection_count = 0
    for cluster in clusters:
        sources = [node_by_row[row] for row in cluster.rows.tolist() if row in node_by_row]
        leaves = [node_by_row[row] for row in cluster.leaves.tolist() if row in node_by_row]
        if len(sources) < len(cluster.rows) or len(leaves) < len(cluster.leaves):
            continue  # a memory was forgotten meanwhile
        id_ = insight_id(node.id for node in sources)
        if graph.row(id_) is not None or id_ in graph.tombstones:
            continue
        if nodes and time_left is not None and time_left() <= 0:
            return InsightBatch(tuple(nodes), tuple(edges), rejection_count, is_complete=False)
        text, is_rejected = _insight_text(context, cluster.leaves, sources, leaves, writer)
        rejection_count += is_rejected
        nodes.append(insight_node(text, sources, now, cluster.level))
        edges.extend(derived_from_edges(id_, (source.id for source in sources)))
    return InsightBatch(tuple(nodes), tuple(edges), rejection_count)


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """The sources of an insight: rows of one level, and the memories below them."""

    level: int
    rows: Rows
    leaves: Rows


class _Context:
    """What all insights of a run share: vectors, the weights of memories, and which rows insights cover."""

    def __init__(self, graph: Graph, config: InsightConfig, now: datetime) -> None:
        self.graph, self.config = graph, config
        self.mean_vector = _mean_vector(graph)
        self.centered_vectors = _center(graph.vectors.rows(slice(None)), self.mean_vector)
        weights = importance.importance(graph, config.importance_decay, epoch_seconds(now)).astype(np.float64)
        self.weights = np.maximum(weights, 1e-6)
        self.insights = insight_index.all_insights(graph)
        self.is_covered = np.zeros(len(graph), np.bool_)
        edges, valid_rows = graph.edges, [one.row for one in self.insights if one.is_valid]
        self.is_covered[edges["dst"][graph.has_link(Link.DERIVED_FROM) & np.isin(edges["src"], valid_rows)]] = True

    def vectors(self, rows: Rows) -> Vectors:
        """The centered unit vectors of some rows."""
        vectors: Vectors = self.centered_vectors[self.graph.vector_positions[rows]]
        return vectors


def _mean_vector(graph: Graph) -> Vector:
    """The mean vector of all memories: what they have in common, such as speakers and tone."""
    is_episode = graph.episodes[graph.vector_rows["rows"]]
    if not is_episode.any():
        return np.zeros(graph.vectors.dim, np.float32)
    vectors = graph.vectors.rows(slice(None))
    return (is_episode.astype(np.float32) @ vectors / np.float32(is_episode.sum())).astype(np.float32)


def _center(vectors: Vectors, mean: Vector) -> Vectors:
    """Subtract the mean from unit vectors and normalize; zeros where nothing is left."""
    centered = vectors - mean
    lengths = np.sqrt(np.einsum("ij,ij->i", centered, centered))[:, None]
    return np.divide(centered, lengths, out=np.zeros_like(centered), where=lengths > 1e-3)


def is_informative(graph: Graph, min_content_ratio: float) -> Mask:
    """The memories that state something: no questions, and content of at least ``min_content_ratio`` of the median.

    The content of a memory is the sum over its terms of ln(memories / memories with the term), which unlike BM25's idf
    is 0 for a term of every memory.
    """
    table, episodes = graph.terms, graph.episodes
    _, term_index, counts = np.unique(table["hashes"], return_inverse=True, return_counts=True)
    term_weights = np.log(max(1, graph.episode_count) / counts)
    content = np.bincount(table["rows"], term_weights[term_index], minlength=len(graph))
    median = float(np.median(content[episodes])) if episodes.any() else 0.0
    mask: Mask = episodes & ~graph.nodes["is_question"] & (content >= min_content_ratio * median)
    return mask


def _find_clusters(context: _Context, new_rows: Rows) -> Iterator[_Cluster]:
    """The clusters of every level, clusters of new memories first."""
    graph, config = context.graph, context.config
    is_eligible = is_informative(graph, config.min_content_ratio) & ~insight_index.superseded_mask(graph)
    max_count = graph.episode_count // config.memories_per_insight - sum(
        insight.level == 1 for insight in context.insights
    )
    for rows in _grow_clusters(context, new_rows[is_eligible[new_rows]], is_eligible, max_count, {}):
        yield _Cluster(1, rows, rows)
    # An insight gets its vector when it is written, so insights of the previous run count as new here.
    earlier_rows = np.flatnonzero(graph.episodes[: new_rows[0]]) if len(new_rows) else new_rows
    last_row = int(earlier_rows[-1]) if len(earlier_rows) else -1
    sources_by_insight = {insight.row: insight.sources for insight in context.insights}
    for level in sorted({insight.level for insight in context.insights}):
        lower_rows = np.array(
            [insight.row for insight in context.insights if insight.level == level and insight.is_valid], np.intp
        )
        mask = np.zeros(len(graph), np.bool_)
        mask[lower_rows] = True
        max_count = len(lower_rows) // config.clustering.min_size - sum(
            insight.level == level + 1 for insight in context.insights
        )
        for rows in _grow_clusters(context, lower_rows[lower_rows > last_row], mask, max_count, sources_by_insight):
            yield _Cluster(level + 1, rows, _leaves(rows, sources_by_insight))


def _leaves(rows: Rows, sources_by_insight: dict[int, Rows]) -> Rows:
    """The memories below some insights; a memory is its own leaf."""
    return np.unique(np.concatenate([sources_by_insight.get(row, np.array([row])) for row in rows.tolist()])).astype(
        np.intp
    )


def _grow_clusters(
    context: _Context, seeds: Rows, mask: Mask, max_count: int, sources_by_insight: dict[int, Rows]
) -> Iterator[Rows]:
    """Grow at most ``max_count`` clusters around ``seeds``: the most similar first, and mostly of uncovered rows."""
    graph, space, config = context.graph, context.centered_vectors, context.config.clustering
    neighborhoods = nearest_neighbors(graph, space, seeds, mask, config) if max_count > 0 else iter(())
    ranked = sorted(
        (neighborhood for neighborhood in neighborhoods if len(neighborhood[1]) >= config.min_size - 1),
        key=lambda neighborhood: (-round(float(neighborhood[2].sum()), 4), neighborhood[0]),
    )
    for row, neighbors, _ in ranked:
        if context.is_covered[row]:
            continue
        rows = grow_cluster(graph, space, row, np.unique(np.append(neighbors, row)), config)
        if context.is_covered[rows].mean() > context.config.max_overlap or not has_valid_size(graph, rows, config):
            continue
        if passes_quality_check(graph, space, rows, config) and not has_fact_update(
            graph, _leaves(rows, sources_by_insight)
        ):
            context.is_covered[rows] = True
            yield rows
            max_count -= 1
            if not max_count:
                return


def _insight_text(
    context: _Context, rows: Rows, sources: Sequence[Node], leaves: Sequence[Node], writer: InsightWriter | None
) -> tuple[str, bool]:
    """The text of an insight, and whether a language model's text was rejected.

    Such a text must have a smaller L (equation 6) than the quotes, and a similar source for each of its sentences.
    """
    vectors, weights = context.vectors(rows), context.weights[rows] / context.weights[rows].sum()
    costs = summaries.token_costs(leaves, context.config.token_cost)
    chosen = summaries.select_sentences(vectors, weights, costs)
    quotes = summaries.quote([leaves[place] for place in chosen])
    written = (writer.write(sources) or "").strip() if writer is not None else ""
    if writer is None or not written:
        return quotes, False
    source_vectors: Vectors = context.graph.vectors.rows(context.graph.vector_positions[rows])
    is_accepted = writer.accepts(
        written,
        source_vectors,
        weights,
        token_cost=context.config.token_cost,
        extractive_objective=summaries.objective(vectors[chosen], vectors, weights, costs[chosen].sum()),
        min_cosine=context.config.min_support_cosine,
        transform=lambda found: _center(found, context.mean_vector),
    )
    return (written, False) if is_accepted else (quotes, True)
