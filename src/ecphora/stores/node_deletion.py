"""Deletes nodes with what depends on them: derived nodes, edges that only they support, names that nothing mentions."""

import apsw

from ..model import SOURCE_LINKS, NodeId

_SOURCE_LINKS_SQL = ", ".join(f"'{link.value}'" for link in SOURCE_LINKS.values())
_DERIVED_KINDS_SQL = ", ".join(f"'{kind.value}'" for kind in SOURCE_LINKS)
_DELETE_DEPENDENTS = f"""
    WITH RECURSIVE telling (seq) AS (
        SELECT src FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ({_SOURCE_LINKS_SQL})
        UNION SELECT e.src FROM edge e JOIN telling t ON e.dst = t.seq
              WHERE e.scope = ?1 AND e.link IN ({_SOURCE_LINKS_SQL}))
    DELETE FROM node WHERE scope = ?1 AND kind IN ({_DERIVED_KINDS_SQL}) AND seq IN telling"""  # noqa: S608


class NodeDeletion:
    """The deletion of some nodes of a scope, inside a transaction."""

    def __init__(self, db: apsw.Connection, scope: int) -> None:
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
