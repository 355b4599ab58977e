"""The access log: which accesses a recall logs, and the queue from which a thread writes them in order.

Best effort: a recall never waits long for the log and never fails because of it. What cannot be written is dropped and
counted.
"""

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from itertools import takewhile
from time import monotonic
from types import MappingProxyType

import numpy as np

from ..errors import StoreBusy
from ..model.graph.graph import Graph, sort_by_last_access
from ..model.graph.updates import apply_batch
from ..model.ports import Activation
from ..model.types import Access, AccessKind, Hit, NodeId, WriteBatch
from ..remember import documents
from ..remember.scope_writer import ScopeWriter, nonblocking_handle
from ..remember.write_recall import stimulus_accesses

QUEUE_CAPACITY = 20_000
"""The number of accesses that may wait; further ones are dropped."""
READ_WAIT_SECONDS = 0.02
"""Seconds that a recall waits for queued accesses to be written, before it adds them to its graph unwritten."""
EPISODE_WAIT_SECONDS = 0.5
"""The same if an episode is queued, which cannot be added to a graph unwritten."""
COMMIT_WAIT_SECONDS = 0.25
"""Seconds that a recall waits for a commit under way."""
RETRY_SECONDS = 0.05
"""Seconds between two tries while another process holds the lock."""
LOCK_TIMEOUT_SECONDS = 20.0
"""Seconds after which queued entries are dropped while another process holds the lock."""
IDLE_SECONDS = 1.0
"""Seconds without work after which the thread ends; the next recall starts another."""
EXIT_FLUSH_SECONDS = 2.0
"""Seconds that all logs together may take to be written when the interpreter exits."""

NO_CODES: Mapping[NodeId, bytes] = MappingProxyType({})

_logger = logging.getLogger("ecphora")


def recall_accesses(graph: Graph, activation: Activation, hits: Sequence[Hit], now: datetime) -> tuple[Access, ...]:
    """The accesses that a recall logs: ``STIMULATED`` of what the query stimulated, then ``RECALLED`` of the hits.

    The hits keep their order by last access: the hit that was accessed longest ago is logged first.
    """
    hit_by_row = {graph.row(hit.id): hit for hit in hits}
    rows = sort_by_last_access(graph, np.array(list(hit_by_row), np.intp))
    sorted_hits = [hit_by_row[row] for row in rows.tolist()]
    recalled = (Access(hit.id, now, AccessKind.RECALLED, hit.score) for hit in sorted_hits)
    return (*stimulus_accesses(graph, activation, now), *recalled)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """The accesses of one recall, with the token codes that it made, or its episode.

    ``queued_at`` is on the monotonic clock. ``needs_full_log`` says that from here on no access may expire.
    """

    queued_at: float
    recorded_at: datetime
    accesses: tuple[Access, ...] = ()
    needs_full_log: bool = False
    episode: documents.CheckedEpisode | None = None
    codes: Mapping[NodeId, bytes] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of accesses and episodes in it."""
        return len(self.accesses) + (self.episode is not None)


class AccessLog:
    """Writes the accesses and episodes of the recalls of one memory, in order.

    The thread runs while there is work. It writes through a second connection of the store if there is one, so that
    recalls wait neither for its commits nor for a lock. ``unlogged_count`` counts the accesses and episodes that were
    dropped because another process held the lock for too long, the disk was full, the file could not be written or too
    many waited. Safe to share between threads; after a fork the parent writes the queue.
    """

    def __init__(self, writer: ScopeWriter) -> None:
        self._writer = writer
        self._reset()
        _close_at_exit()
        _OPEN_LOGS.add(self)

    def _reset(self) -> None:
        self._condition = threading.Condition()
        self._entries: deque[LogEntry] = deque()
        self._queue_size = self._enqueue_count = self._done_count = self.unlogged_count = 0
        self._thread: threading.Thread | None = None
        self._is_committing = self._is_locked_out = self._is_closed = self._has_warned = False

    # ---- for recalls

    def add(
        self,
        accesses: Sequence[Access],
        episode: documents.CheckedEpisode | None,
        now: datetime,
        *,
        needs_full_log: bool = False,
        codes: Mapping[NodeId, bytes] = NO_CODES,
    ) -> None:
        """Queue the accesses and the episode of a recall, and ``codes``, the token codes of memories that had none.

        Does not wait, and raises nothing.
        """
        queued_at = monotonic()
        with self._condition:
            if accesses or codes:
                self._enqueue(LogEntry(queued_at, now, tuple(accesses), needs_full_log, codes=codes))
            if episode is not None:
                self._enqueue(LogEntry(queued_at, now, episode=episode))

    def count_unlogged(self, count: int) -> None:
        """Count accesses and episodes that are not logged because the file is read-only."""
        with self._condition:
            self.unlogged_count += count

    def graph(self) -> Graph:
        """The memory graph with all accesses queued before, written yet or not."""
        with self._condition:
            target = self._enqueue_count
            if self._done_count < target and not self._is_locked_out:
                has_episode = any(entry.episode is not None for entry in self._entries)
                self._condition.wait_for(
                    lambda: self._done_count >= target or self._is_locked_out,
                    EPISODE_WAIT_SECONDS if has_episode else READ_WAIT_SECONDS,
                )
            if self._is_committing and not self._condition.wait_for(
                lambda: not self._is_committing, COMMIT_WAIT_SECONDS
            ):
                return self._writer.graph()  # may or may not hold the commit under way: do not add it twice
            return _with_accesses(
                self._writer.graph(), [access for entry in self._entries for access in entry.accesses]
            )

    # ---- for writers

    def flush(self, seconds: float) -> bool:
        """Wait until everything queued so far is written or dropped; False after ``seconds``."""
        with self._condition:
            target = self._enqueue_count
            return self._condition.wait_for(lambda: self._done_count >= target, seconds)

    def close(self, seconds: float) -> None:
        """Write the queue for at most ``seconds`` and drop the rest; closing twice is harmless."""
        self.flush(seconds)
        with self._condition:
            self._is_closed = True
            self._condition.wait_for(lambda: not self._is_committing, COMMIT_WAIT_SECONDS)
            if self._entries and not self._is_committing:
                self._drop(self._dequeue(len(self._entries)), "the memory was closed")
            self._condition.notify_all()

    # ---- the queue; the lock is held

    def _enqueue(self, entry: LogEntry) -> None:
        self._enqueue_count += 1
        if self._is_closed or self._queue_size + entry.size > QUEUE_CAPACITY:
            self._drop([entry], "the memory was closed" if self._is_closed else "too many wait")
            return
        self._entries.append(entry)
        self._queue_size += entry.size
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="ecphora-access-log", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # the interpreter exits, or there are too many threads
                self._thread = None
                self._drop(self._dequeue(len(self._entries)), error)
        self._condition.notify_all()

    def _dequeue(self, count: int) -> list[LogEntry]:
        """Remove and return the first entries."""
        entries = [self._entries.popleft() for _ in range(count)]
        self._queue_size -= sum(entry.size for entry in entries)
        return entries

    def _drop(self, entries: Sequence[LogEntry], reason: object) -> None:
        self._done_count += len(entries)
        self.unlogged_count += sum(entry.size for entry in entries)
        self._condition.notify_all()
        if entries and not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "the accesses of a recall were not logged: %s; Memory.unlogged_count counts what is lost", reason
            )

    # ---- the thread

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._write(batch)
            except StoreBusy as error:
                self._finish(batch, error, is_retry=True)
            except Exception as error:  # noqa: BLE001  # the recall has returned: only count the loss
                self._finish(batch, error)
            else:
                self._finish(batch)

    def _next_batch(self) -> list[LogEntry]:
        """The next entries to write together; an empty list ends the thread."""
        with self._condition:
            if self._is_locked_out:
                self._condition.wait_for(lambda: self._is_closed, RETRY_SECONDS)
                oldest = monotonic() - LOCK_TIMEOUT_SECONDS
                expired = sum(1 for _ in takewhile(lambda entry: entry.queued_at < oldest, self._entries))
                self._drop(self._dequeue(expired), "another process holds the lock")
                self._is_locked_out = bool(self._entries)
            self._condition.wait_for(lambda: self._entries or self._is_closed, IDLE_SECONDS)
            if self._is_closed:
                self._drop(self._dequeue(len(self._entries)), "the memory was closed")
            if not self._entries:
                self._thread = None
                return []
            self._is_committing = True
            access_entries = list(takewhile(lambda entry: entry.episode is None, self._entries))
            return access_entries or [self._entries[0]]

    def _write(self, entries: Sequence[LogEntry]) -> None:
        """Commit entries: the accesses of several, or one episode."""
        writer, (first, *_) = self._writer, entries
        store = nonblocking_handle(writer.store)
        if first.episode is not None:
            replace(writer, store=store).remember([first.episode], first.recorded_at, restore=False)
        else:
            accesses = tuple(access for entry in entries for access in entry.accesses)
            needs_full_log = any(entry.needs_full_log for entry in entries)
            batch = WriteBatch(accesses=accesses, needs_full_log=needs_full_log)
            codes = {node: one for entry in entries for node, one in entry.codes.items()}
            writer.cache.apply(store.commit(writer.scope, writer.with_kept_codes(batch, codes)))

    def _finish(self, entries: Sequence[LogEntry], error: Exception | None = None, *, is_retry: bool = False) -> None:
        with self._condition:
            self._is_committing, self._is_locked_out = False, is_retry
            if error is None:
                self._done_count += len(self._dequeue(len(entries)))
            elif not is_retry:
                self._drop(self._dequeue(len(entries)), error)
            self._condition.notify_all()

    # ---- a fork, and the end

    def pause(self) -> None:
        """Keep the thread from committing, so that no lock is held during a fork."""
        self._condition.acquire()
        self._condition.wait_for(lambda: not self._is_committing, COMMIT_WAIT_SECONDS)

    def resume(self) -> None:
        """Let the thread go on."""
        self._condition.release()

    def reset_after_fork(self) -> None:
        """Start with an empty queue in a child process; the parent writes the old one."""
        self._reset()


def _with_accesses(graph: Graph, accesses: Sequence[Access]) -> Graph:
    """The graph with accesses that are not written yet, for reading only."""
    if not accesses:
        return graph
    last = max(int(graph.nodes["seq"][-1:].max(initial=0)), int(graph.accesses["seq"][-1:].max(initial=0)))
    accesses_by_row = [(row, access) for access in accesses if (row := graph.row(access.node)) is not None]
    counts = {
        (access.node, access.kind): access.count for row in dict(accesses_by_row) for access in graph.accesses_of(row)
    }  # in order of seq: the last stays
    numbered: list[Access] = []
    for offset, (_, access) in enumerate(accesses_by_row, 1):
        group = access.node, access.kind
        counts[group] = counts.get(group, 0) + 1
        numbered.append(replace(access, seq=last + offset, count=counts[group]))
    return apply_batch(graph, WriteBatch(accesses=tuple(numbered), revision=graph.revision))


_OPEN_LOGS: "weakref.WeakSet[AccessLog]" = weakref.WeakSet()
_PAUSED_LOGS: list[AccessLog] = []


def _before_fork() -> None:
    _PAUSED_LOGS[:] = list(_OPEN_LOGS)
    for log in _PAUSED_LOGS:
        log.pause()


def _after_fork_in_parent() -> None:
    for log in _PAUSED_LOGS:
        log.resume()
    _PAUSED_LOGS.clear()


def _after_fork_in_child() -> None:
    for log in _PAUSED_LOGS:
        log.reset_after_fork()
    _PAUSED_LOGS.clear()


def _close_all() -> None:
    end = monotonic() + EXIT_FLUSH_SECONDS
    for log in list(_OPEN_LOGS):
        log.close(max(0.0, end - monotonic()))


@cache
def _close_at_exit() -> None:
    """Close the logs when the process ends: before the stores, which are opened before the first log is."""
    atexit.register(_close_all)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
