"""The memory tool of Claude: the same results as the SDK's own tool on a disk, hostile paths, and a run of the SDK."""

import asyncio
import json
import random
import re
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic")

import httpx2
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

from ecphora import Evidence, HashingEmbedder, Memory
from ecphora.adapters.anthropic import AsyncEcphoraMemoryTool, EcphoraMemoryTool
from ecphora.model.ids import content_id
from ecphora.testing import AdapterContract, AdapterDriver


@pytest.fixture
def tool(memory: Memory) -> EcphoraMemoryTool:
    return EcphoraMemoryTool(memory)


def run(tool: BetaAbstractMemoryTool, command: str, **arguments: object) -> str:
    return str(tool.call({"command": command, **arguments}))


def create(tool: BetaAbstractMemoryTool, path: str, text: str = "x") -> str:
    return run(tool, "create", path=path, file_text=text)


def content(tool: EcphoraMemoryTool, path: str) -> str:
    """The content of a file, read off its memory."""
    record = tool._records.get(path)
    assert record is not None
    return record.content


class Driver(AdapterDriver):
    """A note of each text, as the agent writes them down."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.tool = EcphoraMemoryTool(memory)

    def keep(self, text: str, *, user: str, session: str) -> None:  # noqa: ARG002
        path = f"/memories/{session}/{content_id(repr(text))}.md"
        try:
            create(self.tool, path, text)
        except ToolError as error:
            if "already exists" not in str(error):
                raise

    def find(self, question: str, *, user: str) -> list[str]:  # noqa: ARG002
        return [hit.text for hit in self.tool.recall(question)]

    def forget(self, text: str, *, user: str) -> None:  # noqa: ARG002
        for hit in self.tool.recall(text, limit=100):
            if hit.text == text:
                run(self.tool, "delete", path=str(hit.node.source))


class TestContract(AdapterContract):
    driver = Driver
    restores_forgotten = True


# ---- the commands


def test_it_is_the_tool_of_the_host(memory: Memory) -> None:
    tool = EcphoraMemoryTool(memory, cache_control={"type": "ephemeral"})
    wanted = {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    assert tool.to_dict() == AsyncEcphoraMemoryTool(memory, cache_control={"type": "ephemeral"}).to_dict() == wanted
    assert "cache_control" not in EcphoraMemoryTool(memory).to_dict()
    assert isinstance(AsyncEcphoraMemoryTool(memory), BetaAsyncAbstractMemoryTool)
    with pytest.raises(NotImplementedError):
        run(tool, "format", path="/memories")


PATHS = [
    "/memories", "/memories/a", "/memories/b.md", "/memories/a/c", "/memories/a-b", "/memories/a/d/e",
    "/memories/.hidden",
    "/memories/a/d/e/f/g", "/memories/a/../b.md", "/memories/./a//c", "/memories/é ☃.txt", "/etc/passwd", "memories/a",
    "/memories/../x", "/memories/a/../../x",
]  # fmt: skip
TEXTS = [
    "",
    "x",
    "\n\nx\n",
    "aXaXaXaXa",
    "x" * 1_000,
    "one\ntwo\nthree",
    "one\n",
    "\n",
    "aXaXa",
    "aa",
    "tab\t\r\nend\r\n",
    "ünï ☃\n" * 300,
    "one\none\n",
]


def random_command(chance: random.Random) -> dict[str, object]:
    path = chance.choice(PATHS)
    match chance.choice(["view", "create", "create", "create", "str_replace", "insert", "delete", "rename", "view"]):
        case "view":
            ranges = [None, None, [1, 2], [2, -1], [0, 1], [3, 1], [9, 12], [1]]
            return {"command": "view", "path": path, "view_range": chance.choice(ranges)}
        case "create":
            return {"command": "create", "path": path, "file_text": chance.choice(TEXTS)}
        case "str_replace":
            old, new = chance.choice(["one", "x", "aX", "aXa", "missing", "\n"]), chance.choice(TEXTS)
            return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}
        case "insert":
            line, text = chance.choice([0, 1, 2, 3, 7, -1]), chance.choice(TEXTS)
            return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}
        case "delete":
            return {"command": "delete", "path": path}
        case _:
            return {"command": "rename", "old_path": path, "new_path": chance.choice(PATHS)}


def outcome(tool: BetaAbstractMemoryTool, command: dict[str, object]) -> str:
    """The reply or the error; the sizes of folders are left out, as a disk counts blocks."""
    try:
        reply = str(tool.call(command))
    except ToolError as error:
        return f"ToolError: {error}"
    except OSError:
        return "OSError"
    if not reply.startswith("Here're"):
        return reply
    head, first, *lines = reply.split("\n")
    return "\n".join([head, first.partition("\t")[2], *(re.sub(r"^.*\t(?=.*/$)", "\t", line) for line in lines)])


def remove_empty_folders(root: Path) -> None:
    for folder in sorted(root.rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


@pytest.mark.parametrize("seed", range(8))
def test_the_results_are_those_of_the_tool_on_a_disk(tmp_path: Path, tool: EcphoraMemoryTool, seed: int) -> None:
    """But for folders without files, which are not there, and the bare errors of the disk."""
    chance, host = random.Random(seed), BetaLocalFilesystemMemoryTool(str(tmp_path))  # noqa: S311
    done = 0
    for _ in range(150):
        command = random_command(chance)
        theirs, ours = outcome(host, command), outcome(tool, command)
        if theirs == "OSError":
            assert ours.startswith("ToolError"), command
        else:
            assert ours == theirs, command
            done += not ours.startswith("ToolError")
        remove_empty_folders(host.memory_root)
        on_disk = {
            f"/memories/{file.relative_to(host.memory_root)}": file.read_bytes().decode()
            for file in host.memory_root.rglob("*")
            if file.is_file()
        }
        assert {file.key: file.content for file in tool._files_in("/memories")} == on_disk, command
    assert done > 20


def test_a_listing_has_two_levels_and_sizes(tool: EcphoraMemoryTool) -> None:
    for path, size in (
        ("b.txt", 2_048),
        ("a/x.txt", 1_500),
        ("a/deep/y/z.txt", 100),
        (".secret/s.txt", 1),
        ("a/.h", 1),
    ):
        create(tool, f"/memories/{path}", "x" * size)
    assert run(tool, "view", path="/memories").split("\n")[1:] == [
        "3.6K\t/memories", "1.6K\t/memories/a/", "100B\t/memories/a/deep/", "1.5K\t/memories/a/x.txt",
        "2K\t/memories/b.txt",
    ]  # fmt: skip
    assert run(tool, "view", path="/memories/a/deep").split("\n")[1:] == [
        "100B\t/memories/a/deep", "100B\t/memories/a/deep/y/", "100B\t/memories/a/deep/y/z.txt",
    ]  # fmt: skip
    assert "/memories/.secret/s.txt" in run(tool, "view", path="/memories/.secret")


def test_an_empty_memory_is_listed(tool: EcphoraMemoryTool) -> None:
    assert run(tool, "view", path="/memories").split("\n")[1:] == ["0B\t/memories"]


def test_every_line_with_a_text_that_is_not_unique_is_named(tmp_path: Path, tool: EcphoraMemoryTool) -> None:
    command: dict[str, object] = {"command": "str_replace", "path": "/memories/a", "old_str": "aXa", "new_str": "b"}
    outcomes = set()
    for one in (tool, BetaLocalFilesystemMemoryTool(str(tmp_path))):
        create(one, "/memories/a", "aXaXaXaXa\nno\naXa")
        outcomes.add(outcome(one, command))
    (told,) = outcomes
    assert "in lines: 1, 1, 1, 1, 3. Please" in told


def test_deleted_files_and_folders_may_come_again(memory: Memory, tool: EcphoraMemoryTool) -> None:
    for _ in range(2):
        create(tool, "/memories/a/b.md", "secret note")
        create(tool, "/memories/a/c.md", "other")
        create(tool, "/memories/ab.md", "beside")
        assert run(tool, "delete", path="/memories/a") == "Successfully deleted /memories/a"
        assert [node.text for node in memory.find()] == ["beside"]
        assert tool.clear_all_memory() == "All memory cleared"
        assert memory.count() == 0


@pytest.mark.parametrize(
    "text", ["", " \n\t", "\u200b", "(empty)", "日本語 😊\r\ncafe\u0301\n", "\x00\x1f", "y" * 50_000]
)
def test_contents_are_exact(tool: EcphoraMemoryTool, text: str) -> None:
    create(tool, "/memories/a.txt", text)
    assert content(tool, "/memories/a.txt") == text
    run(tool, "rename", old_path="/memories/a.txt", new_path="/memories/b.txt")
    assert content(tool, "/memories/b.txt") == text
    shown = run(tool, "view", path="/memories/b.txt").split("\n")[1:]
    assert "\n".join(line.partition("\t")[2] for line in shown) == text


@pytest.mark.parametrize("text", ["\ud800", "x" * 1_000_001])
def test_what_a_memory_cannot_hold_is_an_error_of_the_tool(tool: EcphoraMemoryTool, text: str) -> None:
    with pytest.raises(ToolError):
        create(tool, "/memories/a.txt", text)
    create(tool, "/memories/a.txt", "one")
    with pytest.raises(ToolError):
        run(tool, "str_replace", path="/memories/a.txt", old_str="one", new_str=text)
    with pytest.raises(ToolError) as caught:
        run(tool, "str_replace", path="/memories/a.txt", old_str=text, new_str="")
    str(caught.value).encode()
    assert content(tool, "/memories/a.txt") == "one"


def test_too_many_lines_are_not_shown(tool: EcphoraMemoryTool) -> None:
    create(tool, "/memories/a.txt", "\n" * 999_999)
    with pytest.raises(ToolError, match=re.escape("File /memories/a.txt exceeds maximum line limit of 999,999 lines.")):
        run(tool, "view", path="/memories/a.txt")


# ---- paths


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "/memoriesx", "/Memories/a", "memories/a", "~/a", "C:\\memories\\a", "/memories/../etc/passwd",
        "/memories/..", "/memories/a/../../b", "/memories/%2e%2e/x", "/memories/%252e%252e%252fx",
        "/memories/a%2f..%2fb",
        "/memories/..%2f..%2fetc", "/memories/..\\x", "/memories/%2e%2e%5cx", "/memories/a\\b", "/memories/a%5cb",
        "/memories/a\x00b", "/memories/a%00b", "/memories/a\nb", "/memories/a\u2028b", "/memories/a\u2029b",
        "/memories/\ud800",
        "/memories/" + "x" * 512, "\u2215memories/a", "//memories/a", "/memories/a/%2E%2E",
    ],
)  # fmt: skip
def test_paths_that_are_refused(memory: Memory, tool: EcphoraMemoryTool, path: str) -> None:
    create(tool, "/memories/kept.txt", "kept")
    commands: list[dict[str, object]] = [
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "view", "path": path},
        {"command": "delete", "path": path},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "kept", "new_str": "x"},
        {"command": "rename", "old_path": path, "new_path": "/memories/new.txt"},
        {"command": "rename", "old_path": "/memories/kept.txt", "new_path": path},
    ]
    for command in commands:
        with pytest.raises(ToolError) as caught:
            tool.call(command)
        str(caught.value).encode()
    assert [node.text for node in memory.find()] == ["kept"]


@pytest.mark.parametrize(
    "path",
    ["/memories/100%.txt", "/memories/a..b", "/memories/...", "/memories/a b", "/memories/-rf", "/memories/$HOME`x`",
     "/memories/a -> ..", "/memories/日本", "/memories/👩‍🚀.md", "/memories/%41", "/memories/con", "/memories/*"],
)  # fmt: skip
def test_paths_that_are_only_names(tool: EcphoraMemoryTool, path: str) -> None:
    create(tool, path, "content")
    assert content(tool, path) == "content"
    assert path.startswith("/memories/.") or path in run(tool, "view", path="/memories")
    assert run(tool, "delete", path=path) == f"Successfully deleted {path}"


def test_one_file_has_one_path(tool: EcphoraMemoryTool) -> None:
    create(tool, "/memories//a/./b/../c.txt", "one")
    assert content(tool, "/memories/a/c.txt") == "one"
    with pytest.raises(ToolError, match="already exists"):
        create(tool, "/memories/a/c.txt/")


def test_a_file_that_holds_a_path_is_no_link(tool: EcphoraMemoryTool) -> None:
    create(tool, "/memories/link", "/etc")
    with pytest.raises(ToolError, match="does not exist"):
        run(tool, "view", path="/memories/link/passwd")
    with pytest.raises(ToolError, match="The path /memories/link is not a directory"):
        create(tool, "/memories/link/x/passwd")


def test_renaming_a_folder(memory: Memory, tool: EcphoraMemoryTool) -> None:
    create(tool, "/memories/a/b.md", "bee")
    create(tool, "/memories/a/c/d.md", "dee")
    create(tool, "/memories/e.md", "eee")
    times = {node.text: node.happened_at for node in memory.find()}
    assert run(tool, "rename", old_path="/memories/a", new_path="/memories/x/y") == (
        "Successfully renamed /memories/a to /memories/x/y"
    )
    assert {file.key: file.content for file in tool._files_in("/memories")} == {
        "/memories/e.md": "eee", "/memories/x/y/b.md": "bee", "/memories/x/y/c/d.md": "dee",
    }  # fmt: skip
    assert {node.text: node.happened_at for node in memory.find()} == times
    for new, error in (
        ("/memories/x/y/z", "inside it"),
        ("/memories/e.md", "already exists"),
        ("/memories/e.md/z", "is not a directory"),
        ("/memories/" + "n" * 500, "longer than 512"),
    ):
        with pytest.raises(ToolError, match=error):
            run(tool, "rename", old_path="/memories/x/y", new_path=new)
    assert len(tool._files_in("/memories")) == 3


# ---- memories


def test_files_are_recalled_and_nothing_else(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        tool = EcphoraMemoryTool(memory)
        memory.remember("Ana's sister lives in Braga.")
        create(tool, "/memories/people/ana.md", "Ana is allergic to peanuts.")
        create(tool, "/memories/todo.md", "Book the ferry for Sunday.")
        found = tool.recall("What is Ana allergic to?")
        assert (found[0].node.source, found.evidence is Evidence.NONE) == ("/memories/people/ana.md", False)
        assert "Braga" not in str([hit.text for hit in tool.recall("Where does Ana's sister live?")])
        assert len(tool.recall("What is there to do?", limit=1)) == 1
        assert tool.recall("What is the wifi password?").evidence is Evidence.NONE
        run(tool, "str_replace", path="/memories/people/ana.md", old_str="peanuts", new_str="shellfish")
        assert tool.recall("What is Ana allergic to?")[0].text == "Ana is allergic to shellfish."
        run(tool, "rename", old_path="/memories/people", new_path="/memories/friends")
        assert tool.recall("What is Ana allergic to?")[0].node.source == "/memories/friends/ana.md"
        # Files are memories like others for whoever asks the memory itself.
        assert "shellfish" in memory.recall("What is Ana allergic to?")[0].text


def test_an_edited_file_keeps_its_time(tmp_path: Path) -> None:
    times = iter(datetime(2026, 5, 3 + number // 20, tzinfo=UTC) for number in range(500))
    with Memory(tmp_path / "a.db", embedder=HashingEmbedder(64), clock=lambda: next(times)) as memory:
        tool = EcphoraMemoryTool(memory)
        create(tool, "/memories/a.md", "one")
        (first,) = [node.happened_at for node in memory.find()]
        for number in range(30):
            run(tool, "insert", path="/memories/a.md", insert_line=0, insert_text=str(number))
        assert [node.happened_at for node in memory.find()] == [first]


def test_edits_at_a_time_lose_nothing(memory: Memory) -> None:
    tool = AsyncEcphoraMemoryTool(memory)

    async def edit() -> None:
        await tool.call({"command": "create", "path": "/memories/a.md", "file_text": ""})
        edits = [
            tool.call({"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": str(number)})
            for number in range(20)
        ]
        await asyncio.gather(*edits)
        shown = str(await tool.call({"command": "view", "path": "/memories/a.md"}))
        assert sorted(line.split("\t")[1] for line in shown.split("\n")[1:-1]) == sorted(map(str, range(20)))

    asyncio.run(edit())


def test_the_asynchronous_tool_has_every_command(memory: Memory) -> None:
    tool = AsyncEcphoraMemoryTool(memory)
    here = threading.get_ident()

    async def use() -> None:
        async def call(**command: object) -> str:
            return str(await tool.call(command))

        await call(command="create", path="/memories/a.md", file_text="Ana lives in Porto.")
        await call(command="insert", path="/memories/a.md", insert_line=1, insert_text="Ana has a cat.")
        await call(command="str_replace", path="/memories/a.md", old_str="cat", new_str="dog")
        await call(command="rename", old_path="/memories/a.md", new_path="/memories/b.md")
        assert "Ana has a dog." in await call(command="view", path="/memories/b.md")
        assert (await tool.recall("Ana's dog", limit=1))[0].node.source == "/memories/b.md"
        await call(command="delete", path="/memories/b.md")
        with pytest.raises(ToolError, match="does not exist"):
            await call(command="view", path="/memories/b.md")
        await call(command="create", path="/memories/a.md", file_text="one")
        assert await tool.clear_all_memory() == "All memory cleared"
        assert memory.count() == 0
        assert threading.get_ident() == here

    asyncio.run(use())


# ---- the SDK


class ScriptedApi:
    """Answers requests with the given contents, and keeps the requests."""

    def __init__(self, *blocks: dict[str, Any]) -> None:
        self._blocks = iter(blocks)
        self.requests: list[Any] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        block = next(self._blocks)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [block]}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        return httpx2.Response(200, json={**message, "stop_reason": reason, "stop_sequence": None, "usage": usage})


def tool_use(**arguments: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": arguments}


def test_a_run_of_the_sdk_remembers_across_sessions(tmp_path: Path) -> None:
    api = ScriptedApi(
        tool_use(command="create", path="/memories/ana.md", file_text="Ana moved to Porto.\n"),
        {"type": "text", "text": "Noted."},
        tool_use(command="view", path="/memories/../etc/passwd"),
        tool_use(command="view", path="/memories/ana.md"),
        {"type": "text", "text": "You live in Porto."},
    )
    client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(api)))

    def say(text: str) -> str:
        with Memory(tmp_path / "agent.db") as memory:
            runner = client.beta.messages.tool_runner(
                model="scripted",
                max_tokens=100,
                messages=[{"role": "user", "content": text}],
                tools=[EcphoraMemoryTool(memory)],
            )
            return str(getattr(runner.until_done().content[0], "text", ""))

    assert say("I moved to Porto.") == "Noted."
    assert say("Where do I live?") == "You live in Porto."
    assert api.requests[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    contents = [request["messages"][-1]["content"] for request in api.requests]
    results = [content[0] for content in contents if isinstance(content, list)]
    assert [one.get("is_error", False) for one in results] == [False, True, False]
    assert "would escape /memories directory" in str(results[1]["content"])
    assert "Ana moved to Porto." in str(results[2]["content"])


def test_an_asynchronous_run_of_the_sdk(memory: Memory) -> None:
    api = ScriptedApi(
        tool_use(command="create", path="/memories/ana.md", file_text="Ana moved to Porto.\n"),
        {"type": "text", "text": "Noted."},
    )
    transport = httpx2.MockTransport(api)

    async def say() -> str:
        async with AsyncAnthropic(api_key="none", http_client=httpx2.AsyncClient(transport=transport)) as client:
            runner = client.beta.messages.tool_runner(
                model="scripted",
                max_tokens=100,
                messages=[{"role": "user", "content": "I moved to Porto."}],
                tools=[AsyncEcphoraMemoryTool(memory)],
            )
            return str(getattr((await runner.until_done()).content[0], "text", ""))

    assert asyncio.run(say()) == "Noted."
    assert [node.text.strip() for node in memory.find()] == ["Ana moved to Porto."]
