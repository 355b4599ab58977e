"""The notebook store of Pydantic AI's harness, the toolset, and runs of agents."""

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("pydantic_ai_harness")

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai_harness.memory import Memory as Notebook
from pydantic_ai_harness.memory import (
    MemoryConflictError,
    MemoryMutation,
    MemoryOperation,
    MemoryOperationConflictError,
    MemoryStore,
    MetadataMemoryStore,
    SearchableMemoryStore,
)

from ecphora import HashingEmbedder, Memory
from ecphora.adapters import pydantic_ai as adapter
from ecphora.adapters.pydantic_ai import EcphoraMemoryStore, memory_toolset
from ecphora.errors import InvalidInput, InvalidText
from ecphora.model.ids import content_id
from ecphora.testing import AdapterContract, AdapterDriver

T = TypeVar("T")
WRITE = MemoryOperation(id="run-1:call-1", fingerprint="write one")
DELETE = MemoryOperation(id="run-1:call-2", fingerprint="delete one")


def run(call: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(call)


def write(
    store: EcphoraMemoryStore,
    path: str,
    content: str,
    version: str | None = None,
    operation: MemoryOperation | None = None,
) -> MemoryMutation:
    return run(store.write(path, content, expected_version=version, operation=operation))


def delete(
    store: EcphoraMemoryStore, path: str, version: str | None, operation: MemoryOperation | None = None
) -> MemoryMutation:
    return run(store.delete(path, expected_version=version, operation=operation))


def content(store: EcphoraMemoryStore, path: str) -> str | None:
    file = run(store.read(path, max_chars=10_000_000))
    return None if file is None else file.content


def search(store: EcphoraMemoryStore, query: str, prefix: str = "", **bounds: int) -> Any:
    given = {"limit": 10, "max_files": 100, "max_chars": 1_000, "max_file_chars": 10_000, **bounds}
    return run(store.search(prefix, query, **given))


def found(store: EcphoraMemoryStore, query: str, prefix: str = "", **bounds: int) -> list[str]:
    return [match.path for match in search(store, query, prefix, **bounds).matches]


@pytest.fixture
def store(memory: Memory) -> EcphoraMemoryStore:
    return EcphoraMemoryStore(memory)


class Driver(AdapterDriver):
    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.store = EcphoraMemoryStore(memory)

    def keep(self, text: str, *, user: str, session: str) -> None:
        path = f"{user}/{content_id(session, repr(text)).replace(':', '-')}.md"
        with suppress(MemoryConflictError):  # the note is there
            write(self.store, path, text)

    def find(self, question: str, *, user: str) -> list[str]:
        return [str(content(self.store, path)) for path in found(self.store, question, f"{user}/")]

    def forget(self, text: str, *, user: str) -> None:
        for path in run(self.store.list_paths(f"{user}/", limit=100)):
            file = run(self.store.read(path, max_chars=1_000))
            if file is not None and file.content == text:
                delete(self.store, path, file.version)


class TestContract(AdapterContract):
    driver = Driver
    restores_forgotten = True
    separates_users = True


# ---- files


def test_it_has_the_protocols_of_the_host(store: EcphoraMemoryStore) -> None:
    for protocol in (MemoryStore, MetadataMemoryStore, SearchableMemoryStore):
        assert isinstance(store, protocol)


def test_compare_and_set(store: EcphoraMemoryStore) -> None:
    with pytest.raises(MemoryConflictError, match=r"'a\.md' changed before it could be written"):
        write(store, "a.md", "one", "a version")
    first = write(store, "a.md", "one")
    assert (first.replayed, first.existed) == (False, False)
    for stale in (None, "a version"):
        with pytest.raises(MemoryConflictError):
            write(store, "a.md", "two", stale)
        with pytest.raises(MemoryConflictError, match="deleted"):
            delete(store, "a.md", stale)
    second = write(store, "a.md", "two", first.version)
    assert second.existed
    assert content(store, "a.md") == "two"
    assert delete(store, "a.md", second.version) == MemoryMutation(version=None, replayed=False, existed=True)
    assert content(store, "a.md") is None
    assert not delete(store, "a.md", None).existed
    third = write(store, "a.md", "two")
    assert not third.existed
    assert len({first.version, second.version, third.version}) == 3


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "(empty)", "日本語 😊\r\ncafe\u0301\x00", "x" * 50_000])
def test_contents_are_exact(store: EcphoraMemoryStore, text: str) -> None:
    version = write(store, "a.md", text).version
    assert content(store, "a.md") == text
    write(store, "a.md", text, version)
    assert content(store, "a.md") == text


def test_a_write_that_fails_changes_nothing(store: EcphoraMemoryStore) -> None:
    version = write(store, "a.md", "one", operation=WRITE).version
    for text in ("\ud800", "x" * 1_000_001):
        with pytest.raises(InvalidText):
            write(store, "a.md", text, version, DELETE)
    assert content(store, "a.md") == "one"
    assert run(store.get_operation(DELETE)) is None
    assert write(store, "a.md", "two", version).existed


def test_reading_is_bounded(store: EcphoraMemoryStore) -> None:
    write(store, "a.md", "0123456789")
    file = run(store.read("a.md", max_chars=4))
    assert file is not None
    assert (file.content, file.truncated) == ("0123", True)
    file = run(store.read("a.md", max_chars=10))
    assert file is not None
    assert (file.content, file.truncated) == ("0123456789", False)


def test_paths_are_listed_in_their_order(store: EcphoraMemoryStore) -> None:
    for path in ("b/z.md", "b/a.md", "a.md", "b.md", "ba.md", "b/c/d.md"):
        write(store, path, "x")
    assert run(store.list_paths(limit=100)) == ["a.md", "b.md", "b/a.md", "b/c/d.md", "b/z.md", "ba.md"]
    assert run(store.list_paths("b/", limit=2)) == ["b/a.md", "b/c/d.md"]
    assert run(store.list_paths("b/", limit=100)) == ["b/a.md", "b/c/d.md", "b/z.md"]
    assert run(store.list_paths("b", limit=100)) == ["b.md", "b/a.md", "b/c/d.md", "b/z.md", "ba.md"]
    assert run(store.list_paths("c", limit=100)) == []


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a/", "a//b", "..", "../a", "a/../b", "a/./b", "a..b", "a b", "é", "a\\b", "a\x00", "x" * 201, "%2e/b"],
)
def test_paths_that_are_refused(memory: Memory, store: EcphoraMemoryStore, path: str) -> None:
    with pytest.raises(ValueError, match="invalid memory path"):
        content(store, path)
    with pytest.raises(ValueError, match="invalid memory path"):
        write(store, path, "x")
    with pytest.raises(ValueError, match="invalid memory path"):
        delete(store, path, None)
    if path not in {"", "a/"}:  # prefixes that may be listed
        with pytest.raises(ValueError, match="invalid memory path"):
            run(store.list_paths(path, limit=1))
    assert memory.count() == 0


def test_bounds_that_are_refused(store: EcphoraMemoryStore) -> None:
    with pytest.raises(ValueError, match="max_chars must be positive"):
        run(store.read("a.md", max_chars=0))
    with pytest.raises(ValueError, match="limit must be positive"):
        run(store.list_paths(limit=0))


def test_what_a_write_says_of_itself(store: EcphoraMemoryStore) -> None:
    async def metadata_after(metadata: Any, version: str | None) -> Any:
        done = await store.write_with_metadata("a.md", "x", expected_version=version, metadata=metadata)
        file = await store.read("a.md", max_chars=10)
        assert file is not None
        return file.metadata, done.version

    found, version = run(metadata_after({"by": "Ana", "ü": "☃"}, None))
    assert found == {"by": "Ana", "ü": "☃"}
    found, version = run(metadata_after({}, version))
    assert found is None
    for wrong, error in (({"a": 1}, TypeError), ({"a": "\x00"}, ValueError), ({"a": "x" * 4_096}, ValueError)):
        with pytest.raises(error):
            run(metadata_after(wrong, version))
    _, version = run(metadata_after({"by": "Bo"}, version))
    write(store, "a.md", "y", version)
    file = run(store.read("a.md", max_chars=10))
    assert file is not None
    assert file.metadata is None


# ---- receipts


def test_an_operation_is_done_once(store: EcphoraMemoryStore) -> None:
    assert run(store.get_operation(WRITE)) is None
    first = write(store, "a.md", "one", operation=WRITE)
    again = MemoryMutation(version=first.version, replayed=True, existed=False)
    assert write(store, "a.md", "one", operation=WRITE) == run(store.get_operation(WRITE)) == again
    file = run(store.read("a.md", max_chars=10))
    assert file is not None
    assert file.operation_id == WRITE.id
    wrong = MemoryOperation(id=WRITE.id, fingerprint="another")
    with pytest.raises(MemoryOperationConflictError):
        run(store.get_operation(wrong))
    with pytest.raises(MemoryOperationConflictError):
        write(store, "a.md", "x", first.version, wrong)
    with pytest.raises(MemoryOperationConflictError):
        delete(store, "a.md", first.version, wrong)
    assert content(store, "a.md") == "one"
    second = MemoryOperation(id="run-1:call-3", fingerprint="write two")
    write(store, "a.md", "two", first.version, second)
    replay = run(store.get_operation(second))
    assert replay is not None
    assert replay.existed


def test_receipts_outlive_the_file_and_the_process(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, embedder=HashingEmbedder(64)) as memory:
        store = EcphoraMemoryStore(memory)
        first = write(store, "a.md", "one", operation=WRITE)
        second = write(store, "a.md", "two", first.version)
        delete(store, "a.md", second.version, DELETE)
    with Memory(path, embedder=HashingEmbedder(64)) as memory:
        store = EcphoraMemoryStore(memory)
        assert write(store, "a.md", "one", operation=WRITE) == MemoryMutation(first.version, True, False)
        assert delete(store, "a.md", second.version, DELETE) == MemoryMutation(None, True, True)
        assert run(store.list_paths(limit=10)) == []
        write(store, "a.md", "three")
        assert delete(store, "a.md", second.version, DELETE).replayed
        assert content(store, "a.md") == "three"


def test_a_deletion_that_broke_off_is_not_taken_for_done(
    store: EcphoraMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(store, "a.md", "one", operation=WRITE)
    with monkeypatch.context() as patch:
        patch.setattr(store._files, "erase", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            delete(store, "a.md", first.version, DELETE)
    assert run(store.get_operation(DELETE)) is None
    second = write(store, "a.md", "two", first.version)
    assert run(store.get_operation(DELETE)) is None
    with pytest.raises(MemoryConflictError):
        delete(store, "a.md", first.version, DELETE)
    assert not delete(store, "a.md", second.version, DELETE).replayed
    assert run(store.get_operation(DELETE)) is not None
    assert run(store.get_operation(WRITE)) is not None


def test_the_latest_receipts_are_kept(store: EcphoraMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MAX_RECEIPTS", 3)
    operations = [MemoryOperation(id=f"{number}", fingerprint="") for number in range(6)]
    version: str | None = None
    for operation in operations:
        version = write(store, "a.md", operation.id, version, operation).version
    kept = [operation.id for operation in operations if run(store.get_operation(operation))]
    assert kept == ["2", "3", "4", "5"]  # three of the log, and the file's own


def test_receipts_are_no_memories(memory: Memory, store: EcphoraMemoryStore) -> None:
    first = write(store, "a.md", "Ana lives in Porto.", operation=WRITE)
    write(store, "b.md", "Nothing here.")
    write(store, "a.md", "Ana lives in Porto now.", first.version)
    assert memory.recall("What is empty?")[-1].text == "(empty)"  # archived, so behind all others
    assert set(found(store, "empty operation receipt write one")) <= {"a.md", "b.md"}


# ---- writers at a time


def test_of_many_writers_one_wins(memory: Memory) -> None:
    stores = [EcphoraMemoryStore(memory) for _ in range(2)]

    async def attempt(number: int) -> bool:
        try:
            await stores[number % 2].write("a.md", f"{number}", expected_version=None)
        except MemoryConflictError:
            return False
        return True

    async def race() -> list[bool]:
        return await asyncio.gather(*map(attempt, range(10)))

    assert run(race()).count(True) == 1


APPEND = """
import asyncio, sys
from pydantic_ai_harness.memory import MemoryConflictError
from ecphora import HashingEmbedder, Memory
from ecphora.adapters.pydantic_ai import EcphoraMemoryStore

async def append(store, line):
    while True:
        file = await store.read("a.md", max_chars=10_000)
        text, version = (file.content, file.version) if file else ("", None)
        try:
            return await store.write("a.md", f"{text}{line}\\n", expected_version=version)
        except MemoryConflictError:
            pass

async def append_all(store, name):
    await asyncio.gather(*(append(store, f"{name}{number}") for number in range(30)))

with Memory(sys.argv[1], embedder=HashingEmbedder(64)) as memory:
    print("ready", flush=True)
    input()
    asyncio.run(append_all(EcphoraMemoryStore(memory), sys.argv[2]))
"""


def test_two_processes_that_append_with_retries_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    processes: list[Any] = [subprocess.Popen([sys.executable, "-c", APPEND, path, name], **pipes) for name in "ab"]
    for process in processes:
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0]
    with Memory(path, embedder=HashingEmbedder(64)) as memory:
        lines = str(content(EcphoraMemoryStore(memory), "a.md")).split()
    assert sorted(lines) == sorted(f"{name}{number}" for name in ("a", "b") for number in range(30))


def test_a_deletion_that_lost_to_another_process_is_not_taken_for_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: Any = {"embedder": HashingEmbedder(64)}
    with Memory(tmp_path / "a.db", **options) as memory, Memory(tmp_path / "a.db", **options) as other:
        store = EcphoraMemoryStore(memory)
        first, erase = write(store, "a.md", "one").version, store._files.erase

        def late(condition: Any) -> int:
            write(EcphoraMemoryStore(other), "a.md", "two", first)
            return erase(condition)

        monkeypatch.setattr(store._files, "erase", late)
        with pytest.raises(MemoryConflictError):
            delete(store, "a.md", first, DELETE)
        assert run(store.get_operation(DELETE)) is None
        assert content(store, "a.md") == "two"


# ---- search


def test_a_search_finds_by_meaning_and_says_nothing_where_nothing_answers(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        store = EcphoraMemoryStore(memory)
        for path, text in (
            ("ana/food.md", "Ana is allergic to peanuts."),
            ("ana/home.md", "She moved to Porto in May."),
            ("ana/old/home.md", "She lived in Ghent, where she had a bakery."),
            ("bo/food.md", "Bo eats no meat."),
        ):
            write(store, path, text)
        assert found(store, "Which city does she live in?", "ana/")[0] == "ana/home.md"
        assert found(store, "allergies", "ana/")[0] == "ana/food.md"
        assert found(store, "What is the wifi password?", "ana/") == []
        assert set(found(store, "food", "")) == set()  # no file directly below the root
        assert memory.recall("What is Ana allergic to?")[0].text == "Ana is allergic to peanuts."


def test_a_word_of_a_file_or_of_its_name_finds_it(store: EcphoraMemoryStore) -> None:
    write(store, "n/peanuts.md", "no such word")
    write(store, "n/other.md", "The wine and the PEANUTS, peanuts.")
    write(store, "n/third.md", "Nothing of the kind.")
    assert set(found(store, "peanuts?", "n/")) == {"n/peanuts.md", "n/other.md"}
    scores = [match.score for match in search(store, "peanuts?", "n/").matches]
    assert scores == [1, 1 / 2]


def test_of_stop_words_alone_each_counts(store: EcphoraMemoryStore) -> None:
    write(store, "n/a.md", f"{'x ' * 300}the end{' y' * 300}")
    (match,) = search(store, "the", "n/", max_chars=60).matches
    assert "the end" in match.snippet


def test_the_bounds_of_a_search(store: EcphoraMemoryStore) -> None:
    for name in "abcd":
        write(store, f"n/{name}.md", f"{'x ' * 40}target {'y ' * 40}")
    result = search(store, "target", "n/", max_files=2)
    assert (result.scanned, result.truncated, {match.path for match in result.matches}) == (
        2, True, {"n/a.md", "n/b.md"},
    )  # fmt: skip
    result = search(store, "target", "n/", limit=3)
    assert (len(result.matches), result.truncated) == (3, True)
    result = search(store, "target", "n/", max_chars=60)
    assert sum(len(match.path.removeprefix("n/")) + len(match.snippet) for match in result.matches) <= 60
    first = result.matches[0].snippet
    assert first.startswith("...")
    assert first.endswith("...")
    assert "target" in first
    assert found(store, "target", "n/", max_file_chars=50) == []
    for bounds in ({"limit": 0}, {"max_files": 0}, {"max_chars": 0}, {"max_file_chars": 0}):
        assert search(store, "target", "n/", **bounds).scanned == 0
    assert search(store, " ", "n/").scanned == 0
    with pytest.raises(ValueError, match="invalid memory path"):
        search(store, "target", "../")


# ---- agents


class Script:
    """A model that gives the parts that it was given, one a request, and keeps what it was asked."""

    def __init__(self, *parts: Any) -> None:
        self._parts = iter(parts)
        self.requests: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        return ModelResponse(parts=[next(self._parts)])

    def told(self, number: int) -> str:
        return str([getattr(part, "content", "") for part in self.requests[number][-1].parts])


def test_an_agent_remembers_across_sessions(tmp_path: Path) -> None:
    script = Script(
        ToolCallPart("write_memory", {"file": "MEMORY.md", "content": "- Ana prefers short answers."}),
        ToolCallPart("remember", {"texts": ["Ana is allergic to peanuts."], "speaker": "Ana"}),
        TextPart("Noted."),
        ToolCallPart("recall", {"question": "What is Ana allergic to?"}),
        ToolCallPart("search_memory", {"query": "short answers"}),
        TextPart("Peanuts."),
    )

    def say(text: str) -> str:
        with Memory(tmp_path / "agent.db") as memory:
            notebook = Notebook(EcphoraMemoryStore(memory), namespace="ana", write_metadata={"by": "agent"})
            agent = Agent(FunctionModel(script), capabilities=[notebook], toolsets=[memory_toolset(memory)])
            return agent.run_sync(text).output

    assert say("Keep it short. And I am allergic to peanuts.") == "Noted."
    assert say("What must I not eat?") == "Peanuts."
    assert "created" in script.told(1)
    assert "Remembered" in script.told(2)
    assert "Ana prefers short answers." in script.told(3)
    assert "allergic to peanuts" in script.told(4)
    assert "MEMORY.md" in script.told(5)


def test_the_tools_of_a_memory(memory: Memory) -> None:
    script = Script(
        ToolCallPart("remember", {"texts": ["Ana has a cat."]}),
        ToolCallPart("recall", {"question": ""}),
        ToolCallPart("recall", {"question": "Ana's cat"}),
        ToolCallPart("forget", {"speaker": "Ana"}),
        TextPart("Done."),
    )
    agent = Agent(FunctionModel(script), toolsets=[memory_toolset(memory, session="chat-1")], retries=2)
    assert agent.run_sync("Remember my cat.").output == "Done."
    assert [(node.text, node.session) for node in memory.find()] == [("Ana has a cat.", "chat-1")]
    assert "Error: the text is empty" in script.told(2)
    assert [getattr(part, "outcome", "") for part in script.requests[2][-1].parts] == ["retried"]
    assert "Ana has a cat." in script.told(3)
    assert "Nothing" in script.told(4)


def test_forgetting_erases(memory: Memory) -> None:
    memory.remember("Ana has a cat.", id="cat")
    agent = Agent(
        FunctionModel(Script(ToolCallPart("forget", {"ids": ["cat"]}), TextPart("Done."))),
        toolsets=[memory_toolset(memory)],
    )
    agent.run_sync("Forget the cat.")
    assert memory.count() == 0


def test_a_model_that_calls_every_tool(memory: Memory) -> None:
    model = TestModel(call_tools=["recall", "find"])
    agent = Agent(model, toolsets=[memory_toolset(memory, names=["recall", "find"], id="reader")])
    assert "Nothing found" in agent.run_sync("Hello").output
    assert model.last_model_request_parameters is not None
    tools = {tool.name: tool for tool in model.last_model_request_parameters.function_tools}
    assert set(tools) == {"recall", "find"}
    assert tools["recall"].parameters_json_schema["required"] == ["question"]
    assert not tools["recall"].sequential


def test_the_toolset_checks_its_options(memory: Memory) -> None:
    wrong: list[dict[str, Any]] = [{"names": ["fly"]}, {"budget": 1}, {"session": ""}]
    for options in wrong:
        with pytest.raises(InvalidInput):
            memory_toolset(memory, **options)
