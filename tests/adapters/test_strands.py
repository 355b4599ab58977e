"""The memory store of Strands: what the interface asks for, what ours adds, and an agent with it."""

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.memory import MemoryManager, MemoryStore, ModelExtractor
from strands.memory.extraction.triggers import InvocationTrigger
from strands.memory.extraction.types import ExtractionConfig, ExtractionResult
from strands.memory.types import AddMessagesContext, _has_method, _has_write_sink
from strands.models import Model

from ecphora import EvidenceBands, Filter, HashingEmbedder, Memory
from ecphora.adapters.strands import EcphoraStore
from ecphora.errors import InvalidInput
from ecphora.testing import AdapterContract, AdapterDriver

NEVER_SURE = EvidenceBands(strong=0.99999, weak=0.99998)


@pytest.fixture
def store(memory: Memory) -> EcphoraStore:
    return EcphoraStore(memory, "notes", needs_evidence=False)


def add(store: EcphoraStore, content: Any, metadata: Any = None) -> str:
    return asyncio.run(store.add(content, metadata))


def search(store: EcphoraStore, query: str, limit: int | None = None) -> list[str]:
    options: Any = None if limit is None else {"max_search_results": limit}
    return [entry.content for entry in asyncio.run(store.search(query, options))]


def message(role: Any, *texts: str) -> Any:
    return {"role": role, "content": [{"text": text} for text in texts]}


class Driver(AdapterDriver):
    """A store for each user, by its name."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.stores: dict[str, EcphoraStore] = {}

    def keep(self, text: str, *, user: str, session: str) -> None:  # noqa: ARG002
        add(self.store_of(user), text)

    def find(self, question: str, *, user: str) -> list[str]:
        return search(self.store_of(user), question)

    def forget(self, text: str, *, user: str) -> None:
        for entry in asyncio.run(self.store_of(user).search(text, {"max_search_results": 100})):
            if entry.content == text:
                self.memory.forget(entry.metadata["id"])

    def store_of(self, user: str) -> EcphoraStore:
        return self.stores.setdefault(user, EcphoraStore(self.memory, user, needs_evidence=False))


class TestContract(AdapterContract):
    driver = Driver
    restores_forgotten = True
    separates_users = True


# ---- the interface


def test_the_manager_finds_all_methods(store: EcphoraStore) -> None:
    assert MemoryStore in type(store).__mro__
    assert _has_write_sink(store)
    assert all(_has_method(store, name) for name in ("search", "add", "add_messages"))
    assert not _has_method(store, "get_tools")
    assert (store.name, store.description, store.max_search_results, store.writable, store.extraction) == (
        "notes", None, None, True, None,
    )  # fmt: skip


def test_the_better_entry_comes_first() -> None:
    with Memory(":memory:") as memory:
        store = EcphoraStore(memory)
        add(store, "The user is allergic to peanuts.")
        add(store, "The user prefers dark mode.")
        assert search(store, "Which display theme does the user like?")[0] == "The user prefers dark mode."


def test_an_entry_says_why_and_how_sure(store: EcphoraStore, memory: Memory) -> None:
    id_ = add(store, "The tree is green.", {"source": "walk", "deep": {"a": [1, {"b": None}]}, "n": 1})
    (entry,) = asyncio.run(store.search("tree"))
    assert entry.store_name is None
    assert entry.metadata is not None
    assert json.loads(json.dumps(entry.metadata)) == entry.metadata
    assert entry.metadata["deep"] == {"a": [1, {"b": None}]}
    assert entry.metadata["n"] == 1
    assert entry.metadata["id"] == id_
    assert entry.metadata["evidence"] in {"strong", "weak", "none"}
    assert 0 <= entry.metadata["confidence"] <= 1
    assert entry.metadata["validity"] is None
    assert {"score", "reason", "happened_at", "speaker", "session", "source"} <= entry.metadata.keys()
    assert not [name for name in entry.metadata if name.startswith("record_")]
    memory.forget(id_)
    assert search(store, "tree") == []


def test_the_number_of_results(memory: Memory) -> None:
    store = EcphoraStore(memory, needs_evidence=False, max_search_results=3)
    for number in range(14):
        add(store, f"Tree number {number}.")
    assert len(search(store, "tree")) == 3
    assert len(search(store, "tree", 5)) == 5
    store.max_search_results = None
    assert len(search(store, "tree")) == 10


@pytest.mark.parametrize("limit", [0, -1, True, "3", 1.5])
def test_a_number_of_results_that_is_none_is_refused(memory: Memory, store: EcphoraStore, limit: Any) -> None:
    with pytest.raises(ValueError, match="max_search_results"):
        search(store, "tree", limit)
    with pytest.raises(ValueError, match="max_search_results"):
        EcphoraStore(memory, max_search_results=limit)


@pytest.mark.parametrize("query", ["", "  ", "\u200b", " ... "])
def test_a_query_of_nothing_finds_nothing(store: EcphoraStore, query: str) -> None:
    add(store, "The tree is green.")
    assert search(store, query) == []


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": 3},
        {"description": 3},
        {"writable": "yes"},
        {"needs_evidence": None},
        {"whole_memory": 1},
        {"where": {"a": 1}},
        {"session": ""},
        {"speakers": ["Ana"]},
        {"speakers": {"user": ""}},
    ],
)
def test_options_that_cannot_be_used_are_refused(memory: Memory, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        EcphoraStore(memory, **options)


def test_without_evidence_nothing_comes_back() -> None:
    with Memory(":memory:", embedder=HashingEmbedder(64), evidence_bands=NEVER_SURE) as memory:
        add(EcphoraStore(memory), "The tree is green.")
        assert search(EcphoraStore(memory), "What is the password?") == []
        assert search(EcphoraStore(memory, needs_evidence=False), "What is the password?") == ["The tree is green."]


# ---- add


def test_a_repeated_call_adds_nothing(store: EcphoraStore, memory: Memory) -> None:
    assert add(store, "Lives in Porto.") == add(store, "Lives in Porto.")
    first, _ = add(store, "Lives in Porto."), add(store, "Lives in Berlin.")
    assert add(store, "Lives in Porto.") != first  # true again
    assert memory.count() == 3


@pytest.mark.parametrize("content", ["", "  ", "\u200b", None, 3])
def test_content_without_text_is_refused(store: EcphoraStore, content: Any) -> None:
    with pytest.raises(ValueError, match="content is"):
        add(store, content)


@pytest.mark.parametrize("metadata", [["a"], {"record_kind": {1}}, {"at": datetime(2026, 1, 1, tzinfo=UTC)}, {3: "a"}])
def test_metadata_that_cannot_be_kept_is_refused(store: EcphoraStore, metadata: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # messages differ
        add(store, "The tree is green.", metadata)


def test_metadata_cannot_move_an_entry_to_another_store(memory: Memory, store: EcphoraStore) -> None:
    add(store, "The tree is green.", {"record_kind": "strands:other", "record_key": "x"})
    assert search(store, "tree") == ["The tree is green."]
    assert search(EcphoraStore(memory, "other", needs_evidence=False), "tree") == []


def test_a_long_message_is_a_query(store: EcphoraStore) -> None:
    add(store, "The tree is green.")
    assert search(store, "tree " + "and so on " * 20_000) == ["The tree is green."]


def test_a_long_entry_comes_back_whole_and_once(store: EcphoraStore) -> None:
    text = " ".join(f"Sentence {number} is about the garden." for number in range(300))
    add(store, text)
    assert search(store, "garden") == [text]


def test_a_store_that_only_reads(memory: Memory, store: EcphoraStore) -> None:
    add(store, "The tree is green.")
    reader = EcphoraStore(memory, "notes", writable=False, needs_evidence=False)
    assert search(reader, "tree") == ["The tree is green."]
    for call in (reader.add("x"), reader.add_messages([message("user", "x")])):
        with pytest.raises(ValueError, match="not writable"):
            asyncio.run(call)


# ---- messages


def test_messages_keep_their_speakers_and_session(memory: Memory) -> None:
    store = EcphoraStore(memory, "notes", speakers={"user": "Ana"}, session="friday", needs_evidence=False)
    messages = [
        message("user", "Hello.", "I moved to Porto."),
        {"role": "assistant", "content": [{"toolUse": {"name": "x", "toolUseId": "1", "input": {}}}]},
        message("assistant", "Noted."),
    ]
    ids = asyncio.run(store.add_messages(messages))
    assert [(node.text, node.speaker, node.session) for node in map(memory.get, ids) if node] == [
        ("Hello.\nI moved to Porto.", "Ana", "friday"),
        ("Noted.", "assistant", "friday"),
    ]
    assert {entry.metadata["role"] for entry in asyncio.run(store.search("Porto")) if entry.metadata} == {
        "user", "assistant",
    }  # fmt: skip


def test_replies_can_be_left_out(memory: Memory) -> None:
    store = EcphoraStore(memory, keep_replies=False)
    asyncio.run(store.add_messages([message("user", "Hello."), message("assistant", "Hi.")]))
    assert [node.text for node in memory.find()] == ["Hello."]


def test_a_repeated_batch_adds_nothing(store: EcphoraStore, memory: Memory) -> None:
    batch = [message("user", "ok"), message("assistant", "ok"), message("user", "ok")]
    for numbers in ([0, 1, 2], [0, 1, 2], [1, 2, 3]):
        asyncio.run(store.add_messages(batch, AddMessagesContext(sequence_numbers=numbers)))
    assert memory.count() == 6  # at 1, 2 and 3 others speak than before
    asyncio.run(store.add_messages(batch))
    assert memory.count() == 9
    asyncio.run(EcphoraStore(memory, "notes").add_messages(batch, AddMessagesContext(sequence_numbers=[0, 1, 2])))
    assert memory.count() == 12  # another run
    assert asyncio.run(store.add_messages([])) == []
    with pytest.raises(ValueError, match="sequence_numbers"):
        asyncio.run(store.add_messages(batch, AddMessagesContext(sequence_numbers=[0])))


def test_the_whole_memory_can_be_searched(memory: Memory, store: EcphoraStore) -> None:
    memory.remember("The lake is green.", speaker="Ana", metadata={"topic": "walk"})
    add(store, "The tree is green.")
    assert search(store, "green") == ["The tree is green."]
    everything = EcphoraStore(memory, "all", whole_memory=True, needs_evidence=False)
    assert set(search(everything, "green")) == {"The tree is green.", "The lake is green."}
    assert search(EcphoraStore(memory, "a", whole_memory=True, where=Filter(speakers="Ana")), "green lake") == [
        "The lake is green."
    ]
    narrow = EcphoraStore(memory, "notes", where=Filter(metadata={"topic": "walk"}), needs_evidence=False)
    assert search(narrow, "green") == []


# ---- the manager and an agent


class ScriptedModel(Model):
    """Gives scripted replies, and keeps the messages that it got."""

    def __init__(self, *replies: list[dict[str, Any]]) -> None:
        self.replies, self.seen = list(replies), list[str]()

    def get_config(self) -> Any:
        return {}

    def update_config(self, **model_config: Any) -> None: ...

    async def structured_output(self, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        raise NotImplementedError
        yield

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        self.seen.append(json.dumps(messages))
        blocks = self.replies.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        for block in blocks:
            use = block.get("toolUse")
            start = {"toolUse": {"name": use["name"], "toolUseId": "1"}} if use else {}
            delta = {"toolUse": {"input": json.dumps(use["input"])}} if use else {"text": block["text"]}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if "toolUse" in blocks[-1] else "end_turn"}}


def say(text: str) -> list[dict[str, Any]]:
    return [{"text": text}]


def use(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"toolUse": {"name": name, "input": arguments}}]


def test_an_agent_remembers_from_one_session_to_the_next(tmp_path: Any) -> None:
    with Memory(tmp_path / "agent.db") as memory:
        store = EcphoraStore(memory, "notes", speakers={"user": "Ana"}, extraction=True)
        model = ScriptedModel(use("add_memory", entries=["Ana's cat is called Miro."]), say("Noted."), say("Nice."))
        agent = Agent(model=model, memory_manager=MemoryManager([store], add_tool_config=True), callback_handler=None)
        agent("My cat is called Miro.")
        agent("I moved to Porto last week.")
    with Memory(tmp_path / "agent.db") as memory:
        assert {node.text for node in memory.find()} == {
            "Ana's cat is called Miro.", "My cat is called Miro.", "Noted.", "I moved to Porto last week.", "Nice.",
        }  # fmt: skip
        assert {node.speaker for node in memory.find(where=Filter(speakers="Ana"))} == {"Ana"}
        store = EcphoraStore(memory, "notes")
        model = ScriptedModel(use("search_memory", query="Where does Ana live?"), say("Miro, in Porto."))
        agent = Agent(model=model, memory_manager=MemoryManager([store]), callback_handler=None)
        assert str(agent("What is the name of my cat?")).strip() == "Miro, in Porto."
        assert "<memory>" in model.seen[0]
        assert "Miro" in model.seen[0]
        assert "I moved to Porto last week." in model.seen[1]
        assert "evidence" in model.seen[1]
        assert "<memory>" not in json.dumps(agent.messages)


def test_an_extractor_is_used_if_one_is_given(store: EcphoraStore, memory: Memory) -> None:
    class Extractor:
        async def extract(self, *_: Any) -> list[ExtractionResult]:
            return [ExtractionResult("Prefers dark mode.", {"by": "rule"})]

    store.extraction = ExtractionConfig(trigger=InvocationTrigger(), extractor=Extractor())
    Agent(model=ScriptedModel(say("Fine.")), memory_manager=MemoryManager([store]), callback_handler=None)(
        "Dark, please."
    )
    (node,) = memory.find()
    assert (node.text, node.metadata["by"]) == ("Prefers dark mode.", "rule")


def test_without_evidence_nothing_is_injected() -> None:
    with Memory(":memory:", embedder=HashingEmbedder(64), evidence_bands=NEVER_SURE) as memory:
        store = EcphoraStore(memory)
        add(store, "The tree is green.")
        model = ScriptedModel(say("No idea."))
        Agent(model=model, memory_manager=MemoryManager([store]), callback_handler=None)("What is the password?")
        assert "<memory>" not in model.seen[0]


def test_no_model_is_called_to_extract() -> None:
    with Memory(":memory:", embedder=HashingEmbedder(64)) as memory:
        manager = MemoryManager([EcphoraStore(memory, extraction=True)])
        (binding,) = manager._extraction_stores
        assert not isinstance(binding.config.extractor, ModelExtractor)
