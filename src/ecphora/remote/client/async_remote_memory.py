"""``connect_async``: a memory behind a server, for asyncio."""

import asyncio
from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING, Any, TypeVar

from ...aio import AsyncMethods, Threads
from ...model.reprs import OpenInEachProcess, call_repr
from ...model.validation import check_name
from ...models.http_client import HTTPRoute, find_route
from .remote_memory import RemoteMemory, missing_name
from .server_connection import ServerConnection, check_client, check_url, import_httpx2

if TYPE_CHECKING:  # an extra
    import httpx2

    from .loop_transport import LoopTransport

READ_THREADS = WRITE_THREADS = 8
"""The calls of one memory that read, and the calls that write, at the same time; further calls wait."""

R = TypeVar("R")


def connect_async(
    url: str,
    token: str | None = None,
    scope: str = "default",
    *,
    timeout: float = 60.0,
    retries: int = 2,
    zone: str | tzinfo | None = None,
    http_client: "httpx2.AsyncClient | None" = None,
) -> "AsyncRemoteMemory":
    """Return a memory behind a server, for asyncio: :func:`connect`, with methods that are coroutines.

    The arguments are the same as for :func:`connect`, but ``http_client`` is an ``httpx2.AsyncClient``. Nothing is sent
    before the first call, so this needs no ``await``. Close the memory with ``async with``, or with ``await close()``.

    Raises ``InvalidInput`` for an argument that cannot be used, and ``ServerUnavailable`` if the package httpx2 is
    missing.
    """
    httpx2 = import_httpx2()
    check_client(http_client, httpx2.AsyncClient)
    from .loop_transport import LoopTransport  # noqa: PLC0415  # needs httpx2

    name, route = check_name("scope", scope), HTTPRoute() if http_client is not None else find_route(check_url(url))
    transport = LoopTransport(http_client, route)
    bridge = httpx2.Client(transport=transport, trust_env=False)
    connection = ServerConnection(
        url, token, timeout=timeout, retries=retries, zone=zone, http_client=bridge, route=route, sleep=transport.wait
    )
    return AsyncRemoteMemory(RemoteMemory(connection, name, sleep=transport.wait), transport)


class _LoopThreads(Threads[RemoteMemory]):
    """Threads whose requests are sent on the loop of the task that waits for them."""

    def __init__(self, memory: RemoteMemory, transport: "LoopTransport") -> None:
        super().__init__(lambda: memory, readers=READ_THREADS, writers=WRITE_THREADS)
        self.memory: RemoteMemory = memory
        self._transport = transport

    async def run(self, call: Callable[[RemoteMemory], R], *, writes: bool = False) -> R:
        """Run a call in a thread and return its result. Cancelling this cancels the call, and closes its request."""
        self._transport.attach(asyncio.get_running_loop())
        return await super().run(call, writes=writes)

    async def close(self) -> None:
        """Wait for the calls under way, end the threads, and close the connections."""
        await super().close()
        await self._transport.aclose()


class AsyncRemoteMemory(AsyncMethods[RemoteMemory], OpenInEachProcess):
    """A memory behind a server for asyncio, made by :func:`connect_async`: a :class:`RemoteMemory` with coroutines.

    It belongs to the event loop of its first call. Iterables, files and ``progress`` that you pass are used in a
    thread. A call whose task is cancelled ends at once, and its connection is closed; what the server had begun by
    then, it may still do. A ``consolidate`` ends after the step that it is at.
    """

    def __init__(self, memory: RemoteMemory, transport: "LoopTransport") -> None:
        super().__init__(_LoopThreads(memory, transport))
        self._memory = memory

    def __repr__(self) -> str:
        return call_repr("AsyncRemoteMemory", self._memory._connection.url, scope=self.scope)  # noqa: SLF001

    def __getattr__(self, name: str) -> Any:
        raise missing_name("an AsyncRemoteMemory", name)

    @property
    def scope(self) -> str:
        """Whose memory this is."""
        return self._memory.scope
