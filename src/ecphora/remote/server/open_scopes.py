"""The open memories of a server: one for each scope in use, opened on demand and closed when idle."""

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from ...memory import Memory
from ...model.ports import Store

IDLE_CHECK_SECONDS = 30.0
"""Seconds between two searches for memories that nobody uses."""
_log = logging.getLogger("ecphora.remote.server")
OpenMemory = Callable[[str], Memory]
"""Opens the memory of a scope, which need not exist."""


@dataclass(slots=True)
class _Entry:
    """A memory and how many use it; it is opened by its first user."""

    users: int = 0
    memory: Memory | None = None
    used_at: float = 0.0
    is_discarded: bool = False
    opening: threading.Lock = field(default_factory=threading.Lock)


class OpenScopes:
    """The memories that are open, at most ``capacity`` of them unless more are in use at once.

    Safe to share between threads. Requests share the memory of a scope. Beyond the capacity, the memory that was used
    longest ago is closed; so is a memory that nobody has used for ``idle_seconds``.
    """

    def __init__(
        self,
        open_memory: OpenMemory,
        *,
        capacity: int,
        idle_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        store: Store | None = None,
    ) -> None:
        self.store = store
        """The store that the memories share, if each has none of its own; it is closed after them."""
        self._open_memory = open_memory
        self._capacity = capacity
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @contextmanager
    def lease(self, scope: str) -> Iterator[Memory]:
        """The memory of a scope; it stays open meanwhile. May wait for the file, so not for an event loop."""
        with self._lock:
            entry = self._entries.setdefault(scope, _Entry())
            self._entries.move_to_end(scope)
            entry.users += 1
        try:
            with entry.opening:
                if entry.memory is None:
                    entry.memory = self._open_memory(scope)
            yield entry.memory
        finally:
            with self._lock:
                entry.users -= 1
                entry.used_at = self._clock()
                if entry.memory is None and not entry.users and self._entries.get(scope) is entry:
                    del self._entries[scope]  # it could not be opened
                closing = self._take_out(len(self._entries) - self._capacity)
                if entry.is_discarded and not entry.users:
                    closing.append(entry.memory)
            _close(closing)

    def discard(self, scope: str, memory: Memory) -> None:
        """Close this memory of a scope once nobody uses it; the next request opens another."""
        with self._lock:
            entry = self._entries.get(scope)
            if entry is None or entry.memory is not memory:
                return
            del self._entries[scope]
            entry.is_discarded = True
            closing = [] if entry.users else [entry.memory]
        _close(closing)

    def close_idle(self) -> None:
        """Close the memories that nobody has used for a while."""
        with self._lock:
            earliest = self._clock() - self._idle_seconds
            closing = self._take_out(len(self._entries), used_before=earliest)
        _close(closing)

    def close(self) -> None:
        """Close every memory that nobody uses."""
        with self._lock:
            closing = self._take_out(len(self._entries))
        _close(closing)
        if self.store is not None:
            self.store.close()

    def _take_out(self, count: int, *, used_before: float | None = None) -> list[Memory | None]:
        """Take out up to ``count`` memories that nobody uses, those used longest ago first; the lock is held."""
        unused = [scope for scope, entry in self._entries.items() if not entry.users]
        if used_before is not None:
            unused = [scope for scope in unused if self._entries[scope].used_at <= used_before]
        return [self._entries.pop(scope).memory for scope in unused[: max(count, 0)]]


def _close(memories: Iterable[Memory | None]) -> None:
    """Close memories; each writes what waits for its access log."""
    for memory in memories:
        if memory is not None:
            memory.close()


@asynccontextmanager
async def closing_idle(scopes: OpenScopes) -> AsyncIterator[None]:
    """Close memories that nobody has used for a while, as long as the context lasts."""

    async def close_idle() -> None:
        while True:
            await asyncio.sleep(IDLE_CHECK_SECONDS)
            try:
                await asyncio.to_thread(scopes.close_idle)
            except Exception:  # noqa: BLE001  # the next search must still come
                _log.exception("a memory could not be closed")

    task = asyncio.create_task(close_idle())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
