"""The undo batches of a scope: reading them, oldest first, and deleting what the latest has written.

Batches are in the order of their last revisions: another process may commit between two revisions of one batch.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import apsw

from ..errors import InvalidInput
from ..model import NodeId, UndoBatch
from . import row_mapping
from .node_deletion import NodeDeletion

_TABLES = ("vector", "english_vector", "media_vector", "edge", "validity_end", "access", "tombstone", "undo_batch")
"""The tables whose rows an undo deletes by their revision; nodes go with what depends on them."""


@dataclass(slots=True)
class _StoredBatch:
    """One undo batch: its revisions, ascending, each with the cursors before it."""

    batch: UndoBatch
    revisions: dict[int, Mapping[str, int | None]] = field(default_factory=dict)


def read_undo_batches(db: apsw.Connection, scope: int) -> list[UndoBatch]:
    """The undo batches of a scope, the one that wrote last at the end."""
    return [stored.batch for stored in _read(db, scope).values()]


def read_node_ids(db: apsw.Connection, scope: int, batch_id: str) -> list[NodeId]:
    """The nodes that an undo batch has written and that are still there, in their order."""
    query = """SELECT n.id FROM node n JOIN undo_batch b ON b.scope = n.scope AND b.revision = n.revision
               WHERE b.scope = ? AND b.id = ? ORDER BY n.seq"""
    return [str(id_) for (id_,) in db.execute(query, (scope, batch_id))]


def undo_batch(db: apsw.Connection, scope_name: str, scope: int, batch_id: str, revision: int) -> NodeDeletion:
    """Delete every row of the latest undo batch, and what was derived from its nodes since; set its cursors back.

    Names that other memories mention stay. ``revision`` is that of the undo. Readers must reload.
    """
    batches = _read(db, scope)
    latest = next(reversed(batches), None)
    if latest != batch_id:
        problem = "there is none" if latest is None else f"the latest is {latest!r}: undo that first"
        raise InvalidInput(f"{batch_id!r} is not the latest batch of scope {scope_name!r}; {problem}")
    deletion = NodeDeletion(db, scope)
    for written, previous in reversed(batches[batch_id].revisions.items()):
        for table in _TABLES:
            db.execute(f"DELETE FROM {table} WHERE scope = ? AND revision = ?", (scope, written))  # noqa: S608
            deletion.access_count += db.changes() if table == "access" else 0
        deletion.delete_written(written)
        for name, seq in previous.items():
            db.execute("DELETE FROM cursor WHERE scope = ? AND name = ?", (scope, name))
            if seq is not None:
                db.execute("INSERT INTO cursor VALUES (?, ?, ?, ?)", (scope, name, revision, seq))
    deletion.delete_orphans()
    return deletion


def _read(db: apsw.Connection, scope: int) -> dict[str, _StoredBatch]:
    """The undo batches by id, in the order of their last revisions."""
    query = "SELECT id, at, counts, revision, previous_cursors FROM undo_batch WHERE scope = ? ORDER BY revision"
    found: dict[str, _StoredBatch] = {}
    for id_, at, counts_json, revision, previous in db.execute(query, (scope,)):
        known = found.pop(str(id_), None)
        parts, before = json.loads(str(counts_json)), {} if known is None else known.batch.counts
        counts = {name: parts.get(name, 0) + before.get(name, 0) for name in {**before, **parts}}
        batch = UndoBatch(str(id_), row_mapping.parse_time(at, f"batch {id_!r}"), counts)
        revisions = {} if known is None else known.revisions
        found[batch.id] = _StoredBatch(batch, {**revisions, int(str(revision)): json.loads(str(previous))})
    return found
