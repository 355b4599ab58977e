"""The undo batches of a scope: reading them, oldest first, and deleting what the latest has written.

Batches are in the order of their last revisions: another process may commit between two revisions of one batch. Nodes
are deleted with what depends on them: derived nodes, edges that only they support, names that nothing mentions.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import InvalidInput
from ...model.types import SOURCE_LINKS, NodeId, UndoBatch
from . import row_mapping
from .database import Database

_SOURCE_LINKS_SQL = ", ".join(f"'{link.value}'" for link in SOURCE_LINKS.values())
_DERIVED_KINDS_SQL = ", ".join(f"'{kind.value}'" for kind in SOURCE_LINKS)
_DELETE_DEPENDENTS = f"""
    WITH RECURSIVE telling (seq) AS (
        SELECT src FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ({_SOURCE_LINKS_SQL})
        UNION SELECT e.src FROM edge e JOIN telling t ON e.dst = t.seq
              WHERE e.scope = ?1 AND e.link IN ({_SOURCE_LINKS_SQL}))
    DELETE FROM node WHERE scope = ?1 AND kind IN ({_DERIVED_KINDS_SQL}) AND seq IN (SELECT seq FROM telling)"""  # noqa: S608


class NodeDeletion:
    """The deletion of some nodes of a scope, inside a transaction."""

    def __init__(self, db: Database, scope: int) -> None:
        self._db = db
        self._scope = scope
        self._mentioned: set[int] = set()
        self.access_count = 0
        """Accesses that were deleted with their nodes."""

    def delete(self, node: NodeId) -> None:
        """Delete a node, whether it is still there or only what names it, and all but the names that it mentions."""
        db, scope = self._db, self._scope
        stored = db.execute("SELECT seq FROM node WHERE scope = ? AND id = ?", (scope, node)).fetchone()
        if stored is not None:
            count_query = "SELECT count(*) FROM access WHERE scope = ? AND node = ?"
            self.access_count += int(db.execute(count_query, (scope, stored[0])).get)
            # An insight is deleted with any of its sources, a question with any of its answers.
            db.execute(_DELETE_DEPENDENTS, (scope, stored[0]))
            found = db.execute("SELECT dst FROM edge WHERE scope = ? AND src = ?", (scope, stored[0]))
            self._mentioned.update(int(str(dst)) for (dst,) in found)
        supported = (scope, node)  # edges that it alone supports are deleted with it
        found = db.execute("SELECT dst FROM edge WHERE scope = ? AND provenance = ?", supported)
        self._mentioned.update(int(str(dst)) for (dst,) in found)
        db.execute("DELETE FROM edge WHERE scope = ? AND provenance = ?", supported)
        db.execute("DELETE FROM node WHERE scope = ? AND id = ?", (scope, node))

    def delete_written(self, revision: int) -> None:
        """Delete the nodes that a revision has written; its names go only if nothing mentions them."""
        query = "SELECT seq, id, kind FROM node WHERE scope = ? AND revision = ? ORDER BY seq"
        for seq, id_, kind in self._db.execute(query, (self._scope, revision)).fetchall():
            if kind == "entity":
                self._mentioned.add(int(str(seq)))
            else:
                self.delete(str(id_))

    def delete_orphans(self) -> None:
        """Delete the names that nothing mentions any more; without a tombstone, which would tell what was deleted."""
        self._db.executemany(
            """DELETE FROM node WHERE scope = ?1 AND seq = ?2 AND kind = 'entity' AND NOT EXISTS
               (SELECT 1 FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ('mentions', 'about'))""",
            ((self._scope, seq) for seq in sorted(self._mentioned)),
        )


_TABLES = ("vector", "english_vector", "media_vector", "edge", "validity_end", "access", "tombstone", "undo_batch")
"""The tables whose rows an undo deletes by their revision; nodes go with what depends on them."""


@dataclass(slots=True)
class _StoredBatch:
    """One undo batch: its revisions, ascending, each with the cursors before it."""

    batch: UndoBatch
    revisions: dict[int, Mapping[str, int | None]] = field(default_factory=dict)


def read_undo_batches(db: Database, scope: int) -> list[UndoBatch]:
    """The undo batches of a scope, the batch that wrote last at the end."""
    return [stored.batch for stored in _read(db, scope).values()]


def read_node_ids(db: Database, scope: int, batch_id: str) -> list[NodeId]:
    """The nodes that an undo batch has written and that are still there, in their order."""
    query = """SELECT n.id FROM node n JOIN undo_batch b ON b.scope = n.scope AND b.revision = n.revision
               WHERE b.scope = ? AND b.id = ? ORDER BY n.seq"""
    return [str(id_) for (id_,) in db.execute(query, (scope, batch_id))]


def undo_batch(db: Database, scope_name: str, scope: int, batch_id: str, revision: int) -> NodeDeletion:
    """Delete every row of the latest undo batch, and what was derived from its nodes since; set its cursors back.

    Names that other memories mention stay. ``revision`` is the revision of the undo. Readers must reload.
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


def _read(db: Database, scope: int) -> dict[str, _StoredBatch]:
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
