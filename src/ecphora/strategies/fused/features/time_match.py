"""Features of the times and numbers a question asks for: EISA's chronology where the question refers to it."""

import numpy as np

from ....language import question
from ....model.types import Scores
from ....retrieval import temporal
from ..candidate_pool import CandidatePool


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of time and number.

    ``date match`` marks rows that happened in, or mention, a time the query names; ``rare date match`` is ``date
    match`` divided by the square root of how many rows match. ``day match`` is ``date match`` for times of at most
    about a month, ``year match`` for longer times if the query names no shorter time, both without open times. ``near
    day match`` marks rows told one day before or up to two days after a short time, except rows that match: much is
    told the day after.

    ``time for when-question`` marks rows that mention a time if the query asks when, ``number for how-many-question``
    rows with a number if it asks how many. ``recency for now-question`` is how late a row happened, in 0..1, if the
    query asks about the current state.
    """
    graph, rows, text = pool.graph, pool.rows, pool.query.text
    features = {
        name: np.zeros(len(rows), np.float32)
        for name in (
            "date match",
            "rare date match",
            "day match",
            "year match",
            "near day match",
            "time for when-question",
            "number for how-many-question",
            "recency for now-question",
        )
    }
    if pool.query.time_ranges:
        is_in_time = temporal.is_in_query_time(graph, pool.query)
        features["date match"] = is_in_time[rows]
        features["rare date match"] = (
            is_in_time[rows] / max(1.0, float(is_in_time[graph.episodes].sum())) ** 0.5
        ).astype(np.float32)
        features |= _day_matches(pool)
    if question.is_time_question(text):
        features["time for when-question"] = temporal.mentions_time(graph, rows).astype(np.float32)
    if question.is_quantity_question(text):
        entries, _ = graph.postings(question.number_term_hashes())
        features["number for how-many-question"] = np.isin(rows, graph.terms["rows"][entries]).astype(np.float32)
    if question.is_current_state_question(text):
        happened = graph.nodes["happened"]
        first, last = happened[graph.episodes].min(), happened[graph.episodes].max()
        features["recency for now-question"] = ((happened[rows] - first) / max(1.0, last - first)).astype(np.float32)
    return features


def _day_matches(pool: CandidatePool) -> dict[str, Scores]:
    """The features of days and years for a query that names a time that is not open; none for others."""
    graph, rows, times = pool.graph, pool.rows, temporal.asked_times(pool.query)
    if not times:
        return {}
    is_match = temporal.is_in_times(graph, pool.query, times)
    if not temporal.is_short(times[0]):
        return {"year match": is_match[rows].astype(np.float32)}
    is_near = np.logical_or.reduce([temporal.is_near(graph, time, 1, 2) for time in times])
    return {
        "day match": is_match[rows].astype(np.float32),
        "near day match": (is_near & ~is_match)[rows].astype(np.float32),
    }
