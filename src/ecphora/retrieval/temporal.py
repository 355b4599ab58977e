"""Times asked about against times of memories: asked ranges, time mentions, expired facts, the order in time.

For a question whose only content is a time, such as "What did I tell you on 12 July?", the memories of that time rank
in tiers: whatever was told or happened then answers it, and shares no word with it.
"""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ..language.dates.asked_time import rest_of_question
from ..model.graph.graph import ALL, Graph, epoch_seconds
from ..model.lazy import lazy_pattern
from ..model.ports import ActivationPath
from ..model.times import from_epoch_seconds, local_seconds, zone_of_minutes
from ..model.types import Interval, Link, Mask, Query, Rows, Scores

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


_SENTENCE_END = lazy_pattern(r"(?<!\d)[.!?]\s+\w|[。！？]\s*\w|\n\s*\w")
DAY = 86_400.0
"""Seconds."""
SHORT, DATED = 32 * DAY, 8 * DAY
"""The most seconds of a short time, a day to a month; and of a time in which an event is dated, a day to a week."""
OPEN = 1000 * 366 * DAY
"""A time as long as this is open to one side: "before 2020"."""
MAX_ROWS = 200
"""The most memories in the tiers."""
THEN, AROUND_THEN = 2, 1
"""The tiers: told at the time asked about or stating a time in it, and stating a time that only overlaps it."""


def asked_times(query: Query) -> tuple[Interval, ...]:
    """The times that a question asks about and that are not open: the short ones, or all if none is short."""
    bounded = tuple(time for time in query.time_ranges if _length(time) < OPEN)
    return tuple(time for time in bounded if is_short(time)) or bounded


def is_short(time: Interval) -> bool:
    """Whether a time is at most about a month long."""
    return _length(time) <= SHORT


def time_tiers(graph: Graph, query: Query, eligible: Mask, scores: Scores) -> Rows:
    """The tier of each row, 0 for a row not of the time asked about, and if the question asks for anything else.

    If there are many, only the rows with the best ``scores`` have a tier, and of equal ones the earliest.
    """
    times = asked_times(query)
    if not times or rest_of_question(query.text):
        return np.zeros(len(graph), np.intp)
    tiers = _tiers_of(graph, query, times) * eligible
    rows = np.flatnonzero(tiers)
    order = np.lexsort((graph.nodes["happened"][rows], -scores[rows], -tiers[rows]))
    tiers[rows[order[MAX_ROWS:]]] = 0
    return tiers


def has_unknown_time(graph: Graph, query: Query, eligible: Mask) -> bool:
    """Whether a question asks about a short time and no eligible memory is of it.

    If it has other content, only times that are over and in which an event is dated count, and what states a longer
    time is of it too: where somebody lives today or lived last March may have been told before. So is what states the
    same day of another year, as a birthday. Of several sentences, one may tell a time and another ask something.
    """
    times = [time for time in asked_times(query) if is_short(time)]
    if not times:
        return False
    if not rest_of_question(query.text):
        return not _tiers_of(graph, query, times)[eligible].any()
    if _SENTENCE_END.search(query.text):
        return False
    now = query.as_of or query.now
    times = [time for time in times if _length(time) <= DATED and time.end <= now]
    is_known = [
        is_in_times(graph, query, times),
        *(is_near(graph, time) | _states_day(graph, time) for time in times),
    ]
    return bool(times) and not np.logical_or.reduce(is_known)[eligible].any()


def is_near(graph: Graph, time: Interval, days_before: int = 0, days_after: int = 0) -> Mask:
    """Which rows happened on a day of a time, or some days before or after, by the calendar of where each was told."""
    nodes = graph.nodes
    local = nodes["happened"] + 60.0 * nodes["offsets"]
    first = local_seconds(time.start) // DAY - days_before
    last = -(-local_seconds(time.end) // DAY) + days_after
    found: Mask = np.logical_and(local >= first * DAY, local < last * DAY)
    return found


def _tiers_of(graph: Graph, query: Query, times: Sequence[Interval]) -> Rows:
    """The tier of each row. A time that a row states and that is longer does not tell what happened in these."""
    tiers = np.zeros(len(graph), np.intp)
    rows, starts, ends = local_mentions(graph)
    for time in times:
        start, end = local_seconds(time.start), local_seconds(time.end)
        overlaps = (starts < end) & (ends > start) & (ends - starts <= max(DATED, _length(time)))
        around, then = is_near(graph, time), happened_in(graph, time, query)
        around[rows[overlaps]] = True
        then[rows[(starts >= start) & (ends <= end)]] = True
        tiers = np.maximum(tiers, np.where(then, THEN, AROUND_THEN * around))
    return tiers


def _states_day(graph: Graph, time: Interval) -> Mask:
    """Which rows state the day and the month on which a time begins, of any year."""
    rows, starts, ends = local_mentions(graph)
    is_same = (_day_of_year(starts) == _day_of_year(np.array([local_seconds(time.start)]))) & (ends - starts <= DAY)
    found = np.zeros(len(graph), np.bool_)
    found[rows[is_same]] = True
    return found


def _day_of_year(seconds: NDArray[np.float64]) -> Rows:
    """The month and the day in it of local seconds, as a number."""
    days = (seconds // DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    return months.astype(np.intp) % 12 * 31 + (days - months).astype(np.intp)


def _length(time: Interval) -> float:
    return epoch_seconds(time.end) - epoch_seconds(time.start)


def time_order(graph: Graph, rows: Rows) -> Rows:
    """The place of each row in time, shape ``(n,)``; rows of which none is newer have the same place.

    Turns and plain texts of the same time are in the order in which they were remembered, as in a conversation
    without times. Other texts of the same time are not, nor are the chunks of one text.
    """
    nodes = graph.nodes
    is_in_order = (nodes["speakers"][rows] >= 0) | (nodes["sessions"][rows] >= 0) | ~_has_heading(graph, rows)
    texts = np.where(is_in_order, rows - nodes["positions"][rows], -1)  # the first chunk of a text stands for all
    _, places = np.unique(np.stack([nodes["happened"][rows], texts], axis=1), axis=0, return_inverse=True)
    return places.reshape(-1)


def _has_heading(graph: Graph, rows: Rows) -> Mask:
    """Which of some rows have a time that the caller gave, or a title."""
    nodes = graph.nodes
    has_time: Mask = nodes["happened"][rows] != nodes["recorded"][rows]
    return has_time | titled_mask(graph)[rows]


def titled_mask(graph: Graph) -> Mask:
    """The rows that are about an entity: their title."""
    return graph.derive("titled memories", _find_titled)


def _find_titled(graph: Graph, _: object) -> Mask:
    found = graph.zeros() > 0
    found[graph.edges["src"][graph.edges_of_link(Link.ABOUT)]] = True
    return found
