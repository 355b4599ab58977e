"""Backup of a database that is in use: a copy of one state, verified before it is moved to its name."""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from ..errors import InvalidInput, StoreDamaged
from ..model.cancellation import check_cancellation, current_cancellation
from ..model.ports import Progress
from ..model.types import Backup
from .connection import OpenFiles, file_identity, translate_errors
from .damage import summarize_damage
from .write_ahead_log import clear_mark

PAGES_PER_STEP = 1024
"""Pages copied in one step: 4 MB."""
_SIDE_FILE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a database."""
FileState = tuple[int, int, tuple[tuple[object, ...], ...]]
"""The application id, the format version, and each scope with its revision and number of episodes."""


def check_target(target: Path, open_files: OpenFiles, *, overwrite: bool) -> None:
    """Raise ``InvalidInput`` for a path that cannot be the target of a copy."""
    existing = file_identity(target)
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder; name a file in it")
    if existing in open_files.identities.values():
        raise InvalidInput(f"{target} is the memory itself; choose another name")
    if target.name.endswith(_SIDE_FILE_SUFFIXES):
        raise InvalidInput(f"{target} has a suffix that SQLite uses for files beside a database; choose another name")
    if existing is not None and not (overwrite and target.is_file()):
        raise _exists_error(target)
    for file in (target.with_name(f"{target.name}{end}") for end in ("-wal", "-journal")):
        if file.exists() and file.stat().st_size:
            raise InvalidInput(
                f"{file} would be read with the copy; close what has {target} open, or choose another name"
            )


def copy_database(
    db: apsw.Connection, source: Path, target: Path, *, overwrite: bool, progress: Progress | None
) -> Backup:
    """Copy the current state of a connection's database while others go on writing to it.

    The copy is made next to the target, accessible to its owner alone, and moved there once it is complete, verified
    and on the disk. ``progress`` counts pages.
    """
    with translate_errors(target), temporary_file(target) as temporary:
        if not db.readonly("main"):
            clear_mark(db)  # no log continues the copy
        db.execute("BEGIN")  # one state: without this, every commit of others would restart the copy
        try:
            state = _read_state(db)
            _copy_pages(db, source, temporary, progress)
        finally:
            db.execute("ROLLBACK")
        damage = _verify(temporary, source, state)
        with temporary.open("r+b") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            size = file.tell()
        with current_cancellation().commit():
            move_into_place(temporary, target, overwrite=overwrite)
    return Backup(str(target), sum(int(str(scope[2])) for scope in state[2]), size, digest, damage)


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Create a new file in the target's folder; remove it in the end if it is still there."""
    handle, name = tempfile.mkstemp(prefix=".ecphora-", suffix=".db", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _read_state(db: apsw.Connection) -> FileState:
    scopes = db.execute(
        """SELECT s.name, s.revision, count(DISTINCT coalesce(n.document, n.id)) FROM scope s
           LEFT JOIN node n ON n.scope = s.key AND n.kind = 'episode' GROUP BY s.key ORDER BY s.name"""
    ).fetchall()
    return int(db.pragma("application_id")), int(db.pragma("user_version")), tuple(scopes)


def _copy_pages(db: apsw.Connection, source: Path, target: Path, progress: Progress | None) -> None:
    with closing(apsw.Connection(str(target))) as copy:
        copy.pragma("journal_mode", "off")  # nobody sees it before it is complete
        copy.pragma("synchronous", 0)
        try:
            with copy.backup("main", db, "main") as steps:
                while not steps.done:
                    check_cancellation()
                    steps.step(PAGES_PER_STEP)
                    if progress is not None:
                        progress(steps.page_count - steps.remaining, steps.page_count)
        except (apsw.CorruptError, apsw.NotADBError) as error:
            raise _damage_error(source, error) from error


def _verify(path: Path, source: Path, state: FileState) -> tuple[str, ...]:
    """What is damaged in the rows of a copy; raises ``StoreDamaged`` unless its pages are sound and as in the file."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{path.absolute().as_uri()}?mode=ro&immutable=1", flags=flags)) as copy:
            problem = copy.execute("PRAGMA integrity_check(1)").get
            if problem != "ok":
                raise _damage_error(source, problem)
            if _read_state(copy) != state:
                raise _damage_error(source, "the copy differs from the file")
            return summarize_damage(copy)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise _damage_error(source, error) from error


def _damage_error(source: Path, reason: object) -> StoreDamaged:
    return StoreDamaged(f"no sound copy can be made of {source} ({reason}); nothing was kept: run ecphora doctor")


def move_into_place(path: Path, target: Path, *, overwrite: bool) -> None:
    """Move a file to its name; a file that appeared there meanwhile is replaced only with ``overwrite``."""
    try:
        if overwrite:
            path.replace(target)
        else:
            os.link(path, target)
    except FileExistsError as error:
        raise _exists_error(target) from error
    except OSError:
        if overwrite:
            raise
        if file_identity(target) is not None:  # a file system without hard links
            raise _exists_error(target) from None
        path.replace(target)
    with suppress(OSError):  # not every system can sync a folder
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _exists_error(target: Path) -> InvalidInput:
    return InvalidInput(f"{target} is there already; choose another name, or set overwrite=True (--overwrite)")
