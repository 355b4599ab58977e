"""Renames and copies whole scopes, inside a transaction that the store holds."""

from dataclasses import fields
from typing import Any

import apsw
import numpy as np

from ..errors import InvalidInput, UnknownName
from ..model.ports import StoredSnapshot, StoredVectors
from . import row_mapping
from .batch_reader import read_media_vectors
from .row_mapping import ScopeRow, find_scope

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


# ---- snapshots
#
# Writes and reads the snapshot of a scope's graph, inside a transaction that the store holds.


def read_snapshot(db: apsw.Connection, scope: ScopeRow) -> StoredSnapshot | None:
    """The snapshot of a scope with all vectors; None if readers must load the whole scope."""
    found: Any = db.execute(
        "SELECT revision, value FROM graph_snapshot WHERE scope = ? AND revision >= ?",
        (scope.key, scope.reload_revision),
    ).fetchone()
    if found is None:
        return None
    revision, value = found
    vectors = "SELECT node, value FROM vector WHERE scope = ? AND model = ? ORDER BY node"
    english = "SELECT node, value FROM english_vector WHERE scope = ? ORDER BY node"
    return StoredSnapshot(
        revision,
        value,
        _read_vectors(db, vectors, (scope.key, scope.embedder), scope.dim),
        _read_vectors(db, english, (scope.key,), scope.english_dim),
        read_media_vectors(db, scope, through=revision),
    )


def _read_vectors(
    db: apsw.Connection, query: str, values: tuple[row_mapping.SqlValue, ...], dim: int | None
) -> StoredVectors:
    found: Any = db.execute(query, values).fetchall()
    seqs = np.array([seq for seq, _ in found], np.int64)
    column, sound = row_mapping.blobs_to_vectors([value for _, value in found], dim or 0)
    return StoredVectors(seqs, column) if sound.all() else StoredVectors(seqs[sound], column.select(sound))


def write_snapshot(db: apsw.Connection, scope_name: str, revision: int, value: bytes) -> None:
    """Write the snapshot of a scope if that has just this revision."""
    scope = find_scope(db, scope_name)
    if scope is not None and scope.revision == revision:
        db.execute("INSERT OR REPLACE INTO graph_snapshot VALUES (?, ?, ?)", (scope.key, revision, value))
