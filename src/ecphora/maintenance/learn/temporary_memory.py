"""A temporary memory that holds a space of a labeled set.

The type of the memory is an argument, because :class:`~ecphora.Memory` is above this room.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from ...model.graph.graph import Graph
from ...model.ports import Embedder, Extractor, Progress, Strategy
from ...model.times import parse_time
from ...model.types import Episode, Node, Query
from .datasets import Case

DEFAULT_NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of the clock in a space without times."""

Tick = Callable[[int], None]
"""Called with the number of further steps done."""


class LearningMemory(Protocol):
    """What learning calls of a memory; :class:`~ecphora.Memory` is one."""

    def remember(self, content: tuple[Episode, ...], /, *, progress: Progress | None = None) -> object:
        """Store episodes."""

    def build_query(self, question: str, /) -> Query:
        """Analyze a question."""

    def graph(self) -> Graph:
        """The graph as of the last commit."""

    def get(self, id_: str, /) -> Node | None:
        """A memory by its id."""


M = TypeVar("M", bound=LearningMemory)
MemoryOpener = Callable[..., AbstractContextManager[M]]
"""Opens a memory at a path: the type :class:`~ecphora.Memory`."""


@dataclass(slots=True)
class SpaceClock:
    """A clock that shows ``now`` until it is set again."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@contextmanager
def temporary_memory(
    open_memory: MemoryOpener[M],
    case: Case,
    strategy: Strategy,
    embedder: Embedder,
    *,
    tick: Tick = lambda _steps: None,
    extractor: Extractor | None = None,
) -> Iterator[tuple[M, SpaceClock]]:
    """A temporary memory that holds a space, opened with a strategy, and its clock, set to the space's last time.

    It is stored without a reranker, so that token codes are made only of what is read: vectors come from a cache.
    """
    clock = SpaceClock(_last_time(case))
    with TemporaryDirectory(prefix="ecphora-space-") as folder:
        open_space = partial(
            open_memory,
            Path(folder, "space.db"),
            embedder=embedder,
            extractor=extractor,
            clock=clock,
            strategy=strategy,
            zone="UTC",
        )
        reported = 0

        def progress(done: int, _of: int) -> None:
            nonlocal reported
            tick(done - reported)
            reported = done

        with open_space(reranker=None) as memory:
            memory.remember(case.episodes, progress=progress)
        with open_space() as memory:
            yield memory, clock


def _last_time(case: Case) -> datetime:
    return max(
        (parse_time(episode.happened_at) for episode in case.episodes if episode.happened_at is not None),
        default=DEFAULT_NOW,
    )
