"""Sends the requests of worker threads on an event loop, where a request can be cancelled.

So the clients for threads and for asyncio are one: the code of the first runs in a thread, and only what waits for the
network runs on the loop. Needs the extra ``[client]``.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import CancelledError
from threading import Lock
from typing import Any, TypeVar

import httpx2

from ...errors import InvalidInput, ServerUnavailable
from ...model.cancellation import CallCancelled, current_cancellation
from ...models.http_client import HTTPRoute
from .server_connection import connection_limits

R = TypeVar("R")


class LoopTransport(httpx2.BaseTransport):
    """A transport for an ``httpx2.Client`` in threads, whose requests an ``httpx2.AsyncClient`` sends.

    ``client`` is one of the user's, which is not closed here; without one, requests take the ``route``.
    """

    def __init__(self, client: httpx2.AsyncClient | None, route: HTTPRoute) -> None:
        self._owns_client = client is None
        self._client = client
        self._route = route
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Send on this loop; raises ``InvalidInput`` after another one, to which the connections belong."""
        with self._lock:
            if self._loop is None:
                self._loop = loop
            if self._loop is not loop:
                raise InvalidInput("this memory was used in another event loop; call connect_async in each")

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; returns its answer, of which only the head has been read. For worker threads."""
        stream = request.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            assert isinstance(stream, httpx2.SyncByteStream)  # noqa: S101  # an httpx2.Client has no others
            stream = _RequestParts(stream)
        sent = httpx2.Request(
            request.method, request.url, headers=request.headers, stream=stream, extensions=request.extensions
        )
        answer = self.run(self._client_for_call().send(sent, stream=True))
        headers = [pair for pair in answer.headers.multi_items() if pair[0] != "content-encoding"]  # decoded by then
        parts = _AnswerParts(self, answer)
        return httpx2.Response(answer.status_code, headers=headers, stream=parts, extensions=answer.extensions)

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the loop and wait for it, in a worker thread. A cancelled call cancels it."""
        if (loop := self._running_loop()) is None:
            coroutine.close()
            raise ServerUnavailable("the event loop of this memory has ended; call connect_async in the new one")
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            with current_cancellation().interruptible(future.cancel):
                return future.result()
        except CancelledError as error:  # by the call, or because the loop ends
            raise CallCancelled from error
        except CallCancelled:
            future.cancel()
            raise

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine on the loop and do not wait for it, even if the call is cancelled. Ends with the loop."""
        if (loop := self._running_loop()) is None:
            coroutine.close()
        else:
            asyncio.run_coroutine_threadsafe(coroutine, loop)

    def wait(self, seconds: float) -> None:
        """Wait, in a worker thread."""
        self.run(asyncio.sleep(seconds))

    async def aclose(self) -> None:
        """Close the connections. For the loop."""
        client, self._client = self._client, None
        if self._owns_client and client is not None:
            await client.aclose()

    def _running_loop(self) -> asyncio.AbstractEventLoop | None:
        return None if self._loop is None or self._loop.is_closed() else self._loop

    def _client_for_call(self) -> httpx2.AsyncClient:
        with self._lock:  # a thread makes it, since it reads the certificates
            if self._client is None:
                limits = connection_limits(httpx2)
                self._client = self._route.open_client(httpx2.AsyncClient, ServerUnavailable, limits=limits)
            return self._client


class _RequestParts(httpx2.AsyncByteStream):
    """A body that is read from an iterator as it is sent, in threads, since the iterator may wait."""

    def __init__(self, parts: httpx2.SyncByteStream) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self._parts)
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            yield part


class _AnswerParts(httpx2.SyncByteStream):
    """The body of an answer, as it arrives."""

    def __init__(self, transport: LoopTransport, answer: httpx2.Response) -> None:
        self._transport, self._answer = transport, answer

    def __iter__(self) -> Iterator[bytes]:
        parts = self._answer.aiter_bytes()

        async def next_part() -> bytes | None:
            return await anext(parts, None)

        while (part := self._transport.run(next_part())) is not None:
            yield part

    def close(self) -> None:
        self._transport.start(self._answer.aclose())
