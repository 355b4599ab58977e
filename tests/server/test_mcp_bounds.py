"""How much an MCP server answers at once, and what a client hears of a long call and finds after a cut one."""

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from ecphora import Episode, HashingEmbedder, Memory
from ecphora.model.types import Vectors
from ecphora.remote.mcp import memory_features
from ecphora.remote.mcp import server as mcp_server
from ecphora.tools import function_tools

SECONDS = 30
"""After so many seconds a test that waits has failed."""


class GatedEmbedder(HashingEmbedder):
    """Embeds texts once its gate is open, and breaks at a text that is told to."""

    def __init__(self) -> None:
        super().__init__(64)
        self.gate, self.broken_word = threading.Event(), ""
        self.gate.set()

    def embed(self, texts: Any, *, is_query: bool = False) -> Vectors:
        assert self.gate.wait(SECONDS)
        if self.broken_word and any(self.broken_word in text for text in texts):
            raise OSError("the process is at its end")
        return super().embed(texts, is_query=is_query)


@pytest.fixture
def embedder() -> GatedEmbedder:
    return GatedEmbedder()


@pytest.fixture
def memory(tmp_path: Path, embedder: GatedEmbedder) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=embedder, update_scorer=None) as opened:
        yield opened


def talk(memory: Memory, conversation: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with Client(mcp_server.serve_memory(memory)) as client:
            return await conversation(client)

    return asyncio.run(run())


def error_of(memory: Memory, call: Callable[[Client], Awaitable[Any]]) -> str:
    """The message of the error that a call is answered with."""

    async def converse(client: Client) -> str:
        with pytest.raises(MCPError) as raised:
            await call(client)
        return str(raised.value)

    return str(talk(memory, converse))


def text_of(result: Any) -> str:
    return str(result.content[0].text)


# ---- resources


@pytest.mark.medium
@pytest.mark.parametrize("word", ["rain ", "<b>", "雨", "\U0001f327"])
def test_long_memory_is_read_in_bounded_parts_that_name_the_next_one(
    word: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_features, "MAX_RESOURCE_BYTES", 2_000)
    whole = "".join(f"{number} {word}" for number in range(500))
    memory.remember(Episode(whole, id="long?from=1"))

    async def read_all(client: Client) -> list[str]:
        parts, uri = [], "ecphora://memory/long%3Ffrom%3D1"
        while uri:
            parts.append((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]
            uri = "".join(re.findall(r" More: read (\S+)$", parts[-1]))
        return parts

    parts = talk(memory, read_all)
    assert len(parts) > 1
    assert max(len(part.encode()) for part in parts) < 2_000 + 200
    texts = [part.partition("\n")[2].rpartition("\n</memory>")[0] for part in parts]
    assert "".join(texts).replace("&lt;", "<") == whole


@pytest.mark.parametrize("start", ["9", "x", "-1", "1.5", "²"])
def test_part_that_does_not_exist_is_no_resource(start: str, memory: Memory) -> None:
    memory.remember(Episode("Ana.", id="ana"))
    uri = f"ecphora://memory/ana?from={start}"
    assert error_of(memory, lambda client: client.read_resource(uri)) == "there is no such resource"


# ---- long calls


@pytest.mark.medium
def test_client_hears_of_a_call_that_goes_on(
    memory: Memory, embedder: GatedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_server, "PROGRESS_SECONDS", 0.001)
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        assert str(message).startswith("working for ")
        heard.append(progress)
        if len(heard) == 3:
            embedder.gate.set()  # the call ends after three reports, and not before

    async def converse(client: Client) -> str:
        embedder.gate.clear()
        return text_of(await client.call_tool("remember", {"texts": ["Ana moved."]}, progress_callback=hear))

    assert talk(memory, converse).startswith("Remembered: ")
    assert heard == sorted(set(heard))
    assert len(heard) >= 3


def test_error_of_a_call_is_told_as_ever(memory: Memory) -> None:
    assert error_of(memory, lambda client: client.call_tool("sing", {})) == "there is no tool 'sing'"


@pytest.mark.medium
def test_call_that_is_cut_off_has_stored_whole_parts_and_a_repeat_the_rest(
    memory: Memory, embedder: GatedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(function_tools, "PART_CHARS", 600)
    texts = [f"Part {number}. " + f"Fact{number} is so. " * 20 for number in range(6)]
    embedder.broken_word = "Fact4 "
    with pytest.raises(OSError, match="at its end"):
        memory.tools().call("remember", {"texts": texts})
    assert sorted(node.text for node in memory.find()) == texts[:4]
    embedder.broken_word = ""
    reply = memory.tools().call("remember", {"texts": texts})
    assert [line.partition(":")[0] for line in reply.splitlines()] == ["Remembered", "Stored already"]
    assert sorted(node.text for node in memory.find()) == texts


def test_remember_of_many_texts_checks_all_before_the_first_is_written(memory: Memory) -> None:
    texts = ["x" * function_tools.PART_CHARS, "y" * function_tools.PART_CHARS, " "]
    assert memory.tools().call("remember", {"texts": texts}).startswith("Error: the text is empty")
    assert len(memory) == 0
