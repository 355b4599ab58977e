"""Times asked about against times of memories: asked ranges, time mentions, expired facts and their successors."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ...graph import ALL, Graph, epoch_seconds
from ...model import Interval, Link, Mask, Query, Rows, Scores
from ...ports import ActivationPath
from ...timeparse import from_epoch_seconds, local_seconds, zone_of_minutes

MAX_CHAIN = 8
"""How many supersessions in a row are followed from the oldest fact."""


def local_time(graph: Graph, row: int, seconds: float) -> datetime:
    """The time of seconds since 1970, with the offset at which the memory in a row was told."""
    return from_epoch_seconds(seconds, zone_of_minutes(int(graph.nodes["offsets"][row])))


def is_in_query_time(graph: Graph, query: Query) -> Scores:
    """1 for each row that happened in, or mentions, a time range the query asks about."""
    return is_in_times(graph, query, query.time_ranges).astype(np.float32)


def is_in_times(graph: Graph, query: Query, times: Sequence[Interval]) -> Mask:
    """Which rows happened in, or mention, one of some time ranges that a query asks about.

    A day is the day of whoever lived it: local time where the question is asked is compared with local time where each
    memory was told. A range up to now, or from now on, also holds what lies in it as an instant.
    """
    found = np.zeros(len(graph), np.bool_)
    if not times:
        return found
    rows, starts, ends = local_mentions(graph)
    for time in times:
        start, end = local_seconds(time.start), local_seconds(time.end)
        found[rows[(starts < end) & (ends > start)]] = True
        found |= happened_in(graph, time, query)
    return found


def local_mentions(graph: Graph) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64]]:
    """The rows that mention a time, and the start and the end of each, in local seconds of where it was told."""
    mentions = graph.time_mentions
    rows = mentions["rows"]
    shift = 60.0 * graph.nodes["offsets"][rows]
    return rows, mentions["starts"] + shift, mentions["ends"] + shift


def happened_in(graph: Graph, time: Interval, query: Query, rows: Rows | slice = ALL) -> Mask:
    """Which of some rows happened in a time range that a query asks about."""
    happened = graph.nodes["happened"][rows]
    local = happened + 60.0 * graph.nodes["offsets"][rows]
    is_inside = np.logical_and(local >= local_seconds(time.start), local < local_seconds(time.end))
    if (query.as_of or query.now) in {time.start, time.end}:
        is_inside |= (happened >= epoch_seconds(time.start)) & (happened < epoch_seconds(time.end))
    return is_inside


def mentions_time(graph: Graph, rows: Rows) -> Mask:
    """Which of some rows mention a time."""
    has_mention = np.zeros(len(graph), np.bool_)
    has_mention[graph.time_mentions["rows"]] = True
    return has_mention[rows]


def expired_mask(graph: Graph, query: Query) -> Mask:
    """The rows whose validity ended by ``as_of``, as far as recorded by ``known_at``; both default to ``now``."""
    as_of = epoch_seconds(query.as_of or query.now)
    known_at = epoch_seconds(query.known_at or query.now)
    return np.logical_and(graph.nodes["valid_to"] <= as_of, graph.nodes["valid_to_recorded_at"] <= known_at)


def successor_boost(graph: Graph, scores: Scores, old: Mask) -> tuple[Scores, ActivationPath]:
    """What each row lacks to the score of the expired row it supersedes, and that row as its path.

    So a query that matches an outdated fact also finds its successor, though that may be worded differently.
    """
    boost, raised = graph.zeros(), scores.astype(np.float32)
    parent = graph.no_rows()
    edges = graph.edges
    supersedes = np.flatnonzero(graph.has_link(Link.SUPERSEDES) & old[edges["dst"]])
    new, former = edges["src"][supersedes], edges["dst"][supersedes]
    for _ in range(MAX_CHAIN if len(supersedes) else 0):
        previous = raised.copy()
        np.maximum.at(raised, new, raised[former])
        has_gained = raised[new] > previous[new]
        if not has_gained.any():
            break
        parent[new[has_gained]] = former[has_gained]
        boost = raised - scores
    return boost, ActivationPath(parent, graph.no_rows())
