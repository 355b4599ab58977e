"""Opens a connection to the file with its pragmas set, and brings the schema of the file up to date.

It also translates SQLite's errors, and tells whether the files of an open database are still in place.
"""

import ctypes
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import apsw

from ..errors import EcphoraError, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreTooNew
from .write_ahead_log import begin_log

APPLICATION_ID = 0x65637068  # "ecph" in the file's header


_MADE = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)|(CREATE TRIGGER .*?\bEND\b)", re.DOTALL)
"""What a migration makes: tables and indexes, by name, and triggers, as a whole."""


def check_format(db: apsw.Connection, path: Path) -> None:
    """Raise an error if the database is not a memory, or too new, before anything is written to it."""
    version, owner = int(db.pragma("user_version")), int(db.pragma("application_id"))
    empty = not db.execute("SELECT count(*) FROM sqlite_master").get
    if owner != APPLICATION_ID and (owner or version or not empty):
        raise StoreDamaged(f"{path} is a database of another program; choose another path")
    if version > len(load_migrations()):
        raise StoreTooNew(
            f"{path} has format {version}, this version reads up to {len(load_migrations())}; upgrade ecphora"
        )


def check_schema(db: apsw.Connection, path: Path) -> None:
    """Raise ``StoreDamaged`` for a trigger, view, table or index that no migration makes, before anything is written.

    A trigger would run at every write, and change or copy anything.
    """
    tables, triggers = _known_objects()
    for type_, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        # The SQL of a table depends on the version of SQLite that changed it; the SQL of a trigger does not.
        is_known = sql in triggers if type_ == "trigger" else (type_, name) in tables
        if not is_known and not str(name).startswith("sqlite_"):
            raise StoreDamaged(
                f"{path} holds the {type_} {name!r}, which is not ecphora's and may run when the file is used: restore "
                f"a copy, or remove it with sqlite3 (DROP {str(type_).upper()})"
            )


@cache
def _known_objects() -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """The tables and indexes, and the triggers, of every version: another process may migrate a file that is opened."""
    found = [match for migration in load_migrations() for match in _MADE.findall(migration)]
    tables = frozenset((made.lower(), name) for made, name, _ in found if name)
    return tables, frozenset(trigger for *_, trigger in found if trigger)


def check_migrated(db: apsw.Connection, path: Path) -> None:
    """Raise an error if migrations are missing."""
    if int(db.pragma("user_version")) < len(load_migrations()):
        raise StoreReadOnly(f"{path} needs an upgrade, but is not writable; open it once with write access")


def migrate(db: apsw.Connection) -> bool:
    """Bring the schema up to date; whether it was not."""
    migrations = load_migrations()
    if int(db.pragma("user_version")) >= len(migrations):
        return False
    db.execute("BEGIN IMMEDIATE")  # of several processes that open a new file, one migrates it
    try:
        for number in range(int(db.pragma("user_version")), len(migrations)):
            db.execute(migrations[number]).fetchall()
            db.pragma("user_version", number + 1)
        db.pragma("application_id", APPLICATION_ID)
        db.execute("COMMIT")
    except BaseException:
        if not db.get_autocommit():
            db.execute("ROLLBACK")
        raise
    return True


def load_migrations() -> list[str]:
    """Return the numbered schema changes, oldest first."""
    folder = files(__package__) / "migrations"
    scripts = sorted((script for script in folder.iterdir() if script.name.endswith(".sql")), key=lambda s: s.name)
    return [script.read_text(encoding="utf-8") for script in scripts]


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Translate the errors of SQLite and the system about a file; each message says how to fix it."""
    try:
        yield
    except EcphoraError:
        raise
    except (ValueError, KeyError) as error:
        raise StoreDamaged(
            f"{path} holds a row that cannot be read ({error}); run ecphora doctor, or restore a copy"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(f"{path} is locked by another process; close it there, or try again") from error
    except apsw.FullError as error:
        raise StoreFull(f"no space left for {path}; free some space: what was acknowledged is safe") from error
    except (apsw.ReadOnlyError, apsw.PermissionsError, apsw.CantOpenError, apsw.AuthError) as error:
        raise StoreReadOnly(f"{path} cannot be opened or written ({error}); check path and rights") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(f"{path} is damaged or not a memory ({error}); restore a copy or an export") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be opened or created ({error}); check path and rights") from error


NON_OWNER_BITS = 0o077
"""The permission bits of others than the owner."""
FileIdentity = tuple[int, int]
"""The device and inode number of a file, whatever its name."""


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files of a database as they were when it was opened, the database itself first.

    On Windows an open file cannot be replaced or deleted: the system refuses.
    """

    identities: Mapping[str, FileIdentity]
    """The identity of each file, by path."""

    @classmethod
    def at(cls, paths: Iterable[Path]) -> "OpenFiles":
        """Return the files that are at some paths now."""
        known = ((path, file_identity(path)) for path in paths)
        return cls({str(path): found for path, found in known if found is not None})

    def make_private(self) -> list[str]:
        """Take every right from others than their owner; return the files that others could read or write before.

        Only the owner can do so, and only on POSIX.
        """
        found = []
        for path in self.identities if os.name == "posix" else ():
            with suppress(OSError):
                status = os.stat(path)  # noqa: PTH116
                mode = stat.S_IMODE(status.st_mode)
                if mode & NON_OWNER_BITS and status.st_uid == os.geteuid():
                    os.chmod(path, mode & ~NON_OWNER_BITS)  # noqa: PTH101
                    found.append(path)
        return found

    def replaced_path(self) -> str | None:
        """Return the first path that leads to another file by now, or None; three calls of stat, some microseconds."""
        for path, opened in self.identities.items():
            try:
                if file_identity(path) != opened:
                    return path
            except OSError:  # the folder is no longer readable: that says nothing about the file
                continue
        return None


def file_identity(path: str | Path) -> FileIdentity | None:
    """Return the identity of the file at a path, links followed; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  # half the time of Path.stat, at every commit
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


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
    """Whether the path leads to another file than the open file; False where an open file cannot be replaced."""
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
