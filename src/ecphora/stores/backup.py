"""A copy of a database that is in use: one state of it, verified before it stands under its name."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from ..errors import InvalidInput, StoreDamaged
from ..model import Backup
from ..ports import Progress
from .open_files import OpenFiles, identity
from .translate import translated

PAGES = 1024
"""Pages copied in one step: 4 MB."""
_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite adds to the name of a database for the files beside it."""
State = tuple[int, int, tuple[tuple[object, ...], ...]]
"""Whose file it is, in which format, and each scope with its revision and its number of episodes."""


def check_target(target: Path, opened: OpenFiles, *, overwrite: bool) -> None:
    """Refuse a path at which a copy may not stand; raises ``InvalidInput``."""
    there = identity(target)
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder; name a file in it")
    if there in opened.seen.values():
        raise InvalidInput(f"{target} is the memory itself; choose another name")
    if target.name.endswith(_BESIDE):
        raise InvalidInput(f"{target} is named as SQLite names files beside a database; choose another name")
    if there is not None and not (overwrite and target.is_file()):
        raise _taken(target)
    for file in (target.with_name(f"{target.name}{end}") for end in ("-wal", "-journal")):
        if file.exists() and file.stat().st_size:
            raise InvalidInput(
                f"{file} would be read with the copy; close what has {target} open, or choose another name"
            )


def copy(db: apsw.Connection, source: Path, target: Path, *, overwrite: bool, progress: Progress | None) -> Backup:
    """Copy the database of a connection as it stands, while others go on writing to it.

    The copy is made beside the target, with its owner's rights alone, and moved there when it is whole, verified and on
    the disk. ``progress`` is told of pages.
    """
    with translated(target), _temporary(target) as made:
        db.execute("BEGIN")  # one state: without this, every commit of others would begin the copy anew
        try:
            state = _state(db)
            _copy_pages(db, source, made, progress)
        finally:
            db.execute("ROLLBACK")
        _verify(made, source, state)
        with made.open("r+b") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            size = file.tell()
        _place(made, target, overwrite=overwrite)
    return Backup(str(target), sum(int(str(scope[2])) for scope in state[2]), size, digest)


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A new file in the target's folder, removed in the end if it is still there."""
    handle, name = tempfile.mkstemp(prefix=".ecphora-", suffix=".db", dir=target.parent)
    os.close(handle)
    made = Path(name)
    try:
        yield made
    finally:
        made.unlink(missing_ok=True)


def _state(db: apsw.Connection) -> State:
    scopes = db.execute(
        """SELECT s.name, s.revision, count(n.seq) FROM scope s
           LEFT JOIN node n ON n.scope = s.key AND n.kind = 'episode' GROUP BY s.key ORDER BY s.name"""
    ).fetchall()
    return int(db.pragma("application_id")), int(db.pragma("user_version")), tuple(scopes)


def _copy_pages(db: apsw.Connection, source: Path, made: Path, progress: Progress | None) -> None:
    with closing(apsw.Connection(str(made))) as copied:
        copied.pragma("journal_mode", "off")  # nobody sees it before it is whole
        copied.pragma("synchronous", 0)
        try:
            with copied.backup("main", db, "main") as steps:
                while not steps.done:
                    steps.step(PAGES)
                    if progress is not None:
                        progress(steps.page_count - steps.remaining, steps.page_count)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise _unsound(source, error) from error


def _verify(made: Path, source: Path, state: State) -> None:
    """Raise ``StoreDamaged`` unless a copy is sound and in the state that was copied."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{made.absolute().as_uri()}?mode=ro&immutable=1", flags=flags)) as copied:
            fault = copied.execute("PRAGMA integrity_check(1)").get
            if fault != "ok":
                raise _unsound(source, fault)
            if _state(copied) != state:
                raise _unsound(source, "the copy holds something else than the file")
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _unsound(source, error) from error


def _unsound(source: Path, why: object) -> StoreDamaged:
    return StoreDamaged(f"no sound copy can be made of {source} ({why}); nothing was kept: run ecphora doctor")


def _place(made: Path, target: Path, *, overwrite: bool) -> None:
    """Move a file to its name; only with ``overwrite`` does it replace what has come to stand there meanwhile."""
    try:
        if overwrite:
            made.replace(target)
        else:
            os.link(made, target)
    except FileExistsError as error:
        raise _taken(target) from error
    except OSError:
        if overwrite:
            raise
        if identity(target) is not None:  # a file system without hard links
            raise _taken(target) from None
        made.replace(target)
    with suppress(OSError):  # not every system lets a folder be written to the disk
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _taken(target: Path) -> InvalidInput:
    return InvalidInput(f"{target} is there already; choose another name, or set overwrite=True (--overwrite)")
