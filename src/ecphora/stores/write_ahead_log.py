"""The write-ahead log of a file: it is emptied, so that it keeps no copy of what was deleted, and missed if it is lost.

A mark in the file says that a log continues it. It is set and moved into the file when a log begins, and the next
transaction, the first in the log, clears it. So the file alone has the mark, while the file with its log, or after
anyone has moved the log into it, has none. https://www.sqlite.org/walformat.html
"""

import logging
import os
from contextlib import suppress
from enum import Enum
from pathlib import Path

import apsw

MAX_TRUNCATION_SECONDS = 1.0
"""How long to wait for other connections that read until the log can be emptied."""
TRUNCATION_POLL_SECONDS = 0.02
"""Seconds between two tries to empty the log."""
MAX_LOG_PAGES = 1000
"""Pages of a log after which it is moved into the file; the number that SQLite takes by itself."""
_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_SALTS = slice(8, 16)
"""Where the frame of a page has the salts of its log."""
_COMMIT = slice(4, 8)
"""Where a frame has the size of the file if a transaction ends with it, else 0."""

_log = logging.getLogger("ecphora")


class LogFault(Enum):
    """What is wrong with the log of a file, and the mend."""

    MISSING = (
        "was parted from its write-ahead log and lacks what was written last",
        "put its file with the suffix -wal back beside it before anything is written, or restore a copy",
    )
    DAMAGED = (
        "has a write-ahead log with a damaged page and lacks what was written after it",
        "restore a copy if something is missing",
    )

    def __init__(self, problem: str, hint: str) -> None:
        self.problem = problem
        self.hint = hint


def try_truncate(db: apsw.Connection, busy_timeout_ms: int) -> bool:
    """Move the log into the file and empty it; False at once if another connection is reading.

    ``busy_timeout_ms`` is the busy timeout of the connection, which it has again afterwards.
    """
    db.set_busy_timeout(0)
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.BusyError:
        return False
    finally:
        db.set_busy_timeout(busy_timeout_ms)
    return True


class LogKeeper:
    """Marks each new log of a connection that writes, and moves it into the file when it has grown.

    It replaces the checkpoint that SQLite makes by itself, so that no log continues the file without a mark.
    """

    __slots__ = ("_db", "_page_count", "_pages_before", "_path")

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._path = db.filename_wal
        self._page_count = self._pages_before = 0
        db.set_wal_hook(self._count_pages)

    def _count_pages(self, _db: apsw.Connection, _name: str, page_count: int) -> int:
        self._page_count = page_count
        return apsw.SQLITE_OK

    def is_empty(self) -> bool:
        """Whether there is no log, so that the next commit begins one."""
        return _is_empty(self._path)

    def has_grown(self) -> bool:
        """Whether the log has as many pages more as are kept in one."""
        self._pages_before = min(self._pages_before, self._page_count)
        return self._page_count - self._pages_before >= MAX_LOG_PAGES

    def begin(self) -> None:
        """Move the log into the file, as far as no other connection reads in it, and begin a marked one."""
        begin_log(self._db)
        self._pages_before = self._page_count


def begin_log(db: apsw.Connection) -> None:
    """Move the log into the file with the mark, and clear the mark in the log; outside of a transaction.

    Raises ``BusyError`` if another connection is writing.
    """
    db.execute("UPDATE log_mark SET is_set = 1")
    try:
        with suppress(apsw.BusyError):  # another connection is moving the log: then this log has no mark
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    finally:
        with suppress(apsw.BusyError):  # whoever is writing clears it
            clear_mark(db)


def clear_mark(db: apsw.Connection) -> None:
    """Clear the mark if it is set: what is written now is in the log."""
    if has_mark(db):
        db.execute("UPDATE log_mark SET is_set = 0")


def has_mark(db: apsw.Connection) -> bool:
    """Whether the mark is set in what the connection reads; not if the mark itself is damaged."""
    try:
        return bool(db.execute("SELECT is_set FROM log_mark").get)
    except apsw.CorruptError:
        return False


def find_log_fault(db: apsw.Connection, path: Path) -> LogFault | None:
    """What is wrong with the log of a file that was just opened; it is logged.

    A log is missing if the file has a mark and no log, or one of which SQLite can read nothing. Of a log with a damaged
    page SQLite reads what is before that page, and removes the rest.
    """
    is_missing = has_mark(db) and (
        (not db.filename_wal or _is_empty(db.filename_wal)) if db.readonly("main") else _is_mark_alone(db)
    )
    fault = LogFault.MISSING if is_missing else LogFault.DAMAGED if _is_damaged(db) else None
    if fault is not None:
        _log.warning("%s %s: close it and %s", path, fault.problem, fault.hint)
    return fault


def _is_damaged(db: apsw.Connection) -> bool:
    """Whether the log has a transaction, and a page after it, that SQLite does not read.

    A transaction that was cut off by a crash is the last of its log: no page follows it. The log is not damaged if
    somebody writes at the same time.
    """
    pages = _readable_pages(db)
    try:
        data = memoryview(Path(db.filename_wal).read_bytes()) if db.filename_wal else memoryview(b"")
    except OSError:
        return False
    frame_bytes = _FRAME_HEADER_BYTES + int.from_bytes(data[8:12], "big")
    starts = range(_HEADER_BYTES + (pages or 0) * frame_bytes, len(data) - frame_bytes + 1, frame_bytes)
    frames = [data[start : start + _FRAME_HEADER_BYTES] for start in starts]
    while frames and frames[-1][_SALTS] != data[16:24]:  # of an earlier log, which was longer
        frames.pop()
    is_damaged = pages is not None and any(any(frame[_COMMIT]) for frame in frames[:-1])
    return is_damaged and _readable_pages(db) == pages


def _is_mark_alone(db: apsw.Connection) -> bool:
    """Whether the mark is set for longer than the instant in which another connection begins a log.

    In that instant the log has pages, or gets its first one before the lock is free: one of two looks at both sees it.
    """
    for _ in range(2):
        if _page_count(db) > 0:
            with suppress(apsw.BusyError):  # left by a process that was killed as it began this log
                clear_mark(db)
            return False
        try:
            db.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False
        try:
            if not has_mark(db):
                return False
        finally:
            db.execute("ROLLBACK")
    return True


def _is_empty(path: str) -> bool:
    try:
        return os.stat(path).st_size == 0  # noqa: PTH116  # half the time of Path.stat, at every commit
    except OSError:
        return True


def _readable_pages(db: apsw.Connection) -> int | None:
    """The pages that SQLite can read in the log; None if it cannot say so now."""
    try:
        return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0]
    except apsw.Error:
        return None


def _page_count(db: apsw.Connection) -> int:
    """The pages that SQLite can read in the log, moved into the file or not."""
    with suppress(apsw.BusyError):
        return db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)[0]
    return 1  # another connection is moving them
