"""What the routes share: calls of memories in worker threads, so that the event loop never waits for one."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from ..clock import utc_now
from ..errors import StoreReplaced
from ..memory import Memory
from ..model import ScopeInfo
from ..ports import LLM, Clock
from ..serialize import to_json
from ..stores.sqlite import SQLiteStore
from .jobs import Jobs
from .open_scopes import OpenScopes

T = TypeVar("T")


@dataclass(slots=True)
class Service:
    """The memories of one file, and what runs on them.

    ``threads`` calls run at once, and beside them as many streams, whose clients may be slow.
    """

    db: Path
    scopes: OpenScopes
    llm: LLM | None = None
    threads: int = 8
    clock: Clock = utc_now
    jobs: Jobs = field(init=False)
    _limiters: dict[bool, anyio.CapacityLimiter] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.jobs = Jobs(self.clock)

    async def run(self, function: Callable[[], T], *, is_stream: bool = False) -> T:
        """Run a function in a worker thread, once one is free. What has begun runs to its end, whoever waits for it."""
        if is_stream not in self._limiters:
            self._limiters[is_stream] = anyio.CapacityLimiter(self.threads)  # belongs to the event loop that runs
        return await anyio.to_thread.run_sync(function, limiter=self._limiters[is_stream])

    async def call(self, scope: str, function: Callable[[Memory], Any]) -> bytes:
        """Call a function of a scope's memory; return what it returns as JSON."""
        return await self.run(partial(self._call, scope, function))

    def _call(self, scope: str, function: Callable[[Memory], Any]) -> bytes:
        return encode_json(to_json(self.with_memory(scope, function)))

    def with_memory(self, scope: str, function: Callable[[Memory], T], *, is_repeatable: bool = True) -> T:
        """Call a function of a scope's memory, in this thread.

        If the file or scope was replaced since the memory was opened, nothing was done; then the memory is opened anew,
        and a function that is repeatable is called once more.
        """
        memory: Memory | None = None
        try:
            with self.scopes.lease(scope) as memory:
                return function(memory)
        except StoreReplaced:
            if memory is not None:
                self.scopes.discard(scope, memory)
            if not is_repeatable:
                raise
        with self.scopes.lease(scope) as memory:
            return function(memory)

    def list_scopes(self) -> list[ScopeInfo]:
        """Every scope of the file."""
        with closing(SQLiteStore(self.db)) as store:
            return store.scopes()

    def close(self) -> None:
        """End the jobs, write the access logs and close the file; may wait for the step that a job is at."""
        self.jobs.close()
        self.scopes.close()


def encode_json(value: Any) -> bytes:
    """JSON values as bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
