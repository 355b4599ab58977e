"""The writer of the access log: recalls hand over what they leave behind, and a thread writes it in their order.

Best effort: a recall never waits for it for long and never fails for it. What cannot be written is dropped and counted.
"""

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from time import monotonic

from . import encode
from .errors import StoreBusy
from .graph import Graph
from .model import Access, Change
from .pen import Pen, second_handle

CAPACITY = 20_000
"""Accesses that may wait; what comes on top is dropped."""
SOON = 0.02
"""Seconds that a recall waits for what waits to be written, before it looks at it as if it were."""
EPISODE = 0.5
"""The same where what waits is an episode: nothing can stand in for it."""
COMMIT = 0.25
"""Seconds that a recall waits for a commit under way."""
RETRY = 0.05
"""Seconds between two tries while another process holds the lock."""
PATIENCE = 20.0
"""Seconds after which what another process kept from being written is dropped."""
IDLE = 1.0
"""Seconds without work after which the thread ends; the next recall starts another."""
EXIT = 2.0
"""Seconds that all logs together may take to be written when the interpreter exits."""

_logger = logging.getLogger("ecphora")


@dataclass(frozen=True, slots=True)
class Entry:
    """What one recall leaves behind: accesses, or an episode; ``at`` is when, on the monotonic clock.

    ``whole_log`` says that from here on nothing of the log may expire.
    """

    at: float
    now: datetime
    accesses: tuple[Access, ...] = ()
    whole_log: bool = False
    episode: encode.Draft | None = None

    @property
    def size(self) -> int:
        """How much is lost with it."""
        return len(self.accesses) + (self.episode is not None)


class AccessLog:
    """Writes what the recalls of one memory leave behind, in order.

    The thread runs while there is work, and writes through a second connection of the store where it has one, so that
    recalls wait neither for its commits nor for a lock. ``unlogged`` counts the accesses and episodes that were
    dropped: because another process held the lock for too long, the disk was full, the file could not be written or
    too many waited. Safe to share between threads; after a fork the parent writes what was waiting.
    """

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self._begin()
        _LOGS.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Entry] = deque()
        self._size = self._handed_over = self._settled = self.unlogged = 0
        self._thread: threading.Thread | None = None
        self._committing = self._locked_out = self._closed = self._warned = False

    # ---- for recalls

    def add(
        self, accesses: Sequence[Access], episode: encode.Draft | None, now: datetime, *, whole_log: bool = False
    ) -> None:
        """Hand over what a recall leaves behind; it does not wait, and raises nothing."""
        at = monotonic()
        with self._changed:
            if accesses:
                self._append(Entry(at, now, tuple(accesses), whole_log))
            if episode is not None:
                self._append(Entry(at, now, episode=episode))

    def skip(self, count: int) -> None:
        """Count what is not to be logged, as the file takes no writes."""
        with self._changed:
            self.unlogged += count

    def graph(self) -> Graph:
        """The memory graph with everything that was handed over before, written yet or not."""
        with self._changed:
            mine = self._handed_over
            if self._settled < mine and not self._locked_out:
                episode = any(entry.episode is not None for entry in self._waiting)
                self._changed.wait_for(lambda: self._settled >= mine or self._locked_out, EPISODE if episode else SOON)
            if self._committing and not self._changed.wait_for(lambda: not self._committing, COMMIT):
                return self._pen.graph()  # what is being committed may be in it or not: it must not be there twice
            return _with(self._pen.graph(), [access for entry in self._waiting for access in entry.accesses])

    # ---- for writers

    def flush(self, seconds: float) -> bool:
        """Wait until everything handed over so far is written or dropped; whether it was in time."""
        with self._changed:
            mine = self._handed_over
            return self._changed.wait_for(lambda: self._settled >= mine, seconds)

    def close(self, seconds: float) -> None:
        """Write what waits, as far as that takes no longer, and drop the rest; closing twice is harmless."""
        self.flush(seconds)
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._committing, COMMIT)
            if self._waiting and not self._committing:
                self._lose(self._take(len(self._waiting)), "the memory was closed")
            self._changed.notify_all()

    # ---- the queue; the lock is held

    def _append(self, entry: Entry) -> None:
        self._handed_over += 1
        if self._closed or self._size + entry.size > CAPACITY:
            self._lose([entry], "the memory was closed" if self._closed else "too many wait")
            return
        self._waiting.append(entry)
        self._size += entry.size
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ecphora-access-log", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # the interpreter exits, or there are too many threads
                self._thread = None
                self._lose(self._take(len(self._waiting)), error)
        self._changed.notify_all()

    def _take(self, count: int) -> list[Entry]:
        """Take the first entries out."""
        first = [self._waiting.popleft() for _ in range(count)]
        self._size -= sum(entry.size for entry in first)
        return first

    def _lose(self, entries: Sequence[Entry], why: object) -> None:
        self._settled += len(entries)
        self.unlogged += sum(entry.size for entry in entries)
        self._changed.notify_all()
        if entries and not self._warned:
            self._warned = True
            _logger.warning("what a recall touched was not logged: %s; Memory.unlogged counts what is lost", why)

    # ---- the thread

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._write(batch)
            except StoreBusy as error:
                self._end(batch, error, again=True)
            except Exception as error:  # noqa: BLE001  # whatever it is, the answer is long given
                self._end(batch, error)
            else:
                self._end(batch)

    def _next(self) -> list[Entry]:
        """The next entries to be written together; none ends the thread."""
        with self._changed:
            if self._locked_out:
                self._changed.wait_for(lambda: self._closed, RETRY)
                late = monotonic() - PATIENCE
                expired = sum(1 for _ in takewhile(lambda entry: entry.at < late, self._waiting))
                self._lose(self._take(expired), "another process holds the lock")
                self._locked_out = bool(self._waiting)
            self._changed.wait_for(lambda: self._waiting or self._closed, IDLE)
            if self._closed:
                self._lose(self._take(len(self._waiting)), "the memory was closed")
            if not self._waiting:
                self._thread = None
                return []
            self._committing = True
            together = list(takewhile(lambda entry: entry.episode is None, self._waiting))
            return together or [self._waiting[0]]

    def _write(self, batch: Sequence[Entry]) -> None:
        """Commit some entries: the accesses of several, or one episode."""
        pen, (first, *_) = self._pen, batch
        store = second_handle(pen.store)
        if first.episode is not None:
            replace(pen, store=store).remember([first.episode], first.now, restore=False)
        else:
            accesses = tuple(access for entry in batch for access in entry.accesses)
            whole_log = any(entry.whole_log for entry in batch)
            pen.live.add(store.commit(pen.scope, Change(accesses=accesses, whole_log=whole_log)))

    def _end(self, batch: Sequence[Entry], error: Exception | None = None, *, again: bool = False) -> None:
        with self._changed:
            self._committing, self._locked_out = False, again
            if error is None:
                self._settled += len(self._take(len(batch)))
            elif not again:
                self._lose(self._take(len(batch)), error)
            self._changed.notify_all()

    # ---- a fork, and the end

    def hold(self) -> None:
        """Keep the thread from committing: a fork must not find a lock taken."""
        self._changed.acquire()
        self._changed.wait_for(lambda: not self._committing, COMMIT)

    def resume(self) -> None:
        """Let the thread go on."""
        self._changed.release()

    def begin_anew(self) -> None:
        """Start empty, in a child process: its parent writes what waited."""
        self._begin()


def _with(graph: Graph, accesses: Sequence[Access]) -> Graph:
    """The graph as it would be with some accesses, for looking at only."""
    if not accesses:
        return graph
    last = max(int(graph.nodes["seq"][-1:].max(initial=0)), int(graph.accesses["seq"][-1:].max(initial=0)))
    there = [(row, access) for access in accesses if (row := graph.row(access.node)) is not None]
    counts = {
        (access.node, access.touch): access.nth for row in dict(there) for access in graph.accesses_of(row)
    }  # in order of seq: the last stays
    numbered: list[Access] = []
    for place, (_, access) in enumerate(there, 1):
        group = access.node, access.touch
        counts[group] = counts.get(group, 0) + 1
        numbered.append(replace(access, seq=last + place, nth=counts[group]))
    return graph.plus(Change(accesses=tuple(numbered), revision=graph.revision))


_LOGS: "weakref.WeakSet[AccessLog]" = weakref.WeakSet()
_held: list[AccessLog] = []


def _before_fork() -> None:
    _held[:] = list(_LOGS)
    for log in _held:
        log.hold()


def _after_fork_in_parent() -> None:
    for log in _held:
        log.resume()
    _held.clear()


def _after_fork_in_child() -> None:
    for log in _held:
        log.begin_anew()
    _held.clear()


def _exit() -> None:
    end = monotonic() + EXIT
    for log in list(_LOGS):
        log.close(max(0.0, end - monotonic()))


atexit.register(_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
