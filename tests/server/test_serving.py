"""The command serve: real processes on free ports, which stop in order and share a file."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner, Result

from ecphora import HashingEmbedder, Memory
from ecphora.cli.main import main
from ecphora.remote.server.tokens import Tokens

TIMEOUT = 120
"""Seconds after which a test gives up; a busy machine starts a process slowly."""


@contextmanager
def serve(
    db: Path, *options: str, command: Sequence[str] = ("serve",)
) -> Iterator[tuple[subprocess.Popen[str], httpx2.Client, list[str]]]:
    """A server process, a client for it, and the lines that it writes to stderr after it has begun to listen."""
    arguments = [sys.executable, "-m", "ecphora.cli.main", *command, "--db", str(db), "--port", "0", *options]
    environment = {**os.environ, "ECPHORA_EMBEDDER": "hashing"}
    with subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = [process.stderr.readline()]
        try:
            url = json.loads(lines[0])["listening"].removesuffix("/mcp")
            reader = threading.Thread(target=lambda: lines.extend(process.stderr or ()))
            reader.start()
            with httpx2.Client(base_url=url, timeout=TIMEOUT) as client:
                yield process, client, lines
        finally:
            process.terminate()
            process.wait(TIMEOUT)
        reader.join(TIMEOUT)


def post(client: httpx2.Client, token: str, path: str, body: Any = None, scope: str = "default") -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return client.post(path, params={"scope": scope}, headers=headers, json={} if body is None else body)


def run(*arguments: str, db: Path) -> Result:
    return CliRunner().invoke(main, [*arguments, "--db", str(db)])


def test_server_without_tokens_does_not_start(tmp_path: Path) -> None:
    refused = run("serve", db=tmp_path / "agent.db")
    assert refused.exit_code == 2
    assert "ecphora token create NAME" in refused.stderr
    assert list(tmp_path.iterdir()) == []
    for host in ("0.0.0.0", "::", "10.0.0.1"):  # noqa: S104
        open_to_all = run("serve", "--no-auth", "--host", host, db=tmp_path / "agent.db")
        assert open_to_all.exit_code == 2
        assert "--no-auth" in open_to_all.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--allow-origin", "app.example"), "is no origin of a page"),
        (("--allow-origin", "https://app.example/"), "is no origin of a page"),
        (("--allow-origin", "*", "--no-auth"), "every web page"),
        (("--allow-origin", "null", "--no-auth"), "every web page"),
    ],
)
def test_origin_that_is_wrong_or_unsafe_is_refused(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    Tokens(db).create("x", scopes="*")
    for command in (("serve",), ("mcp", "--http")):
        refused = run(*command, *options, db=db)
        assert refused.exit_code == 2
        assert message in " ".join(refused.stderr.split())
    assert not db.exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("ECPHORA_EMBEDDER", "no embedder is called 'nothing'"),
        ("ECPHORA_STRATEGY", "no strategy is called 'nothing'"),
        ("ECPHORA_EXTRACTOR", "no extractor is called 'nothing'"),
        ("ECPHORA_RERANKER", "no reranker is called 'nothing'"),
    ],
)
@pytest.mark.parametrize("command", [("serve",), ("mcp", "--http")], ids=" ".join)
def test_server_with_wrong_settings_does_not_start(
    command: tuple[str, ...], setting: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setenv(setting, "nothing")
    refused = run(*command, "--no-auth", "--port", "0", db=tmp_path / "agent.db")
    assert refused.exit_code == 1
    assert message in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [("serve",), ("mcp", "--http")], ids=" ".join)
def test_option_limits_the_time_of_a_request(command: tuple[str, ...], tmp_path: Path) -> None:
    with serve(tmp_path / "agent.db", "--no-auth", "--receive-timeout", "0.2", command=command) as (_, client, _):
        address = (client.base_url.host, client.base_url.port or 0)
        with socket.create_connection(address, timeout=TIMEOUT) as silent:
            assert silent.recv(1) == b""
        with socket.create_connection(address, timeout=TIMEOUT) as slow:
            path = b"/mcp" if "mcp" in command else b"/v1/remember"
            slow.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{" % path)
            assert slow.recv(12) == b"HTTP/1.1 408"
        assert client.get("/health", headers={"Host": "localhost"}).json() == {"status": "ok"}


@pytest.mark.slow
def test_port_that_is_taken_is_an_error(tmp_path: Path) -> None:
    Tokens(tmp_path / "agent.db").create("x", scopes="*")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run("serve", "--port", str(taken.getsockname()[1]), db=tmp_path / "agent.db")
    assert refused.exit_code == 1
    assert "cannot listen" in refused.stderr


@pytest.mark.slow
def test_two_processes_serve_one_file(tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    token = Tokens(db).create("x", scopes="*")
    with serve(db) as (_, first, _), serve(db) as (_, second, _):
        clients = (first, second)

        def remember(number: int) -> None:
            content = {"content": f"Note {number} of the log."}
            answer = post(clients[number % 2], token, "/v1/remember", content, scope="ana")
            assert answer.status_code == 200, answer.text

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(remember, range(40)))
        assert [post(client, token, "/v1/count", scope="ana").json() for client in clients] == [40, 40]
        post(first, token, "/v1/forget", {"everything": True}, scope="ana")
        assert post(second, token, "/v1/count", scope="ana").json() == 0
        late = Tokens(db).create("late", scopes=["ana"])
        assert post(second, late, "/v1/count", scope="ana").status_code == 200
        Tokens(db).revoke("late")
        assert [post(client, late, "/v1/count", scope="ana").status_code for client in clients] == [401, 401]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_server_finishes_what_runs_and_then_closes_the_file(tmp_path: Path) -> None:
    db = tmp_path / "agent.db"
    token = Tokens(db).create("x", scopes="*")
    with serve(db) as (process, client, lines):
        texts = [f"Note {number} of the log, about the boat." for number in range(3000)]
        assert post(client, token, "/v1/remember", {"content": "Ana moved to Porto."}).status_code == 200
        assert len(post(client, token, "/v1/recall", {"question": "Where does Ana live?"}).json()["hits"]) == 1
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(post, client, token, "/v1/remember", {"content": texts})
            with httpx2.Client(base_url=client.base_url, timeout=TIMEOUT) as other:
                while other.get("/health").status_code == 200 and not is_writing(other, token):
                    pass
            process.send_signal(signal.SIGTERM)
            assert writing.result(TIMEOUT).status_code == 200
        assert process.wait(TIMEOUT) == 0
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{client.base_url}/health")
    assert not db.with_name("agent.db-wal").exists()  # the file was closed
    with Memory(db, embedder=HashingEmbedder()) as memory:
        assert len(memory) == 3001
        history = memory.history(memory.recall("Ana Porto").hits[0].id)
        assert history is not None
        assert "recalled" in {access.kind.value for access in history.accesses}  # the access log was written
    log = [json.loads(line) for line in lines[1:]]
    assert [entry["status"] for entry in log if entry["route"] == "/v1/remember"] == [200, 200]
    assert "Porto" not in "".join(lines)
    assert token not in "".join(lines)


def is_writing(client: httpx2.Client, token: str) -> bool:
    """Whether a request beside this one is in progress."""
    text = client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).text
    return "ecphora_requests_in_progress 2" in text.splitlines()


def test_server_without_the_extra_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    refused = run("serve", "--no-auth", db=tmp_path / "agent.db")
    assert refused.exit_code == 1
    assert "install them with: pip install 'ecphora[server]'" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["mcp", "fastapi"])
def test_mcp_server_on_a_port_says_which_extras_it_needs(missing: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from ecphora.cli.main import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", code, "mcp", "--http", "--no-auth", "--db", str(tmp_path / "agent.db")]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert refused.returncode == 1
    assert f"needs the package {missing}; install it with: pip install 'ecphora[mcp,server]'" in refused.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "modules"),
    [
        (("mcp", "mcp_types"), "ecphora.remote.server.app, ecphora.remote.server.listening"),
        (("opentelemetry.sdk", "requests"), "ecphora.remote.server.app, ecphora.remote.mcp.http"),
        (("uvicorn", "fastapi"), "ecphora.cli.mcp, ecphora.cli.serve, ecphora.remote.mcp.server"),
    ],
)
def test_modules_need_only_the_packages_of_their_extra(missing: tuple[str, ...], modules: str) -> None:
    code = f"import sys; sys.modules.update(dict.fromkeys({missing!r})); import {modules}"
    subprocess.run([sys.executable, "-c", code], timeout=TIMEOUT, check=True)
