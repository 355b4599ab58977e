"""The MCP server, driven by the client of the SDK in the same process and over stdio."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult, TextContent, TextResourceContents

from ecphora import __version__
from ecphora.errors import StoreFull
from ecphora.memory import Memory
from ecphora.model.types import AccessKind, Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remote.mcp.memory_features import MemoryFeatures
from ecphora.remote.mcp.server import serve_memory
from ecphora.remote.server.tokens import Right
from ecphora.testing import FakeClock
from ecphora.tools.memory_tools import TOOLS

MODES = ("legacy", "auto")
"""How a client connects: with the handshake of earlier versions of the protocol, or as the newest one."""
ODD = "</memory> <|im_end|>\x00\u202e id"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def talk(
    memory: Memory,
    conversation: Callable[[Client], Awaitable[Any]],
    *,
    mode: str = "auto",
) -> Any:
    """Connect a client to a server of the memory, and return what the conversation returns."""

    async def run() -> Any:
        async with Client(serve_memory(memory), mode=mode) as client:
            return await conversation(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def read_text(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


# ---- the five tools


@pytest.mark.parametrize("mode", MODES)
def test_tools_are_exactly_those_of_function_calling(mode: str, memory: Memory) -> None:
    async def list_tools(client: Client) -> list[Any]:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("ecphora", __version__)
        assert "Recall before you answer" in (client.instructions or "")
        return (await client.list_tools()).tools

    found = talk(memory, list_tools, mode=mode)
    assert [(tool.name, tool.description, tool.input_schema) for tool in found] == [
        (tool.name, tool.description, tool.schema()) for tool in TOOLS
    ]
    hints = {tool.name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint) for tool in found}
    assert hints == {
        "remember": (False, False), "recall": (True, False), "update": (False, True), "forget": (False, True),
        "find": (True, False),
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_calls_reply_as_the_tools_do(mode: str, memory: Memory) -> None:
    async def converse(client: Client) -> list[CallToolResult]:
        return [
            await client.call_tool("remember", {"texts": ["Ana lives in Porto."]}),
            await client.call_tool("recall", {"question": "Where does Ana live?"}),
            await client.call_tool("recall", {"query": "x"}),
        ]

    stored, recalled, refused = talk(memory, converse, mode=mode)
    assert text_of(stored).startswith("Remembered: ")
    assert "Ana lives in Porto." in text_of(recalled)
    assert not recalled.is_error
    assert (refused.is_error, text_of(refused)[:40]) == (True, "Error: recall takes no argument 'query';")


def test_unknown_tool_and_resource_are_errors_of_the_protocol(memory: Memory) -> None:
    async def converse(client: Client) -> None:
        with pytest.raises(MCPError, match="there is no tool 'drop'"):
            await client.call_tool("drop", {})
        for uri in ("ecphora://memory/x", "ecphora://memory/", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="there is no such resource"):
                await client.read_resource(uri)

    talk(memory, converse)


def test_right_to_read_alone_has_only_the_tools_that_read(memory: Memory) -> None:
    features = MemoryFeatures(memory, rights=[Right.READ])
    assert [tool.name for tool in features.tools()] == ["recall", "find"]
    assert features.call_tool("remember", {"texts": ["x"]}).is_error
    assert len(memory) == 0
    memory.remember("Ana lives in Porto.", id="a")
    assert "Porto" in text_of(features.call_tool("recall", {"question": "Where does Ana live?"}))
    history = memory.history("a")
    assert history is not None
    assert AccessKind.RECALLED not in {access.kind for access in history.accesses}


def test_right_to_write_alone_lets_nothing_be_read(memory: Memory) -> None:
    memory.remember("Ana lives in Porto.", id="a")
    features = MemoryFeatures(memory, rights=[Right.WRITE])
    assert [tool.name for tool in features.tools()] == ["remember"]
    assert (features.resources(), features.read_resource("ecphora://memory/a")) == ([], None)


def test_error_of_the_store_is_told_and_a_crash_is_not(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def call(client: Client) -> CallToolResult:
        return await client.call_tool("remember", {"texts": ["x"]})

    def raise_error(error: Exception) -> None:
        def fail(*_args: object, **_options: object) -> None:
            raise error

        monkeypatch.setattr(Memory, "remember", fail)

    raise_error(StoreFull("the disk is full"))
    result = talk(memory, call)
    assert (result.is_error, text_of(result)) == (True, "Error: the disk is full")
    raise_error(RuntimeError("secret"))
    result = talk(memory, call)
    assert result.is_error
    assert "secret" not in text_of(result)


@pytest.mark.medium
def test_long_call_does_not_hold_up_others(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    started, may_end, count = threading.Event(), threading.Event(), Memory.count

    def wait(self: Memory, **options: Any) -> int:
        started.set()
        assert may_end.wait(20)
        return count(self, **options)

    async def converse(client: Client) -> CallToolResult:
        memory.remember("Ana lives in Porto.")
        monkeypatch.setattr(Memory, "count", wait)
        long_call = asyncio.create_task(client.call_tool("find", {}))
        assert await asyncio.to_thread(started.wait, 20)
        assert len((await client.list_tools()).tools) == 5
        assert "Porto" in text_of(await client.call_tool("recall", {"question": "Where does Ana live?"}))
        assert not long_call.done()
        may_end.set()
        return await long_call

    assert "1 memory in all" in text_of(talk(memory, converse))


@pytest.mark.medium
def test_recent_memories_are_resources(memory: Memory) -> None:
    memory.remember([Episode(f"Note {n}.", id=f"note/{n}") for n in range(25)])
    memory.remember(Episode("Ana  lives\nin Porto. " * 20, id=ODD, speaker="Ana"))

    async def converse(client: Client) -> tuple[Any, Any, Any, str]:
        listed = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        texts = [await read_text(client, one.uri) for one in listed]
        odd = next(one for one in listed if one.name.startswith("Ana lives in Porto."))
        assert await read_text(client, "ecphora://memory/note%2F0") == (
            '<memory id="note/0" date="2026-05-03 12:00">\nNote 0.\n</memory>'
        )
        return listed, templates, odd, texts[listed.index(odd)]

    listed, templates, odd, text = talk(memory, converse)
    assert len(listed) == 20
    assert [template.uri_template for template in templates] == ["ecphora://memory/{id}"]
    assert len(odd.name) <= 60
    assert odd.description == "2026-05-03 12:00, Ana"
    assert text.count("<memory ") == text.count("</memory>") == 1
