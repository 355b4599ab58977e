"""Times asked about against times of memories: asked ranges, time mentions, expired facts and their successors."""

import numpy as np

from ...graph import Graph, epoch_seconds
from ...model import Link, Mask, Query, Rows, Scores
from ...ports import ActivationPath

MAX_CHAIN = 8
"""How many supersessions in a row are followed from the oldest fact."""


def is_in_query_time(graph: Graph, query: Query) -> Scores:
    """1 for each row that happened in, or mentions, a time range the query asks about."""
    scores = graph.zeros()
    mentions, happened = graph.time_mentions, graph.nodes["happened"]
    for time in query.time_ranges:
        start, end = epoch_seconds(time.start), epoch_seconds(time.end)
        scores[mentions["rows"][(mentions["starts"] < end) & (mentions["ends"] > start)]] = 1
        scores[(happened >= start) & (happened < end)] = 1
    return scores


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
