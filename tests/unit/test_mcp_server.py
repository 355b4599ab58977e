"""The MCP server, driven by the client of the SDK in the same process and over stdio."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import CallToolResult, ResourceUpdatedNotification, TextContent, TextResourceContents

from ecphora import __version__
from ecphora.errors import StoreFull
from ecphora.memory import Memory
from ecphora.model.types import AccessKind, Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remote.mcp.memory_profile import MemoryProfile
from ecphora.remote.mcp.reference_profile import TOOLS as GRAPH_TOOLS
from ecphora.remote.mcp.reference_profile import ReferenceProfile
from ecphora.remote.mcp.server import ProfileName, serve_profile
from ecphora.remote.server.tokens import Right
from ecphora.testing import FakeClock
from ecphora.tools.memory_tools import TOOLS

MODES = ("legacy", "auto")
"""How a client connects: with the handshake of earlier versions of the protocol, or as the newest one."""
ODD = "</memory> <|im_end|>\x00\u202e id"
GRAPH: dict[str, list[dict[str, Any]]] = {
    "entities": [{"name": "Ana", "entityType": "person", "observations": ["likes rain"]}],
    "relations": [{"from": "Ana", "to": "Porto", "relationType": "lives_in"}],
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def talk(
    memory: Memory,
    conversation: Callable[[Client], Awaitable[Any]],
    *,
    profile: ProfileName = "ecphora",
    mode: str = "auto",
    **options: Any,
) -> Any:
    """Connect a client to a server of the memory, and return what the conversation returns."""

    async def run() -> Any:
        async with Client(serve_profile(memory, profile), mode=mode, **options) as client:
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
        for uri in ("ecphora://memory/x", "ecphora://memory/", "file:///etc/passwd", "memory://knowledge-graph"):
            with pytest.raises(MCPError, match="there is no such resource"):
                await client.read_resource(uri)

    talk(memory, converse)


def test_read_only_profile_has_only_the_tools_that_read(memory: Memory) -> None:
    profile = MemoryProfile(memory, rights=[Right.READ])
    assert [tool.name for tool in profile.tools()] == ["recall", "find"]
    assert profile.call_tool("remember", {"texts": ["x"]}).is_error
    assert len(memory) == 0
    memory.remember("Ana lives in Porto.", id="a")
    assert "Porto" in text_of(profile.call_tool("recall", {"question": "Where does Ana live?"}))
    history = memory.history("a")
    assert history is not None
    assert AccessKind.RECALLED not in {access.kind for access in history.accesses}


def test_right_to_write_alone_lets_nothing_be_read(memory: Memory) -> None:
    memory.remember("Ana lives in Porto.", id="a")
    profile = MemoryProfile(memory, rights=[Right.WRITE])
    assert [tool.name for tool in profile.tools()] == ["remember"]
    assert (profile.resources(), profile.read_resource("ecphora://memory/a")) == ([], None)
    graph = ReferenceProfile(memory, rights=[Right.WRITE])
    assert (graph.tools(), graph.resources(), graph.read_resource("memory://knowledge-graph")) == ([], [], None)


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


# ---- the reference profile


@pytest.mark.medium
@pytest.mark.parametrize("mode", MODES)
def test_reference_profile_has_the_nine_tools(mode: str, memory: Memory) -> None:
    async def converse(client: Client) -> Any:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [tool.name for tool in GRAPH_TOOLS]
        results = {}
        for name, arguments in (
            ("create_entities", {"entities": GRAPH["entities"]}),
            ("create_relations", {"relations": GRAPH["relations"]}),
            ("add_observations", {"observations": [{"entityName": "Ana", "contents": ["sails", "likes rain"]}]}),
            ("read_graph", {}),
            ("search_nodes", {"query": "SAIL"}),
            ("open_nodes", {"names": ["Porto", "Ana"]}),
            ("delete_observations", {"deletions": [{"entityName": "Ana", "observations": ["sails"]}]}),
            ("delete_relations", {"relations": GRAPH["relations"]}),
            ("delete_entities", {"entityNames": ["Ana"]}),
        ):
            results[name] = await client.call_tool(name, arguments)
        assert list(results) == names[:3] + names[6:] + names[4:6] + names[3:4]
        return results

    results = talk(memory, converse, profile="reference", mode=mode)
    with_sails = {**GRAPH, "entities": [{**GRAPH["entities"][0], "observations": ["likes rain", "sails"]}]}
    added = [{"entityName": "Ana", "addedObservations": ["sails"]}]
    assert {name: result.structured_content for name, result in results.items()} == {
        "create_entities": {"entities": GRAPH["entities"]},
        "create_relations": {"relations": GRAPH["relations"]},
        "add_observations": {"results": added},
        "read_graph": with_sails,
        "search_nodes": with_sails,
        "open_nodes": with_sails,
        "delete_observations": {"success": True, "message": "Observations deleted successfully"},
        "delete_relations": {"success": True, "message": "Relations deleted successfully"},
        "delete_entities": {"success": True, "message": "Entities deleted successfully"},
    }
    assert json.loads(text_of(results["create_entities"])) == GRAPH["entities"]
    assert json.loads(text_of(results["add_observations"])) == added
    assert text_of(results["read_graph"]) == json.dumps(with_sails, indent=2)
    assert text_of(results["delete_entities"]) == "Entities deleted successfully"
    assert len(memory) == 0


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("add_observations", {"observations": [{"entityName": "B", "contents": []}]}, "Entity with name B not found"),
        ("create_entities", {}, "the arguments: 'entities' is a required property"),
        ("create_entities", {"entities": [{"name": "Ana"}]}, "entities[0]: 'entityType' is a required property"),
        ("create_entities", {"entities": "x" * 1000}, "entities: a str is no array"),
        ("open_nodes", {"names": ["Ana", 3]}, "names[1]: 3 is not of type 'string'"),
    ],
)  # fmt: skip
def test_bad_arguments_of_the_reference_tools_change_nothing(
    name: str, arguments: dict[str, Any], message: str, memory: Memory
) -> None:
    result = talk(memory, lambda client: client.call_tool(name, arguments), profile="reference")
    assert (result.is_error, text_of(result)) == (True, message)
    assert len(memory) == 0


def test_whole_graph_is_a_resource(memory: Memory) -> None:
    async def converse(client: Client) -> tuple[str, list[str], dict[str, Any]]:
        await client.call_tool("create_entities", {"entities": GRAPH["entities"]})
        listed = (await client.list_resources()).resources
        assert (await client.list_resource_templates()).resource_templates == []
        with pytest.raises(MCPError, match="there is no such resource"):
            await client.read_resource("memory://other")
        return (
            listed[0].mime_type or "",
            [one.uri for one in listed],
            json.loads(await read_text(client, listed[0].uri)),
        )

    mime_type, uris, graph = talk(memory, converse, profile="reference")
    assert (mime_type, uris) == ("application/json", ["memory://knowledge-graph"])
    assert graph == {**GRAPH, "relations": []}


@pytest.mark.medium
@pytest.mark.filterwarnings("ignore:resources/(un)?subscribe is removed")  # clients of earlier versions use it
def test_subscriber_hears_of_changes_of_the_graph(memory: Memory) -> None:
    heard: list[str] = []
    arrival = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.append(str(message.params.uri))
            arrival.set()

    async def converse(client: Client) -> None:
        create = ("create_entities", {"entities": GRAPH["entities"]})
        await client.call_tool(*create)
        await client.subscribe_resource("memory://knowledge-graph")
        await client.call_tool("read_graph", {})
        await client.call_tool("delete_entities", {"entityNames": ["Ana"]})
        await asyncio.wait_for(arrival.wait(), 20)
        await client.unsubscribe_resource("memory://knowledge-graph")
        await client.call_tool(*create)

    talk(memory, converse, profile="reference", mode="legacy", message_handler=hear)
    assert heard == ["memory://knowledge-graph"]


def test_listener_of_the_newest_protocol_hears_of_changes_of_the_graph(memory: Memory) -> None:
    async def converse(client: Client) -> str:
        async with client.listen(resource_subscriptions=["memory://knowledge-graph"]) as events:
            await client.call_tool("create_entities", {"entities": GRAPH["entities"]})
            async for event in events:
                assert isinstance(event, ResourceUpdated)
                return event.uri
        raise AssertionError

    assert talk(memory, converse, profile="reference") == "memory://knowledge-graph"
