"""A memory behind a server for asyncio: its names, its loop, and what remains of calls that are cancelled."""

import asyncio
import gzip
import inspect
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import httpx2
import pytest

from ecphora import AsyncMemory, AsyncRemoteMemory, InvalidInput, Memory, connect_async
from ecphora.errors import ServerUnavailable, StoreClosed
from ecphora.remote.client.async_remote_memory import READ_THREADS
from ecphora.remote.client.remote_memory import LOCAL_METHODS

from .conftest import Server

R = TypeVar("R")
SECONDS = 30
"""After so many seconds a test that waits has failed."""
QUESTION = "Where does Ana live?"


def run(call: Coroutine[Any, Any, R]) -> R:
    return asyncio.run(asyncio.wait_for(call, SECONDS))


async def cancel(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class SilentServer:
    """A server that reads requests and answers as its script says; None is no answer at all."""

    def __init__(self, answer: Callable[[str], bytes | None]) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: SimpleQueue[str] = SimpleQueue()
        self.hung_up: SimpleQueue[str] = SimpleQueue()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        """Read requests until the client hangs up, which with an answer unread resets the connection."""
        path, received = "", b""
        with connection, suppress(ConnectionError):
            while part := connection.recv(1 << 16):
                received += part
                head, _, body = received.partition(b"\r\n\r\n")
                length = int((head.lower().partition(b"content-length: ")[2] or b"0").split(b"\r\n")[0])
                if b"\r\n\r\n" in received and len(body) >= length:
                    path = head.split(b" ")[1].decode().partition("?")[0]
                    self.requests.put(path)
                    if (answer := self._answer(path)) is not None:
                        lines = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\n\r\n"
                        connection.sendall(lines.encode() + answer)
                    received = b""
        self.hung_up.put(path)

    def close(self) -> None:
        """Stop listening, and wait until every client has hung up."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(SECONDS)


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    server = SilentServer(lambda path: b"7" if path == "/v1/count" else None)
    yield server
    server.close()


async def take(queue: "SimpleQueue[str]") -> str:
    return await asyncio.to_thread(queue.get, timeout=SECONDS)


# ---- names


def public_names(value: object) -> set[str]:
    return {name for name in dir(value) if not name.startswith("_")}


def test_names_are_those_of_async_memory_but_for_the_local_ones() -> None:
    memory = connect_async("http://127.0.0.1:1", scope="ana")
    assert (memory.scope, repr(memory)) == ("ana", "AsyncRemoteMemory('http://127.0.0.1:1', scope='ana')")
    offered = public_names(AsyncMemory("m.db")) - {"wrap"}
    assert public_names(memory) == offered - set(LOCAL_METHODS)
    for name, reason in LOCAL_METHODS.items():
        with pytest.raises(AttributeError, match=f"an AsyncRemoteMemory has no '{name}': {reason[:20]}"):
            getattr(memory, name)
    for name in public_names(AsyncRemoteMemory) & public_names(Memory) - {"recall", "close", "scope"}:
        parameters = inspect.signature(getattr(AsyncRemoteMemory, name)).parameters
        assert parameters == inspect.signature(getattr(Memory, name)).parameters, name


@pytest.mark.parametrize(
    "arguments", [{"url": "ftp://x"}, {"scope": ""}, {"token": "a\n"}, {"timeout": 0}, {"retries": -1}]
)
def test_wrong_arguments_are_refused_at_once(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        connect_async(**{"url": "http://127.0.0.1:1", **arguments})


# ---- the loop


@pytest.mark.medium
def test_many_calls_at_once_use_one_memory(server: Server, scope: str) -> None:
    async def call() -> None:
        async with connect_async(server.url, server.token(scope), scope) as memory:
            await asyncio.gather(*(memory.remember(f"Ana has boat {number}.") for number in range(3 * READ_THREADS)))
            counts = await asyncio.gather(*(memory.count() for _ in range(3 * READ_THREADS)))
            assert set(counts) == {3 * READ_THREADS}
            found = await memory.recall(QUESTION, limit=2)
            assert len(found) == 2
        await memory.close()
        with pytest.raises(StoreClosed):
            await memory.count()

    run(call())


@pytest.mark.medium
def test_loop_goes_on_while_a_call_waits_for_the_server(silent: SilentServer) -> None:
    async def call() -> None:
        async with connect_async(silent.url) as memory:
            waiting = asyncio.create_task(memory.recall(QUESTION))
            assert await take(silent.requests) == "/v1/recall"
            assert await memory.count() == 7
            await cancel(waiting)

    run(call())


def test_memory_belongs_to_one_loop() -> None:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _request: httpx2.Response(200, json=7)))
    memory = connect_async("http://server", http_client=client)
    assert run(memory.count()) == 7
    with pytest.raises(InvalidInput, match="call connect_async in each"):
        run(memory.count())


def test_client_of_the_user_sends_the_requests_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # which is for the client of the user to follow

    async def call() -> None:
        seen = []

        def answer(request: httpx2.Request) -> httpx2.Response:
            seen.append((request.url.path, request.headers["authorization"], request.headers["user-agent"]))
            return httpx2.Response(200, content=gzip.compress(b"3"), headers={"Content-Encoding": "gzip"})

        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer), trust_env=False) as client:
            async with connect_async("http://server", "ecp_x", http_client=client) as memory:
                assert await memory.count() == 3
            assert not client.is_closed
        ((path, token, _agent),) = seen
        assert (path, token) == ("/v1/count", "Bearer ecp_x")

    run(call())


@pytest.mark.medium
def test_server_that_cannot_be_reached_is_tried_again() -> None:
    attempts = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        attempts.append(request.url.path)
        raise httpx2.ConnectError("refused")

    async def call() -> None:
        async with (
            httpx2.AsyncClient(transport=httpx2.MockTransport(refuse)) as client,
            connect_async("http://server", http_client=client, retries=1) as memory,
        ):
            with pytest.raises(ServerUnavailable, match="cannot be reached"):
                await memory.forget("a")
        assert attempts == ["/v1/forget"] * 2

    run(call())


# ---- cancellation


@pytest.mark.medium
def test_cancelled_call_closes_its_connection(silent: SilentServer) -> None:
    async def call() -> None:
        async with connect_async(silent.url) as memory:
            for _ in range(2 * READ_THREADS):  # more than threads: none stays behind
                waiting = asyncio.create_task(memory.recall(QUESTION))
                await take(silent.requests)
                await cancel(waiting)
                assert await take(silent.hung_up) == "/v1/recall"
            assert await memory.count() == 7

    run(call())


@pytest.mark.medium
def test_cancelled_consolidation_is_cancelled_on_the_server() -> None:
    job = {"id": "j", "state": "running", "done": 0, "total": 1, "result": None, "error": None}
    answers = {"/v1/consolidate": {"job": "j"}, "/v1/jobs/j": job, "/v1/jobs/j/cancel": job}
    server = SilentServer(lambda path: json.dumps(answers[path]).encode())

    async def call() -> None:
        async with connect_async(server.url) as memory:
            waiting = asyncio.create_task(memory.consolidate())
            assert [await take(server.requests) for _ in range(2)] == ["/v1/consolidate", "/v1/jobs/j"]
            await cancel(waiting)
        paths = []
        while not server.requests.empty():
            paths.append(server.requests.get())
        assert paths[-1] == "/v1/jobs/j/cancel"

    run(call())
    server.close()


@pytest.mark.medium
def test_cancelled_import_writes_nothing(server: Server, scope: str) -> None:
    waits = []

    async def call() -> None:
        async with connect_async(server.url, server.token(scope), scope) as memory:
            loop, is_read, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

            def lines() -> Iterator[str]:
                yield "x" * (1 << 20)
                loop.call_soon_threadsafe(is_read.set)
                waits.append(go_on.wait(SECONDS))  # in a thread: the loop goes on
                yield "y"

            importing = asyncio.create_task(memory.import_(lines()))
            await is_read.wait()
            await cancel(importing)
            assert await memory.count() == 0
            go_on.set()

    run(call())
    assert waits == [True]


@pytest.mark.medium
def test_backup_arrives_whole(server: Server, scope: str, tmp_path: Path) -> None:
    async def call() -> None:
        async with connect_async(server.url, server.token(f"{scope} all"), scope) as memory:
            await memory.remember("Ana lives in Porto.")
            made = await memory.backup(tmp_path / "copy.db")
            assert made.size == (tmp_path / "copy.db").stat().st_size

    run(call())
