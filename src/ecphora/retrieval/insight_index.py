"""The insights of a graph, the memories each is derived from, and whether it is still valid."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..model.graph.graph import CachedDerivation, Graph, epoch_seconds
from ..model.ports import NodeSource
from ..model.types import Insight, Kind, Link, Mask, Query, Rows, Vector
from . import validity


@dataclass(frozen=True, slots=True, eq=False)
class InsightRecord:
    """An insight of the graph: its level, and the memories it is derived from, directly or through lower insights.

    ``is_valid`` is False once one of them was superseded.
    """

    row: int
    level: int
    sources: Rows
    is_valid: bool = True


def newest_insights(graph: Graph) -> tuple[InsightRecord, ...]:
    """Every insight, the latest recorded first, among equals the insight with most sources first."""
    insights = sorted(
        all_insights(graph), key=lambda record: (-graph.nodes["recorded"][record.row], -len(record.sources), record.row)
    )
    return tuple(insights)


def nearest_insights(graph: Graph, vector: Vector, limit: int = 10) -> tuple[tuple[InsightRecord, float], ...]:
    """The valid insights nearest to a unit vector, best first, with their cosines."""
    positions = graph.vector_positions
    valid = [record for record in all_insights(graph) if record.is_valid and positions[record.row] >= 0]
    if not valid or limit < 1:
        return ()
    vectors = graph.vectors.rows(positions[[record.row for record in valid]])
    cosines = np.vecdot(vectors, vector)
    order = np.argsort(-cosines, kind="stable")[:limit]
    return tuple((valid[index], float(cosines[index])) for index in order.tolist())


def eligible_insights(graph: Graph, query: Query, eligible: Mask) -> list[InsightRecord]:
    """The valid insights that a query may return, if it may return the memories under ``eligible``.

    All sources of an insight must be eligible, since it repeats them, and it must have been recorded by ``known_at``.
    """
    known_at = np.inf if query.known_at is None else epoch_seconds(query.known_at)
    return [
        record
        for record in all_insights(graph)
        if record.is_valid and eligible[record.sources].all() and graph.nodes["recorded"][record.row] <= known_at
    ]


def load_insights(records: Iterable[InsightRecord], reader: NodeSource) -> list[Insight]:
    """Load insights with their texts and their sources' texts; an insight that was forgotten meanwhile is left out."""
    insights = []
    for record in records:
        node, *_ = (*reader(np.array([record.row], np.intp)), None)
        if node is not None:
            insights.append(Insight(node, record.level, tuple(reader(record.sources)), record.is_valid))
    return insights


def all_insights(graph: Graph) -> list[InsightRecord]:
    """Every insight that has a source memory, by row."""
    superseded = superseded_mask(graph)
    sources_by_row = graph.derive("insight sources", _update_sources)
    return [
        InsightRecord(row, level, sources, not superseded[sources].any())
        for row, (level, sources) in sources_by_row.items()
    ]


_SourcesByRow = dict[int, tuple[int, Rows]]


def _update_sources(graph: Graph, before: CachedDerivation[_SourcesByRow] | None) -> _SourcesByRow:
    """The level and the source memories of each insight. Sources are older than the insight, so there is no cycle."""
    edges = graph.edges
    if before is not None and not len(graph.edges_of_link(Link.DERIVED_FROM, first=before.edge_count)):
        return before.value
    derived = graph.edges_of_link(Link.DERIVED_FROM)
    derived = derived[graph.of_kind(Kind.INSIGHT)[edges["src"][derived]]]
    derived = derived[np.argsort(edges["src"][derived], kind="stable")]
    rows, starts = np.unique(edges["src"][derived], return_index=True)
    found: _SourcesByRow = {}
    for row, start, end in zip(rows.tolist(), starts, [*starts[1:], len(derived)], strict=False):
        sources = edges["dst"][derived[start:end]]
        lower = [found[source] for source in sources.tolist() if source in found]
        parts = [sources[graph.episodes[sources]].astype(np.intp), *(leaves for _, leaves in lower)]
        leaves = np.unique(np.concatenate(parts))
        if len(leaves):
            found[row] = 1 + max((level for level, _ in lower), default=0), leaves
    return found


def superseded_mask(graph: Graph) -> Mask:
    """The memories superseded by another, by an explicit edge or by the claims of both."""
    mask = np.zeros(len(graph), np.bool_)
    mask[graph.edges["dst"][graph.edges_of_link(Link.SUPERSEDES)]] = True
    claims = validity.supersessions(graph)
    mask[claims.old[~claims.is_contradiction]] = True
    return mask
