"""Writes and reads the snapshot of a scope's graph, inside a transaction that the store holds."""

from typing import Any

import apsw
import numpy as np

from ..ports import StoredSnapshot, StoredVectors
from . import row_mapping
from .batch_reader import read_media_vectors
from .scope_row import ScopeRow, find_scope


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
