"""Filters: by speaker, kind, time and metadata."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.errors import InvalidInput, InvalidTime
from ecphora.memory import Memory
from ecphora.model.conditions import Eq, Gt, Or, parse_condition
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Episode, Filter, Node
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import filters
from ecphora.testing import NOON, FakeClock, sample_batch, sample_entity, sample_graph, sample_node, sample_query


def node(id_: str, **fields: Any) -> Node:
    return sample_node(id_, **fields)


NODES = (
    node("a", speaker="Ana", session="s1", source="mail", minutes=0, metadata={"k": 1, "x": "y"}),
    node("b", speaker="Ben", session="s1", source="chat", minutes=60, metadata={"k": 2}, trust=0.7),
    node("c", speaker="Ana", session="s2", minutes=120, recorded_at=NOON + timedelta(days=1), trust=0.2),
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
        (Filter(not_speakers="Ana"), "b"),
        (Filter(not_speakers=("Ana", "Ben", "Zorro")), ""),
        (Filter(not_speakers=("Zorro",)), "abc"),
        (Filter(not_sessions=("s1",)), "c"),
        (Filter(not_sources="chat"), "ac"),
        (Filter(not_sources=("chat", "mail")), "c"),
        (Filter(speakers="Ana", not_sources="mail"), "c"),
        (Filter(speakers="Ana", not_speakers="Ana"), ""),
        (Filter(sources={"$ne": "chat"}), "ac"),
        (Filter(sources={"$nin": ["chat", "mail"]}, not_speakers="Ben"), "c"),
        (Filter(speakers={"$in": ["Ana", "Ben"], "$ne": "Ben"}), "ac"),
        (Filter(speakers={"in": ["Ana", "Ben"], "eq": "Ben"}), "b"),
        (Filter(sources={"$nin": []}), "abc"),
        (Filter(sources={"$in": []}), ""),
        (Filter(sources={"$in": ["chat"], "$eq": "mail"}), ""),
        (Filter(sources=()), ""),
        (Filter(speakers=(), not_speakers="Ana"), ""),
        (Filter(not_speakers=()), "abc"),
        (Filter(metadata={"k": 1}), "a"),
        (Filter(metadata={"k": 1, "x": "z"}), ""),
        (Filter(metadata={"k": {"$gte": 2}}), "b"),
        (Filter(metadata={"k": {"$ne": 1}}), "bc"),
        (Filter(metadata=Or(Gt("k", 1), Eq("x", "y"))), "ab"),
        (Filter(metadata={"$not": {"k": 1}}, speakers="Ana"), "c"),
        (Filter(after=NOON + timedelta(minutes=60)), "bc"),
        (Filter(before=NOON + timedelta(minutes=60)), "a"),
        (Filter(after=NOON, before=NOON), ""),
        (Filter(recorded_after=NOON + timedelta(days=1)), "c"),
        (Filter(recorded_before=NOON + timedelta(days=1)), "ab"),
        (Filter(min_trust=0.2), "abc"),
        (Filter(min_trust=0.7), "ab"),
        (Filter(min_trust=0.71), "a"),
    ],
)
def test_filter_selects_matching_rows(where: Filter, expected: str) -> None:
    graph = apply_batch(Graph(), replace(sample_batch(*NODES, sample_entity("Ana")), revision=1))
    found = filters.eligible(graph, sample_query("x", where=where))
    assert "".join(graph.id(row) for row in np.flatnonzero(found).tolist()) == expected


def test_filter_parses_its_time_bounds() -> None:
    assert Filter(after="2026-05-03").after == datetime(2026, 5, 3)  # noqa: DTZ001  # the memory has the zone
    assert Filter(after="2026-05-03T01:00+01:00").after == datetime(2026, 5, 3, tzinfo=UTC)
    assert Filter(before=date(2026, 5, 3)) == Filter(before="2026-05-03")


def test_filter_rejects_a_wrong_condition_when_it_is_made() -> None:
    with pytest.raises(InvalidInput, match=r"'\$gr' is no operator for a value; give one of"):
        Filter(metadata={"k": {"$gr": 1}})
    with pytest.raises(InvalidInput, match="metadata is 5; give a mapping"):
        Filter(metadata=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidTime, match="recorded_after: "):
        Filter(recorded_after="soon")


def test_operators_on_names_become_names() -> None:
    mapping = Filter(sources={"$in": ["a", "b", "a"], "$nin": ["c"], "$ne": "d"}, not_sources=("e", "c"))
    assert mapping == Filter(sources=("a", "b"), not_sources=("e", "c", "d"))
    assert mapping == replace(mapping)
    assert hash(Filter(metadata=Gt("k", 1), sources={"$nin": ["c"]}))


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ({"a": 1}, r"'a' of sources is 1; give \$eq or \$ne with a name, or \$in or \$nin with a list of names"),
        ({"$gt": "a"}, r"'\$gt' of sources is 'a'; give "),
        ({"$in": "a"}, r"'\$in' of sources is 'a'; give "),
        ({"$in": [1]}, r"'\$in' of sources is \[1\]; give "),
        ({"$ne": None}, r"'\$ne' of sources is None; give "),
        ({5: "a"}, "5 of sources is 'a'; give "),
        ({}, r"sources is {}, which has no operator; leave it out, or give \$eq"),
    ],
)
def test_filter_rejects_wrong_operators_on_names(operators: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Filter(sources=operators)


def test_filters_with_one_condition_are_equal() -> None:
    assert Filter(metadata={"k": {"$gt": 1}}) == Filter(metadata={"k": {"$gt": 1}}) != Filter(metadata={"k": 1})
    assert Filter(metadata=Gt("k", 1)) == Filter(metadata=Gt("k", 1))
    assert hash(Filter(metadata=Gt("k", 1))) == hash(Filter(metadata=Gt("k", 1)))


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


# ---- filters bound the search: they do not thin its result

TAGS = st.fixed_dictionaries(
    {}, optional={"n": st.integers(0, 3), "tags": st.lists(st.sampled_from("xyz"), max_size=2)}
)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "speakers": st.sampled_from(["Ana", ("Ana", "Ben"), ()]),
        "sessions": st.sampled_from(["s1", ("s1", "s2"), ()]),
        "not_speakers": st.sampled_from(["Ana", ("Ana", "Zoe"), ()]),
        "not_sessions": st.sampled_from(["s1", ("s0", "s2")]),
        "metadata": st.sampled_from(
            [
                {},
                {"n": 1},
                {"n": {"$lte": 1}},
                {"tags": "x"},
                {"tags": {"$nin": ["x"]}},
                {"$or": [{"n": 3}, {"tags": "y"}]},
            ]
        ),
        "min_trust": st.sampled_from([0.0, 0.3, 1.0]),
        "recorded_before": st.just(NOON + timedelta(minutes=4)),
        "after": st.just(NOON + timedelta(minutes=3)),
    },
)


def passes(where: Filter, one: Node) -> bool:
    """Whether one node passes a filter, condition by condition."""
    condition = parse_condition(where.metadata)
    speakers, sessions, not_speakers, not_sessions = (
        [names] if isinstance(names, str) else None if names is None else list(names)
        for names in (where.speakers, where.sessions, where.not_speakers, where.not_sessions)
    )
    return (
        (speakers is None or one.speaker in speakers)
        and (sessions is None or one.session in sessions)
        and one.speaker not in (not_speakers or ())
        and one.session not in (not_sessions or ())
        and (condition is None or condition.matches(one.metadata))
        and one.trust >= where.min_trust
        and (where.after is None or one.happened_at >= where.after)  # type: ignore[operator]
        and (where.recorded_before is None or one.recorded_at < where.recorded_before)  # type: ignore[operator]
    )


@pytest.mark.medium
@given(
    st.lists(st.tuples(st.sampled_from(["Ana", "Ben", None]), TAGS, st.sampled_from([0.3, 1.0])), max_size=9), FILTERS
)
def test_eligible_rows_equal_a_loop_over_nodes(rows: list[Any], fields: dict[str, Any]) -> None:
    nodes = [
        node(
            f"n{place}", speaker=speaker, session=f"s{place % 3}", minutes=place, metadata=metadata, trust=trust,
            recorded_at=NOON + timedelta(minutes=place),
        )
        for place, (speaker, metadata, trust) in enumerate(rows)
    ]  # fmt: skip
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    where = Filter(**fields)
    assert filters.eligible(graph, sample_query("x", where=where)).tolist() == [passes(where, one) for one in nodes]


@pytest.mark.medium
@pytest.mark.parametrize(
    "strategy", ["fused", "dense", "bm25", "rrf", "simple", "recency", "synapse", "ecphory", "weave"]
)
def test_recall_searches_among_what_passes_the_filter(strategy: str, tmp_path: Path) -> None:
    better = [Episode("The boat sank in the river.", id=f"b{n}", metadata={"k": n}) for n in range(40)]
    passing = [
        Episode(f"A boat, once, {word}.", id=word, metadata={"tags": ["x", "y"], "k": 50 + place})
        for place, word in enumerate(["north", "south", "west"])
    ]
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()) as memory:
        memory.remember([*better, *passing])
        for condition in (
            {"tags": "x"},
            {"tags": {"$contains": "y"}, "k": {"$gte": 50}},
            {"k": {"$nin": list(range(40))}},
        ):
            found = memory.recall(
                "boat sank in the river",
                limit=3,
                where=Filter(metadata=condition),
                strategy=strategy,
                options=RecallOptions(log_access=False),
            )
            assert {hit.id for hit in found} == {"north", "south", "west"}


def test_lists_in_metadata_are_stored(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()) as memory:
        memory.remember("Ana sails.", id="a", metadata={"tags": ("x", 1, None, True), "none": []})
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock()) as memory:
        stored = memory.get("a")
        assert stored is not None
        assert stored.metadata == {"tags": ["x", 1, None, True], "none": []}
