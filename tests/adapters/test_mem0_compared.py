"""The interface of mem0 beside mem0 itself, which stores without a language model (`infer=False`)."""

import asyncio
import inspect
import os
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = "/nonexistent/mem0"  # nothing is written there

pytest.importorskip("mem0")

import mem0
from mem0.configs.base import MemoryConfig
from mem0.memory import main
from mem0.utils.factory import EmbedderFactory, LlmFactory

import ecphora
from ecphora import HashingEmbedder
from ecphora.adapters import mem0 as ours

METHODS = ("add", "get", "get_all", "search", "update", "delete", "delete_all", "history", "reset", "chat", "close")
EXTRA = {"happened_at", "evidence", "confidence", "reason", "validity"}
ANA: dict[str, Any] = {"user_id": "ana"}


class Embeddings:
    """mem0's embedder: the vectors of ours."""

    def __init__(self) -> None:
        self.embedder = HashingEmbedder(64)
        self.config = type("Config", (), {"embedding_dims": 64})()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        return [float(value) for value in self.embedder.embed([text])[0]]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:  # noqa: ARG002
        return [self.embed(text) for text in texts]


@pytest.fixture
def original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(EmbedderFactory, "create", lambda *_: Embeddings())
    monkeypatch.setattr(LlmFactory, "create", lambda *_: None)
    monkeypatch.setattr(main, "MEM0_TELEMETRY", False)
    for name in dir(main):
        if name.startswith("display_") and not name.endswith("_async"):
            monkeypatch.setattr(main, name, lambda *_, **__: None)
    config = MemoryConfig(
        vector_store={"provider": "qdrant", "config": {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 64}},
        history_db_path=str(tmp_path / "history.db"),
    )
    memory = mem0.Memory(config)
    yield memory
    memory.vector_store.client.close()
    memory.close()


@pytest.fixture
def adapted() -> Iterator[ours.Memory]:
    with ecphora.Memory(":memory:", embedder=HashingEmbedder(64)) as store:
        yield ours.Memory(store)


def fill(memory: Any) -> list[str]:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I live in Porto.", "name": "Ana"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": None},
    ]
    rows = memory.add(messages, user_id="ana", run_id="r1", metadata={"city": "Porto", "year": 2024}, infer=False)
    rows["results"] += memory.add(
        "I like wine.", user_id="ana", metadata={"city": "Lisbon", "year": 2026, "deep": {"a": [1]}}, infer=False
    )["results"]
    rows["results"] += memory.add("I am Bo.", user_id="bo", agent_id="bot", infer=False)["results"]
    rows["results"] += memory.add("Gone.", user_id="ana", expiration_date="2020-01-01", infer=False)["results"]
    return [row["id"] for row in rows["results"]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["Memory", "AsyncMemory"])
def test_methods_take_the_same_arguments(kind: str, method: str) -> None:
    theirs = inspect.signature(getattr(getattr(mem0, kind), method))
    mine = inspect.signature(getattr(ours.Memory, method))
    wanted = dict(theirs.parameters)
    if kind == "AsyncMemory":
        wanted.pop("llm", None)  # AsyncMemory of ours takes it and passes the rest on
    assert list(wanted) == list(mine.parameters)
    assert {name: one.kind for name, one in wanted.items()} == {name: one.kind for name, one in mine.parameters.items()}
    unset = {main._UNSET, ours._UNSET}
    for name, parameter in wanted.items():
        assert parameter.default == mine.parameters[name].default or {
            parameter.default, mine.parameters[name].default,
        } == unset, name  # fmt: skip
    is_async = inspect.iscoroutinefunction(getattr(ours.AsyncMemory, method))
    assert is_async == inspect.iscoroutinefunction(getattr(mem0.AsyncMemory, method))


def test_the_rows_of_add_have_the_same_keys(original: Any, adapted: ours.Memory) -> None:
    messages = [{"role": "user", "content": "Hi.", "name": "Ana"}, {"role": "assistant", "content": "Hello."}]
    theirs = original.add(messages, **ANA, infer=False)
    mine = adapted.add(messages, user_id="ana", infer=False)
    assert theirs.keys() == mine.keys()
    strip = [{**row, "id": ""} for row in theirs["results"]]
    assert strip == [{**row, "id": ""} for row in mine["results"]]


def comparable(item: dict[str, Any]) -> dict[str, Any]:
    volatile = ("id", "created_at", "updated_at", "score")
    return {name: type(value) if name in volatile else value for name, value in item.items() if name not in EXTRA}


def test_memories_have_the_same_keys_and_values(original: Any, adapted: ours.Memory) -> None:
    their_ids, my_ids = fill(original), fill(adapted)
    assert len(their_ids) == len(my_ids) == 5
    for their_id, my_id in zip(their_ids, my_ids, strict=True):
        assert comparable(original.get(their_id)) == comparable(adapted.get(my_id) or {})
    by_text = {item["memory"]: comparable(item) for item in original.get_all(filters=ANA)["results"]}
    assert by_text == {item["memory"]: comparable(item) for item in adapted.get_all(filters=ANA)["results"]}
    found = {item["memory"]: comparable(item) for item in original.search("I like wine.", filters=ANA)["results"]}
    mine = {item["memory"]: comparable(item) for item in adapted.search("I like wine.", filters=ANA)["results"]}
    assert found["I like wine."] == mine["I like wine."]
    explained = original.search("I like wine.", filters=ANA, explain=True)["results"][0].keys()
    assert explained <= adapted.search("I like wine.", filters=ANA, explain=True)["results"][0].keys()


def test_updates_deletes_and_history_have_the_same_shape(original: Any, adapted: ours.Memory) -> None:
    memories: list[Any] = [original, adapted]
    for memory in memories:
        (id_,) = [row["id"] for row in memory.add("Likes tea.", **ANA, metadata={"a": 1}, infer=False)["results"]]
        assert memory.update(id_, "Likes coffee.", metadata={"b": 2, "user_id": "bo"}) == {
            "message": "Memory updated successfully!"
        }
        item = memory.get(id_)
        assert item is not None
        assert (item["memory"], item["metadata"], item["user_id"]) == ("Likes coffee.", {"a": 1, "b": 2}, "ana")
        rows = memory.history(id_)
        assert [(row["event"], row["old_memory"], row["new_memory"]) for row in rows] == [
            ("ADD", None, "Likes tea."),
            ("UPDATE", "Likes tea.", "Likes coffee."),
        ]
        assert list(rows[0]) == [
            "id", "memory_id", "old_memory", "new_memory", "event",
            "created_at", "updated_at", "is_deleted", "actor_id", "role",
        ]  # fmt: skip
        assert rows[0]["is_deleted"] is False
        assert memory.delete(id_) == {"message": "Memory deleted successfully!"}
        assert memory.get(id_) is None
        memory.add("One.", user_id="ana", infer=False)
        assert memory.delete_all(user_id="ana") == {"message": "Memories deleted successfully!"}
        assert memory.get_all(filters=ANA) == {"results": []}


FILTERS: list[dict[str, Any]] = [
    {},
    {"city": "Porto"},
    {"city": {"eq": "Porto"}},
    {"city": {"ne": "Porto"}},
    {"city": {"in": ["Porto", "Faro"]}},
    {"city": {"nin": ["Porto"]}},
    {"city": ["Porto", "Faro"]},
    {"year": {"gt": 2024}},
    {"year": {"gte": 2024, "lt": 2026}},
    {"city": {"contains": "Lisbon"}},
    {"run_id": "r1"},
    {"role": "assistant"},
    {"actor_id": "Ana"},
    {"AND": [{"city": "Porto"}, {"year": {"lt": 2025}}]},
    {"OR": [{"city": "Lisbon"}, {"role": "assistant"}]},
    {"NOT": [{"city": "Lisbon"}]},
]


@pytest.mark.parametrize("conditions", FILTERS, ids=str)
def test_filters_find_the_same(original: Any, adapted: ours.Memory, conditions: dict[str, Any]) -> None:
    fill(original)
    fill(adapted)
    found = [
        {item["memory"] for item in memory.get_all(filters={**ANA, **conditions})["results"]}
        for memory in (original, adapted)
    ]
    assert found[0] == found[1]
    searched = [
        {item["memory"] for item in memory.search("live", filters={**ANA, **conditions}, threshold=0.0)["results"]}
        for memory in (original, adapted)
    ]
    assert searched[0] == searched[1]


REFUSED: list[Callable[[Any], object]] = [
    lambda memory: memory.add("Text."),
    lambda memory: memory.add(3, **ANA),
    lambda memory: memory.add(None, **ANA),
    lambda memory: memory.add("Text.", **ANA, memory_type="other"),
    lambda memory: memory.add("Text.", user_id=" "),
    lambda memory: memory.add("Text.", user_id="a b"),
    lambda memory: memory.add("Text.", **ANA, expiration_date="soon"),
    lambda memory: memory.add("Text.", **ANA, expiration_date=3),
    lambda memory: memory.search("", filters=ANA),
    lambda memory: memory.search("Text", filters={}),
    lambda memory: memory.search("Text", user_id="ana"),
    lambda memory: memory.search("Text", filters=ANA, threshold=2),
    lambda memory: memory.search("Text", filters=ANA, threshold="a"),
    lambda memory: memory.search("Text", filters=ANA, top_k=-1),
    lambda memory: memory.search("Text", filters=ANA, top_k=1.5),
    lambda memory: memory.search("Text", filters={**ANA, "AND": {}}),
    lambda memory: memory.search("Text", filters={**ANA, "OR": []}),
    lambda memory: memory.search("Text", filters={**ANA, "NOT": []}),
    lambda memory: memory.search("Text", filters={**ANA, "a": {"eq": 1, "like": 2}}),
    lambda memory: memory.get_all(),
    lambda memory: memory.get_all(user_id="ana"),
    lambda memory: memory.get_all(filters={"user_id": " "}),
    lambda memory: memory.update("00000000-0000-0000-0000-000000000000", "Text."),
    lambda memory: memory.update("00000000-0000-0000-0000-000000000000"),
    lambda memory: memory.delete("00000000-0000-0000-0000-000000000000"),
    lambda memory: memory.delete_all(),
    lambda memory: memory.delete_all(user_id=""),
    lambda memory: memory.chat("Hi."),
]


@pytest.mark.parametrize("call", REFUSED)
def test_errors_have_the_same_names_and_messages(
    original: Any, adapted: ours.Memory, call: Callable[[Any], object]
) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(original)
    with pytest.raises(Exception) as mine:  # noqa: PT011
        call(adapted)
    names = [error.__name__ for error in type(mine.value).__mro__]
    assert type(theirs.value).__name__ in names
    assert str(mine.value) == str(theirs.value)
    for field in ("error_code", "details", "suggestion"):
        assert getattr(mine.value, field, None) == getattr(theirs.value, field, None)


def test_a_configuration_of_mem0_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ECPHORA_DB", str(tmp_path / "a.db"))
    config = MemoryConfig(history_db_path=str(tmp_path / "history.db"))
    with pytest.warns(UserWarning, match="no effect here: history_db_path"):
        memory = ours.Memory(config)
    memory.close()


def test_async_results_are_those_of_sync(adapted: ours.Memory) -> None:
    async def ask() -> Any:
        memory = ours.AsyncMemory(adapted.memory)
        await memory.add("I live in Porto.", **ANA, timestamp=date(2026, 1, 1))
        return await memory.search("Where do I live?", filters=ANA)

    assert asyncio.run(ask()) == adapted.search("Where do I live?", filters=ANA)
