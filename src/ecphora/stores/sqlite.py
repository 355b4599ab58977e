"""A memory in one SQLite file: WAL, full durability, no extension. Any number of threads and processes may share it."""

import atexit
import logging
import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import apsw

from ..errors import StoreBusy, StoreClosed, StoreError, StoreReadOnly, StoreReplaced
from ..model.ports import Progress
from ..model.reprs import call_repr
from ..model.types import Backup, Mark, ScopeInfo, WriteBatch
from ..model.validation import check_count, check_path
from .backup import check_target, copy_database
from .connection import open_with_files, translate_errors
from .rows import batch_writer, scopes
from .rows.batch_reader import pause_gc, read_changes, unchanged
from .rows.batch_writer import KEEP_LAST, MIN_LOG_GROWTH, BatchWriter, derived_part
from .rows.database import Database
from .rows.scopes import ScopeRow, create_scope, find_scope, read_scopes
from .rows.store import RowStore, T
from .write_ahead_log import (
    MAX_TRUNCATION_SECONDS,
    TRUNCATION_POLL_SECONDS,
    LogKeeper,
    clear_mark,
    find_log_fault,
    try_truncate,
)

LOCK_TIMEOUT_MS = 20_000
"""Milliseconds to wait for another process's lock."""
LOCK_POLL_SECONDS = 0.005
"""Seconds between two tries to get the lock."""
MAX_LOCK_TIMEOUT_MS = 2**31 - 1
"""The longest timeout that SQLite accepts, in milliseconds."""

_log = logging.getLogger("ecphora")


class SQLiteStore(RowStore):
    """The store of :class:`ecphora.Memory`: one file, created on first use and readable by its owner alone.

    ``lock_timeout_ms`` is how long to wait for another process's lock, in milliseconds. A file that is not writable is
    opened for reading; writing to it then raises ``StoreReadOnly``.

    The access log expires: whenever it has grown by ``min_log_growth`` accesses and by half, each node keeps the last
    ``keep_last`` of each kind. All who open a file must use the same ``keep_last``. A log that a strategy needs in full
    does not expire.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        lock_timeout_ms: int = LOCK_TIMEOUT_MS,
        keep_last: int = KEEP_LAST,
        min_log_growth: int = MIN_LOG_GROWTH,
    ) -> None:
        self.path = check_path("path", path)
        self._absolute_path = self.path.absolute()
        self._lock_timeout_ms = min(check_count("lock_timeout_ms", lock_timeout_ms, minimum=0), MAX_LOCK_TIMEOUT_MS)
        self._keep_last = check_count("keep_last", keep_last)
        self._min_log_growth = check_count("min_log_growth", min_log_growth)
        self._lock = threading.RLock()
        self._db: apsw.Connection | None = None
        self._nonblocking: SQLiteStore | None = None
        super().__init__(str(self.path))
        self._is_truncation_owed = False  # whether the write-ahead log may hold a copy of something forgotten
        with self._translate_errors():
            self._db, self.read_only, self._open_files = open_with_files(self._absolute_path, self._lock_timeout_ms)
            self._log_keeper = None if self.read_only else LogKeeper(self._db)
            # A handle that waits for no lock is one beside another, which has looked.
            self.log_fault = find_log_fault(self._db, self.path) if lock_timeout_ms > 0 else None
        if not self.read_only:
            self._make_private()

    def __repr__(self) -> str:
        return call_repr("SQLiteStore", str(self.path))

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            if self._nonblocking is not None:
                self._nonblocking.close()
            if self._db is not None:
                self._truncate_wal_if_owed()
                self._checkpoint_if_replaced()
                self._db.close()
                self._db = None

    def _make_private(self) -> None:
        """Take the rights of others to the files, and say so; it is said once, as then they have none."""
        if shared := self._open_files.make_private():
            _log.warning("%s could be read or written by others than their owner; now only by their owner", shared)

    def nonblocking_handle(self) -> "SQLiteStore":
        """Return a second handle, with its own connection, that does not wait for locks; it is closed with this one.

        Writing through it does not block readers of this one. If the file is locked, it raises ``StoreBusy`` at once.
        """
        with self._lock, self._translate_errors():
            self._open_connection()
            if self._nonblocking is None:
                self._nonblocking = SQLiteStore(
                    self._absolute_path,
                    lock_timeout_ms=0,
                    keep_last=self._keep_last,
                    min_log_growth=self._min_log_growth,
                )
            self._check_not_replaced()  # both have the same file open
            return self._nonblocking

    # ---- writing

    def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
        """Write all of a batch or nothing; return it as every reader will see it."""
        if self.read_only:
            raise self._read_only_error()
        # Accesses must survive a crash of the process, not of the machine: do not wait for the disk.
        has_marks = any(isinstance(access.kind, Mark) for access in batch.accesses)
        durable = has_marks or batch != derived_part(batch)
        with self._transaction("IMMEDIATE", durable=durable) as db:
            target = find_scope(db, scope)
            if target is None and not durable:  # there is nothing that was accessed
                return replace(batch, accesses=(), token_codes={})
            target = target or create_scope(db, scope)
            written = BatchWriter(
                db, scope, target, batch, keep_last=self._keep_last, min_log_growth=self._min_log_growth
            ).write()
        if batch.tombstones:
            self._truncate_wal()
        else:
            self._truncate_wal_if_owed()
        return written

    def _truncate_wal(self) -> None:
        """Move the write-ahead log into the file and empty it, so that it keeps no copy of forgotten memories.

        While another connection is reading, the log stays. This waits for it briefly; then each later commit, and
        closing, tries again without waiting. Other threads can go on reading.
        """
        self._is_truncation_owed = True
        end = time.monotonic() + min(self._lock_timeout_ms / 1000, MAX_TRUNCATION_SECONDS)
        while not self._try_truncate_wal() and time.monotonic() < end:
            time.sleep(TRUNCATION_POLL_SECONDS)

    def _truncate_wal_if_owed(self) -> None:
        """Try again to empty the write-ahead log if that is owed; what was committed is safe in any case."""
        if self._is_truncation_owed:
            with suppress(StoreError):
                self._try_truncate_wal()

    def _try_truncate_wal(self) -> bool:
        with self._lock, self._translate_errors():
            self._is_truncation_owed = not try_truncate(self._open_connection(), self._lock_timeout_ms)
            return not self._is_truncation_owed

    # ---- reading

    def changes_since(self, scope: str, revision: int, /) -> WriteBatch:
        """Return everything committed to a scope after a revision; 0 reads the whole scope."""
        with self._lock, self._translate_errors():
            # An up-to-date graph is the common case: one indexed look-up, no transaction.
            known = find_scope(self._open_connection(), scope)
            self._check_not_replaced()
        if known is None or known.revision == revision:
            return WriteBatch() if known is None else unchanged(known)
        with self._transaction("DEFERRED") as db, pause_gc():
            target = find_scope(db, scope)
            if target is None:
                return WriteBatch()
            batch, damaged = read_changes(db, target, revision, self._keep_last)
        self._warn_damaged_vectors(scope, damaged)
        return batch

    def write_graph_snapshot(self, scope: str, revision: int, value: bytes, /) -> None:
        """Keep the columns of a scope's graph, unless the scope has another revision or the file is in use."""
        if self.read_only:
            return
        handle = self.nonblocking_handle()
        with suppress(StoreBusy), handle._transaction("IMMEDIATE", durable=False) as db:  # noqa: SLF001
            batch_writer.write_snapshot(db, find_scope(db, scope), revision, value)

    def scopes(self) -> list[ScopeInfo]:
        """Return every scope that holds anything, by name."""
        with self._lock, self._translate_errors():
            return read_scopes(self._open_connection())

    def rename_scope(self, scope: str, new_name: str, /) -> None:
        """Give a scope another name; a memory open on it has to be opened by the new one."""
        self._write(scope, lambda db, _: scopes.rename_scope(db, scope, new_name))

    def clone_scope(self, scope: str, new_name: str, /) -> None:
        """Copy a scope, with its log, tombstones and undo batches, to a new one."""
        self._write(scope, lambda db, _: scopes.clone_scope(db, scope, new_name))

    def _read(self, scope: str, work: Callable[[Database, ScopeRow], T], default: T, *, streams: bool = False) -> T:
        del streams  # every query does
        with self._transaction("DEFERRED") as db:
            target = find_scope(db, scope)
            return work(db, target) if target else default

    def _write(self, scope: str, work: Callable[[Database, ScopeRow | None], None]) -> None:
        if self.read_only:
            raise self._read_only_error()
        with self._transaction("IMMEDIATE") as db:
            work(db, find_scope(db, scope))

    def _create_scope(self, db: Database, name: str) -> ScopeRow:
        return create_scope(db, name)

    def _read_only_error(self) -> StoreReadOnly:
        return StoreReadOnly(f"{self.path} is not writable; give its owner write access, to its folder too, or copy it")

    def backup(self, path: str | Path, /, *, overwrite: bool = False, progress: Progress | None = None) -> Backup:
        """Copy the file to a path, verified, while this and other processes go on using it.

        The copy is one state of all scopes. It is made beside ``path``, readable by its owner alone, and moved there
        when complete. ``progress`` counts pages. Raises ``InvalidInput`` if a file is there and ``overwrite`` is not
        set, or if ``path`` is the memory itself; ``StoreDamaged`` if no sound copy can be made.
        """
        target = check_path("path", path)
        with self._lock:
            self._open_connection()
            check_target(target, self._open_files, overwrite=overwrite)
        with self._translate_errors():
            # A separate connection, so that this one stays free.
            db, _, _ = open_with_files(self._absolute_path, self._lock_timeout_ms)
        with closing(db):
            with self._lock, self._translate_errors():
                self._check_not_replaced()  # so that both have the same file open
            return copy_database(db, self.path, target, overwrite=overwrite, progress=progress)

    def check_integrity(self) -> Iterator[str]:
        """Yield the problems that SQLite finds in the file, in its own words; none if the file is sound."""
        with self._lock, self._translate_errors():
            db = self._open_connection()
            yield from (str(found) for (found,) in db.execute("PRAGMA integrity_check(20)") if found != "ok")
            for table, _, parent, _ in db.execute("PRAGMA foreign_key_check"):
                yield f"a row of {table} points at a missing {parent}"

    # ---- connection

    def _open_connection(self) -> apsw.Connection:
        if self._db is None:
            raise StoreClosed(f"{self.path} was closed; open a new Memory")
        return self._db

    @contextmanager
    def _transaction(self, mode: str, *, durable: bool = True) -> Iterator[apsw.Connection]:
        with self._translate_errors(), self._lock_and_begin(mode, durable=durable) as db:
            writes = mode != "DEFERRED"
            try:
                if writes:
                    clear_mark(db)
                yield db
                if writes:
                    self._check_not_replaced()
                db.execute("COMMIT")
            except BaseException:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")
                raise
            if writes:
                self._check_not_replaced()  # do not acknowledge a commit to another file
                if self._log_keeper is not None and self._log_keeper.has_grown():
                    with suppress(apsw.Error):  # what was committed is safe in any case
                        self._log_keeper.begin()

    # ---- a file that was replaced

    def _check_not_replaced(self) -> None:
        """Raise ``StoreReplaced``, with nothing written, if the path leads to another file than the open one."""
        moved = self._open_files.replaced_path()
        if moved is None:
            return
        if not self._open_connection().get_autocommit():
            self._open_connection().execute("ROLLBACK")
        self._checkpoint_if_replaced()
        raise StoreReplaced(
            f"{moved} was replaced, moved or deleted while the memory was open; nothing more is read or acknowledged: "
            "close this memory and open it again"
        )

    def _checkpoint_if_replaced(self) -> None:
        """Move the write-ahead log into the opened file, wherever it is now, if the path leads to another file.

        Otherwise SQLite would read that other file together with this log.
        """
        if self._db is not None and not self.read_only and self._open_files.replaced_path() == str(self._absolute_path):
            with suppress(apsw.Error):
                self._db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    @contextmanager
    def _lock_and_begin(self, mode: str, *, durable: bool) -> Iterator[apsw.Connection]:
        """Yield the connection for this thread alone, with a transaction begun.

        While another process holds the file's lock, other threads can go on reading.
        """
        end = time.monotonic() + self._lock_timeout_ms / 1000
        while True:
            with self._lock:
                if self._try_begin(mode, durable=durable, is_last_try=time.monotonic() >= end):
                    yield self._open_connection()
                    return
            time.sleep(LOCK_POLL_SECONDS)

    def _try_begin(self, mode: str, *, durable: bool, is_last_try: bool) -> bool:
        """Begin a transaction; return False if another process holds the lock, raise ``BusyError`` on the last try."""
        db = self._open_connection()
        db.pragma("synchronous", 2 if durable else 1)
        db.set_busy_timeout(0)
        try:
            if self._log_keeper is not None and mode != "DEFERRED" and self._log_keeper.is_empty():
                self._check_not_replaced()
                self._log_keeper.begin()
            db.execute(f"BEGIN {mode}")
        except apsw.BusyError:
            if is_last_try:
                raise
            return False
        finally:
            db.set_busy_timeout(self._lock_timeout_ms)
        return True

    def _translate_errors(self) -> AbstractContextManager[None]:
        return translate_errors(self.path)


class TemporaryStore(SQLiteStore):
    """A store in a file of a folder of its own, which is deleted when the store is closed or the process ends."""

    def __init__(self) -> None:
        folder, self._process = tempfile.mkdtemp(prefix="ecphora-"), os.getpid()
        self._delete_folder = weakref.finalize(self, _delete_of_process, folder, self._process)
        self._delete_folder.atexit = False  # it would run before the access log is written
        _OPEN_TEMPORARY_STORES.add(self)
        super().__init__(Path(folder) / "memory.db")

    def __repr__(self) -> str:
        return call_repr("TemporaryStore")

    def close(self) -> None:
        """Close the file and delete it; closing twice is harmless."""
        super().close()
        self._delete_folder()

    def close_at_exit(self) -> None:
        """Close the file and delete it when the process ends, where finalizers do nothing any more."""
        super().close()
        _delete_of_process(str(self.path.parent), self._process)


_OPEN_TEMPORARY_STORES: "weakref.WeakSet[TemporaryStore]" = weakref.WeakSet()


@atexit.register  # before any memory is opened, so it runs after the access logs of memories are closed
def _close_temporary_stores() -> None:
    for store in list(_OPEN_TEMPORARY_STORES):
        store.close_at_exit()


def _delete_of_process(folder: str, process: int) -> None:
    """Delete a folder if this process made it; a forked child leaves it to its parent."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
