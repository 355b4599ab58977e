"""What sends the requests of a client: a package, or an HTTP client of the user's."""

import asyncio
import io
import os
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx2
import pytest

from ecphora import InvalidInput, connect, connect_async
from ecphora.errors import ServerError, ServerUnavailable
from ecphora.models import http_client
from ecphora.remote.client.remote_memory import RemoteMemory

from .conftest import Server


def test_client_of_another_package_is_refused() -> None:
    class Client:
        __module__, __qualname__ = "httpx", "Client"

    wanted = r"http_client is a httpx\.Client; give an httpx2\.{}, or None"
    other: Any = Client()
    with pytest.raises(InvalidInput, match=wanted.format("Client")):
        connect("http://127.0.0.1:1", http_client=other)
    with pytest.raises(InvalidInput, match=wanted.format("AsyncClient")):
        connect_async("http://127.0.0.1:1", http_client=other)


# ---- proxies


class Proxy:
    """A proxy on the loopback that answers for every host; ``asked`` has the addresses that it was asked for."""

    def __init__(self) -> None:
        asked = self.asked = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked.append(self.path)
                self.rfile.read(int(self.headers["Content-Length"]))
                is_call = self.path.endswith("/count?scope=default")
                self.send_response(200 if is_call else 403)
                content = b"7" if is_call else b"<html>blocked</html>"
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = Thread(target=self.http.serve_forever, args=(0.01,))


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """A proxy that the environment names, and nothing else of the kind."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    made = Proxy()
    monkeypatch.setenv("HTTP_PROXY", made.url)
    made.thread.start()
    yield made
    made.http.shutdown()
    made.thread.join()
    made.http.server_close()


def count_async(url: str, token: str | None = None, scope: str = "default") -> int:
    """Count the memories with the client for asyncio."""

    async def call() -> int:
        async with connect_async(url, token, scope, retries=0) as memory:
            return await memory.count()

    return asyncio.run(call())


def count(url: str, token: str | None = None, scope: str = "default") -> int:
    """Count the memories with the client for threads."""
    with connect(url, token, scope, retries=0) as memory:
        return memory.count()


both_clients = pytest.mark.parametrize("count", [count, count_async])


@pytest.mark.medium
@both_clients
def test_server_on_the_loopback_is_asked_directly(
    count: Callable[..., int], server: Server, scope: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    token = server.token(f"{scope} {count.__name__}", scope)
    assert count(server.url, token, scope) == 0
    assert count(server.url.replace("127.0.0.1", "localhost"), token, scope) == 0
    assert proxy.asked == []


@pytest.mark.medium
@both_clients
def test_other_server_is_asked_through_the_proxy(count: Callable[..., int], proxy: Proxy) -> None:
    assert count("http://memory.example") == 7
    assert proxy.asked == ["http://memory.example/v1/count?scope=default"]
    with pytest.raises(ServerError, match=f"answered 403 through the proxy {proxy.url} that HTTP_PROXY names without"):
        count("http://memory.example", scope="ana")


@pytest.mark.medium
@both_clients
def test_proxy_that_does_not_run_is_named(
    count: Callable[..., int], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ana:secret@127.0.0.1:1")
    way = "cannot be reached through the proxy http://127.0.0.1:1 that HTTP_PROXY names .*; check the proxy, or add mem"
    with pytest.raises(ServerUnavailable, match=way) as caught:
        count("http://memory.example")
    assert "secret" not in str(caught.value)


@pytest.mark.medium
@both_clients
def test_proxy_that_refuses_a_connection_is_named(
    count: Callable[..., int], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)  # which answers 501 to CONNECT
    with pytest.raises(ServerUnavailable, match=f"cannot be reached through the proxy {proxy.url} that HTTPS_PROXY"):
        count("https://memory.example")


@pytest.mark.medium
@both_clients
def test_socks_proxy_without_its_package_names_the_mend(
    count: Callable[..., int], proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ServerUnavailable, match=r"HTTP_PROXY names is a SOCKS proxy.*pip install 'httpx2\[socks\]'"):
        count("http://memory.example")


# ---- answers without end


class Endless(httpx2.SyncByteStream):
    """A body that goes on; ``sent`` has the bytes that were taken of it."""

    def __init__(self) -> None:
        self.sent = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.sent += 1 << 16
            yield b"1" * (1 << 16)


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("call", [
    lambda memory: memory.count(), lambda memory: memory.import_([]), lambda memory: memory.export(io.StringIO()),
])  # fmt: skip
def test_answer_without_end_is_not_read_to_the_end(
    status: int, call: Callable[[RemoteMemory], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 1 << 20)
    body = Endless()
    client = httpx2.Client(transport=httpx2.MockTransport(lambda _request: httpx2.Response(status, stream=body)))
    memory = connect("http://server", http_client=client)
    with client, memory, pytest.raises(ServerError, match="answers with more than 1 MiB, which are not read"):
        call(memory)
    assert body.sent <= (1 << 20) + (1 << 16)
