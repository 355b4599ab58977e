"""The MCP server over HTTP: tokens, scopes, and the client of the SDK against a server on a loopback port."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx2
import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from ecphora.memory import Memory
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remote.mcp.http import make_mcp_app
from ecphora.remote.server.access_control import AccessPolicy
from ecphora.remote.server.app import ServerOptions
from ecphora.remote.server.tokens import Tokens
from ecphora.settings import Settings
from ecphora.tools.memory_tools import TOOLS

pytestmark = pytest.mark.medium

MARKER = "Zanzibar"
"""A word that only the scope of somebody else holds."""
SCOPES = ("ana", "bo")


@dataclass
class Running:
    """A server that runs, and tokens for it."""

    db: Path
    url: str
    tokens: dict[str, str]
    log: SimpleQueue[str] = field(default_factory=SimpleQueue)
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=30, verify=False))  # no TLS here

    def post(
        self, method: str, params: dict[str, Any], token: str | None, *, query: str = "", zone: str | None = None
    ) -> httpx2.Response:
        """Send one request of the protocol, as a client without a session does."""
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        headers |= {} if zone is None else {"Ecphora-Zone": zone}
        if token is not None:
            headers["Authorization"] = f"Bearer {self.tokens.get(token, token)}"
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.http.post(f"{self.url}{query}", json=message, headers=headers)

    def ask(self, method: str, params: dict[str, Any], token: str, **options: Any) -> dict[str, Any]:
        """The answer to a request: the JSON of its one event."""
        response = self.post(method, params, token, **options)
        assert response.status_code == 200, response.text
        (line,) = [line for line in response.text.splitlines() if line.startswith("data: ")]
        answer: dict[str, Any] = json.loads(line.removeprefix("data: "))
        return answer

    def tool(self, name: str, arguments: dict[str, Any], token: str, **options: Any) -> str:
        """The text of a tool's reply."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments}, token, **options)
        return str(answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]["message"])


@contextmanager
def run(folder: Path, origins: tuple[str, ...] = (), **options: Any) -> Iterator[Running]:
    """Serve a file with two scopes on a free port, in a thread."""
    db = folder / "m.db"
    for scope, text in zip(SCOPES, ("Ana lives in Porto.", f"Bo lives in {MARKER}."), strict=True):
        with Memory(db, scope=scope, embedder=HashingEmbedder(64)) as memory:
            memory.remember(Episode(text, id=f"home-{scope}", speaker=scope))
    tokens = Tokens(db)
    made = {scope: tokens.create(scope, scopes=[scope]) for scope in SCOPES}
    made["reader"] = tokens.create("reader", scopes=["ana"], rights=["read"])
    made["writer"] = tokens.create("writer", scopes=["ana"], rights=["write"])
    made["both"] = tokens.create("both", scopes=SCOPES)
    made["every"] = tokens.create("every", scopes="*")
    log: SimpleQueue[str] = SimpleQueue()
    made_options = ServerOptions(AccessPolicy(tokens, origins), write_log=log.put, **options)
    app = make_mcp_app(Settings(db=db, scope="ana", embedder="hashing:64"), made_options)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        running = Running(db, f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", made, log)
        with closing(listener), running.http:
            yield running
            server.should_exit = True
            thread.join(30)
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with run(tmp_path) as running:
        yield running


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_client_of_the_sdk_uses_the_scope_of_its_token(mode: str, server: Running) -> None:
    async def converse() -> tuple[list[str], str, list[str]]:
        headers = {"Authorization": f"Bearer {server.tokens['bo']}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("recall", {"question": "Where does Bo live?"})
            resources = (await client.list_resources()).resources
            with pytest.raises(MCPError, match="there is no such resource"):
                await client.read_resource("ecphora://memory/home-ana")
            return names, result.content[0].text, [one.uri for one in resources]  # type: ignore[union-attr]

    names, text, uris = asyncio.run(converse())
    assert names == [tool.name for tool in TOOLS]
    assert MARKER in text
    assert uris == ["ecphora://memory/home-bo"]


def test_days_that_a_model_writes_are_those_of_the_user(server: Running) -> None:
    far = Tokens(server.db).create("far", scopes=["ana"], zone="Pacific/Kiritimati")
    server.tool("remember", {"texts": ["I came home."], "happened_at": "2026-03-02"}, far)
    day = {"after": "2026-03-02", "before": "2026-03-03"}
    assert 'date="2026-03-02"' in server.tool("find", day, far)
    assert "came home" not in server.tool("find", day, "ana")
    assert "came home" in server.tool("find", day, "ana", zone="Pacific/Kiritimati")
    assert "no time zone is called 'Nowhere'" in server.post("tools/list", {}, "ana", zone="Nowhere").text


def test_requests_without_a_valid_token_are_refused(server: Running) -> None:
    for token in (None, "ecp_unknown", "x" * 1000):
        response = server.post("tools/list", {}, token)
        assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    Tokens(server.db).revoke("ana")
    assert server.post("tools/list", {}, "ana").status_code == 401


def test_token_chooses_among_its_scopes_by_the_address(server: Running) -> None:
    question = {"question": "Who lives where?"}
    assert MARKER in server.tool("recall", question, "both", query="?scope=bo")
    assert MARKER in server.tool("recall", question, "every", query="?scope=bo")
    assert "Porto" in server.tool("recall", question, "both")  # the scope of the server
    assert server.tool("recall", question, "ana", query="?scope=bo") == "the token is not for this scope"
    assert server.tool("recall", question, "both", query="?scope=cy") == "the token is not for this scope"
    assert "give one" in server.tool("recall", question, "ana", query="?scope=ana&scope=bo")
    assert "scope is ''" in server.tool("recall", question, "ana", query="?scope=")


def test_rights_choose_the_tools(server: Running) -> None:
    def names(token: str) -> list[str]:
        return [tool["name"] for tool in server.ask("tools/list", {}, token)["result"]["tools"]]

    assert names("reader") == ["recall", "find"]
    assert names("writer") == ["remember"]
    assert server.tool("remember", {"texts": ["x"]}, "reader") == "there is no tool 'remember'"
    assert server.tool("find", {}, "writer") == "there is no tool 'find'"
    assert server.ask("resources/list", {}, "writer")["result"]["resources"] == []
    assert (
        "no such resource"
        in server.ask("resources/read", {"uri": "ecphora://memory/home-ana"}, "writer")["error"]["message"]
    )
    assert server.tool("remember", {"texts": ["Ana sails."]}, "writer").startswith("Remembered: ")
    assert "Ana sails." in server.tool("find", {}, "reader")


def test_requests_of_web_pages_and_for_other_names_are_refused(server: Running) -> None:
    headers = {"Authorization": f"Bearer {server.tokens['ana']}", "Accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for name, value in (("Origin", "https://example.com"), ("Host", "example.com")):
        assert server.http.post(server.url, json=message, headers={**headers, name: value}).status_code == 403


def test_page_of_an_allowed_origin_may_send_requests(tmp_path: Path) -> None:
    page = "https://app.example"
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,mcp-protocol-version",
    }
    with run(tmp_path, origins=(page,)) as server:
        preflight = server.http.options(server.url, headers={"Origin": page, **asked})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, page)
        refused = server.http.post(server.url, json={}, headers={"Origin": page})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, page)
        other = server.http.options(server.url, headers={"Origin": "https://evil.example", **asked})
        assert "access-control-allow-origin" not in other.headers


def test_health_needs_no_token(server: Running) -> None:
    answer = server.http.get(server.url.replace("/mcp", "/health"))
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert server.http.get(server.url.replace("/mcp", "/health?x=1")).status_code == 400
    assert server.http.get(server.url.replace("/mcp", "/nothing")).status_code == 401


def test_memories_that_nobody_uses_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecphora.remote.server.open_scopes.IDLE_CHECK_SECONDS", 0.0)
    closed = threading.Event()
    close = Memory.close

    def note(memory: Memory) -> None:
        close(memory)
        if memory.scope == "bo":
            closed.set()

    with run(tmp_path, idle_seconds=0.0) as server:
        monkeypatch.setattr(Memory, "close", note)
        assert MARKER in server.tool("recall", {"question": "Where does Bo live?"}, "bo")
        assert closed.wait(30)
        assert MARKER in server.tool("recall", {"question": "Where does Bo live?"}, "bo")


def test_log_names_token_and_scope_and_no_text(server: Running) -> None:
    server.tool("recall", {"question": "Where is the Taj Mahal?"}, "ana")
    line = server.log.get(timeout=20)  # written once the answer has ended
    found = json.loads(line)
    assert (found["route"], found["status"], found["token"], found["scope"]) == ("/mcp", 200, "ana", "ana")
    assert "Taj Mahal" not in line
    assert server.tokens["ana"] not in line


def test_server_takes_no_subscriptions(server: Running) -> None:
    answer = server.ask("resources/subscribe", {"uri": "ecphora://memory/home-bo"}, "ana")
    assert "error" in answer


# ---- no request reads or changes another scope

TEXTS = st.sampled_from(
    ["home-bo", "home-ana", "bo", "ana", "ecphora://memory/home-bo", MARKER[:4], "Where?",
     "2026-01-01", "supersede", "replace", "newest", "../bo", "bo#1", "home-bo#1"]
)  # fmt: skip
BY_TYPE: dict[str, st.SearchStrategy[object]] = {
    "string": TEXTS,
    "strings": st.lists(TEXTS, min_size=1, max_size=3),
    "boolean": st.booleans(),
    "integer": st.integers(1, 50),
}
CALLS: dict[str, st.SearchStrategy[dict[str, object]]] = {
    tool.name: st.fixed_dictionaries(
        {one.name: BY_TYPE[one.type] for one in tool.parameters if one.is_required},
        optional={one.name: BY_TYPE[one.type] for one in tool.parameters if not one.is_required},
    )
    for tool in TOOLS
}
URIS = st.just("ecphora://memory/home-bo") | TEXTS


def revision(db: Path, scope: str) -> int:
    with Memory(db, scope=scope, embedder=HashingEmbedder(64)) as memory:
        return next(one.revision for one in memory.scopes() if one.name == scope)


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with run(tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.mark.slow
@settings(max_examples=30)
@given(data=st.data())
def test_calls_never_read_or_change_another_scope(shared_server: Running, data: st.DataObject) -> None:
    server, token = shared_server, data.draw(st.sampled_from(["ana", "reader", "writer"]))
    query = data.draw(st.sampled_from(["", "?scope=bo", "?scope=bo", "?scope=ana&scope=bo", "?SCOPE=bo"]))
    before = revision(server.db, "bo")
    for _ in range(4):
        method = data.draw(st.sampled_from(["tools/call", "tools/call", "resources/list", "resources/read"]))
        params: dict[str, Any] = {}
        if method == "tools/call":
            name = data.draw(st.sampled_from(list(CALLS)))
            params = {"name": name, "arguments": data.draw(CALLS[name])}
        elif method == "resources/read":
            params = {"uri": data.draw(URIS)}
        assert MARKER not in server.post(method, params, token, query=query).text
    assert revision(server.db, "bo") == before


# ---- the command


@pytest.mark.slow
def test_command_serves_on_a_free_port(tmp_path: Path) -> None:
    db = tmp_path / "m.db"
    token = Tokens(db).create("ana", scopes=["ana"])
    arguments = [sys.executable, "-m", "ecphora.cli.main", "mcp", "--http", "--port", "0", "--db", str(db)]
    with subprocess.Popen(
        [*arguments, "--embedder", "hashing"], stderr=subprocess.PIPE, encoding="utf-8", env=dict(os.environ)
    ) as process:
        assert process.stderr is not None
        url = json.loads(process.stderr.readline())["listening"]
        running = Running(db, url, {"ana": token})
        with running.http:
            assert running.tool("remember", {"texts": ["Ana lives in Porto."]}, "ana").startswith("Remembered: ")
        process.terminate()
        process.stderr.read()
        assert process.wait(30) == 0
    with Memory(db, scope="ana", embedder=HashingEmbedder()) as memory:
        assert len(memory) == 1
