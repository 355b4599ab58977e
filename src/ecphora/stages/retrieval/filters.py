"""The rows that a query may return, by node kind, filters and time."""

from datetime import datetime

import numpy as np

from ...graph import Graph, epoch_seconds
from ...model import Mask, Query
from . import validity


def eligible(graph: Graph, query: Query) -> Mask:
    """The episodes that pass the query's filter and happened and were recorded by its ``as_of`` and ``known_at``."""
    nodes, where = graph.nodes, query.where
    mask = graph.episodes.copy()
    for column, vocabulary, names in (
        ("speakers", graph.speakers, where.speakers),
        ("sessions", graph.sessions, where.sessions),
        ("sources", graph.sources, where.sources),
    ):
        if names:
            values = (names,) if isinstance(names, str) else names
            wanted_codes = [code for name in values if (code := vocabulary.code(name)) >= 0]
            mask &= np.isin(nodes[column], wanted_codes)
    if isinstance(where.after, datetime):  # a filter has parsed its bounds
        mask &= nodes["happened"] >= epoch_seconds(where.after)
    if isinstance(where.before, datetime):
        mask &= nodes["happened"] < epoch_seconds(where.before)
    if query.as_of is not None:
        has_happened = nodes["happened"] <= epoch_seconds(query.as_of)
        mask &= (
            has_happened | validity.claimed_valid_at(graph, epoch_seconds(query.as_of))
            if query.retroactive
            else has_happened
        )
    if query.known_at is not None:
        mask &= nodes["recorded"] <= epoch_seconds(query.known_at)
    if where.metadata:
        wanted_pairs = where.metadata.items()
        for row in np.flatnonzero(mask):
            mask[row] = wanted_pairs <= (nodes["metadata"][row] or {}).items()
    return mask
