"""Filters: by speaker, kind, time and metadata."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Filter, Node
from ecphora.stages.retrieval import filters
from ecphora.testing import NOON, sample_batch, sample_entity, sample_graph, sample_node, sample_query


def node(id_: str, **fields: Any) -> Node:
    return sample_node(id_, **fields)


NODES = (
    node("a", speaker="Ana", session="s1", source="mail", minutes=0, metadata={"k": 1, "x": "y"}),
    node("b", speaker="Ben", session="s1", source="chat", minutes=60, metadata={"k": 2}),
    node("c", speaker="Ana", session="s2", minutes=120, recorded_at=NOON + timedelta(days=1)),
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), "abc"),
        (Filter(speakers=("Ana",)), "ac"),
        (Filter(speakers=("Ana", "Ben", "Zorro")), "abc"),
        (Filter(speakers=("Zorro",)), ""),
        (Filter(sessions=("s1",)), "ab"),
        (Filter(sources=("chat",)), "b"),
        (Filter(speakers=("Ana",), sessions=("s1",)), "a"),
        (Filter(metadata={"k": 1}), "a"),
        (Filter(metadata={"k": 1, "x": "z"}), ""),
        (Filter(after=NOON + timedelta(minutes=60)), "bc"),
        (Filter(before=NOON + timedelta(minutes=60)), "a"),
        (Filter(after=NOON, before=NOON), ""),
    ],
)
def test_filter_selects_matching_rows(where: Filter, expected: str) -> None:
    graph = apply_batch(Graph(), replace(sample_batch(*NODES, sample_entity("Ana")), revision=1))
    found = filters.eligible(graph, sample_query("x", where=where))
    assert "".join(graph.id(row) for row in np.flatnonzero(found).tolist()) == expected


def test_filter_parses_its_time_bounds() -> None:
    assert Filter(after="2026-05-03").after == datetime(2026, 5, 3, tzinfo=UTC)
    assert Filter(before=date(2026, 5, 3)) == Filter(before="2026-05-03")


def test_as_of_is_event_time_and_known_at_recording_time() -> None:
    graph = apply_batch(Graph(), replace(sample_batch(*NODES), revision=1))
    as_of = sample_query("x", as_of=NOON + timedelta(minutes=60))
    assert filters.eligible(graph, as_of).tolist() == [True, True, False]
    known_at = sample_query("x", known_at=NOON + timedelta(hours=23))
    assert filters.eligible(graph, known_at).tolist() == [True, True, False]


def test_filter_does_not_change_the_graph() -> None:
    graph = sample_graph()
    filters.eligible(graph, sample_query("x", where=Filter(speakers=("Ana",))))
    assert graph.episodes.sum() == 7
