"""The store of LangGraph: what `BaseStore` asks for, and what ours adds."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypedDict

import pytest

pytest.importorskip("langgraph.store.base")

import langgraph.store.base
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from ecphora import HashingEmbedder, Memory, Validity
from ecphora.adapters.langgraph import EcphoraStore, RecalledItem
from ecphora.errors import EmbedderMismatch, InvalidInput, StoreClosed, WrongVector
from ecphora.model.ids import content_id
from ecphora.testing import AdapterContract, AdapterDriver, FakeClock

ANA = ("users", "ana")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 5, 3, 12, tzinfo=UTC))


@pytest.fixture
def memory(clock: FakeClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=HashingEmbedder(64), clock=clock) as memory:
        yield memory


@pytest.fixture
def store(memory: Memory, clock: FakeClock) -> EcphoraStore:
    return EcphoraStore(memory, clock=clock)


def keys(items: list[SearchItem]) -> list[str]:
    return [item.key for item in items]


class Driver(AdapterDriver):
    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.store = EcphoraStore(memory)

    def keep(self, text: str, *, user: str, session: str) -> None:
        self.store.put(("users", user), content_id(session, text), {"text": text})

    def find(self, question: str, *, user: str) -> list[str]:
        return [item.value["text"] for item in self.store.search(("users", user), query=question)]

    def forget(self, text: str, *, user: str) -> None:
        for item in self.store.search(("users", user), filter={"text": text}):
            self.store.delete(item.namespace, item.key)


class TestContract(AdapterContract):
    driver = Driver
    separates_users = True
    restores_forgotten = True


# ---- long values


def test_long_value_is_found_as_short_ones_are(store: EcphoraStore, clock: FakeClock) -> None:
    notes = " ".join(f"The boat number {number} is green." for number in range(200))
    store.put(ANA, "boats", {"text": notes, "kind": "list"}, index=["text"], ttl=60)
    store.put(ANA, "bikes", {"text": "The bike is green.", "kind": "list"}, index=["text"])
    store.put(("users", "bo"), "boats", {"text": notes, "kind": "list"}, index=["text"])
    for conditions in ({}, {"kind": "list"}, {"text": {"$gt": "The boat number 0"}}):
        found = store.search(ANA, query="boat number 7", filter=conditions)
        assert keys(found)[0] == "boats"
        assert found[0].value["text"] == notes
        assert set(keys(found)) <= {"boats", "bikes"}
    assert keys(store.search(ANA, query="boat number 7", filter={"kind": "note"})) == []
    assert set(keys(store.search(ANA, filter={"kind": "list"}))) == {"boats", "bikes"}
    clock.advance(minutes=61)
    assert keys(store.search(ANA, query="boat number 7", filter={"kind": "list"})) == ["bikes"]
    assert store.sweep_ttl() == 1


def test_value_may_become_long_and_short_again(store: EcphoraStore, memory: Memory) -> None:
    for text in ("Green boats.", "Green boats. " * 300, "Red boats.", "Red boats. " * 300):
        store.put(ANA, "boats", {"text": text})
        assert [item.value["text"] for item in store.search(ANA, query="boats")] == [text]
        assert len(store.search(ANA)) == 1
    store.put(ANA, "boats", {"text": "Red boats. " * 300}, index=False)
    assert store.search(ANA, query="boats") == []
    assert memory.count() == 1
    store.delete(ANA, "boats")
    assert memory.count() == 0


# ---- put, get, delete


def test_value_comes_back_exactly(store: EcphoraStore) -> None:
    value: dict[str, Any] = {
        "text": "Ana\u200b \ud800 \0 ümläut 🐕‍🦺",
        "numbers": [1, 1.5, 2**70, -0.0, True, None],
        "nested": {"a": {"b": []}, "": ""},
    }
    store.put(ANA, "k\ud800 'x'", value)
    item = store.get(ANA, "k\ud800 'x'")
    assert item is not None
    assert item.value == value
    assert type(item) is Item
    assert (item.namespace, item.key) == (ANA, "k\ud800 'x'")


@pytest.mark.parametrize("value", [{}, {"text": ""}, {"text": " \u200b"}, {"text": None}])
def test_empty_values_are_items(store: EcphoraStore, value: dict[str, Any]) -> None:
    store.put(ANA, "", value, index=["text"])
    item = store.get(ANA, "")
    assert item is not None
    assert item.value == value
    assert store.search(ANA, query="empty") == []


def test_overwriting_keeps_the_creation_and_deleting_ends_it(store: EcphoraStore, clock: FakeClock) -> None:
    created = clock.now
    store.put(ANA, "home", {"text": "Ana lives in Lisbon."})
    clock.advance(minutes=5)
    store.put(ANA, "home", {"text": "Ana lives in Porto."})
    item = store.get(ANA, "home")
    assert item is not None
    assert (item.created_at, item.updated_at, item.value["text"]) == (created, clock.now, "Ana lives in Porto.")
    store.delete(ANA, "home")
    assert store.get(ANA, "home") is None
    assert store.list_namespaces() == []
    store.put(ANA, "home", {"text": "Ana lives in Porto."})
    again = store.get(ANA, "home")
    assert again is not None
    assert again.created_at == clock.now


def test_overwriting_and_deleting_erase_every_text(store: EcphoraStore, memory: Memory) -> None:
    texts = {"tags": ["sailing", "chess", "opera"]}
    store.put(ANA, "likes", texts, index=["tags[*]"])
    assert memory.count() == 3
    assert {item.key for item in store.search(ANA, query="opera")} == {"likes"}
    store.put(ANA, "likes", {"tags": ["sailing"]}, index=["tags[*]"])
    assert [node.text for node in memory.find()] == ["sailing"]
    store.put(ANA, "likes", texts, index=["tags[*]"])
    store.delete(ANA, "likes")
    assert memory.count() == 0


def test_deleting_what_is_not_there_does_nothing(store: EcphoraStore) -> None:
    store.put(ANA, "home", {"text": "Porto"})
    store.delete(ANA, "other")
    store.delete(("users",), "home")
    assert store.get(ANA, "home") is not None


def test_the_same_key_in_two_namespaces_is_two_items(store: EcphoraStore) -> None:
    store.put(("a",), "b", {"n": 1})
    store.put(("a", "b"), "", {"n": 2})
    store.put(("a",), "b#1", {"n": 3})
    found = [store.get(*place) for place in ((("a",), "b"), (("a", "b"), ""), (("a",), "b#1"))]
    assert [item.value["n"] for item in found if item] == [1, 2, 3]


def test_other_memories_are_no_items(store: EcphoraStore, memory: Memory) -> None:
    memory.remember("Ana lives in Porto.", metadata={"item_part": 0, "item_indexed": True})
    assert store.search(()) == store.search((), query="Where does Ana live?") == store.list_namespaces() == []


# ---- batches


def test_batch_reads_before_it_writes_and_the_last_write_counts(store: EcphoraStore) -> None:
    store.put(ANA, "home", {"text": "Lisbon"})
    results = store.batch(
        [
            PutOp(ANA, "home", {"text": "Faro"}),
            GetOp(ANA, "home"),
            PutOp(ANA, "home", {"text": "Porto"}),
            SearchOp(("users",)),
            PutOp(ANA, "pet", {"text": "Rex"}),
            PutOp(ANA, "pet", None),
            ListNamespacesOp(),
            GetOp(ANA, "none"),
        ]
    )
    assert [type(one).__name__ for one in results] == [
        *("NoneType", "Item", "NoneType", "list", "NoneType", "NoneType", "list", "NoneType")
    ]
    assert isinstance(results[1], Item)
    assert results[1].value == {"text": "Lisbon"}
    home = store.get(ANA, "home")
    assert home is not None
    assert home.value == {"text": "Porto"}
    assert store.get(ANA, "pet") is None
    assert store.batch(iter([])) == []


untyped: Any = langgraph.store.base
"""The operations, to be given what their types forbid."""
WRONG: list[tuple[Any, type[Exception]]] = [
    (untyped.PutOp(("a.b",), "k", {}), InvalidNamespaceError),
    (untyped.GetOp(("a", ""), "k"), InvalidNamespaceError),
    (untyped.SearchOp((1,)), InvalidNamespaceError),
    (untyped.ListNamespacesOp((MatchCondition("prefix", ("a\0",)),)), InvalidNamespaceError),
    (untyped.ListNamespacesOp((untyped.MatchCondition("middle", ("a",)),)), ValueError),
    (untyped.PutOp(ANA, "k", {"a": object()}), InvalidInput),
    (untyped.PutOp(ANA, "k", "text"), InvalidInput),
    (untyped.PutOp(ANA, "k", {}, index="text"), InvalidInput),
    (untyped.PutOp(ANA, "k", {}, index=True), InvalidInput),
    (untyped.PutOp(ANA, "k", {}, ttl=float("nan")), InvalidInput),
    (untyped.SearchOp(ANA, limit=-1), InvalidInput),
    (untyped.SearchOp(ANA, offset=1.5), InvalidInput),
    (untyped.SearchOp(ANA, query=3), InvalidInput),
    (untyped.SearchOp(ANA, filter=["a"]), InvalidInput),
    (untyped.SearchOp(ANA, filter={"a": {"$regex": "x"}}), ValueError),
    (untyped.SearchOp(ANA, filter={"a": {"$gt": 1, "b": 2}}), ValueError),
    ("get", ValueError),
]


@pytest.mark.parametrize(("op", "error"), WRONG)
def test_a_wrong_operation_fails_and_nothing_is_written(
    store: EcphoraStore, memory: Memory, op: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.batch([PutOp(ANA, "first", {}), op])
    assert memory.count() == 0


def test_a_value_that_contains_itself_is_refused(store: EcphoraStore) -> None:
    value: dict[str, Any] = {}
    value["self"] = value
    with pytest.raises(InvalidInput, match="which JSON cannot hold"):
        store.put(ANA, "k", value)


# ---- search without a query


def test_listing_is_newest_first_and_pages(store: EcphoraStore, clock: FakeClock) -> None:
    for number in range(7):
        clock.advance(minutes=1)
        store.put((*ANA, f"n{number % 2}"), f"k{number}", {"n": number})
    clock.advance(minutes=1)
    store.put((*ANA, "n0"), "k0", {"n": 0})
    listed = ["k0", "k6", "k5", "k4", "k3", "k2", "k1"]
    assert keys(store.search(ANA)) == listed
    assert [key for at in range(0, 9, 3) for key in keys(store.search(ANA, limit=3, offset=at))] == listed
    assert store.search(ANA, limit=0) == []
    assert keys(store.search(ANA, limit=2**70, offset=5)) == listed[5:]
    assert all(item.score is None for item in store.search(ANA))


def test_prefix_counts_whole_labels(store: EcphoraStore) -> None:
    for namespace in (("a",), ("a", "b"), ("ab",), ("A",), ("b", "a")):
        store.put(namespace, "k", {"text": "one text"})
    for query in (None, "text"):
        assert {item.namespace for item in store.search(("a",), query=query)} == {("a",), ("a", "b")}
        assert len(store.search((), query=query)) == 5


ITEMS: dict[str, dict[str, Any]] = {
    "red": {"color": "red", "n": 3, "tags": ["x", "y"], "a": {"b": {"c": 1}}, "on": True},
    "blue": {"color": "blue", "n": 4.5, "tags": [], "a": {"b": None}, "a.b": "dots"},
    "none": {"color": None, "n": "12"},
}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"color": "red"}, {"red"}),
    ({"color": {"$eq": "red"}}, {"red"}),
    ({"color": {"$ne": "red"}}, {"blue", "none"}),
    ({"color": None}, {"none"}),
    ({"missing": None}, {"red", "blue", "none"}),
    ({"missing": {"$gt": 1}}, set()),
    ({"n": {"$gt": 3}}, {"blue", "none"}),
    ({"n": {"$gte": 3, "$lt": 12}}, {"red", "blue"}),
    ({"n": {"$lte": 3}}, {"red"}),
    ({"color": {"$gt": "green"}}, {"red"}),
    ({"tags": ["x", "y"]}, {"red"}),
    ({"tags": ["x"]}, set()),
    ({"tags": []}, {"blue"}),
    ({"a": {"b": {"c": 1}}}, {"red"}),
    ({"a.b.c": 1}, {"red"}),
    ({"a.b": "dots"}, {"blue"}),
    ({"on": True}, {"red"}),
    ({"color": "red", "n": 4.5}, set()),
    ({"n": {"$lt": float("inf")}}, {"red", "blue", "none"}),
    ({"n": float("nan")}, set()),
    ({"') OR 1=1 --": "x"}, set()),
    ({}, {"red", "blue", "none"}),
]


@pytest.mark.parametrize(("given", "expected"), FILTERS)
@pytest.mark.parametrize("query", [None, "color"])
def test_filters(store: EcphoraStore, given: dict[str, Any], expected: set[str], query: str | None) -> None:
    for key, value in ITEMS.items():
        store.put(ANA, key, value)
    assert set(keys(store.search(ANA, filter=given, query=query))) == expected


OF_THE_HOST = [one for one, _ in FILTERS if not ("color" in one and "$gt" in str(one)) and "a.b.c" not in one]
"""The host fails on the order of texts and of missing values, and reads no names with dots."""


@pytest.mark.parametrize("given", [one for one in OF_THE_HOST if one != {"missing": {"$gt": 1}}])
def test_filters_mean_what_they_mean_in_the_host(store: EcphoraStore, given: dict[str, Any]) -> None:
    host = InMemoryStore()
    for key, value in ITEMS.items():
        store.put(ANA, key, value)
        host.put(ANA, key, value)
    assert set(keys(store.search(ANA, filter=given))) == set(keys(host.search(ANA, filter=given)))


def test_filters_among_many_memories(store: EcphoraStore, memory: Memory) -> None:
    memory.remember([f"Message {number}." for number in range(400)])
    for number in range(5):
        store.put(ANA, str(number), {"n": number})
    assert set(keys(store.search(ANA, filter={"n": {"$gte": 3}}))) == {"3", "4"}


# ---- search with a query


def test_search_ranks_and_says_why() -> None:
    with Memory(":memory:") as memory:
        store = EcphoraStore(memory)
        store.put(ANA, "home", {"text": "Ana moved to Porto."})
        store.put(ANA, "pet", {"text": "Ana has a dog named Rex."})
        store.put(("users", "ben"), "home", {"text": "Ben lives in Ghent."})
        found = store.search(ANA, query="Where does Ana live?")
        assert keys(found)[0] == "home"
        assert "ben" not in {item.namespace[1] for item in found}
        best = found[0]
        assert isinstance(best, RecalledItem)
        assert best.evidence in {"weak", "strong"}
        assert best.confidence > 0.4
        assert best.reason
        assert best.score is not None
        unknown = store.search(ANA, query="What is the wifi password?")
        assert unknown
        assert {item.evidence for item in unknown if isinstance(item, RecalledItem)} == {"none"}


def test_a_single_text_is_the_memory_and_other_values_are_json(store: EcphoraStore, memory: Memory) -> None:
    store.put(ANA, "one", {"content": {"text": "Ana moved to Porto."}})
    store.put(ANA, "two", {"b": "Porto", "a": 1})
    assert {node.text for node in memory.find()} == {"Ana moved to Porto.", '{"a": 1, "b": "Porto"}'}


def test_each_path_is_a_text_and_the_best_counts(store: EcphoraStore, memory: Memory) -> None:
    value = {"title": "Trip", "notes": [{"text": "We sailed."}, {"text": "We sailed."}, {"text": "We dived."}]}
    store.put(ANA, "trip", value, index=["title", "notes[*].text", "missing"])
    store.put(ANA, "other", {"title": "sailed"}, index=["title"])
    assert sorted(node.text for node in memory.find()) == ["Trip", "We dived.", "We sailed.", "sailed"]
    assert keys(store.search(ANA, query="dived", limit=1)) == ["trip"]
    assert sorted(keys(store.search(ANA, query="we sailed dived trip", limit=2))) == ["other", "trip"]
    first, second = (store.search(ANA, query="sailed", limit=1, offset=at) for at in (0, 1))
    assert {*keys(first), *keys(second)} == {"trip", "other"}
    assert all(item.value == value for item in store.search(ANA, query="dived") if item.key == "trip")


def test_an_item_has_the_score_of_its_best_text(store: EcphoraStore, memory: Memory) -> None:
    store.put(ANA, "k", {"tags": ["We sailed to Porto.", "sailed", "chess"]}, index=["tags[*]"])
    (item,) = store.search(ANA, query="We sailed to Porto.")
    best, *others = memory.recall("We sailed to Porto.")
    assert others
    assert item.score == pytest.approx(best.score)


def test_what_no_longer_holds_says_so(clock: FakeClock) -> None:
    with Memory(":memory:", clock=clock) as memory:
        store = EcphoraStore(memory, clock=clock)
        for day, text in ((0, "Ana lives in Lisbon."), (90, "Ana moved to Porto.")):
            clock.advance(minutes=24 * 60 * day)
            store.put(ANA, str(day), {"text": text})
        clock.advance(minutes=60)
        memory.consolidate()
        validity = {
            item.key: item.validity
            for item in store.search(ANA, query="Where does Ana live?")
            if isinstance(item, RecalledItem)
        }
        assert validity["90"] is None
        assert isinstance(validity["0"], Validity)
        assert not validity["0"].is_valid


def test_fields_of_the_store_are_the_default(memory: Memory) -> None:
    store = EcphoraStore(memory, fields=["title"])
    store.put(ANA, "a", {"title": "sailing", "body": "chess"})
    store.put(ANA, "b", {"title": "sailing", "body": "chess"}, index=["body"])
    store.put(ANA, "c", {"body": "chess"})
    assert {node.text for node in memory.find()} == {"sailing", "chess", '{"body": "chess"}'}
    assert set(keys(store.search(ANA, query="chess"))) <= {"a", "b"}


@pytest.mark.parametrize("fields", ["text", [1]])
def test_wrong_fields_are_an_error(tmp_path: Path, fields: Any) -> None:
    with pytest.raises(InvalidInput, match="list of paths"):
        EcphoraStore.open(tmp_path / "a.db", index={"fields": fields})


def test_items_without_index_are_listed_and_never_found(store: EcphoraStore) -> None:
    store.put(ANA, "seen", {"text": "sailing"})
    store.put(ANA, "hidden", {"text": "sailing"}, index=False)
    assert keys(store.search(ANA, query="sailing")) == ["seen"]
    assert set(keys(store.search(ANA))) == {"seen", "hidden"}
    store.put(ANA, "seen", {"text": "sailing"}, index=False)
    assert store.search(ANA, query="sailing") == []


@pytest.mark.parametrize("query", ["", "  ", "\u200b"])
def test_a_query_without_words_lists(store: EcphoraStore, query: str) -> None:
    store.put(ANA, "hidden", {"text": "sailing"}, index=False)
    assert keys(store.search(ANA, query=query)) == ["hidden"]


@pytest.mark.parametrize("query", ["sailing " * 5_000, "\ud800 sailing \0", "sailing'; DROP TABLE x; --"])
def test_hostile_queries(store: EcphoraStore, query: str) -> None:
    store.put(ANA, "k", {"text": "sailing"})
    assert keys(store.search(ANA, query=query)) == ["k"]


def test_a_long_text_is_one_item(store: EcphoraStore) -> None:
    text = "\n\n".join(f"Paragraph {number} is about topic{number} and nothing else. " * 20 for number in range(20))
    store.put(ANA, "long", {"text": text})
    found = store.search(ANA, query="topic7 topic12")
    assert keys(found) == ["long"]
    assert found[0].value == {"text": text}


def test_a_text_beyond_the_limit_is_kept_whole_in_the_value(
    store: EcphoraStore, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecphora.adapters.langgraph.MAX_TEXT_CHARS", 20)
    store.put(ANA, "huge", {"text": "sailing " * 9})
    assert [len(node.text) for node in memory.find()] == [20]
    assert [item.value for item in store.search(ANA, query="sailing")] == [{"text": "sailing " * 9}]


@pytest.mark.parametrize(
    "validity", [None, Validity(False, datetime(2026, 5, 3, tzinfo=UTC), ("newer",), ("other",)), Validity(True)]
)
def test_a_found_item_survives_the_serializer_of_the_host(store: EcphoraStore, validity: Validity | None) -> None:
    store.put(ANA, "k", {"text": "sailing"})
    item = store.search(ANA, query="sailing")[0]
    assert isinstance(item, RecalledItem)
    item.validity, item.reason = validity, "it is the only one"
    serializer = JsonPlusSerializer(allowed_msgpack_modules=[(RecalledItem.__module__, RecalledItem.__name__)])
    back = serializer.loads_typed(serializer.dumps_typed(item))
    assert isinstance(back, RecalledItem)
    assert back == item
    assert back.dict() == item.dict()
    assert (back.validity, back.confidence) == (validity, item.confidence)


# ---- namespaces


def test_namespaces(store: EcphoraStore) -> None:
    for namespace in (("a", "b", "c"), ("a", "x", "c"), ("a", "b"), ("ab",), ("z", "c")):
        store.put(namespace, "k", {})
        store.put(namespace, "l", {})
    assert store.list_namespaces() == [("a", "b"), ("a", "b", "c"), ("a", "x", "c"), ("ab",), ("z", "c")]
    assert store.list_namespaces(prefix=("a",)) == [("a", "b"), ("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("a", "x", "c"), ("z", "c")]
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c"), ("a", "x", "c")]
    assert store.list_namespaces(prefix=("a",), suffix=("b",)) == [("a", "b")]
    assert store.list_namespaces(max_depth=1) == [("a",), ("ab",), ("z",)]
    assert store.list_namespaces(max_depth=2, limit=2, offset=1) == [("a", "x"), ("ab",)]
    assert store.list_namespaces(suffix=("q", "z", "a", "b", "c")) == []
    assert store.list_namespaces(limit=0) == []
    for kind in ("prefix", "suffix"):
        (listed,) = store.batch([untyped.ListNamespacesOp((untyped.MatchCondition(kind, ()),))])
        assert listed == store.list_namespaces()


# ---- time to live


def test_expired_items_are_never_returned_and_swept(memory: Memory, store: EcphoraStore, clock: FakeClock) -> None:
    store.put(ANA, "short", {"text": "sailing", "tags": ["x", "y"]}, index=["text", "tags[*]"], ttl=10)
    store.put(("other",), "long", {"text": "sailing"}, ttl=20)
    clock.advance(minutes=9.9)
    assert store.sweep_ttl() == 0
    assert store.get(ANA, "short") is not None
    clock.advance(minutes=0.2)
    assert store.get(ANA, "short") is None
    assert keys(store.search(())) == keys(store.search((), query="sailing")) == ["long"]
    assert store.list_namespaces() == [("other",)]
    assert memory.count() == 4
    assert (store.sweep_ttl(), store.sweep_ttl(), memory.count()) == (1, 0, 1)


def test_writing_again_begins_a_new_life(store: EcphoraStore, clock: FakeClock) -> None:
    store.put(ANA, "k", {"n": 1}, ttl=1)
    clock.advance(minutes=2)
    store.put(ANA, "k", {"n": 2})
    clock.advance(minutes=99)
    item = store.get(ANA, "k")
    assert item is not None
    assert item.created_at == clock.now - timedelta(minutes=99)
    assert store.sweep_ttl() == 0


def test_writing_over_an_expired_item_erases_all_of_it(memory: Memory, store: EcphoraStore, clock: FakeClock) -> None:
    store.put(ANA, "k", {"tags": ["sailing", "chess"]}, index=["tags[*]"], ttl=1)
    clock.advance(minutes=2)
    store.put(ANA, "k", {"tags": ["opera"]}, index=["tags[*]"])
    assert [node.text for node in memory.find()] == ["opera"]
    item = store.get(ANA, "k")
    assert item is not None
    assert item.created_at == clock.now


def test_default_life_and_none(memory: Memory, clock: FakeClock) -> None:
    store = EcphoraStore(memory, ttl={"default_ttl": 5}, clock=clock)
    store.put(ANA, "default", {})
    store.put(ANA, "forever", {}, ttl=None)
    clock.advance(minutes=3)
    assert store.get(ANA, "default") is not None  # which prolongs nothing
    clock.advance(minutes=3)
    assert keys(store.search(ANA)) == ["forever"]


def test_reading_prolongs_only_if_asked(memory: Memory, clock: FakeClock) -> None:
    store = EcphoraStore(memory, ttl={"default_ttl": 5, "refresh_on_read": True}, clock=clock)
    for key in ("got", "found", "listed", "left", "forever"):
        text = {"text": f"about {key}", "more": f"more of {key}"}
        store.put((key,), key, text, ["text", "more"], ttl=None if key == "forever" else 5)
    updated = clock.now
    clock.advance(minutes=4)
    store.get(("got",), "got")
    store.search(("found",), query="about found")
    store.search(("listed",))
    store.get(("left",), "left", refresh_ttl=False)
    store.search(("left",), refresh_ttl=False)
    store.get(("forever",), "forever")
    clock.advance(minutes=4)
    assert sorted(keys(store.search((), refresh_ttl=False))) == ["forever", "found", "got", "listed"]
    found = store.search(("got",), query="more of got", refresh_ttl=False)
    assert [item.updated_at for item in found] == [updated]
    assert found[0].value == {"text": "about got", "more": "more of got"}
    clock.advance(minutes=2)
    assert keys(store.search((), refresh_ttl=False)) == ["forever"]


def test_a_prolonged_life_changes_no_order(memory: Memory, clock: FakeClock) -> None:
    store = EcphoraStore(memory, ttl={"default_ttl": 50, "refresh_on_read": True}, clock=clock)
    for key in ("old", "new"):
        clock.advance(minutes=1)
        store.put(ANA, key, {})
    clock.advance(minutes=1)
    store.get(ANA, "old")
    assert keys(store.search(ANA)) == ["new", "old"]


def test_calls_sweep_when_the_interval_has_passed(memory: Memory, clock: FakeClock) -> None:
    store = EcphoraStore(memory, ttl={"sweep_interval_minutes": 30}, clock=clock)
    store.put(ANA, "k", {}, ttl=1)
    clock.advance(minutes=29)
    store.get(ANA, "other")
    assert memory.count() == 1
    clock.advance(minutes=1)
    store.get(ANA, "other")
    assert memory.count() == 0


def test_what_is_written_again_during_a_sweep_stays(
    memory: Memory, store: EcphoraStore, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put(ANA, "k", {"n": 1}, ttl=1)
    clock.advance(minutes=2)
    forget = memory.forget

    def late(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        EcphoraStore(memory, clock=clock).put(ANA, "k", {"n": 2})
        return forget(*args, **options)

    monkeypatch.setattr(memory, "forget", late)
    store.sweep_ttl()
    item = store.get(ANA, "k")
    assert item is not None
    assert item.value == {"n": 2}


def test_what_is_written_again_while_it_is_read_keeps_its_own_life(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EcphoraStore(memory, ttl={"refresh_on_read": True}, clock=clock)
    store.put(ANA, "k", {"n": 1}, ttl=1)
    head = store._head

    def early(path: str) -> Any:
        found = head(path)
        monkeypatch.setattr(store, "_head", late)
        return found

    def late(path: str) -> Any:  # the head that is read to prolong the life
        found = head(path)
        clock.advance(minutes=0.5)
        EcphoraStore(memory, clock=clock).put(ANA, "k", {"n": 2})
        return found

    monkeypatch.setattr(store, "_head", early)
    store.get(ANA, "k")
    clock.advance(minutes=99)
    again = EcphoraStore(memory, clock=clock).get(ANA, "k")
    assert again is not None
    assert again.value == {"n": 2}


# ---- files, embeddings, threads


class Vowels(Embeddings):
    """Embeddings that count vowels."""

    model = "vowels-1"

    def __init__(self) -> None:
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.count(vowel)) for vowel in "aeiou"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return self.embed_documents([text])[0]


def embed_vowels(texts: list[str]) -> list[list[float]]:
    return Vowels().embed_documents(texts)


async def aembed_vowels(texts: list[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return embed_vowels(texts)


@pytest.mark.parametrize("embed", [Vowels(), embed_vowels, aembed_vowels])
@pytest.mark.parametrize("dims", [5, None])
def test_embeddings_of_the_host_rank(tmp_path: Path, embed: Any, dims: int | None) -> None:
    index: Any = {"embed": embed, "fields": ["text"], **({} if dims is None else {"dims": dims})}
    with EcphoraStore.open(tmp_path / "a.db", index=index, strategy="dense", reranker=None) as store:
        for text in ("aaaa", "eeee", "xyz"):
            store.put(ANA, text, {"text": text, "more": "ooo"})
        assert keys(store.search(ANA, query="a", limit=1)) == ["aaaa"]
        assert keys(store.search(ANA, query="eee", limit=1)) == ["eeee"]

        async def search() -> list[SearchItem]:
            return await store.asearch(ANA, query="ea", limit=3)

        assert set(keys(asyncio.run(search()))) >= {"aaaa", "eeee"}
    with EcphoraStore.open(tmp_path / "a.db", index=index) as store:
        assert len(store.search(ANA)) == 3
    with pytest.raises(EmbedderMismatch):
        EcphoraStore.open(tmp_path / "a.db", index={"embed": lambda texts: [[1.0]] * len(texts), "dims": 1})


def test_with_embeddings_of_the_host_a_whole_value_is_its_json(tmp_path: Path) -> None:
    embed = Vowels()
    with EcphoraStore.open(tmp_path / "a.db", index={"embed": embed, "dims": 5}) as store:
        store.put(ANA, "k", {"text": "aaaa"})
        assert [node.text for node in store.memory.find()] == ['{"text": "aaaa"}']
        store.search(ANA, query="a question")
        assert embed.queries == ["a question"]


def test_wrong_dims_are_an_error(tmp_path: Path) -> None:
    index: Any = {"embed": embed_vowels, "dims": 4}
    with EcphoraStore.open(tmp_path / "a.db", index=index) as store, pytest.raises(WrongVector, match="set dims"):
        store.put(ANA, "k", {"text": "aaaa"})


def test_the_store_closes_only_its_own_memory(tmp_path: Path, memory: Memory) -> None:
    with EcphoraStore.open(tmp_path / "a.db", embedder=HashingEmbedder(64)) as store:
        store.put(ANA, "k", {"text": "sailing"})
    with pytest.raises(StoreClosed):
        store.put(ANA, "k", {"text": "sailing"})
    with EcphoraStore(memory) as store:
        store.put(ANA, "k", {})
    assert memory.count() == 1


def test_async_calls_do_what_the_others_do(store: EcphoraStore) -> None:
    async def run() -> None:
        await asyncio.gather(*(store.aput(ANA, f"k{number}", {"n": number}) for number in range(10)))
        items = await asyncio.gather(*(store.aget(ANA, f"k{number}") for number in range(10)))
        assert [item.value["n"] for item in items if item] == list(range(10))
        await store.adelete(ANA, "k0")
        assert len(await store.asearch(ANA, limit=20)) == 9
        assert await store.alist_namespaces() == [ANA]
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([GetOp(("a.b",), "k")])

    asyncio.run(run())


def test_async_calls_leave_the_event_loop_free(store: EcphoraStore) -> None:
    threads: list[int] = []
    forget = store.memory.forget

    def recorded(*args: Any, **options: Any) -> Any:
        threads.append(threading.get_ident())
        return forget(*args, **options)

    store.memory.forget = recorded  # type: ignore[method-assign]
    asyncio.run(store.adelete(ANA, "k"))
    assert threads
    assert threading.get_ident() not in threads


def test_threads_that_write_one_key_leave_one_whole_item(store: EcphoraStore, memory: Memory) -> None:
    def write(number: int) -> None:
        tags = [f"tag{number}-{one}" for one in range(number % 3 + 1)]
        store.put(ANA, "k", {"tags": tags}, index=["tags[*]"])
        if number % 5 == 0:
            store.delete(ANA, "k")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(30)))
    store.put(ANA, "k", {"tags": ["last"]}, index=["tags[*]"])
    assert [node.text for node in memory.find()] == ["last"]


# ---- a graph


def test_a_graph_remembers_across_two_runs(tmp_path: Path) -> None:
    class State(TypedDict, total=False):
        text: str
        answer: str

    def answer(state: State, *, store: BaseStore) -> State:
        found = store.search(ANA, query=state["text"], limit=1)
        store.put(ANA, f"m{len(store.search(ANA))}", {"text": state["text"]})
        known = found and isinstance(found[0], RecalledItem) and found[0].evidence != "none"
        return {"answer": found[0].value["text"] if known else "I do not know."}

    def run(text: str) -> str:
        builder = StateGraph(State)
        builder.add_node("answer", answer)
        builder.add_edge(START, "answer")
        builder.add_edge("answer", END)
        with EcphoraStore.open(tmp_path / "agent.db") as store:
            return str(builder.compile(store=store).invoke({"text": text})["answer"])

    assert run("I moved to Porto last week.") == "I do not know."
    assert run("Which city did I move to?") == "I moved to Porto last week."


def test_the_package_imports_no_host() -> None:
    code = "import ecphora, ecphora.adapters.records, sys; print({'langgraph', 'langchain_core'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_value_tells_speaker_session_and_time(tmp_path: Path) -> None:
    fields = {"speaker": "author", "happened_at": "date", "session": "thread"}
    with EcphoraStore.open(tmp_path / "m.db", memory_fields=fields) as store:
        value = {"text": "I moved to Porto.", "author": "Ana", "date": "2026-05-03", "thread": "t1"}
        store.put(("x",), "a", value)
        found = store.search(("x",), query="Where does Ana live?")
        node = store.memory.recall("Where does Ana live?")[0].node
        assert (found[0].value, node.text, node.speaker, node.session) == (value, "I moved to Porto.", "Ana", "t1")
        assert node.happened_at.date().isoformat() == "2026-05-03"
        with pytest.raises(InvalidInput, match="date"):
            store.batch([PutOp(("x",), "b", {"text": "b"}), PutOp(("x",), "c", {"text": "c", "date": "soon"})])
        assert [item.key for item in store.search(("x",))] == ["a"]
        with pytest.raises(InvalidInput, match="author"):
            store.put(("x",), "d", {"text": "d", "author": 7})
    with pytest.raises(InvalidInput, match="memory_fields has 'who'"):
        EcphoraStore.open(tmp_path / "m.db", memory_fields={"who": "author"})
