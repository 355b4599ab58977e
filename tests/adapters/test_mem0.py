"""The interface of mem0, without mem0: what is stored, found, changed and erased, and what is refused."""

import asyncio
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import ecphora
from ecphora import HashingEmbedder
from ecphora.adapters.mem0 import AsyncMemory, Memory, ValidationError
from ecphora.errors import InvalidInput, StoreClosed
from ecphora.testing import AdapterContract, AdapterDriver, FakeClock

ANA: dict[str, Any] = {"user_id": "ana"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 5, 3, 12, tzinfo=UTC))


@pytest.fixture
def store(clock: FakeClock) -> Iterator[ecphora.Memory]:
    with ecphora.Memory(":memory:", embedder=HashingEmbedder(64), clock=clock) as store:
        yield store


@pytest.fixture
def memory(store: ecphora.Memory, clock: FakeClock) -> Memory:
    return Memory(store, clock=clock)


def texts(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [result["memory"] for result in found["results"]]


def told(memory: Memory, text: str, **options: Any) -> str:
    """The id of a text that was added."""
    return str(memory.add(text, **{**ANA, **options})["results"][0]["id"])


def find(memory: Memory, filters: dict[str, Any]) -> set[str]:
    return set(texts(memory.get_all(filters=filters)))


class Driver(AdapterDriver):
    def __init__(self, memory: ecphora.Memory) -> None:
        super().__init__(memory)
        self.adapter = Memory(memory)

    def keep(self, text: str, *, user: str, session: str) -> None:
        self.adapter.add(text, user_id=user, run_id=session)

    def find(self, question: str, *, user: str) -> list[str]:
        return texts(self.adapter.search(question, filters={"user_id": user}, threshold=0))

    def forget(self, text: str, *, user: str) -> None:
        for result in self.adapter.get_all(filters={"user_id": user}, top_k=100)["results"]:
            if result["memory"] == text:
                self.adapter.delete(result["id"])


class TestContract(AdapterContract):
    driver = Driver
    restores_forgotten = True
    separates_users = True


# ---- add


def test_a_text_a_message_and_a_list_are_added(memory: Memory) -> None:
    assert [row["role"] for row in memory.add("One.", **ANA)["results"]] == ["user"]
    assert texts(memory.add({"role": "assistant", "content": "Two."}, **ANA)) == ["Two."]
    rows = memory.add(
        [{"role": "user", "content": "Three.", "name": "Bo"}, {"role": "assistant", "content": "Four."}], **ANA
    )["results"]
    assert [(row["memory"], row["event"], row["actor_id"], row["role"]) for row in rows] == [
        ("Three.", "ADD", "Bo", "user"),
        ("Four.", "ADD", None, "assistant"),
    ]
    assert len({row["id"] for row in rows}) == 2
    assert find(memory, ANA) == {"One.", "Two.", "Three.", "Four."}


def test_system_messages_and_messages_without_text_are_left_out(memory: Memory) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"content": "No role."},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        {"role": "user", "content": {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}},
        {"role": "user", "content": [{"type": "text", "text": "What"}, {"type": "text", "text": "is it?"}]},
    ]
    assert texts(memory.add(messages, **ANA)) == ["What is it?"]


def test_speaker_session_and_time_are_kept(memory: Memory, store: ecphora.Memory) -> None:
    memory.add(
        [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Hey.", "name": "Bo"},
            {"role": "tool", "content": "4"},
        ],
        user_id="ana",
        agent_id="helper",
        run_id="friday",
        timestamp="2026-01-10",
    )
    assert {node.text: node.speaker for node in store.find()} == {
        "Hello.": "ana", "Hi.": "helper", "Hey.": "Bo", "4": "tool",
    }  # fmt: skip
    assert {node.session for node in store.find()} == {"friday"}
    assert {node.happened_at.date() for node in store.find()} == {date(2026, 1, 10)}


@pytest.mark.parametrize(
    "timestamp", ["2026-01-10T08:00:00Z", datetime(2026, 1, 10, 8, tzinfo=UTC), 1768032000, 1768032000.0]
)
def test_a_timestamp_is_the_time_of_the_event(memory: Memory, timestamp: Any) -> None:
    id_ = told(memory, "It rained.", timestamp=timestamp)
    found = memory.get(id_)
    assert found is not None
    assert datetime.fromisoformat(found["happened_at"]) == datetime(2026, 1, 10, 8, tzinfo=UTC)
    assert found["created_at"] == "2026-05-03T12:00:00+00:00"


@pytest.mark.parametrize("timestamp", ["yesterday, maybe", True, [], float("nan")])
def test_a_timestamp_that_is_none_is_refused(memory: Memory, timestamp: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the contract names no more
        memory.add("It rained.", **ANA, timestamp=timestamp)


def test_a_conversation_may_be_passed_whole_on_every_turn(memory: Memory) -> None:
    first = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    assert len(memory.add(first, **ANA)["results"]) == 2
    assert memory.add(first, **ANA)["results"] == []
    assert texts(memory.add([*first, {"role": "user", "content": "Hi."}], **ANA)) == ["Hi."]
    assert texts(memory.add([*first, {"role": "user", "content": "Hi."}], **ANA)) == []
    assert len(memory.add(first, user_id="bo")["results"]) == 2  # another user
    assert len(memory.add(first, **ANA, run_id="two")["results"]) == 2  # another run


def test_what_is_said_again_later_is_stored_again(memory: Memory) -> None:
    assert texts(memory.add("I live in Porto.", **ANA)) == ["I live in Porto."]
    assert texts(memory.add("I live in Porto.", **ANA)) == []
    assert texts(memory.add("I live in Berlin.", **ANA)) == ["I live in Berlin."]
    assert texts(memory.add("I live in Porto.", **ANA)) == ["I live in Porto."]


def test_an_answer_that_repeats_does_not_hide_what_was_asked(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "A."}, {"role": "assistant", "content": "OK."}], **ANA)
    turn = [{"role": "user", "content": "B."}, {"role": "assistant", "content": "OK."}]
    assert texts(memory.add(turn, **ANA)) == ["B.", "OK."]


def test_without_infer_all_is_stored(memory: Memory) -> None:
    for _ in range(2):
        assert texts(memory.add("Same.", **ANA, infer=False)) == ["Same."]
    assert len(memory.get_all(filters=ANA)["results"]) == 2


def test_metadata_comes_back_with_nested_values(memory: Memory) -> None:
    given = {"city": "Porto", "n": 3, "ok": True, "tags": ["a", "b"], "deep": {"x": [1, {"y": None}]}, "none": None}
    found = memory.get(told(memory, "I live here.", metadata=given))
    assert found is not None
    assert found["metadata"] == given
    assert found["score"] is None
    assert found["user_id"] == "ana"
    assert found["role"] == "user"
    assert memory.get(told(memory, "Bare."))["metadata"] is None  # type: ignore[index]


def test_metadata_cannot_say_whose_memory_it_is(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    found = memory.get(told(memory, "Mine.", metadata={"user_id": "bo", "agent_id": "x", "city": "Porto"}))
    assert found is not None
    assert found["user_id"] == "ana"
    assert "agent_id" not in found
    assert found["metadata"] == {"city": "Porto"}
    assert "user_id" in caplog.text
    assert find(memory, {"user_id": "bo"}) == set()


@pytest.mark.parametrize("metadata", [{"record_key": "x"}, {"at": datetime(2026, 1, 1, tzinfo=UTC)}, ["a"], {"x": {1}}])
def test_metadata_that_cannot_be_kept_is_refused(memory: Memory, metadata: Any) -> None:
    with pytest.raises(ValidationError):
        memory.add("Text.", **ANA, metadata=metadata)


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "Olá 🌊 \u202e", "'; DROP TABLE nodes; --", "a" * 20_000])
def test_every_text_comes_back_as_it_is(memory: Memory, text: str) -> None:
    id_ = told(memory, text)
    assert memory.get(id_)["memory"] == text  # type: ignore[index]
    assert texts(memory.get_all(filters=ANA)) == [text]
    assert memory.history(id_)[0]["new_memory"] == text


@pytest.mark.parametrize("messages", [None, 3, ["text"], [None], {1, 2}])
def test_other_messages_are_refused(memory: Memory, messages: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        memory.add(messages, **ANA)
    assert caught.value.error_code == "VALIDATION_003"
    assert caught.value.details["provided_type"] == type(messages).__name__


def test_an_id_is_required(memory: Memory) -> None:
    with pytest.raises(ValidationError) as caught:
        memory.add("Text.")
    assert caught.value.error_code == "VALIDATION_001"
    assert caught.value.suggestion


@pytest.mark.parametrize("user_id", ["", "  ", "a b"])
def test_ids_that_cannot_be_used_are_refused(memory: Memory, user_id: str) -> None:
    with pytest.raises(InvalidInput, match="Invalid user_id"):
        memory.add("Text.", user_id=user_id)
    with pytest.raises(InvalidInput, match="Invalid user_id"):
        memory.search("Text", filters={"user_id": user_id})
    with pytest.raises(InvalidInput, match="Invalid user_id"):
        memory.delete_all(user_id=user_id)


def test_ids_are_texts_without_space_around_them(memory: Memory) -> None:
    memory.add("One.", user_id=7)
    memory.add("Two.", user_id=" 7 ")
    assert find(memory, {"user_id": 7}) == find(memory, {"user_id": "7"}) == {"One.", "Two."}


def test_memory_types(memory: Memory) -> None:
    with pytest.raises(ValidationError) as caught:
        memory.add("Text.", **ANA, memory_type="episodic")
    assert caught.value.error_code == "VALIDATION_002"
    found = memory.get(told(memory, "Step 1.", agent_id="bot", memory_type="procedural_memory"))
    assert found is not None
    assert found["metadata"] == {"memory_type": "procedural_memory"}


# ---- search


def test_a_search_says_how_sure_it_is() -> None:
    with Memory(":memory:") as memory:
        memory.add("I live in Lisbon.", **ANA, timestamp="2026-01-10")
        memory.add("I love olives.", **ANA, timestamp="2026-01-11")
        results = memory.search("Where in the world do I live?", filters=ANA)["results"]
        assert results[0]["memory"] == "I live in Lisbon."
        assert results[0]["evidence"] in {"strong", "weak"}
        assert results[0]["score"] == results[0]["confidence"]
        assert isinstance(results[0]["reason"], str)
        assert results[0]["validity"] is None
        assert all(0 <= result["score"] <= 1 for result in results)
        assert [result["score"] for result in results] == sorted((one["score"] for one in results), reverse=True)


def test_a_fact_that_changed_has_an_end(store: ecphora.Memory) -> None:
    memory = Memory(store)
    old, new = told(memory, "I live in Lisbon.", timestamp="2026-01-10"), told(memory, "I moved to Porto.")
    store.consolidate()
    by_id = {result["id"]: result for result in memory.search("Where does ana live?", filters=ANA)["results"]}
    assert by_id[old]["validity"]["superseded_by"] == [new]
    assert not by_id[old]["validity"]["is_valid"]


def test_a_threshold_and_a_number_bound_the_results(memory: Memory) -> None:
    for number in range(6):
        told(memory, f"The tree number {number} is green.")
    assert len(memory.search("green tree", filters=ANA, threshold=0)["results"]) == 6
    assert len(memory.search("green tree", filters=ANA, threshold=0, top_k=2)["results"]) == 2
    assert memory.search("green tree", filters=ANA, threshold=1)["results"] == []
    assert memory.search("green tree", filters=ANA, top_k=0)["results"] == []
    assert all(one["score"] >= 0.3 for one in memory.search("green tree", filters=ANA, threshold=0.3)["results"])


def test_without_evidence_nothing_comes_back_unless_asked_for(store: ecphora.Memory, clock: FakeClock) -> None:
    bands = ecphora.EvidenceBands(strong=0.9999, weak=0.9998)
    with ecphora.Memory(":memory:", embedder=HashingEmbedder(64), evidence_bands=bands) as sure:
        memory = Memory(sure)
        told(memory, "The tree is green.")
        assert memory.search("What is the password?", filters=ANA)["results"] == []
        found = memory.search("What is the password?", filters=ANA, threshold=0)["results"]
        assert [result["evidence"] for result in found] == ["none"]


def test_reasons_in_numbers(memory: Memory) -> None:
    told(memory, "The tree is green.")
    (result,) = memory.search("green tree", filters=ANA, threshold=0, explain=True)["results"]
    assert result["score_details"]["final_score"] == result["score"]
    assert result["score_details"]["contributions"]
    assert "score_details" not in memory.search("green tree", filters=ANA, threshold=0)["results"][0]


def test_a_reference_date_shows_what_held_then(memory: Memory, clock: FakeClock) -> None:
    id_ = told(memory, "I live in Lisbon.", timestamp="2026-01-10")
    clock.advance(days=1)
    memory.update(id_, "I live in Porto.")
    clock.advance(days=1)
    memory.update(id_, "I live in Faro.")
    asked: dict[str, Any] = {"query": "Where do I live?", "filters": ANA, "threshold": 0}
    assert texts(memory.search(**asked)) == ["I live in Faro."]
    assert texts(memory.search(**asked, reference_date="2026-05-05T23:00:00Z")) == ["I live in Faro."]
    assert texts(memory.search(**asked, reference_date="2026-05-04T23:00:00Z")) == ["I live in Porto."]
    assert texts(memory.search(**asked, reference_date=date(2026, 3, 1))) == ["I live in Lisbon."]
    assert texts(memory.search(**asked, reference_date="2025-12-31")) == []
    assert {result["id"] for result in memory.search(**asked)["results"]} == {id_}


def test_a_long_message_is_a_query(memory: Memory) -> None:
    told(memory, "The tree is green.")
    assert texts(memory.search("tree " + "and so on " * 20_000, filters=ANA, threshold=0)) == ["The tree is green."]


def test_a_long_memory_comes_back_whole_and_once(memory: Memory) -> None:
    text = " ".join(f"Sentence {number} is about the garden." for number in range(300))
    told(memory, text)
    assert texts(memory.search("garden", filters=ANA, threshold=0)) == [text]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": ""}, "Invalid query"),
        ({"query": "  "}, "Invalid query"),
        ({"query": 3}, "Invalid query"),
        ({"threshold": 1.1}, "Invalid threshold"),
        ({"threshold": -0.1}, "Invalid threshold"),
        ({"threshold": "high"}, "threshold must be"),
        ({"top_k": -1}, "Invalid top_k"),
        ({"top_k": True}, "top_k must be"),
        ({"top_k": "3"}, "top_k must be"),
        ({"filters": {}}, "filters must contain at least one"),
        ({"filters": None}, "filters must contain at least one"),
        ({"filters": {"city": "Porto"}}, "filters must contain at least one"),
        ({"filters": "ana"}, "filters is"),
        ({"filters": {"user_id": None}}, "Invalid user_id"),
        ({"filters": {"user_id": {"ne": "ana"}}}, "Invalid user_id"),
        ({"filters": {"user_id": ["ana", "bo"]}}, "Invalid user_id"),
        ({"user_id": "ana"}, "Top-level entity parameters"),
        ({"run_id": "x"}, "Top-level entity parameters"),
        ({"reference_date": "soon"}, "soon"),
    ],
)
def test_searches_that_cannot_be_done_are_refused(memory: Memory, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        memory.search(**{"query": "Where?", "filters": ANA, **arguments})


def test_a_listing_takes_ids_in_the_filter_alone(memory: Memory) -> None:
    with pytest.raises(ValueError, match="Top-level entity parameters"):
        memory.get_all(user_id="ana")
    with pytest.raises(ValueError, match="filters must contain at least one"):
        memory.get_all()
    with pytest.raises(ValueError, match="top_k"):
        memory.get_all(filters=ANA, top_k=-1)


def test_a_listing_has_the_latest_first_and_a_limit(memory: Memory, clock: FakeClock) -> None:
    for number in range(25):
        clock.advance(minutes=1)
        told(memory, f"Text {number}.")
    assert texts(memory.get_all(filters=ANA)) == [f"Text {number}." for number in range(24, 4, -1)]
    assert len(memory.get_all(filters=ANA, top_k=1000)["results"]) == 25
    assert memory.get_all(filters=ANA, top_k=0)["results"] == []


# ---- filters


@pytest.fixture
def cities(memory: Memory) -> Memory:
    memory.add("A", **ANA, metadata={"city": "Porto", "year": 2024, "tags": ["sea", "wine"]}, infer=False)
    memory.add("B", **ANA, metadata={"city": "Lisbon", "year": 2026}, infer=False)
    memory.add("C", **ANA, agent_id="bot", run_id="r1", infer=False)
    memory.add("D", user_id="bo", metadata={"city": "Porto"}, infer=False)
    return memory


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, "ABC"),
        ({"city": "Porto"}, "A"),
        ({"city": {"eq": "Porto"}}, "A"),
        ({"city": {"ne": "Porto"}}, "B"),
        ({"city": {"in": ["Porto", "Lisbon"]}}, "AB"),
        ({"city": ["Porto", "Lisbon"]}, "AB"),
        ({"city": {"nin": ["Porto"]}}, "B"),
        ({"year": {"gt": 2024}}, "B"),
        ({"year": {"gte": 2024, "lt": 2026}}, "A"),
        ({"year": {"lte": 2026}}, "AB"),
        ({"city": {"contains": "isb"}}, "B"),
        ({"city": {"contains": "LIS"}}, ""),
        ({"city": {"icontains": "LIS"}}, "B"),
        ({"tags": "sea"}, "A"),
        ({"tags": {"contains": "wine"}}, "A"),
        ({"city": "*"}, "AB"),
        ({"agent_id": "bot"}, "C"),
        ({"AND": [{"run_id": {"in": ["r1", "r2"]}}]}, "C"),
        ({"AND": [{"city": "Porto"}, {"year": {"lt": 2025}}]}, "A"),
        ({"AND": []}, "ABC"),
        ({"OR": [{"city": "Lisbon"}, {"agent_id": "bot"}]}, "BC"),
        ({"OR": [{"AND": [{"city": "Porto"}, {"year": 2024}]}, {"run_id": "r1"}]}, "AC"),
        ({"NOT": [{"city": "Lisbon"}]}, "AC"),
        ({"NOT": [{"city": "Lisbon"}, {"agent_id": "bot"}]}, "A"),
        ({"role": "user"}, "ABC"),
        ({"created_at": {"gte": "2026-01-01"}}, "ABC"),
        ({"record_key": "*"}, "ABC"),
        ({"record_kind": "other"}, ""),
    ],
)
def test_filters(cities: Memory, conditions: dict[str, Any], expected: str) -> None:
    filters = {**ANA, **conditions}
    assert find(cities, filters) == set(expected)
    assert set(texts(cities.search("A B C D", filters=filters, threshold=0))) == set(expected)


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"city": {"like": "P%"}}, "Unsupported metadata filter operator: like"),
        ({"AND": {"city": "Porto"}}, "AND operator requires a list"),
        ({"OR": []}, "OR operator requires a non-empty list"),
        ({"NOT": []}, "NOT operator requires a non-empty list"),
        ({"OR": ["x"]}, "OR operator requires a non-empty list"),
        ({"OR": [{}]}, "OR operator requires a non-empty list"),
        ({"year": {"gt": None}}, "gt"),
        ({"city": {}}, "city"),
    ],
)
def test_filters_that_mean_nothing_are_refused(cities: Memory, conditions: dict[str, Any], message: str) -> None:
    for call in (cities.get_all, lambda filters: cities.search("x", filters=filters)):
        with pytest.raises(ValueError, match=message):
            call(filters={**ANA, **conditions})


def test_other_memories_of_the_file_are_out_of_sight(memory: Memory, store: ecphora.Memory) -> None:
    store.remember("Not told to mem0.", id="other", metadata={"user_id": "ana"})
    told(memory, "Told.")
    assert find(memory, ANA) == {"Told."}
    assert texts(memory.search("told", filters=ANA, threshold=0)) == ["Told."]
    assert memory.get("other") is None
    with pytest.raises(ValueError, match="not found"):
        memory.delete("other")
    memory.reset()
    assert [node.id for node in store.find()] == ["other"]


# ---- expiration


def test_after_its_day_a_memory_does_not_come_back(memory: Memory, clock: FakeClock) -> None:
    id_ = told(memory, "The code is 12.", expiration_date="2026-05-04")
    told(memory, "No end.")
    clock.advance(days=1)
    assert find(memory, ANA) == {"The code is 12.", "No end."}
    clock.advance(days=1)
    assert find(memory, ANA) == {"No end."}
    assert texts(memory.search("code", filters=ANA, threshold=0)) == ["No end."]
    assert len(memory.search("code", filters=ANA, threshold=0, show_expired=True)["results"]) == 2
    assert len(memory.get_all(filters=ANA, show_expired=True)["results"]) == 2
    assert memory.get(id_)["expiration_date"] == "2026-05-04"  # type: ignore[index]
    memory.update(id_, expiration_date=None)
    assert find(memory, ANA) == {"The code is 12.", "No end."}
    assert memory.get(id_)["expiration_date"] is None  # type: ignore[index]
    memory.update(id_, expiration_date=date(2026, 1, 1))
    assert find(memory, ANA) == {"No end."}


@pytest.mark.parametrize("value", ["tomorrow", "2026-13-01", 20260101])
def test_an_expiration_date_is_a_date(memory: Memory, value: Any) -> None:
    with pytest.raises(ValueError, match="expiration_date must be a"):
        memory.add("Text.", **ANA, expiration_date=value)
    with pytest.raises(ValueError, match="expiration_date must be a"):
        memory.update(told(memory, "Text."), expiration_date=value)


# ---- update, history


def test_an_update_keeps_the_id_and_the_history(memory: Memory, clock: FakeClock) -> None:
    id_ = told(memory, "Likes tea.", metadata={"topic": "drinks", "sure": True})
    clock.advance(hours=1)
    assert memory.update(id_, "Likes coffee.", metadata={"sure": False}) == {"message": "Memory updated successfully!"}
    clock.advance(hours=1)
    memory.update(memory_id=id_, text="Likes water.")
    found = memory.get(id_)
    assert found is not None
    assert found["memory"] == "Likes water."
    assert found["metadata"] == {"topic": "drinks", "sure": False}
    assert (found["created_at"], found["updated_at"]) == ("2026-05-03T12:00:00+00:00", "2026-05-03T14:00:00+00:00")
    rows = memory.history(id_)
    assert [(row["event"], row["old_memory"], row["new_memory"]) for row in rows] == [
        ("ADD", None, "Likes tea."),
        ("UPDATE", "Likes tea.", "Likes coffee."),
        ("UPDATE", "Likes coffee.", "Likes water."),
    ]
    assert [row["updated_at"][11:13] for row in rows] == ["12", "13", "14"]
    assert {row["memory_id"] for row in rows} == {id_}
    assert texts(memory.get_all(filters=ANA)) == ["Likes water."]


def test_an_update_of_metadata_alone_keeps_the_text(memory: Memory, clock: FakeClock) -> None:
    id_ = told(memory, "Likes tea.", metadata={"deep": {"a": 1}})
    clock.advance(hours=1)
    memory.update(id_, metadata={"topic": "drinks", "user_id": "bo"})
    found = memory.get(id_)
    assert found is not None
    assert found["memory"] == "Likes tea."
    assert found["metadata"] == {"deep": {"a": 1}, "topic": "drinks"}
    assert found["user_id"] == "ana"
    assert found["updated_at"] == "2026-05-03T13:00:00+00:00"
    assert len(memory.history(id_)) == 1
    assert find(memory, {**ANA, "topic": "drinks"}) == {"Likes tea."}


def test_an_update_of_metadata_alone_keeps_the_versions(memory: Memory, clock: FakeClock) -> None:
    id_ = told(memory, "Likes tea.")
    for changes in ({"text": "Likes coffee."}, {"metadata": {"a": 1}}, {"text": "Likes water."}):
        clock.advance(hours=1)
        memory.update(id_, **changes)
        assert len(memory.get_all(filters=ANA)["results"]) == 1
    assert [row["new_memory"] for row in memory.history(id_)] == ["Likes tea.", "Likes coffee.", "Likes water."]
    assert memory.get(id_)["metadata"] == {"a": 1}  # type: ignore[index]


def test_an_update_may_return_to_an_earlier_text(memory: Memory, clock: FakeClock) -> None:
    id_ = told(memory, "Likes tea.")
    for text in ("Likes coffee.", "Likes tea.", "", "Likes tea."):
        clock.advance(hours=1)
        memory.update(id_, text)
        assert texts(memory.get_all(filters=ANA)) == [text]
    assert len(memory.history(id_)) == 5


def test_the_former_name_of_the_text_is_taken(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    id_ = told(memory, "Likes tea.")
    memory.update(id_, data="Likes coffee.")
    assert memory.get(id_)["memory"] == "Likes coffee."  # type: ignore[index]
    assert "deprecated" in caplog.text


def test_updates_that_cannot_be_done_are_refused(memory: Memory) -> None:
    id_ = told(memory, "Likes tea.")
    with pytest.raises(ValueError, match="At least one of text, metadata"):
        memory.update(id_)
    with pytest.raises(ValueError, match="Memory with id nobody not found"):
        memory.update("nobody", "Text.")
    with pytest.raises(ValueError, match="text is 3"):
        memory.update(id_, 3)  # type: ignore[arg-type]


def test_a_version_is_no_memory_of_its_own(memory: Memory) -> None:
    id_ = told(memory, "Likes tea.")
    memory.update(id_, "Likes coffee.")
    version = memory.history(id_)[1]["id"]
    assert memory.get(version) is None
    assert memory.history(version) == []


# ---- delete


def test_a_deleted_memory_leaves_nothing(memory: Memory, store: ecphora.Memory) -> None:
    id_ = told(memory, "Likes tea.")
    memory.update(id_, "Likes coffee.")
    assert memory.delete(id_) == {"message": "Memory deleted successfully!"}
    assert store.count() == 0
    assert memory.get(id_) is None
    assert memory.history(id_) == []
    with pytest.raises(ValueError, match=f"Memory with id {id_} not found"):
        memory.delete(id_)
    assert texts(memory.add("Likes tea.", **ANA)) == ["Likes tea."]
    assert find(memory, ANA) == {"Likes tea."}


def test_all_memories_of_a_user_are_deleted(cities: Memory) -> None:
    cities.update(told(cities, "E", user_id="bo"), "F")
    assert cities.delete_all(user_id="ana", run_id="r1") == {"message": "Memories deleted successfully!"}
    assert find(cities, ANA) == {"A", "B"}
    cities.delete_all("ana")
    assert find(cities, ANA) == set()
    assert find(cities, {"user_id": "bo"}) == {"D", "F"}
    cities.delete_all(user_id="nobody")
    with pytest.raises(ValueError, match="At least one filter is required"):
        cities.delete_all()
    cities.reset()
    assert cities.memory.count() == 0


def test_chat_is_not_implemented(memory: Memory) -> None:
    with pytest.raises(NotImplementedError):
        memory.chat("Hi.")


# ---- opening


def test_the_file_is_that_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ECPHORA_DB", raising=False)
    Memory().close()
    assert (tmp_path / "ecphora.db").exists()
    monkeypatch.setenv("ECPHORA_DB", str(tmp_path / "other.db"))
    Memory().close()
    assert (tmp_path / "other.db").exists()


def test_a_configuration_is_read_and_the_rest_is_named(tmp_path: Path) -> None:
    config = {
        "vector_store": {"provider": "qdrant", "config": {"path": "/nowhere"}},
        "llm": {"provider": "openai", "config": {"model": "gpt-5-mini"}},
        "version": "v1.1",
        "ecphora": {"path": tmp_path / "a.db", "scope": "ana"},
    }
    with pytest.warns(UserWarning, match="no effect here: llm, vector_store, version") as caught:
        memory = Memory.from_config(config)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert memory.memory.scope == "ana"
    assert (tmp_path / "a.db").exists()
    memory.close()
    with pytest.raises(StoreClosed):
        memory.get("x")


def test_a_configuration_without_other_keys_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Memory.from_config({"ecphora": {"path": ":memory:"}}).close()


@pytest.mark.parametrize(
    "config", [3, ["a.db"], dict, {"ecphora": "a.db"}, {"ecphora": {"path": ":memory:", "colour": "red"}}]
)
def test_configurations_that_cannot_be_read_are_refused(config: Any) -> None:
    with pytest.raises(InvalidInput):
        Memory(config)
    if not isinstance(config, dict):
        with pytest.raises(InvalidInput):
            Memory.from_config(config)


def test_a_memory_that_was_given_stays_open(store: ecphora.Memory) -> None:
    with Memory(store) as memory:
        told(memory, "Text.")
    assert store.count() == 1


def test_threads(memory: Memory) -> None:
    id_ = told(memory, "Version 0.", user_id="one")

    def work(number: int) -> None:
        told(memory, f"Text {number}.")
        memory.update(id_, f"Version {number}.")
        memory.search("Text", filters=ANA)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 25)))
    assert len(memory.get_all(filters=ANA, top_k=100)["results"]) == 24
    assert len(memory.history(id_)) == 25
    assert len(memory.get_all(filters={"user_id": "one"})["results"]) == 1


# ---- asyncio


def test_async(store: ecphora.Memory) -> None:
    async def talk() -> None:
        async with AsyncMemory(store) as memory:
            await asyncio.gather(*(memory.add(f"Text {number}.", **ANA, llm=None) for number in range(8)))
            found = await memory.get_all(filters=ANA)
            assert len(found["results"]) == 8
            id_ = found["results"][0]["id"]
            assert (await memory.update(id_, "New.", {"a": 1}))["message"]
            assert (await memory.get(id_))["memory"] == "New."  # type: ignore[index]
            assert len(await memory.history(id_)) == 2
            assert (await memory.search("new", filters=ANA, threshold=0, top_k=1))["results"]
            await memory.delete(id_)
            with pytest.raises(ValueError, match="not found"):
                await memory.delete(id_)
            with pytest.raises(ValueError, match="Top-level"):
                await memory.search("x", user_id="ana")
            await memory.delete_all(user_id="ana")
            assert store.count() == 0
            await memory.reset()
            with pytest.raises(NotImplementedError):
                await memory.chat("Hi.")

    asyncio.run(talk())


def test_async_from_a_configuration() -> None:
    memory = AsyncMemory.from_config({"ecphora": {"path": ":memory:"}})
    memory.close()
    with pytest.raises(InvalidInput):
        AsyncMemory.from_config("a.db")  # type: ignore[arg-type]


# ---- the example of mem0's README, with one import changed


def test_the_example_of_the_readme(memory: Memory) -> None:
    prompts: list[str] = []

    def complete(messages: list[dict[str, str]]) -> str:
        prompts.append(messages[0]["content"])
        return "Noted."

    def chat_with_memories(message: str, user_id: str = "default_user") -> str:
        relevant_memories = memory.search(query=message, filters={"user_id": user_id}, top_k=3)
        memories_str = "\n".join(f"- {entry['memory']}" for entry in relevant_memories["results"])
        system_prompt = (
            f"You are a helpful AI. Answer the question based on query and memories.\nUser Memories:\n{memories_str}"
        )
        messages = [{"role": "system", "content": system_prompt}, {"role": "user", "content": message}]
        assistant_response = complete(messages)
        messages.append({"role": "assistant", "content": assistant_response})
        memory.add(messages, user_id=user_id)
        return assistant_response

    chat_with_memories("My cat is called Miro.")
    chat_with_memories("What is my cat called?")
    assert "- My cat is called Miro." in prompts[1]
    assert len(memory.get_all(filters={"user_id": "default_user"})["results"]) == 4
