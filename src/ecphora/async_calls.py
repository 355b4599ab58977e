"""Calls of a memory from asyncio: each runs in a thread, and the event loop never waits for it.

What ``AsyncMemory`` and ``AsyncRemoteMemory`` have in common. The methods take their parameters, results and
documentation from :class:`~ecphora.memory.Memory` and its views; a call goes to the method of that name of the object
behind it.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from types import TracebackType
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)  # fmt: skip

from .cancellation import Cancellation
from .errors import StoreClosed
from .memory import Memory
from .model import Filter, MediaQuery, Reading, When
from .ports import Strategy
from .recall_events import RecallEnd, RecallEvent
from .recollection import Recollection
from .same_parameters import same_parameters
from .views import Entities, Facts, Maintenance


class MemoryLike(Protocol):
    """What the calls need of the object behind them, besides the methods that they name."""

    @property
    def facts(self) -> Any: ...
    @property
    def entities(self) -> Any: ...
    @property
    def maintenance(self) -> Any: ...
    @property
    def stream_recall(self) -> Callable[..., Iterator[RecallEvent]]: ...
    def close(self) -> None: ...


P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=MemoryLike)


class Threads(Generic[M]):
    """The threads of one memory, and the memory itself, which the first call opens.

    ``readers`` calls that read and ``writers`` calls that write run at the same time; further ones wait.
    """

    def __init__(self, open_memory: Callable[[], M], *, readers: int, writers: int, owns_memory: bool = True) -> None:
        self._open_memory, self._owns_memory = open_memory, owns_memory
        self._lock = threading.Lock()
        self._readers = ThreadPoolExecutor(readers, "ecphora-read")
        self._writers = ThreadPoolExecutor(writers, "ecphora-write")
        self.memory: M | None = None

    async def run(self, call: Callable[[M], R], *, writes: bool = False) -> R:
        """Run a call in a thread and return its result. Cancelling this cancels the call.

        A commit under way is waited for, so that nothing is written once the cancellation is through.
        """
        cancellation = Cancellation()
        pool = self._writers if writes else self._readers
        try:
            future = pool.submit(copy_context().run, cancellation.run, lambda: _build_reasons(call(self._opened())))
        except RuntimeError as error:  # the threads have ended
            raise StoreClosed("this memory was closed; make a new one") from error
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not cancellation.cancel():
                await _wait_for_end(future)
            raise

    async def close(self) -> None:
        """Wait for the calls under way, end the threads, and close the memory if it was opened here."""
        for pool in (self._writers, self._readers):
            pool.shutdown(wait=False)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for pool in (self._writers, self._readers):
            pool.shutdown()
        if self._owns_memory and self.memory is not None:
            self.memory.close()

    def _opened(self) -> M:
        with self._lock:
            if self.memory is None:
                self.memory = self._open_memory()
            return self.memory


async def _wait_for_end(future: "Future[Any]") -> None:
    """Wait until a call has ended, however often the task is cancelled meanwhile."""
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    future.add_done_callback(lambda _future: loop.call_soon_threadsafe(end.set))
    while not end.is_set():
        with suppress(asyncio.CancelledError):
            await end.wait()


def _build_reasons(result: R) -> R:
    """Build the reasons of hits, which would otherwise read the file when they are first read."""
    found = result.recollection if isinstance(result, RecallEnd) else result
    for hit in found if isinstance(found, Recollection) else getattr(found, "hits", ()):
        _ = hit.reason
    return result


class AsyncCalls(Generic[M]):
    """Calls the methods of one object of a memory in the memory's threads; ``find`` gets that object."""

    def __init__(self, threads: Threads[M], find: Callable[[M], Any]) -> None:
        self._threads, self._find = threads, find


def offload(
    method: Callable[Concatenate[Any, P], R], *, writes: bool = False
) -> Callable[Concatenate[AsyncCalls[Any], P], Coroutine[Any, Any, R]]:
    """The asynchronous form of a method: the same parameters, run in a thread."""
    name = method.__name__

    @wraps(method)
    async def call(self: AsyncCalls[Any], *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = await self._threads.run(
            lambda memory: getattr(self._find(memory), name)(*args, **kwargs), writes=writes
        )
        return result

    return cast("Callable[Concatenate[AsyncCalls[Any], P], Coroutine[Any, Any, R]]", call)


class AsyncFacts(AsyncCalls[Any]):
    """``Memory.facts`` for asyncio."""

    updates = offload(Facts.updates)
    accept = offload(Facts.accept, writes=True)
    reject = offload(Facts.reject, writes=True)


class AsyncEntities(AsyncCalls[Any]):
    """``Memory.entities`` for asyncio."""

    merge = offload(Entities.merge, writes=True)
    split = offload(Entities.split, writes=True)


class AsyncMaintenance(AsyncCalls[Any]):
    """``Memory.maintenance`` for asyncio."""

    batches = offload(Maintenance.batches)
    decayed = offload(Maintenance.decayed)
    pin = offload(Maintenance.pin, writes=True)
    unpin = offload(Maintenance.unpin, writes=True)
    archive = offload(Maintenance.archive, writes=True)
    unarchive = offload(Maintenance.unarchive, writes=True)


class RecallOptions(TypedDict, total=False):
    """The keywords of :meth:`ecphora.Memory.recall`."""

    limit: int
    budget: int | None
    where: Filter
    as_of: When | None
    known_at: When | None
    retroactive: bool
    goal: str | None
    media_query: MediaQuery | None
    strategy: str | Strategy | None
    reading: str | Reading
    reading_ms: float | None
    include: str | Iterable[str]
    explain: bool
    log_access: bool


class AsyncMethods(AsyncCalls[M]):
    """The methods that every memory has, each a coroutine that runs in a thread."""

    def __init__(self, threads: Threads[M]) -> None:
        super().__init__(threads, lambda memory: memory)
        self.facts = AsyncFacts(threads, lambda memory: memory.facts)
        self.entities = AsyncEntities(threads, lambda memory: memory.entities)
        self.maintenance = AsyncMaintenance(threads, lambda memory: memory.maintenance)

    async def open(self) -> Self:
        """Open the memory now and return this object; an open one stays as it is.

        Raises what opening a memory raises.
        """
        await self._threads.run(lambda _memory: None)
        return self

    async def close(self) -> None:
        """Wait for the calls under way and close the memory; closing twice is harmless."""
        await self._threads.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    # ---- remember, update, forget

    remember = offload(Memory.remember, writes=True)
    update = offload(Memory.update, writes=True)
    forget = offload(Memory.forget, writes=True)
    feedback = offload(Memory.feedback, writes=True)
    record_response = offload(Memory.record_response, writes=True)

    # ---- recall

    @overload
    def recall(
        self, question: str, *, stream: Literal[False] = False, **options: Unpack[RecallOptions]
    ) -> Coroutine[Any, Any, Recollection]: ...

    @overload
    def recall(
        self, question: str, *, stream: Literal[True], **options: Unpack[RecallOptions]
    ) -> AsyncGenerator[RecallEvent, None]: ...

    def recall(
        self, question: str, *, stream: bool = False, **options: Unpack[RecallOptions]
    ) -> Coroutine[Any, Any, Recollection] | AsyncGenerator[RecallEvent, None]:
        """Return the memories that belong to a question; with ``stream=True``, the events of :meth:`stream_recall`.

        The other keywords are those of :meth:`ecphora.Memory.recall`. The reasons of the hits are built at once, since
        they may read the file; ``explain=False`` saves that.
        """
        return self.stream_recall(question, **options) if stream else self._recall(question, **options)

    _recall = offload(Memory.recall)

    @same_parameters(Memory.stream_recall)
    async def stream_recall(self, question: str, **options: Any) -> AsyncGenerator[RecallEvent, None]:
        """Recall in steps, as an asynchronous iterator; see :meth:`ecphora.Memory.stream_recall`."""

        def next_event(events: Iterator[RecallEvent]) -> RecallEvent | None:
            return next(events, None)

        events = await self._threads.run(lambda memory: self._find(memory).stream_recall(question, **options))
        while (event := await self._threads.run(lambda _memory: next_event(events))) is not None:
            yield event

    recall_for = offload(Memory.recall_for)
    why_not = offload(Memory.why_not)
    answer = offload(Memory.answer)

    # ---- look up

    get = offload(Memory.get)
    chunks = offload(Memory.chunks)
    find = offload(Memory.find)
    count = offload(Memory.count)
    history = offload(Memory.history)
    scopes = offload(Memory.scopes)
    insights = offload(Memory.insights)

    # ---- consolidate, export, back up, import

    consolidate = offload(Memory.consolidate, writes=True)
    undo = offload(Memory.undo, writes=True)
    export = offload(Memory.export)
    backup = offload(Memory.backup)
    import_ = offload(Memory.import_, writes=True)
