"""Times that a question names, and validity at a time."""

from dataclasses import replace
from datetime import timedelta

import numpy as np

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Interval, ValidityEnd
from ecphora.retrieval import temporal, validity
from ecphora.testing import NOON, sample_batch, sample_node, sample_query


def test_time_ranges_match_mentioned_and_event_times() -> None:
    batch = sample_batch(sample_node("mentioned"), sample_node("happened", minutes=60), sample_node("neither"))
    hour = Interval(NOON + timedelta(minutes=60), NOON + timedelta(minutes=120))
    analysis = replace(
        batch.analyses["mentioned"], time_mentions=(Interval(NOON + timedelta(minutes=119), NOON + timedelta(days=1)),)
    )
    graph = apply_batch(Graph(), replace(batch, analyses={**batch.analyses, "mentioned": analysis}, revision=1))
    assert temporal.is_in_query_time(graph, sample_query("x", time_ranges=(hour,))).tolist() == [1, 1, 0]
    assert temporal.is_in_query_time(graph, sample_query("x")).tolist() == [0, 0, 0]
    assert temporal.mentions_time(graph, np.array([2, 0])).tolist() == [False, True]


def test_expired_mask_uses_valid_time_and_recording_time() -> None:
    end = ValidityEnd("old", NOON + timedelta(days=1), NOON + timedelta(days=5))
    batch = sample_batch(sample_node("old"), sample_node("new"), validity_ends=(end,), revision=1)
    graph = apply_batch(Graph(), batch)
    days = [
        (None, None, True), (0, None, False), (1, None, True), (2, 4, False), (2, 5, True), (None, 4, False),
    ]  # fmt: skip
    for as_of, known_at, expected in days:
        query = sample_query(
            "x",
            as_of=None if as_of is None else NOON + timedelta(days=as_of),
            known_at=None if known_at is None else NOON + timedelta(days=known_at),
        )
        assert temporal.expired_mask(graph, query).tolist() == [expected, False]


def test_past_time_range_asks_about_its_last_second() -> None:
    end = NOON - timedelta(days=1)
    query = replace(sample_query("?"), now=NOON, time_ranges=(Interval(end - timedelta(days=2), end),))
    assert validity.valid_time(query) == end.timestamp() - 1
    assert validity.valid_time(replace(query, time_ranges=())) == NOON.timestamp()
