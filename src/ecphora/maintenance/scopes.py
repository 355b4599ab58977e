"""Renames and copies the scopes of a file or of another store, and copies them to another one."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import accumulate
from pathlib import Path

from ..errors import InvalidInput
from ..model.ports import Progress, ScopeStore
from ..model.reprs import show
from ..model.types import CopyResult
from ..model.validation import check_items, check_name, check_path, check_progress
from ..stores.opening import open_store
from ..stores.postgres.urls import is_postgres_url


def rename_scope(path: str | Path | ScopeStore, scope: str, new_name: str) -> None:
    """Give a scope another name. All of it stays: tombstones, undo batches and the access log too.

    A memory that is open on the scope meanwhile raises ``StoreReplaced`` from then on; open it by the new name.

    Raises ``UnknownName`` if there is no such scope, and ``InvalidInput`` if there is one of the new name.
    """
    scope, new_name = check_name("scope", scope), check_name("new_name", new_name)
    with _open_store(path) as store:
        store.rename_scope(scope, new_name)


def clone_scope(path: str | Path | ScopeStore, scope: str, new_name: str) -> None:
    """Copy a scope, with its tombstones, undo batches and access log, to a new one; then they change independently.

    The copy is one state of the scope, made in one commit. Ids stay the same.

    Raises ``UnknownName`` if there is no such scope, and ``InvalidInput`` if there is one of the new name.
    """
    scope, new_name = check_name("scope", scope), check_name("new_name", new_name)
    with _open_store(path) as store:
        store.clone_scope(scope, new_name)


def copy_scopes(
    source: str | Path,
    target: str | Path,
    *,
    scopes: str | Iterable[str] | None = None,
    progress: Progress | None = None,
) -> CopyResult:
    """Copy scopes between two files, two PostgreSQL databases, or a file and a database, given by path or URL.

    All scopes are copied, or those named. The target is created if it does not exist. The copy of a scope is one state,
    with its ids, vectors, tombstones, undo batches and access log, while others may go on using the source. It is
    compared with the source row by row; then one commit shows it. Until then a target file takes no other writes.
    ``progress`` counts rows, each twice: when it is written and when it is compared.

    A call that was interrupted continues when called again: a scope that is there and equal is only compared. The call
    changes no scope that is there and differs, for instance because the source was written to since; it raises
    ``InvalidInput``, and keeps the copies that are complete. Raises ``UnknownName`` if the source lacks a scope.
    """
    source, target = _check_source("source", source), _check_location("target", target)
    if scopes is not None:
        listed = [scopes] if isinstance(scopes, str) else check_items("scopes", scopes, "a name, or a list of names")
        scopes = {check_name("scopes", name) for name in listed}
    progress = check_progress(progress)
    if source == target or (isinstance(source, Path) and isinstance(target, Path) and _is_same_file(source, target)):
        raise InvalidInput("source and target are the same; give two places, or call clone_scope")
    copied: list[str] = []
    with closing(open_store(source)) as store:
        names = sorted({info.name for info in store.scopes()} if scopes is None else scopes)
        if not names:
            raise InvalidInput(f"{store!r} holds no scope to copy; give the place of a memory")
        counts = [2 * store.count_rows(name) for name in names]
        rows = _RowCounter(sum(counts), progress)
        with closing(open_store(target)) as other:
            for name, end in zip(names, accumulate(counts), strict=True):
                copied += [name] if store.copy_scope(name, other, rows.add) else []
                rows.add(end - rows.done)
    return CopyResult(tuple(copied), tuple(name for name in names if name not in copied))


class _RowCounter:
    """Tells a progress function how many rows are done."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self.done = 0
        self._total = total
        self._progress = progress

    def add(self, count: int) -> None:
        """Count rows; there may be more than were expected, if others write to the source."""
        self.done += count
        if self._progress is not None:
            self._progress(min(self.done, self._total), self._total)


def _is_same_file(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


@contextmanager
def _open_store(path: str | Path | ScopeStore) -> Iterator[ScopeStore]:
    """The store of a file, closed in the end; a store that was passed stays open."""
    if isinstance(path, ScopeStore) and not isinstance(path, type):
        yield path
        return
    store = open_store(_check_source("path", path))
    try:
        yield store
    finally:
        store.close()


def _check_source(field: str, value: object) -> str | Path:
    """Check the path of a file that is there, or a URL."""
    location = _check_location(field, value)
    if isinstance(location, Path) and not location.is_file():
        raise InvalidInput(f"there is no file {show(str(location))}; give the path of a memory file")
    return location


def _check_location(field: str, value: object) -> str | Path:
    """Check the path of a file, or the URL of a database."""
    return value if isinstance(value, str) and is_postgres_url(value) else check_path(field, value)
