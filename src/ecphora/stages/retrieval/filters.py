"""The rows that a query may return, by node kind, filters and time."""

from datetime import datetime

import numpy as np

from ...graph import Graph, epoch_seconds
from ...model import Filter, Mask, Query
from . import validity


def eligible(graph: Graph, query: Query) -> Mask:
    """The episodes that pass the query's filter and happened and were recorded by its ``as_of`` and ``known_at``."""
    nodes, where = graph.nodes, query.where
    mask = graph.episodes.copy()
    _apply_names_and_bounds(mask, graph, where)
    if query.as_of is not None:
        has_happened = nodes["happened"] <= epoch_seconds(query.as_of)
        mask &= (
            has_happened | validity.claimed_valid_at(graph, epoch_seconds(query.as_of))
            if query.retroactive
            else has_happened
        )
    if query.known_at is not None:
        mask &= nodes["recorded"] <= epoch_seconds(query.known_at)
    _apply_condition(mask, graph, where)
    return mask


def _apply_names_and_bounds(mask: Mask, graph: Graph, where: Filter) -> None:
    """Clear the rows whose speaker, session, source, times or trust a filter leaves out."""
    nodes = graph.nodes
    for column, vocabulary, names in (
        ("speakers", graph.speakers, where.speakers),
        ("sessions", graph.sessions, where.sessions),
        ("sources", graph.sources, where.sources),
    ):
        if names:
            values = (names,) if isinstance(names, str) else names
            wanted_codes = [code for name in values if (code := vocabulary.code(name)) >= 0]
            mask &= np.isin(nodes[column], wanted_codes)
    for column, start, end in (
        ("happened", where.after, where.before),
        ("recorded", where.recorded_after, where.recorded_before),
    ):
        if isinstance(start, datetime):  # a filter has parsed its bounds
            mask &= nodes[column] >= epoch_seconds(start)
        if isinstance(end, datetime):
            mask &= nodes[column] < epoch_seconds(end)
    if where.min_trust > 0:
        mask &= nodes["trust"] >= np.float32(where.min_trust)


def _apply_condition(mask: Mask, graph: Graph, where: Filter) -> None:
    """Clear the rows whose metadata does not meet the condition of a filter."""
    condition = where.condition
    if condition is None:
        return
    matches_none = condition.matches({})  # the same for all the rows without metadata
    for row in np.flatnonzero(mask):
        metadata = graph.nodes["metadata"][row]
        mask[row] = condition.matches(metadata) if metadata else matches_none
