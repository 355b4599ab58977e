"""Renames and copies whole scopes, inside a transaction that the store holds."""

from dataclasses import fields

import apsw

from ..errors import InvalidInput, UnknownName
from .scope_row import ScopeRow, find_scope

_COPIED_COLUMNS = ", ".join(column.name for column in fields(ScopeRow) if column.name != "key")


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
        raise UnknownName(f"there is no scope {name!r}; Memory.scopes() lists those that there are")
    if find_scope(db, new_name) is not None:
        raise InvalidInput(f"there is a scope {new_name!r} already; choose another name")
    return scope


def _scope_tables(db: apsw.Connection) -> list[tuple[str, list[str], str]]:
    """The tables with rows of scopes: name, columns, and the order that keeps that of the rows; nodes come first."""
    query = """SELECT t.name, t.wr FROM pragma_table_list t JOIN pragma_table_info(t.name) c
               WHERE t.schema = 'main' AND t.type = 'table' AND c.name = 'scope' ORDER BY t.name <> 'node', t.name"""
    found: list[tuple[str, list[str], str]] = []
    for table, is_without_rowid in db.execute(query).fetchall():
        columns = db.execute("SELECT name FROM pragma_table_info(?) WHERE name <> 'scope'", (table,)).fetchall()
        found.append((str(table), [str(name) for (name,) in columns], "" if is_without_rowid else " ORDER BY rowid"))
    return found
