"""One change on its way into the file, inside a transaction that its store holds. It neither opens nor reads back."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace

import apsw
import numpy as np

from ..errors import EmbedderMismatch, InvalidInput, StaleChange, StoreError
from ..model import (
    NOTHING_EXPIRED,
    TELLING,
    Access,
    Batch,
    Change,
    Edge,
    Expiry,
    Forgotten,
    Node,
    NodeId,
    Superseded,
    Touch,
)
from . import rows

ALL_COLUMNS = ", ".join((*rows.NODE, *rows.READING))
KEPT = 32
"""Accesses of one kind that a node keeps when the log expires."""
SLACK = 1024
"""Accesses by which the log must have grown, and by half, to expire again."""
SWEPT = 64
"""Nodes of which one commit deletes what has expired."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope's row.

    Of the accesses up to ``expiry`` each node has the last of each kind; of the nodes up to ``log_cursor`` the others
    are deleted. The log has ``log_size`` accesses, and ``log_growth`` since it expired.
    """

    key: int
    revision: int = 0
    seq: int = 0
    embedder: str | None = None
    dim: int | None = None
    adopted: int = 0
    whole_log: int = 0
    expiry: int = 0
    log_cursor: int = 0
    log_size: int = 0
    log_growth: int = 0


_SCOPE = ", ".join(column.name for column in fields(Scope))


def scope(db: apsw.Connection, name: str) -> Scope | None:
    """The scope of a name, None if nothing was written to it."""
    row = db.execute(f"SELECT {_SCOPE} FROM scope WHERE name = ?", (name,)).fetchone()  # noqa: S608
    return None if row is None else Scope(*row)


def made(db: apsw.Connection, name: str) -> Scope:
    """Begin a scope."""
    db.execute("INSERT INTO scope (name) VALUES (?)", (name,))
    return Scope(db.last_insert_rowid())


_LINKS = ", ".join(f"'{link.value}'" for link in TELLING.values())
_KINDS = ", ".join(f"'{kind.value}'" for kind in TELLING)
_TELLING = f"""
    WITH RECURSIVE telling (seq) AS (
        SELECT src FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ({_LINKS})
        UNION SELECT e.src FROM edge e JOIN telling t ON e.dst = t.seq
              WHERE e.scope = ?1 AND e.link IN ({_LINKS}))
    DELETE FROM node WHERE scope = ?1 AND kind IN ({_KINDS}) AND seq IN telling"""  # noqa: S608


class Commit:
    """One change on its way into the file, inside a transaction; the log expires to ``kept`` accesses."""

    def __init__(
        self, db: apsw.Connection, name: str, scope: Scope, change: Change, *, kept: int = KEPT, slack: int = SLACK
    ) -> None:
        self.db = db
        self.kept = kept
        self.slack = slack
        self.name = name
        self.scope = scope
        self.change = change
        self.revision = scope.revision + 1
        self.seq = scope.seq
        self.known: dict[NodeId, int] = {}
        """The ``seq`` of every node looked up so far."""
        self.log_loss = 0
        """Accesses that went with their nodes."""

    def write(self) -> Change:
        change = self.change
        if change.batch is not None:
            self._begin(change.batch, change.marks)
        if change.undo is not None:
            self._undo(change.undo)
        self._forget(change.forgotten)
        nodes = self._nodes(change)
        embedder, seen = self._vectors(change)
        self._edges(change.edges)
        self._superseded(change.superseded)
        accesses = self._accesses(change.accesses)
        expiry = self._grow_log(len(accesses))
        self._marks(change.marks)
        if change.adopt:
            self._adopt(change)
        self.db.execute(
            "UPDATE scope SET revision = ?, seq = ? WHERE key = ?", (self.revision, self.seq, self.scope.key)
        )
        return replace(
            change,
            nodes=nodes,
            vectors=seen,
            accesses=accesses,
            embedder=embedder,
            whole_log=bool(self.scope.whole_log or change.whole_log),
            expiry=expiry,
            revision=self.revision,
        )

    def _number(self, node: NodeId) -> int:
        """The ``seq`` of a node, which must be there."""
        if node not in self.known:
            query = "SELECT seq FROM node WHERE scope = ? AND id = ?"
            found = self.db.execute(query, (self.scope.key, node)).fetchone()
            if found is None:
                raise StaleChange(f"the change speaks of {node!r}, which is not in scope {self.name!r}")
            self.known[node] = int(found[0])
        return self.known[node]

    def _next(self) -> int:
        self.seq += 1
        return self.seq

    def _forget(self, forgotten: Iterable[Forgotten]) -> None:
        key = self.scope.key
        named: set[int] = set()
        for gone in forgotten:
            there = self.db.execute("SELECT seq FROM node WHERE scope = ? AND id = ?", (key, gone.node)).fetchone()
            if there is not None:
                logged = "SELECT count(*) FROM access WHERE scope = ? AND node = ?"
                self.log_loss += int(self.db.execute(logged, (key, there[0])).get)
                # An insight tells of each of its sources, a question of each answer: it goes with the first.
                self.db.execute(_TELLING, (key, there[0]))
                found = self.db.execute("SELECT dst FROM edge WHERE scope = ? AND src = ?", (key, there[0]))
                named.update(int(dst) for (dst,) in found)
            shown = (key, gone.node)  # what it alone shows goes with it
            found = self.db.execute("SELECT dst FROM edge WHERE scope = ? AND evidence = ?", shown)
            named.update(int(dst) for (dst,) in found)
            self.db.execute("DELETE FROM edge WHERE scope = ? AND evidence = ?", shown)
            self.db.execute("DELETE FROM node WHERE scope = ? AND id = ?", (key, gone.node))
            self.db.execute("INSERT INTO forgotten VALUES (?, ?, ?, ?)", (key, self.revision, gone.node, gone.digest))
        # Names that nothing mentions any more go too, and leave no trace: they would tell of what was forgotten.
        self.db.executemany(
            """DELETE FROM node WHERE scope = ?1 AND seq = ?2 AND kind = 'entity' AND NOT EXISTS
               (SELECT 1 FROM edge WHERE scope = ?1 AND dst = ?2 AND link IN ('mentions', 'about'))""",
            ((key, seq) for seq in sorted(named)),
        )

    def _nodes(self, change: Change) -> tuple[Node, ...]:
        numbered = tuple(replace(node, seq=self._next()) for node in change.nodes)
        marks = ", ".join("?" * (2 + len(rows.NODE) + len(rows.READING)))
        values = (
            (self.scope.key, self.revision, *rows.node_row(node, node.seq),
             *rows.reading_row(change.readings.get(node.id)))
            for node in numbered
        )  # fmt: skip
        try:
            self.db.executemany(f"INSERT INTO node (scope, revision, {ALL_COLUMNS}) VALUES ({marks})", values)  # noqa: S608
        except apsw.ConstraintError as error:
            raise StaleChange(f"an id of this change stands in scope {self.name!r} already ({error})") from error
        self.known.update((node.id, node.seq) for node in numbered)
        return numbered

    def _vectors(self, change: Change) -> tuple[str | None, Mapping[NodeId, np.ndarray]]:
        """Write vectors; return the scope's model and those vectors that are of it, as readers will see them."""
        scope, model = self.scope, change.embedder
        if not change.vectors:
            return scope.embedder, {}
        if model is None:
            raise StoreError("a change with vectors must name their embedder")
        current, dim = scope.embedder, len(next(iter(change.vectors.values())))
        if current is None:
            self.db.execute("UPDATE scope SET embedder = ?, dim = ? WHERE key = ?", (model, dim, scope.key))
            current = model
        elif current == model:
            dim = scope.dim or dim
        elif change.nodes:
            raise EmbedderMismatch(
                f"scope {self.name!r} is now embedded by {current!r}, not {model!r}; open it with that embedder"
            )
        ordered = sorted(change.vectors, key=self._number)  # as they will be read
        blobs = {node: rows.vector_blob(change.vectors[node], dim, node) for node in ordered}
        self.db.executemany(
            "INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?)",
            ((scope.key, model, self._number(node), self.revision, blob) for node, blob in blobs.items()),
        )
        if current != model:
            return current, {}
        return current, dict(zip(blobs, rows.vectors(list(blobs.values()), dim)[0], strict=True))

    def _edges(self, edges: Iterable[Edge]) -> None:
        self.db.executemany(
            "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (self.scope.key, self.revision, self._number(edge.src), self._number(edge.dst), edge.link.value,
                 float(edge.weight), edge.evidence)
                for edge in edges
            ),
        )  # fmt: skip

    def _superseded(self, superseded: Iterable[Superseded]) -> None:
        self.db.executemany(
            "INSERT INTO superseded VALUES (?, ?, ?, ?, ?)",
            (
                (self.scope.key, self.revision, self._number(end.node), end.valid_to.isoformat(),
                 end.recorded_at.isoformat())
                for end in superseded
            ),
        )  # fmt: skip

    def _accesses(self, accesses: Iterable[Access]) -> tuple[Access, ...]:
        # A node may have been forgotten by another process since it was recalled: then there is nothing to log.
        there = [access for access in accesses if self._there(access.node)]
        counts: dict[tuple[int, Touch], int] = {}
        numbered = tuple(replace(access, seq=self._next(), nth=self._nth(access, counts)) for access in there)
        columns = ", ".join(rows.ACCESS)
        self.db.executemany(
            f"INSERT INTO access (scope, revision, {columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            ((self.scope.key, self.revision, *rows.access_row(access, self.known[access.node])) for access in numbered),
        )
        return numbered

    def _nth(self, access: Access, counts: dict[tuple[int, Touch], int]) -> int:
        """The number of an access among those of its kind, not below the one that it brings along."""
        group = self.known[access.node], access.touch
        if group not in counts:
            query = "SELECT max(nth) FROM access WHERE scope = ? AND node = ? AND touch = ?"
            there = self.db.execute(query, (self.scope.key, group[0], rows.TOUCH_NUMBERS[access.touch])).get
            counts[group] = there or int(access.touch == Touch.ENCODED)  # that it was stored is its first
        counts[group] = max(counts[group] + 1, access.nth)
        return counts[group]

    def _grow_log(self, logged: int) -> Expiry:
        """Note that the log has grown, let it expire where that is enough, and say what of it is left.

        What has expired is deleted by the commits that follow, a few nodes each; readers leave it out by themselves.
        """
        scope, whole = self.scope, int(self.scope.whole_log or self.change.whole_log)
        size, growth = scope.log_size + logged - self.log_loss, scope.log_growth + logged
        expiry, cursor = scope.expiry, scope.log_cursor
        if logged and not whole:
            if cursor < expiry:
                cursor, deleted = self._sweep_log(cursor)
                size -= deleted
            elif growth >= max(self.slack, (size - growth) // 2):
                expiry, cursor, growth = self.seq, 0, 0
        self.db.execute(
            """UPDATE scope SET whole_log = ?, expiry = ?, log_cursor = ?, log_size = ?, log_growth = ?
               WHERE key = ?""",
            (whole, expiry, cursor, max(0, size), growth, scope.key),
        )
        return Expiry(expiry, self.kept) if expiry else NOTHING_EXPIRED

    def _sweep_log(self, cursor: int) -> tuple[int, int]:
        """Delete what has expired of the next nodes; how far that went, and how many accesses it took."""
        key, expiry = self.scope.key, self.scope.expiry
        query = "SELECT DISTINCT node FROM access WHERE scope = ? AND node > ? ORDER BY node LIMIT ?"
        nodes = self.db.execute(query, (key, cursor, SWEPT)).fetchall()
        if not nodes:
            return expiry, 0
        groups = self.db.execute(
            """SELECT node, touch, max(nth) - ?1 FROM access WHERE scope = ?2 AND node > ?3 AND node <= ?4 AND seq <= ?5
               GROUP BY node, touch HAVING max(nth) - min(nth) >= ?1""",
            (self.kept, key, cursor, nodes[-1][0], expiry),
        ).fetchall()
        before = self.db.total_changes()
        self.db.executemany(
            "DELETE FROM access WHERE scope = ? AND node = ? AND touch = ? AND nth <= ?",
            ((key, *group) for group in groups),
        )
        return int(nodes[-1][0] or 0), self.db.total_changes() - before

    def _marks(self, marks: Mapping[str, int]) -> None:
        self.db.executemany(
            "INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?)",
            ((self.scope.key, name, self.revision, seq) for name, seq in sorted(marks.items())),
        )

    def _begin(self, batch: Batch, marks: Mapping[str, int]) -> None:
        """Note that this revision belongs to a batch, and where its marks stood."""
        key = self.scope.key
        stood = {str(name): seq for name, seq in self.db.execute("SELECT name, seq FROM mark WHERE scope = ?", (key,))}
        before = {name: stood.get(name) for name in marks}
        told = json.dumps(dict(batch.wrote)), json.dumps(before)
        self.db.execute(
            "INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?)", (key, self.revision, batch.id, batch.at.isoformat(), *told)
        )

    def _undo(self, batch: str) -> None:
        """Take every row of the latest batch out again; readers must read anew, as nothing is appended."""
        key = self.scope.key
        query = "SELECT id, revision, before FROM batch WHERE scope = ? ORDER BY revision DESC"
        found = self.db.execute(query, (key,)).fetchall()
        if not found or found[0][0] != batch:
            latest = f"the latest is {found[0][0]!r}: undo that first" if found else "there is none"
            raise InvalidInput(f"{batch!r} is not the latest batch of scope {self.name!r}; {latest}")
        for _, revision, before in (row for row in found if row[0] == batch):
            for table in ("vector", "edge", "superseded", "node", "batch"):
                self.db.execute(f"DELETE FROM {table} WHERE scope = ? AND revision = ?", (key, revision))  # noqa: S608
            for name, seq in json.loads(str(before)).items():
                self.db.execute("DELETE FROM mark WHERE scope = ? AND name = ?", (key, name))
                if seq is not None:
                    self.db.execute("INSERT INTO mark VALUES (?, ?, ?, ?)", (key, name, self.revision, seq))
        self.db.execute("UPDATE scope SET adopted = ? WHERE key = ?", (self.revision, key))

    def _there(self, node: NodeId) -> bool:
        try:
            return self._number(node) > 0
        except StaleChange:
            return False

    def _adopt(self, change: Change) -> None:
        key, model = self.scope.key, change.embedder
        missing = self.db.execute(
            """SELECT count(*) FROM vector v WHERE v.scope = ?1 AND v.model = ?2
               AND NOT EXISTS (SELECT 1 FROM vector w WHERE w.scope = ?1 AND w.model = ?3 AND w.node = v.node)""",
            (key, self.scope.embedder, model),
        ).get
        if missing:
            raise StoreError(
                f"{missing} nodes of scope {self.name!r} have no vector of {model!r} yet; embed them first"
            )
        dim = self.db.execute(
            "SELECT length(value) / 2 FROM vector WHERE scope = ? AND model = ? LIMIT 1", (key, model)
        ).get
        self.db.execute(
            "UPDATE scope SET embedder = ?, dim = ?, adopted = ? WHERE key = ?", (model, dim, self.revision, key)
        )
        self.db.execute("DELETE FROM vector WHERE scope = ? AND model <> ?", (key, model))
