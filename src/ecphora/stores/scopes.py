"""The scopes of a file: finds, creates, lists, renames and copies them, inside a transaction that the store holds."""

from dataclasses import dataclass, fields

import apsw

from ..errors import InvalidInput, UnknownName
from ..model.types import ScopeInfo


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope's row.

    Of the accesses up to ``retention_seq`` each node keeps the last of each kind; the others are deleted already for
    the nodes up to ``sweep_cursor``. The log has ``log_size`` accesses, ``log_growth`` of them since it last expired.
    """

    key: int
    revision: int = 0
    seq: int = 0
    embedder: str | None = None
    dim: int | None = None
    reload_revision: int = 0
    needs_full_log: int = 0
    retention_seq: int = 0
    sweep_cursor: int = 0
    log_size: int = 0
    log_growth: int = 0
    english_embedder: str | None = None
    english_dim: int | None = None


_SCOPE_COLUMNS = ", ".join(column.name for column in fields(ScopeRow))
_COPIED_COLUMNS = ", ".join(column.name for column in fields(ScopeRow) if column.name != "key")


def find_scope(db: apsw.Connection, name: str) -> ScopeRow | None:
    """Return the scope of that name, None if nothing was written to it."""
    row = db.execute(f"SELECT {_SCOPE_COLUMNS} FROM scope WHERE name = ?", (name,)).fetchone()  # noqa: S608
    return None if row is None else ScopeRow(*row)


def create_scope(db: apsw.Connection, name: str) -> ScopeRow:
    """Create a scope."""
    db.execute("INSERT INTO scope (name) VALUES (?)", (name,))
    return ScopeRow(db.last_insert_rowid())


def read_scopes(db: apsw.Connection) -> list[ScopeInfo]:
    """Every scope that holds anything, by name."""
    query = """SELECT s.name, s.revision, s.embedder, count(DISTINCT coalesce(n.document, n.id)) FROM scope s
               LEFT JOIN node n ON n.scope = s.key AND n.kind = 'episode' GROUP BY s.key ORDER BY s.name"""
    return [
        ScopeInfo(str(name), int(revision or 0), int(episodes or 0), None if embedder is None else str(embedder))
        for name, revision, embedder, episodes in db.execute(query).fetchall()
    ]


def rename_scope(db: apsw.Connection, name: str, new_name: str) -> None:
    """Give a scope another name; nothing else changes."""
    scope = _check_names(db, name, new_name)
    db.execute("UPDATE scope SET name = ? WHERE key = ?", (new_name, scope.key))


def clone_scope(db: apsw.Connection, name: str, new_name: str) -> None:
    """Copy every row of a scope to a new one, with its ``seq`` and revision."""
    scope = _check_names(db, name, new_name)
    db.execute(
        f"INSERT INTO scope (name, {_COPIED_COLUMNS}) SELECT ?, {_COPIED_COLUMNS} FROM scope WHERE key = ?",  # noqa: S608
        (new_name, scope.key),
    )
    new_key = db.last_insert_rowid()
    for table, columns, order in _scope_tables(db):
        names = ", ".join(columns)
        db.execute(
            f"INSERT INTO {table} (scope, {names}) SELECT ?, {names} FROM {table} WHERE scope = ?{order}",  # noqa: S608
            (new_key, scope.key),
        )


def _check_names(db: apsw.Connection, name: str, new_name: str) -> ScopeRow:
    """The scope of a name; raises an error if there is none, or if there is one of the new name."""
    scope = find_scope(db, name)
    if scope is None:
        raise UnknownName(f"there is no scope {name!r}; Memory.scopes() lists the scopes")
    if find_scope(db, new_name) is not None:
        raise InvalidInput(f"there is a scope {new_name!r} already; choose another name")
    return scope


def _scope_tables(db: apsw.Connection) -> list[tuple[str, list[str], str]]:
    """The tables with rows of scopes: name, columns, and an order that keeps the order of rows; nodes come first."""
    query = """SELECT t.name, t.wr FROM pragma_table_list t JOIN pragma_table_info(t.name) c
               WHERE t.schema = 'main' AND t.type = 'table' AND c.name = 'scope' ORDER BY t.name <> 'node', t.name"""
    found: list[tuple[str, list[str], str]] = []
    for table, is_without_rowid in db.execute(query).fetchall():
        columns = db.execute("SELECT name FROM pragma_table_info(?) WHERE name <> 'scope'", (table,)).fetchall()
        found.append((str(table), [str(name) for (name,) in columns], "" if is_without_rowid else " ORDER BY rowid"))
    return found
