"""Clients that send slowly or nothing at all, on raw sockets: they are cut off, and others are not."""

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import uvicorn

from ecphora.remote.server.access_control import AccessPolicy
from ecphora.remote.server.admission import Limits
from ecphora.remote.server.app import ServerOptions, make_app
from ecphora.remote.server.listening import timed_protocol
from ecphora.remote.server.tokens import Tokens
from ecphora.settings import Settings

pytestmark = pytest.mark.medium

LIMIT = 0.3
"""Seconds that a client has."""
PATIENCE = 30
"""Seconds after which a test gives up."""


@contextlib.contextmanager
def listen(app: Any, lifespan: str = "on") -> Iterator[tuple[str, int]]:
    """Serve an app with the limit, in a thread. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, http=timed_protocol(LIMIT), log_config=None, access_log=False, lifespan=lifespan)  # type: ignore[arg-type]
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[tuple[str, int], str]]:
    """A server's address, and a token for it."""
    db = tmp_path_factory.mktemp("slow") / "agent.db"
    tokens = Tokens(db)
    limits = Limits(receive_seconds=LIMIT, pause_seconds=3 * LIMIT, requests_per_second=0)
    app = make_app(
        Settings(db=db, embedder="hashing"), ServerOptions(AccessPolicy(tokens), limits, write_log=lambda _line: None)
    )
    token = tokens.create("x", scopes="*")
    with listen(app) as address:
        yield address, token


def head(token: str, length: int, path: str = "/v1/remember") -> bytes:
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def trickle(address: tuple[str, int], start: bytes, more: bytes = b"x") -> bytes:
    """Send the start, and then a byte now and again for as long as the server listens. Returns all that it answers."""
    answer = b""
    with socket.create_connection(address, timeout=PATIENCE) as client:
        client.sendall(start)
        client.settimeout(LIMIT / 10)
        for _ in range(int(PATIENCE / LIMIT * 10)):
            try:
                part = client.recv(1 << 16)
                if not part:
                    return answer
                answer += part
            except TimeoutError:
                with contextlib.suppress(OSError):
                    client.sendall(more)
            except OSError:  # closed while something was on its way
                return answer
    raise AssertionError("the server still listens")


HEAD = b"POST /v1/remember HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: "


@pytest.mark.parametrize(("start", "more"), [(b"", b""), (HEAD, b""), (HEAD, b"x")])
def test_head_that_does_not_arrive_closes_the_connection(
    start: bytes, more: bytes, served: tuple[tuple[str, int], str]
) -> None:
    assert trickle(served[0], start, more) == b""


@pytest.mark.parametrize("more", [b"", b"x"])
def test_body_that_does_not_arrive_is_answered_and_closed(more: bytes, served: tuple[tuple[str, int], str]) -> None:
    address, token = served
    answer = trickle(address, head(token, 1000) + b'{"content": "', more).decode()
    assert answer.startswith("HTTP/1.1 408 ")
    assert "connection: close" in answer.lower()
    error = json.loads(answer.partition("\r\n\r\n")[2])["error"]
    assert error == {"type": "RequestTimeout", "message": "the body arrives too slowly"}


@pytest.mark.parametrize("path", ["/v1/remember", "/v1/import"])
def test_body_that_pauses_after_a_fast_start_is_cut(path: str, served: tuple[tuple[str, int], str]) -> None:
    address, token = served
    start = head(token, 1 << 20, path) + b"\n" * (1 << 16)  # which has 64 s by the rate alone
    assert trickle(address, start, b"").startswith(b"HTTP/1.1 408 ")


def test_import_that_drips_is_cut(served: tuple[tuple[str, int], str]) -> None:
    address, token = served
    assert trickle(address, head(token, 1 << 20, "/v1/import"), b"\n").startswith(b"HTTP/1.1 408 ")


def test_body_that_goes_on_after_its_answer_closes_the_connection(served: tuple[tuple[str, int], str]) -> None:
    answer = trickle(served[0], head("ecp_wrong", 10**6) + b"x")
    assert answer.startswith(b"HTTP/1.1 401 ")


def test_large_body_has_more_time(served: tuple[tuple[str, int], str]) -> None:
    (host, port), token = served
    body = json.dumps({"content": ["x" * 5000, "y"]}).encode()
    sent = threading.Event()

    def parts() -> Iterator[bytes]:
        yield body[:5000]
        sent.wait(2 * LIMIT)  # more than all have, and less than one second a KiB
        yield body[5000:]

    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = httpx2.post(f"http://{host}:{port}/v1/remember", headers=headers, content=parts(), timeout=PATIENCE)
    assert len(answer.json()["created"]) == 2


def test_answer_that_takes_long_is_not_cut_off() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["type"] == "http.request"
        await asyncio.sleep(2 * LIMIT)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with (
        listen(app, lifespan="off") as (host, port),
        httpx2.Client(base_url=f"http://{host}:{port}", timeout=PATIENCE) as client,
    ):
        assert [client.get("/").text for _ in range(2)] == ["ok", "ok"]  # on one connection


def test_connection_that_waits_for_its_next_request_stays_open(served: tuple[tuple[str, int], str]) -> None:
    request = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with socket.create_connection(served[0], timeout=2 * LIMIT) as client:
        for _ in range(2):
            client.sendall(request)
            answer = b""
            while not answer.endswith(b"}"):
                answer += client.recv(1 << 16)
            assert answer.startswith(b"HTTP/1.1 200 ")
            with pytest.raises(TimeoutError):
                client.recv(1)
