"""The memories of the times that a question asks about, and the tiers in which they rank.

A tier is for a question whose only content is a time, such as "What did I tell you on 12 July?": whatever was told or
happened then answers it, and shares no word with it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph, epoch_seconds
from ...language.asked_time import rest_of_question
from ...lazy_pattern import lazy_pattern
from ...model import Interval, Mask, Query, Rows, Scores
from ...timeparse import local_seconds
from . import temporal

_SENTENCE_END = lazy_pattern(r"(?<!\d)[.!?]\s+\w|[。！？]\s*\w|\n\s*\w")
DAY = 86_400.0
"""Seconds."""
SHORT, DATED = 32 * DAY, 8 * DAY
"""The most seconds of a short time, a day to a month; and of one in which an event is dated, a day to a week."""
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
    """The tier of each row, 0 for one that is not of the time asked about, and if the question asks for anything else.

    If there are many, only those with the best ``scores`` have a tier, and of equal ones the earliest.
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
        temporal.is_in_times(graph, query, times),
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
    rows, starts, ends = temporal.local_mentions(graph)
    for time in times:
        start, end = local_seconds(time.start), local_seconds(time.end)
        overlaps = (starts < end) & (ends > start) & (ends - starts <= max(DATED, _length(time)))
        around, then = is_near(graph, time), temporal.happened_in(graph, time, query)
        around[rows[overlaps]] = True
        then[rows[(starts >= start) & (ends <= end)]] = True
        tiers = np.maximum(tiers, np.where(then, THEN, AROUND_THEN * around))
    return tiers


def _states_day(graph: Graph, time: Interval) -> Mask:
    """Which rows state the day and the month on which a time begins, of any year."""
    rows, starts, ends = temporal.local_mentions(graph)
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
