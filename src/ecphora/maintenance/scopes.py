"""Renames and copies the scopes of a file or of another store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InvalidInput
from ..model.ports import ScopeStore
from ..model.reprs import show
from ..model.validation import check_name, check_path
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


@contextmanager
def _open_store(path: str | Path | ScopeStore) -> Iterator[ScopeStore]:
    """The store of a file, closed in the end; a store that was passed stays open."""
    if isinstance(path, ScopeStore) and not isinstance(path, type):
        yield path
        return
    if not is_postgres_url(path) and not (file := check_path("path", path)).is_file():
        raise InvalidInput(f"there is no file {show(str(file))}; give the path of a memory file")
    store = open_store(path)  # type: ignore[arg-type]  # a store was handed on above
    try:
        yield store
    finally:
        store.close()
