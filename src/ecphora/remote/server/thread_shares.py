"""Worker threads that no token can take for itself."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


def share_of(count: int) -> int:
    """How many of so many places one token may hold: half, at least one."""
    return max(count // 2, 1)


@dataclass(slots=True)
class ThreadShares:
    """So many calls that run at once, of which one token has half at most. For one event loop."""

    threads: int
    _all: anyio.CapacityLimiter | None = field(init=False, default=None)
    _shares: dict[str, anyio.CapacityLimiter] = field(init=False, default_factory=dict)

    async def run(self, function: Callable[[], T], token_name: str | None) -> T:
        """Run a function in a thread, once its token may have another one and one is free.

        A function for no token may have any thread. What has begun runs to its end, whoever waits for it.
        """
        if self._all is None:  # belongs to the event loop that runs
            self._all = anyio.CapacityLimiter(self.threads)
        if token_name is None:
            return await anyio.to_thread.run_sync(function, limiter=self._all)
        share = self._shares.setdefault(token_name, anyio.CapacityLimiter(share_of(self.threads)))
        try:
            async with share:
                return await anyio.to_thread.run_sync(function, limiter=self._all)
        finally:
            if not share.borrowed_tokens and not share.statistics().tasks_waiting:
                self._shares.pop(token_name, None)
