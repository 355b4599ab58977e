"""Pages in a real browser: what a page that is allowed can do, and that others can do nothing."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.remote.server.tokens import Tokens

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TIMEOUT = 120
"""Seconds after which a test gives up; a busy machine starts a browser slowly."""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")]


class Pages(ThreadingHTTPServer):
    """A site of one page, which sends it what it has found."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _PageHandler)
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.page = ""
        self.found: SimpleQueue[bytes] = SimpleQueue()

    def open(self, page: str, profile: Path, *options: str) -> Any:
        """Open the page in the browser; return the JSON that it sends."""
        self.page = page
        command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *options]
        with subprocess.Popen([*command, self.origin], stderr=subprocess.DEVNULL) as browser:
            try:
                return json.loads(self.found.get(timeout=TIMEOUT))
            finally:
                browser.terminate()


class _PageHandler(BaseHTTPRequestHandler):
    server: Pages

    def do_GET(self) -> None:
        self._answer(self.server.page.encode())

    def do_POST(self) -> None:
        self.server.found.put(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, _format: str, *_args: object) -> None:
        """Print nothing."""


@pytest.fixture
def pages() -> Iterator[Pages]:
    with Pages() as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield site
        site.shutdown()
        thread.join()


def page_of(script: str, **values: str) -> str:
    """A page that runs the body of an asynchronous function and sends its site what that returns."""
    given = "".join(f"const {name} = {json.dumps(value)};" for name, value in values.items())
    send = "found => fetch('/', {method: 'POST', body: JSON.stringify(found)})"
    return f"<!doctype html><body><script>(async () => {{{given}{script}}})().catch(String).then({send})</script>"


@contextmanager
def run_server(*arguments: str) -> Iterator[str]:
    """A server process of this command. Yields its address."""
    command = [sys.executable, "-m", "ecphora.cli.main", *arguments, "--port", "0"]
    environment = {**os.environ, "ECPHORA_EMBEDDER": "hashing"}
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        assert process.stderr is not None
        stack.callback(process.terminate)
        yield json.loads(process.stderr.readline())["listening"]
        process.terminate()
        process.communicate(timeout=TIMEOUT)


def texts(db: Path) -> list[str]:
    with Memory(db, embedder=HashingEmbedder()) as memory:
        return [node.text for node in memory.find()]


CALLS = """
const headers = {Authorization: "Bearer " + token, "Content-Type": "application/json"};
const call = (name, body, more) => fetch(url + "/v1/" + name,
  {method: "POST", headers: {...headers, ...more}, body: JSON.stringify(body)});
"""


def test_page_of_an_allowed_origin_uses_the_server(pages: Pages, tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    token = Tokens(db).create("page", scopes=["default"])
    script = """
    await call("remember", {content: "Bo likes to row on the river."});
    const recalled = await (await call("recall", {question: "Who rows?"})).json();
    const stream = await call("export", {});
    const decoder = new TextDecoderStream();
    let text = "";
    for await (const part of stream.body.pipeThrough(decoder)) text += part;
    const texts = text.trim().split("\\n").flatMap(line => JSON.parse(line).node?.text ?? []);
    const refused = await call("count", {}, {Authorization: "Bearer ecp_wrong"});
    return [recalled.hits[0].text, texts, refused.status, (await refused.json()).error.type,
      refused.headers.get("X-Request-Id").length, await (await fetch(url + "/health")).json()];
    """
    with run_server("serve", "--db", str(db), "--allow-origin", pages.origin) as url:
        found = pages.open(page_of(CALLS + script, url=url, token=token), tmp_path / "profile")
    text = "Bo likes to row on the river."
    assert found[0] == text
    assert text in found[1]
    assert found[2:] == [401, "Unauthorized", 16, {"status": "ok"}]
    assert texts(db) == ["Bo likes to row on the river."]


def test_page_of_another_origin_reads_and_changes_nothing(pages: Pages, tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    with Memory(db, embedder=HashingEmbedder()) as memory:
        memory.remember("Ana moved to Porto.")
    script = """
    const body = JSON.stringify({everything: true});
    const send = (path, options) => fetch(url + path, options).then(answer => answer.type, String);
    return [await send("/health"), await send("/v1/export", {method: "POST"}),
      await send("/v1/forget", {method: "POST", body, headers: {"Content-Type": "application/json"}}),
      await send("/v1/forget", {method: "POST", body, mode: "no-cors"})];
    """
    with run_server("serve", "--db", str(db), "--no-auth", "--allow-origin", "https://app.example") as url:
        found = pages.open(page_of(script, url=url), tmp_path / "profile")
    assert found == [*["TypeError: Failed to fetch"] * 3, "opaque"]  # the last is sent, and refused
    assert texts(db) == ["Ana moved to Porto."]


@pytest.mark.parametrize("is_allowed", [False, True])
def test_page_without_an_origin_of_its_own_needs_to_be_allowed(is_allowed: bool, pages: Pages, tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    token = Tokens(db).create("page", scopes=["default"])
    script = """
    const frame = document.createElement("iframe"), send = JSON.stringify(token) + "," + JSON.stringify(url);
    frame.sandbox = "allow-scripts";
    frame.srcdoc = `<script>((token, url) => fetch(url + "/v1/count", {method: "POST",
      headers: {Authorization: "Bearer " + token}}).then(answer => answer.json(), String)
      .then(found => parent.postMessage([origin, found], "*")))(${send})<\\/script>`;
    const found = new Promise(resolve => addEventListener("message", event => resolve(event.data)));
    document.body.append(frame);
    return found;
    """
    options = ["--allow-origin", "null" if is_allowed else pages.origin]
    with run_server("serve", "--db", str(db), *options) as url:
        found = pages.open(page_of(script, url=url, token=token), tmp_path / "profile")
    assert found == ["null", 0 if is_allowed else "TypeError: Failed to fetch"]


def test_page_of_an_allowed_origin_uses_the_mcp_server(pages: Pages, tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    token = Tokens(db).create("page", scopes=["default"])
    script = """
    const headers = {Authorization: "Bearer " + token, "Content-Type": "application/json",
      Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"};
    const send = (method, params) => fetch(url,
      {method: "POST", headers, body: JSON.stringify({jsonrpc: "2.0", id: 1, method, params})}).then(one => one.text());
    await send("tools/call", {name: "remember", arguments: {texts: ["Bo likes to row."]}});
    return send("tools/call", {name: "recall", arguments: {question: "Who rows?"}});
    """
    with run_server("mcp", "--http", "--db", str(db), "--allow-origin", pages.origin) as url:
        found = pages.open(page_of(script, url=url, token=token), tmp_path / "profile")
    assert "Bo likes to row." in found
    assert texts(db) == ["Bo likes to row."]


@pytest.mark.parametrize("is_granted", [False, True])
def test_page_of_a_public_site_needs_the_permission_of_the_browser(
    is_granted: bool, pages: Pages, tmp_path: Path
) -> None:
    db = tmp_path / "agent.db"
    token = Tokens(db).create("page", scopes=["default"])
    options = [f"--ip-address-space-overrides=127.0.0.1:{pages.server_port}=public"]
    options += ["--disable-features=LocalNetworkAccessChecks"] if is_granted else []
    script = 'return call("count", {}).then(answer => answer.json(), String);'
    with run_server("serve", "--db", str(db), "--allow-origin", pages.origin) as url:
        found = pages.open(page_of(CALLS + script, url=url, token=token), tmp_path / "profile", *options)
    assert found == (0 if is_granted else "TypeError: Failed to fetch")
