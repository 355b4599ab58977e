"""The command ``ecphora mcp`` over stdio: processes of its own, what is on stdout, and a missing package."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

import ecphora.remote.mcp.server
from ecphora.cli.main import main
from ecphora.memory import Memory
from ecphora.models.embedders.hashing import HashingEmbedder

MODES = ("legacy", "auto")
"""How a client connects: with the handshake of earlier versions of the protocol, or as the newest one."""


def server_arguments(db: Path, *options: str) -> list[str]:
    return ["-m", "ecphora.cli.main", "mcp", "--db", str(db), "--embedder", "hashing", *options]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_server_over_stdio_keeps_memories_between_processes(mode: str, tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=server_arguments(tmp_path / "m.db", "--scope", "ana"), env=dict(os.environ)
    )

    async def call(name: str, arguments: dict[str, Any]) -> str:
        async with Client(server, mode=mode) as client:
            (content,) = (await client.call_tool(name, arguments)).content
            assert isinstance(content, TextContent)
            return content.text

    async def converse() -> str:
        await call("remember", {"texts": ["Ana lives in Porto."]})
        return await call("recall", {"question": "Where does Ana live?"})

    assert "Ana lives in Porto." in asyncio.run(converse())
    with Memory(tmp_path / "m.db", scope="ana", embedder=HashingEmbedder()) as memory:
        assert len(memory) == 1


@pytest.mark.slow
def test_stdout_holds_nothing_but_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "ecphora.toml").write_text('llm = "openai:x"\n', encoding="utf-8")  # makes a note on stderr
    messages: list[dict[str, object]] = [
        {"method": "initialize", "id": 1, "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": "remember", "arguments": {"texts": ["Ana 記憶."]}}},
        {"method": "tools/call", "id": 3, "params": {"name": "remember", "arguments": {"texts": ["\ud800"]}}},
        {"method": "no/such", "id": 4},
    ]  # fmt: skip
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    with subprocess.Popen(
        [sys.executable, *server_arguments(tmp_path / "m.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("\n".join([*lines[:3], "{", lines[3], lines[4]]) + "\n")
        process.stdin.flush()
        replies: list[Any] = []
        while not {1, 2, 4} <= {reply.get("id") for reply in replies}:  # ends at the latest with the server's output
            replies.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        rest, errors = process.stdout.read(), process.stderr.read()
        assert process.wait(30) == 0
    replies += [json.loads(line) for line in rest.splitlines()]
    assert {reply["jsonrpc"] for reply in replies} == {"2.0"}
    assert "ignored in the project's file" in errors
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder()) as memory:
        assert [node.text for node in memory.find()] == ["Ana 記憶."]


def test_missing_package_is_one_error_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ecphora.remote.mcp.server")
    monkeypatch.delattr(ecphora.remote.mcp, "server")
    for name in ("anyio", "mcp", "mcp_types"):
        with monkeypatch.context() as patch:
            for module in [module for module in sys.modules if module.partition(".")[0] == name]:
                patch.setitem(sys.modules, module, None)
            result = CliRunner().invoke(main, ["mcp", "--db", str(tmp_path / "m.db")])
        assert result.exit_code == 1
        assert result.output.startswith(
            f"error: the MCP server needs the package {name}; install it with: pip install "
        )
        assert result.output.endswith("pip install 'ecphora[mcp]'\n")
    assert not (tmp_path / "m.db").exists()
