"""The rows that a query may return, by node kind, filters and time."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import numpy as np

from ...graph import Graph, epoch_seconds
from ...model import Filter, Mask, Query
from . import metadata_columns, validity
from .filter_names import FIELDS, find_codes, unknown_name_notices

MAX_READ_ROWS = 256
"""The number of rows up to which metadata is read row by row, so that no column is made for a few."""


def eligible(graph: Graph, query: Query) -> Mask:
    """The episodes that pass the query's filter and happened and were recorded by its ``as_of`` and ``known_at``."""
    return matching(graph, query, graph.episodes)


def matching(graph: Graph, query: Query, among: Mask) -> Mask:
    """The same of other rows, such as exchanges: those of ``among`` that pass the query's filter and times."""
    nodes, where = graph.nodes, query.where
    mask = among.copy()
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


def notices(graph: Graph, query: Query, among: Mask | None = None) -> tuple[str, ...]:
    """What to tell about a query's filter: the names that no memory has by the times of the query."""
    where = query.where
    if not any(getattr(where, field) for field in FIELDS):
        return ()
    visible = matching(graph, replace(query, where=Filter()), graph.episodes if among is None else among)
    return unknown_name_notices(graph, where, visible)


def _apply_names_and_bounds(mask: Mask, graph: Graph, where: Filter) -> None:
    """Clear the rows whose speaker, session, source, times or trust a filter leaves out."""
    nodes = graph.nodes
    for field in FIELDS:
        wanted, unwanted = getattr(where, field), getattr(where, f"not_{field}")
        if wanted is not None:  # of an empty list, no name is one
            mask &= _has_name(graph, field, wanted)
        if unwanted:
            mask &= ~_has_name(graph, field, unwanted)
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


def _has_name(graph: Graph, field: str, names: str | Iterable[str]) -> Mask:
    """Whether each row has one of some names as its speaker, session or source."""
    is_wanted = np.zeros(len(getattr(graph, field).names) + 1, np.bool_)  # the last entry stands for no name, -1
    is_wanted[find_codes(graph, field, names)] = True
    has_name: Mask = is_wanted[graph.nodes[field]]
    return has_name


def _apply_condition(mask: Mask, graph: Graph, where: Filter) -> None:
    """Clear the rows whose metadata does not meet the condition of a filter."""
    condition = where.condition
    if condition is None:
        return
    rows = np.flatnonzero(mask)
    mask &= (
        metadata_columns.match_by_reading(graph, condition, rows)
        if len(rows) <= MAX_READ_ROWS
        else metadata_columns.match(graph, condition)
    )
