"""Opens a connection to the file, for reading and writing or for reading alone, with its pragmas set."""

import ctypes
import os
import time
from contextlib import suppress
from pathlib import Path

import apsw

from ..errors import StoreBusy, StoreError, StoreReadOnly
from .open_files import OpenFiles, file_identity
from .schema import check_format, check_migrated, check_schema, migrate
from .write_ahead_log import begin_log

MAX_OPEN_RETRIES = 10
"""How often a file is opened again because it was replaced while it was opened."""


def open_with_files(path: Path, lock_timeout_ms: int) -> tuple[apsw.Connection, bool, OpenFiles]:
    """Open a file and record its identity; try again if it is replaced meanwhile."""
    for _ in range(MAX_OPEN_RETRIES):
        before = file_identity(path)
        db, read_only = _open_file(path, lock_timeout_ms)
        names = [] if read_only else [Path(db.filename_wal), Path(f"{db.filename_wal.removesuffix('-wal')}-shm")]
        found = OpenFiles.at([path, *names])
        if before in {None, file_identity(path)} and not _has_moved(db):
            return db, read_only, found
        if not read_only:
            with suppress(apsw.Error):  # or else the file that is there now would be read with the log of this one
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        db.close()
    raise StoreBusy(f"{path} is being replaced again and again; try again later")


def _has_moved(db: apsw.Connection) -> bool:
    """Whether the path leads to another file than the one that is open; False where an open file cannot be replaced."""
    answer = ctypes.c_int(0)
    db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(answer))
    return bool(answer.value)


def _open_file(path: Path, lock_timeout_ms: int) -> tuple[apsw.Connection, bool]:
    """Open a file for writing, or else for reading, and apply the missing migrations."""
    if not path.exists():
        # Only its owner has access, also to the write-ahead log and its index.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    shared = [path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm")]  # SQLite creates them
    read_only = not all(os.access(file, os.W_OK) for file in (path, *(shared if _is_folder_read_only(path) else ())))
    if read_only:
        # In a folder that is not writable, SQLite cannot create the WAL index: the file is then opened as immutable.
        immutable = "&immutable=1" if _is_folder_read_only(path) else ""
        wal = path.with_name(f"{path.name}-wal")
        if immutable and wal.exists() and wal.stat().st_size:
            raise StoreReadOnly(
                f"{wal} holds commits that {path.name} lacks; open it once where the folder is writable"
            )
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro{immutable}", flags=flags)
    else:
        db = apsw.Connection(str(path.absolute()))  # a name alone may mean something else: ":memory:"
    try:
        db.set_busy_timeout(lock_timeout_ms)
        check_format(db, path)
        check_schema(db, path)
        if read_only:
            check_migrated(db, path)
        else:
            _configure(db, lock_timeout_ms)
            if migrate(db):
                begin_log(db)
    except BaseException:
        db.close()
        raise
    return db, read_only


def _is_folder_read_only(path: Path) -> bool:
    """Whether no file can be created beside a file."""
    return not os.access(path.parent, os.W_OK)


def _configure(db: apsw.Connection, lock_timeout_ms: int) -> None:
    """Set the pragmas of every connection that writes."""
    deadline = time.monotonic() + lock_timeout_ms / 1000
    while db.pragma("journal_mode") != "wal":  # SQLite does not call the busy handler here
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            if db.pragma("journal_mode") != "wal":
                raise StoreError("the file system cannot share a write-ahead log; choose a folder on a local disk")
    db.pragma("foreign_keys", 1)
    db.pragma("secure_delete", 1)  # overwrite deleted rows
