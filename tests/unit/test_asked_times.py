"""What is of the time that a question asks about comes first if it asks for nothing else, and decides the evidence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Node, Query
from ecphora.remember.encode import analyze
from ecphora.retrieval import temporal
from ecphora.retrieval.query import build_query
from ecphora.retrieval.temporal import AROUND_THEN, THEN, has_unknown_time, is_near, time_tiers
from ecphora.strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel
from ecphora.strategies.fused.candidate_pool import POOL_SIZE, build_pool
from ecphora.strategies.fused.features import compute_features
from ecphora.strategies.fused.strategy import ASKED_IDENTIFIER, ASKED_TIME, ASKED_TIME_CONFIDENCE, Fused
from ecphora.testing import sample_batch, sample_node, sample_vector

NOW = datetime(2026, 7, 20, 21, tzinfo=UTC)
ENTRIES = (
    "Cleaned the balcony.", "Rain, watched two films.", "Planted tomatoes.", "Took the car to the garage.",
    "Choir, we sang Fauré.", "Lost my keys.", "Saw a kingfisher.", "Started a novel.", "Baked rye bread.",
    "Met Jonas at the hall.", "The neighbors had a party.", "Wrote the tax return.",
)  # fmt: skip
"""A diary; the last entry is of today."""


def at(day: str, hour: int = 12, offset: int = 0) -> datetime:
    """A time on a day of July 2026, or on any day, by the clock of an offset in hours."""
    time = datetime.fromisoformat(f"2026-07-{day}" if len(day) == 2 else day)
    return time.replace(hour=hour, tzinfo=timezone(timedelta(hours=offset)))


def told(id_: str, text: str, day: str, hour: int = 12, offset: int = 0) -> Node:
    return replace(sample_node(id_, text), happened_at=at(day, hour, offset))


def graph_of(*nodes: Node) -> Graph:
    numbered = [replace(node, seq=number) for number, node in enumerate(nodes, start=1)]
    batch = sample_batch(*numbered, revision=1)
    return apply_batch(Graph(), replace(batch, analyses={node.id: analyze(node) for node in numbered}))


def diary() -> list[Node]:
    """An entry for each day of 9 to 20 July, with the ids of the days."""
    return [told(f"{9 + n:02}", text, f"{9 + n:02}") for n, text in enumerate(ENTRIES)]


def query_of(text: str, now: datetime = NOW, **fields: Any) -> Query:
    query = build_query(text, now, vector=sample_vector(text), embedder_coverage=1.0, zone=now.tzinfo or UTC)
    return replace(query, **fields)


def tiers_of(graph: Graph, query: Query) -> dict[str, int]:
    tiers = time_tiers(graph, query, graph.episodes, graph.zeros())
    return {graph.id(row): tiers[row] for row in np.flatnonzero(tiers).tolist()}


def order_of(graph: Graph, query: Query) -> list[str]:
    scores = Fused().activate(query, graph).scores
    return [graph.id(row) for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > 0]


def decoys(question: str) -> list[Node]:
    """What has the words of a question, and states a longer time that the one asked about lies in."""
    words = question.replace("12", "").replace("twelfth", "").strip("?？¿ ")
    return [told(f"decoy {hour}", f"2026-01-01 to 2026-12-31: {words}.", "15", hour) for hour in (9, 10)]


def switch_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no memory have a tier."""
    monkeypatch.setattr(temporal, "time_tiers", lambda graph, *_: np.zeros(len(graph), np.intp))


ASKED = [
    "What did I tell you on 12 July?", "How was my day on 12 July?", "Anything new on July 12th?",
    "What were my thoughts on the twelfth of July?", "Was habe ich dir am 12. Juli erzählt?",
    "Wie war mein Tag am 12. Juli?", "¿De qué te hablé el 12 de julio?", "¿Qué escribí el 12 de julio?",
    "De quoi t'ai-je parlé le 12 juillet ?", "Comment s'est passée la journée du 12 juillet ?",
    "O que eu te contei em 12 de julho?", "Que novidades tive em 12 de julho?", "7月12日我跟你说了什么？",
    "7月12日我过得怎么样？", "7月12日に何を話しましたか？", "7月12日の日記には何を書きましたか？",
]  # fmt: skip


@pytest.mark.medium
@pytest.mark.parametrize("question", ASKED)
def test_memory_of_the_day_comes_first(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, query = graph_of(*diary(), *decoys(question)), query_of(question)
    assert order_of(graph, query)[0] == "12"
    switch_off(monkeypatch)
    assert order_of(graph, query)[0] != "12"  # what the tier is for


CONTENT = [
    "What did I lose on 12 July?", "What did Ana tell me on 12 July?", "What did my son do on 12 July?",
    "Was habe ich am 12. Juli gegessen?", "¿A quién vi el 12 de julio?", "Quel film ai-je vu le 12 juillet ?",
    "O que comi em 12 de julho?", "7月12日我吃了什么？", "7月12日に誰に会いましたか？",
    "What did I note on 12 July about 4471?",
]  # fmt: skip


@pytest.mark.parametrize("question", CONTENT)
def test_question_with_content_beside_its_time_has_no_tier(question: str) -> None:
    graph, query = graph_of(*diary()), query_of(question)
    assert query.time_ranges
    assert tiers_of(graph, query) == {}
    assert ASKED_TIME not in Fused().activate(query, graph).contributions


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("What happened yesterday?", ["19"]),
        ("What did I do last weekend?", ["18", "19"]),
        ("What happened from 10 to 12 July?", ["10", "11", "12"]),
        ("What happened on 10 July and on 14 July?", ["10", "14"]),
        ("What happened before 12 July 2026?", []),
        ("What happened after 12 July 2026?", []),
        ("What happened in 2026 on 12 July and before 2020?", ["12"]),
    ],
)
def test_times_of_a_tier(question: str, ids: list[str]) -> None:
    assert list(tiers_of(graph_of(*diary()), query_of(question))) == ids


def test_longer_time_counts_only_if_none_is_short() -> None:
    graph = graph_of(told("old", "Old.", "2025-03-03"), *diary())
    assert list(tiers_of(graph, query_of("What happened in 2025?"))) == ["old"]
    assert list(tiers_of(graph, query_of("What happened in 2025 and yesterday?"))) == ["19"]


def test_stated_times_count_if_they_are_as_short_as_the_time_asked_about() -> None:
    graph = graph_of(
        told("appendix", "I had my appendix removed yesterday.", "13"),
        told("trip", "From 10 to 14 July 2026 I was in Rome.", "2026-08-02"),
        told("month", "In July 2026 I was tired.", "2026-08-02"),
        told("since", "I have had a cat since 2020.", "2026-08-02"),
        told("other", "Nothing.", "13"),
    )
    query = query_of("What happened on 12 July 2026?", datetime(2026, 9, 1, tzinfo=UTC))
    assert tiers_of(graph, query) == {"appendix": THEN, "trip": AROUND_THEN}
    assert order_of(graph, query)[:2] == ["appendix", "trip"]
    assert "month" in tiers_of(graph, query_of("What happened in July 2026?", query.now))


def test_longer_stated_time_overlaps_a_month() -> None:
    graph = graph_of(told("ill", "From 20 June to 15 July 2026 I was ill.", "2026-08-02"))
    assert tiers_of(graph, query_of("What happened in July 2026?")) == {"ill": AROUND_THEN}
    assert tiers_of(graph, query_of("What happened on 12 July 2026?")) == {}


def test_only_eligible_memories_have_a_tier() -> None:
    graph, query = graph_of(told("a", "a", "12"), told("b", "b", "12")), query_of("What happened on 12 July?")
    eligible = np.array([False, True])
    assert time_tiers(graph, query, eligible, graph.zeros()).tolist() == [0, THEN]
    asked = query_of("What did I eat on 12 July?")
    for some in (query, asked):
        assert not has_unknown_time(graph, some, eligible)
        assert has_unknown_time(graph, some, np.zeros(2, np.bool_))


def test_time_of_day_is_sought_in_the_whole_day_too() -> None:
    graph = graph_of(told("noon", "Noon.", "19", 12), told("late", "Late.", "19", 20), told("today", "Today.", "20"))
    assert tiers_of(graph, query_of("What did I do yesterday evening?")) == {"noon": AROUND_THEN, "late": THEN}


def test_day_is_that_of_whoever_told_it() -> None:
    graph = graph_of(
        told("auckland", "Here.", "12", 1, 13), told("lima", "There.", "12", 23, -5), told("utc", "Elsewhere.", "13", 2)
    )
    for offset in (13, -5, 0):
        query = query_of("What happened on 12 July?", NOW.astimezone(timezone(timedelta(hours=offset))))
        assert list(tiers_of(graph, query)) == ["auckland", "lima"]
        assert not has_unknown_time(graph, query, graph.episodes)


def test_equal_memories_of_a_time_come_in_its_order() -> None:
    nodes = [told("c", "Same.", "12", 20), told("a", "Same.", "12", 8), told("b", "Same.", "12", 15)]
    graph = graph_of(*nodes, *(node for node in diary() if node.id != "12"))
    query = query_of("What happened on 12 July?", vector=None)
    assert order_of(graph, query)[:3] == ["a", "b", "c"]


def test_ranker_orders_within_a_time() -> None:
    graph = graph_of(told("a", "Cleaned the windows.", "12", 8), told("b", "What happened? It happened.", "12", 15))
    assert order_of(graph, query_of("What happened on 12 July?"))[:2] == ["b", "a"]


@pytest.mark.medium
def test_memory_of_the_time_outside_the_best_is_a_candidate() -> None:
    words = ["alpha", "beta", "gamma", "delta"] * POOL_SIZE
    graph = graph_of(*(told(f"n{n}", f"What did I tell you {word}", "13") for n, word in enumerate(words)),
                     told("wanted", "Tomatoes.", "12"))  # fmt: skip
    query = query_of("What did I tell you on 12 July?")
    row = len(graph) - 1
    assert row not in build_pool(graph, replace(query, time_ranges=())).rows
    assert row in build_pool(graph, query).rows
    assert order_of(graph, query)[0] == "wanted"


def test_tiers_of_many_memories_have_the_best_and_then_the_earliest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporal, "MAX_ROWS", 3)
    nodes = [told("c", "c", "12", 20), told("stated", "It was on 12 July 2026.", "2026-08-01"), told("a", "a", "12", 8),
             told("b", "b", "12", 15), told("best", "best", "12", 22),
             told("around", "From 10 to 14 July 2026 in Rome.", "2026-08-01")]  # fmt: skip
    graph = graph_of(*nodes)
    scores = np.array([0, 0.9, 0, 0, 0.5, 1], np.float32)
    tiers = time_tiers(graph, query_of("What happened on 12 July 2026?"), graph.episodes, scores)
    assert [graph.id(row) for row in np.flatnonzero(tiers).tolist()] == ["stated", "a", "best"]


QUESTIONS = ("Who sang Fauré?", "What happened?", "Where is the garage?", "")


@pytest.mark.parametrize("question", QUESTIONS)
def test_question_without_a_time_ranks_bit_by_bit_as_without_the_tier(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, query = graph_of(*diary()), query_of(question)
    assert query.time_ranges == ()
    now = Fused().activate(query, graph)
    switch_off(monkeypatch)
    before = Fused().activate(query, graph)
    assert now.scores.tobytes() == before.scores.tobytes()
    assert now.confidence == before.confidence
    assert now.contributions.keys() == before.contributions.keys()


def test_contributions_add_up_and_the_rest_keeps_its_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "What happened on 12 July?"
    graph, query = graph_of(*diary(), *decoys(question)), query_of(question)
    now = Fused().activate(query, graph)
    gain = now.contributions[ASKED_TIME]
    assert np.flatnonzero(gain).tolist() == [3]
    switch_off(monkeypatch)
    np.testing.assert_array_equal(np.delete(now.scores - Fused().activate(query, graph).scores, 3), 0)
    np.testing.assert_allclose(sum(now.contributions.values()), now.scores, rtol=1e-5, atol=1e-5)


def test_identifier_ranks_before_the_time() -> None:
    graph = graph_of(*diary(), told("holder", "PAY-1482 is open.", "10"), told("both", "PAY-1482 again.", "12"))
    query = query_of("What happened on 12 July?", identifiers=query_of("PAY-1482").identifiers)
    activation = Fused().activate(query, graph)
    order = order_of(graph, query)
    assert order[:2] == ["both", "holder"]
    assert order[2] == "12"
    assert activation.contributions.keys() >= {ASKED_TIME, ASKED_IDENTIFIER}


def test_confidence_is_high_if_something_is_of_the_time() -> None:
    graph = graph_of(*diary(), told("week", "From 1 to 6 July 2026 I was in Rome.", "2026-07-19"))
    assert (found := Fused().activate(query_of("What happened on 12 July?"), graph).confidence) is not None
    assert found >= ASKED_TIME_CONFIDENCE
    for question in ("What did I lose on 12 July?", "What happened on 8 July?", "What happened on 3 July?"):
        query = query_of(question)
        plain = Fused().activate(replace(query, time_ranges=()), graph).confidence
        assert plain is not None
        assert plain < ASKED_TIME_CONFIDENCE
        assert (found := Fused().activate(query, graph).confidence) is not None
        assert found < ASKED_TIME_CONFIDENCE


@pytest.mark.parametrize(
    ("question", "is_unknown"),
    [
        ("What happened on 8 July?", True),
        ("What happened on 12 July?", False),
        ("What did I eat on 8 July?", True),
        ("What did I eat on 12 July?", False),
        ("What happened in May 2026?", True),
        ("Where did Ana live in May 2026?", False),
        ("What are my plans for 27 July 2026?", True),
        ("When is the concert on 27 July 2026?", False),
        ("What happened in 2024?", False),
        ("What happened before 1 July 2026?", False),
        ("What happened in the night to 9 July, at 1?", False),
        ("What happened?", False),
    ],
)
def test_time_of_which_nothing_is_known(question: str, is_unknown: bool) -> None:
    graph = graph_of(*diary())
    assert has_unknown_time(graph, query_of(question), graph.episodes) == is_unknown


def test_time_that_a_memory_states_or_spans_is_known() -> None:
    graph = graph_of(told("a", "I have had a cat since 2020.", "13"), told("b", "The fair is on 27 July 2026.", "13"))
    is_since = np.array([True, False])
    assert not has_unknown_time(graph, query_of("Which pet did I have on 8 July?"), is_since)
    assert has_unknown_time(graph, query_of("What happened on 8 July?"), is_since)
    planned = query_of("What are my plans for 27 July 2026?")
    assert not has_unknown_time(graph, planned, graph.episodes)
    assert has_unknown_time(graph, planned, is_since)


def test_features_of_days_and_years() -> None:
    graph = graph_of(
        *(told(day, "x", day) for day in ("10", "11", "12", "13", "14", "15")), told("y", "x", "2025-01-01")
    )
    found = compute_features(build_pool(graph, query_of("What did I eat on 12 July?")))
    assert found["day match"].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert found["near day match"].tolist() == [0, 1, 0, 1, 1, 0, 0]
    assert found["year match"].any() == 0
    found = compute_features(build_pool(graph, query_of("What did I eat in 2025?")))
    assert found["year match"].tolist() == [0, 0, 0, 0, 0, 0, 1]
    assert not found["day match"].any()
    assert not found["near day match"].any()
    found = compute_features(build_pool(graph, query_of("What did I eat before 12 July?")))
    assert found["date match"].any()
    assert not any(found[name].any() for name in ("day match", "year match", "near day match"))


def test_time_that_is_over_is_over_as_of_then() -> None:
    graph, query = graph_of(*diary()), query_of("What did I eat on 8 July?")
    assert has_unknown_time(graph, query, graph.episodes)
    assert not has_unknown_time(graph, replace(query, as_of=at("08", 20)), graph.episodes)


def test_day_of_another_year_is_known_if_it_is_asked_for_with_content() -> None:
    graph = graph_of(told("a", "Her birthday is on 8 June 2019.", "13"), told("b", "In June 2019 it rained.", "13"))
    for question, is_unknown in (
        ("Who has a birthday on 8 June 2026?", False),
        ("Who has a birthday on 9 June 2026?", True),
        ("Who has a birthday on 1 June 2026?", True),
        ("Who has a birthday on 8 May 2026?", True),
        ("What happened on 8 June 2026?", True),
    ):
        assert has_unknown_time(graph, query_of(question), graph.episodes) == is_unknown


@pytest.mark.parametrize(
    "story",
    [
        "Bought shoes on 8 July. Which size do I have?",
        "Wo war ich? Am 8. Juli war Regen.",
        "7月8日下雨了。我的鞋是几号？",
    ],
)
def test_time_in_another_sentence_is_not_asked_for(story: str) -> None:
    graph, query = graph_of(*diary()), query_of(story)
    assert query.time_ranges
    assert not has_unknown_time(graph, query, graph.episodes)
    assert has_unknown_time(graph, query_of("Was kostete am 8. Juli das Brot?"), graph.episodes)


def test_part_of_a_day_is_known_if_its_day_is() -> None:
    graph = graph_of(told("noon", "Noon.", "19", 12))
    assert not has_unknown_time(graph, query_of("What did I eat yesterday evening?"), graph.episodes)
    assert has_unknown_time(graph, query_of("What did I eat on 18 July in the evening?"), graph.episodes)


def test_higher_confidence_stays() -> None:
    zeros = (0.0,) * len(ANSWERABILITY_FEATURES)
    sure = Fused(answerability=AnswerabilityModel(zeros, 9.0, zeros, 9.0))
    found = sure.activate(query_of("What happened on 12 July?"), graph_of(*diary())).confidence
    assert found is not None
    assert found > 0.99


def test_nearness_is_by_the_calendar_of_where_it_was_told() -> None:
    graph = graph_of(told("a", "x", "11", 1, 13), told("b", "x", "14", 23, -5), told("c", "x", "15", 1))
    (time,) = query_of("on 12 July").time_ranges
    assert is_near(graph, time, 1, 2).tolist() == [True, True, False]
    assert is_near(graph, time, 0, 2).tolist() == [False, True, False]
