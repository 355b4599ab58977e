"""``AsyncMemory``: a ``Memory`` for asyncio. Each call runs in a thread; the event loop never waits for it."""

from collections.abc import Callable, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Any, Self

from .async_calls import AsyncMethods, Threads, offload
from .errors import InvalidInput, StoreClosed
from .function_tools import ToolReply, ToolSet
from .memory import Memory
from .pickling import OpenInEachProcess
from .ports import Store, Strategy
from .reprs import call_repr, show
from .same_parameters import same_parameters
from .stages.retrieval.confidence import EvidenceBands

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
