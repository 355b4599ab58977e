"""What the routes share: calls of memories in worker threads, so that the event loop never waits for one."""

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..clock import utc_now
from ..errors import StoreReplaced
from ..memory import Memory, view_in_zone
from ..model import ScopeInfo
from ..ports import LLM, Clock
from ..serialize import to_json
from ..stores.sqlite import SQLiteStore
from .jobs import Jobs
from .open_scopes import OpenScopes
from .thread_shares import ThreadShares

T = TypeVar("T")


@dataclass(slots=True)
class Service:
    """The memories of one file, and what runs on them.

    ``threads`` calls run at once, and beside them as many streams, whose clients may be slow. One token has half of
    either at most, so that it cannot stop the others.
    """

    db: Path
    scopes: OpenScopes
    llm: LLM | None = None
    threads: int = 8
    clock: Clock = utc_now
    jobs: Jobs = field(init=False)
    _call_threads: ThreadShares = field(init=False)
    _stream_threads: ThreadShares = field(init=False)

    def __post_init__(self) -> None:
        self._call_threads, self._stream_threads = ThreadShares(self.threads), ThreadShares(self.threads)
        self.jobs = Jobs(self.clock)

    async def run(self, function: Callable[[], T], token_name: str, *, is_stream: bool = False) -> T:
        """Run a function for a token in a worker thread; see :meth:`ThreadShares.run`."""
        return await (self._stream_threads if is_stream else self._call_threads).run(function, token_name)

    async def call(self, scope: str, zone: tzinfo | None, function: Callable[[Memory], Any], token_name: str) -> bytes:
        """Call a function of a scope's memory for a token, as :meth:`with_memory`; return what it returns as JSON."""
        return await self.run(partial(self._call, scope, zone, function), token_name)

    def _call(self, scope: str, zone: tzinfo | None, function: Callable[[Memory], Any]) -> bytes:
        return encode_json(to_json(self.with_memory(scope, zone, function)))

    def with_memory(
        self, scope: str, zone: tzinfo | None, function: Callable[[Memory], T], *, is_repeatable: bool = True
    ) -> T:
        """Call a function of a scope's memory, in this thread. ``zone`` is where the user is; None for the server's.

        If the file or scope was replaced since the memory was opened, nothing was done; then the memory is opened anew,
        and a function that is repeatable is called once more.
        """
        memory: Memory | None = None
        try:
            with self.scopes.lease(scope) as memory:
                return function(view_in_zone(memory, zone))
        except StoreReplaced:
            if memory is not None:
                self.scopes.discard(scope, memory)
            if not is_repeatable:
                raise
        with self.scopes.lease(scope) as memory:
            return function(view_in_zone(memory, zone))

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
