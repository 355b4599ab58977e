"""``AsyncMemory``: a ``Memory`` for asyncio. Each call runs in a thread; the event loop never waits for it.

``AsyncCalls`` is what ``AsyncMemory`` and ``AsyncRemoteMemory`` have in common. The methods take their parameters,
results and documentation from :class:`~ecphora.memory.Memory` and its views; a call goes to the method of that name of
the object behind it.
"""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import tzinfo
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast

from .errors import InvalidInput, StoreClosed
from .memory import Entities, Facts, Maintenance, Memory
from .model.cancellation import Cancellation
from .model.ports import Store, Strategy
from .model.reprs import OpenInEachProcess, call_repr, show
from .recall.recollection import Recollection
from .retrieval.confidence import EvidenceBands
from .tools.function_tools import ToolReply, ToolSet


class MemoryLike(Protocol):
    """What the calls need of the object behind them, besides the methods that they name."""

    @property
    def facts(self) -> Any: ...
    @property
    def entities(self) -> Any: ...
    @property
    def maintenance(self) -> Any: ...
    def close(self) -> None: ...


P = ParamSpec("P")
R = TypeVar("R")
Owner = TypeVar("Owner")
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
    for hit in result if isinstance(result, Recollection) else ():
        _ = hit.reason
    return result


def same_parameters(
    other: Callable[Concatenate[Any, P], object],
) -> Callable[[Callable[Concatenate[Owner, ...], R]], Callable[Concatenate[Owner, P], R]]:
    """Make a decorator for a method that passes all its arguments on to the method ``other``."""

    def decorate(method: Callable[Concatenate[Owner, ...], R]) -> Callable[Concatenate[Owner, P], R]:
        parameters = tuple(inspect.signature(other).parameters.values())
        signature = inspect.signature(method).replace(parameters=parameters)
        method.__signature__ = signature  # type: ignore[attr-defined]
        return method

    return decorate


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
    undo = offload(Maintenance.undo, writes=True)
    decayed = offload(Maintenance.decayed)
    pin = offload(Maintenance.pin, writes=True)
    unpin = offload(Maintenance.unpin, writes=True)
    archive = offload(Maintenance.archive, writes=True)
    unarchive = offload(Maintenance.unarchive, writes=True)


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

    recall = offload(Memory.recall)
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
    export = offload(Memory.export)
    backup = offload(Memory.backup)
    import_ = offload(Memory.import_, writes=True)


READ_THREADS = 4
"""The number of calls of one memory that read at the same time; further ones wait."""
WRITE_THREADS = 2
"""The number of calls of one memory that write at the same time; further ones wait. They do not hold up reading."""


def _threads(open_memory: Callable[[], Memory], *, owns_memory: bool = True) -> Threads[Memory]:
    return Threads(open_memory, readers=READ_THREADS, writers=WRITE_THREADS, owns_memory=owns_memory)


class AsyncToolSet:
    """``ToolSet`` for asyncio: the same definitions, and calls that are coroutines. ``AsyncMemory.tools`` makes it."""

    def __init__(self, threads: Threads[Memory], tool_set: ToolSet) -> None:
        self._threads, self._tool_set = threads, tool_set
        self.tools = tool_set.tools
        self.openai = tool_set.openai
        self.anthropic = tool_set.anthropic

    async def call(self, name: str, arguments: Mapping[str, object] | str | None) -> str:
        """Call a tool and return its reply; see :meth:`ecphora.ToolSet.call`."""
        return (await self.reply(name, arguments)).text

    async def reply(self, name: str, arguments: Mapping[str, object] | str | None) -> ToolReply:
        """Call a tool and return its reply; see :meth:`ecphora.ToolSet.reply`."""
        writes = any(tool.name == name and not tool.is_read_only for tool in self.tools)
        return await self._threads.run(lambda _memory: self._tool_set.reply(name, arguments), writes=writes)


class AsyncMemory(AsyncMethods[Memory], OpenInEachProcess):
    """A ``Memory`` for asyncio: the same arguments and methods, each a coroutine that runs in a thread.

    The constructor opens nothing. ``async with`` opens the memory and closes it at the end; otherwise the first call
    or :meth:`open` opens it, and :meth:`close` closes it. ``facts``, ``entities`` and ``maintenance`` are the views.
    Iterables, files, models and ``progress`` that you pass are used in the thread. Safe to share between tasks, threads
    and event loops.

    A call whose task is cancelled stops at its next step, and nothing is written afterwards. What it has committed
    stays: whole batches of :meth:`remember`, for example. A cancelled recall is not logged.
    """

    @same_parameters(Memory.__init__)
    def __init__(self, path: str | Path | Store, **options: Any) -> None:
        super().__init__(_threads(lambda: Memory(path, **options)))

    @classmethod
    def wrap(cls, memory: Memory) -> Self:
        """Use a memory that is open already; closing the result leaves it open.

        Raises ``InvalidInput`` for anything but a ``Memory``.
        """
        if not isinstance(memory, Memory):
            raise InvalidInput(f"memory is {show(memory)}; give an open Memory")
        threads = _threads(lambda: memory, owns_memory=False)
        threads.memory = memory
        wrapped = cls.__new__(cls)
        AsyncMethods.__init__(wrapped, threads)
        return wrapped

    def __repr__(self) -> str:
        return call_repr("AsyncMemory", self._threads.memory)

    # ---- what is known without waiting, once the memory is open

    @property
    def _memory(self) -> Memory:
        if self._threads.memory is None:
            raise StoreClosed("the memory is not open yet; use async with, or await open() first")
        return self._threads.memory

    @property
    def scope(self) -> str:
        """Whose memory this is."""
        return self._memory.scope

    @property
    def strategy(self) -> Strategy:
        """The strategy of recalls that name no other."""
        return self._memory.strategy

    @property
    def zone(self) -> tzinfo:
        """Where the user is: the zone of times without an offset, and of the days of questions and prompts."""
        return self._memory.zone

    @property
    def evidence_bands(self) -> EvidenceBands:
        """From which confidence on a recall has strong or weak evidence."""
        return self._memory.evidence_bands

    @property
    def is_read_only(self) -> bool:
        """Whether the store takes no writes."""
        return self._memory.is_read_only

    @property
    def unlogged_count(self) -> int:
        """The number of accesses that were not logged since the memory was opened."""
        return self._memory.unlogged_count

    # ---- what strategies and language models use

    build_query = offload(Memory.build_query)
    graph = offload(Memory.graph)

    @same_parameters(Memory.tools)
    async def tools(self, **options: Any) -> AsyncToolSet:
        """The tools with which a language model uses this memory; see :meth:`ecphora.Memory.tools`."""
        return AsyncToolSet(self._threads, await self._threads.run(lambda memory: memory.tools(**options)))
