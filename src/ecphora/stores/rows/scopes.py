"""The scopes of a file: finds, creates, lists, renames and copies them, inside a transaction that the store holds."""

from dataclasses import dataclass, fields, replace

from ...errors import InvalidInput, UnknownName
from ...model.types import ScopeInfo
from .database import KEYS, TABLES, Database


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

    def with_key(self, key: int) -> "ScopeRow":
        """The same row for a copy of the scope."""
        return replace(self, key=key)


SCOPE_COLUMNS = ", ".join(column.name for column in fields(ScopeRow))
"""The columns of :class:`ScopeRow`, in its order."""
_VALUE_COLUMNS = tuple(column.name for column in fields(ScopeRow) if column.name != "key")


def find_scope(db: Database, name: str) -> ScopeRow | None:
    """Return the scope of that name, None if nothing was written to it."""
    row = db.execute(f"SELECT {SCOPE_COLUMNS} FROM scope WHERE name = ?", (name,)).fetchone()  # noqa: S608
    return None if row is None else ScopeRow(*row)


def create_scope(db: Database, name: str) -> ScopeRow:
    """Create a scope."""
    return ScopeRow(db.execute("INSERT INTO scope (name) VALUES (?) RETURNING key", (name,)).get)


def read_scopes(db: Database) -> list[ScopeInfo]:
    """Every scope that holds anything, by name."""
    query = """SELECT s.name, s.revision, s.embedder, count(DISTINCT coalesce(n.document, n.id)) FROM scope s
               LEFT JOIN node n ON n.scope = s.key AND n.kind = 'episode' GROUP BY s.key ORDER BY s.name"""
    return [
        ScopeInfo(str(name), int(revision or 0), int(episodes or 0), None if embedder is None else str(embedder))
        for name, revision, embedder, episodes in db.execute(query).fetchall()
    ]


def rename_scope(db: Database, name: str, new_name: str) -> None:
    """Give a scope another name; nothing else changes."""
    scope = check_names(name, find_scope(db, name), new_name, find_scope(db, new_name))
    db.execute("UPDATE scope SET name = ? WHERE key = ?", (new_name, scope.key))


def clone_scope(db: Database, name: str, new_name: str) -> None:
    """Copy every row of a scope to a new one, with its ``seq`` and revision."""
    scope = check_names(name, find_scope(db, name), new_name, find_scope(db, new_name))
    copy_rows(db, scope, create_scope(db, new_name))


def copy_rows(db: Database, scope: ScopeRow, new: ScopeRow) -> None:
    """Copy what a scope holds to a new one."""
    write_scope(db, scope.with_key(new.key))
    for table, columns in TABLES.items():
        names, order = ", ".join(columns), ", ".join(KEYS[table])
        db.execute(
            f"INSERT INTO {table} (scope, {names}) SELECT ?, {names} FROM {table} WHERE scope = ? ORDER BY {order}",  # noqa: S608
            (new.key, scope.key),
        )


def write_scope(db: Database, scope: ScopeRow) -> None:
    """Write every column of a scope's row but its key and name."""
    values = (getattr(scope, name) for name in _VALUE_COLUMNS)
    columns = ", ".join(f"{name} = ?" for name in _VALUE_COLUMNS)
    db.execute(f"UPDATE scope SET {columns} WHERE key = ?", (*values, scope.key))  # noqa: S608


def check_names(name: str, scope: ScopeRow | None, new_name: str, other: ScopeRow | None) -> ScopeRow:
    """The scope of a name; raises an error if there is none, or if there is one of the new name."""
    if scope is None:
        raise UnknownName(f"there is no scope {name!r}; Memory.scopes() lists the scopes")
    if other is not None:
        raise duplicate_name_error(new_name)
    return scope


def duplicate_name_error(name: str) -> InvalidInput:
    """The error for a new name that another scope has."""
    return InvalidInput(f"there is a scope {name!r} already; choose another name")
