"""What can be found wrong in a memory's file and mended there: the doctor's SQL. It judges nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import SEEK_CUR, BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import apsw

from ..errors import StoreDamaged, StoreReadOnly
from ..model import UNEMBEDDED, Node, NodeId, Reading
from . import rows
from .sqlite import APPLICATION_ID, SQLite, _migrations

_POINTING = {"vector": ("node",), "edge": ("src", "dst"), "superseded": ("node",), "access": ("node",)}
"""Tables whose rows belong to nodes, and the columns that name them."""
_MAGIC, _HEAD = b"SQLite format 3\0", 100
_VERSION_AT, _OWNER_AT = 60, 68
"""Where ``user_version`` and ``application_id`` stand in a database's head, https://www.sqlite.org/fileformat2.html."""
_LOG_HEAD, _FRAME_HEAD = 32, 24
_FIRST_PAGE, _NO_COMMIT = (1).to_bytes(4, "big"), bytes(4)
_BARE = ", ".join(f"'{kind.value}'" for kind in sorted(UNEMBEDDED))
AT_ONCE = 4096
"""Vectors looked at together."""


@dataclass(frozen=True, slots=True)
class Format:
    """Whose file it is and in which format, against the newest that this version knows."""

    ours: bool
    version: int
    newest: int


def file_format(path: Path) -> Format:
    """Read a file's format from its bytes: SQLite is not asked, since it makes files beside one that it opens.

    Raises ``StoreDamaged`` where it is no SQLite database, ``StoreReadOnly`` where it may not be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        log = path.with_name(f"{path.name}-wal")
        if head and not head.startswith(_MAGIC):
            raise StoreDamaged(f"{path} is no SQLite file, or a broken one")
        with log.open("rb") if log.is_file() else BytesIO() as frames:
            head = _logged_head(frames) or head
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be read ({error}); check its rights") from error
    owner, version = (int.from_bytes(head[at : at + 4], "big") for at in (_OWNER_AT, _VERSION_AT))
    return Format(owner == APPLICATION_ID, version, len(_migrations()))


def _logged_head(log: BinaryIO) -> bytes:
    """The head of a database as the last transaction in its write-ahead log left it; empty where none touched it.

    The format: https://www.sqlite.org/fileformat2.html#walformat. Checksums are not verified.
    """
    opening = log.read(_LOG_HEAD)
    page_size, salts = int.from_bytes(opening[8:12], "big"), opening[16:24]
    seen = committed = b""
    while len(frame := log.read(_FRAME_HEAD)) == _FRAME_HEAD and frame[8:16] == salts and page_size >= _HEAD:
        if frame[:4] == _FIRST_PAGE:
            seen = log.read(_HEAD)
            log.seek(page_size - _HEAD, SEEK_CUR)
        else:
            log.seek(page_size, SEEK_CUR)
        if frame[4:8] != _NO_COMMIT:
            committed = seen
    return committed


@dataclass(frozen=True, slots=True)
class Kept:
    """One scope as its row says: its name and the model of its vectors."""

    name: str
    embedder: str | None


class Repair(SQLite):
    """A memory's file, opened to be looked through and mended. Every mend is one transaction."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._lock, self._translated():
            self._connection().create_scalar_function("is_time", _is_time, 1)

    def kept(self) -> list[Kept]:
        """Every scope, by name."""
        with self._transaction("DEFERRED") as db:
            found = db.execute("SELECT name, embedder FROM scope ORDER BY name").fetchall()
        return [Kept(str(name), None if embedder is None else str(embedder)) for name, embedder in found]

    # ---- rows that point nowhere, names that nothing mentions

    def dangling(self) -> Mapping[str, int]:
        """How many rows of each table point at nodes that are not there."""
        with self._transaction("DEFERRED") as db:
            counts = {table: int(db.execute(f"SELECT count(*) {_dangling(table)}").get) for table in _POINTING}
        return {table: count for table, count in counts.items() if count}

    def drop_dangling(self) -> None:
        """Delete the rows that point at nodes that are not there."""
        with self._transaction("IMMEDIATE") as db:
            for table in _POINTING:
                db.execute(f"DELETE {_dangling(table)}")
            _announce(db)

    def unmentioned(self) -> int:
        """How many names there are that nothing mentions."""
        with self._transaction("DEFERRED") as db:
            return int(db.execute(f"SELECT count(*) {_UNMENTIONED}").get)

    def drop_unmentioned(self) -> None:
        """Delete the names that nothing mentions."""
        with self._transaction("IMMEDIATE") as db:
            db.execute(f"DELETE {_UNMENTIONED}")
            _announce(db)

    def rebuild_indexes(self) -> None:
        """Make SQLite's own indexes anew from the rows."""
        with self._lock, self._translated():
            self._connection().execute("REINDEX")

    # ---- rows that cannot be read

    def unreadable(self) -> list[str]:
        """The rows that no memory can be opened with: of nodes, and of times that belong to nodes."""
        columns = ", ".join(f"n.{name}" for name in rows.NODE)
        found: list[str] = []
        with self._transaction("DEFERRED") as db:
            nodes = f"SELECT s.name, {columns} FROM node n JOIN scope s ON s.key = n.scope ORDER BY n.scope, n.seq"  # noqa: S608
            for scope, *row in db.execute(nodes):
                try:
                    rows.node(row)
                except ValueError as error:
                    found.append(f"scope {scope!r}: {error}")
            for what, query in _UNDATED.items():
                for scope, id_, *stored in db.execute(query):
                    wrong = next(value for value in stored if not _is_time(value))
                    found.append(f"scope {scope!r}: {what} {id_!r}: {wrong!r} is no time")
        return found

    def mend_times(self) -> None:
        """Give each row whose time cannot be read the nearest that is known: its own other one, or its neighbor's.

        A bound of validity that cannot be read is taken away, and so are ends and accesses without any time.
        """
        with self._transaction("IMMEDIATE") as db:
            for statement in _MEND_TIMES:
                db.execute(statement)
            _announce(db)

    # ---- readings

    def read_nodes(self, scope: str) -> Iterator[tuple[Node, Reading | None]]:
        """Every node of a scope that has words and can be read, with what is stored of its words, None if damaged."""
        columns = ", ".join(f"n.{name}" for name in (*rows.NODE, *rows.READING))
        with self._transaction("DEFERRED") as db:
            query = f"""SELECT {columns} FROM node n JOIN scope s ON s.key = n.scope
                        WHERE s.name = ? AND n.kind = 'episode' ORDER BY n.seq"""  # noqa: S608
            for row in db.execute(query, (scope,)):
                with suppress(ValueError):  # told of by unreadable()
                    yield rows.node(row), _reading(row)

    def write_readings(self, scope: str, readings: Mapping[NodeId, Reading]) -> None:
        """Put these readings in the place of what is stored."""
        with self._transaction("IMMEDIATE") as db:
            db.executemany(
                """UPDATE node SET words = ?, counts = ?, question = ?, told = ?
                   WHERE scope = (SELECT key FROM scope WHERE name = ?) AND id = ?""",
                ((*rows.reading_row(reading), scope, id_) for id_, reading in readings.items()),
            )
            _announce(db)

    # ---- vectors

    def unvectored(self, scope: str) -> list[NodeId]:
        """The nodes that should have a vector of the scope's model and have none."""
        query = f"""SELECT n.id FROM scope s JOIN node n ON n.scope = s.key
                    WHERE s.name = ? AND n.kind NOT IN ({_BARE}) AND NOT EXISTS
                      (SELECT 1 FROM vector v WHERE v.scope = s.key AND v.model = s.embedder AND v.node = n.seq)
                    ORDER BY n.seq"""  # noqa: S608
        with self._transaction("DEFERRED") as db:
            return [str(id_) for (id_,) in db.execute(query, (scope,))]

    def damaged_vectors(self, scope: str) -> list[NodeId]:
        """The nodes whose vector of the scope's model has another size than it should, or is not finite."""
        query = f"""SELECT n.id, s.dim, v.value FROM scope s JOIN node n ON n.scope = s.key
                    JOIN vector v ON v.scope = s.key AND v.model = s.embedder AND v.node = n.seq
                    WHERE s.name = ? AND n.kind NOT IN ({_BARE}) ORDER BY n.seq"""  # noqa: S608
        found: list[NodeId] = []
        with self._transaction("DEFERRED") as db:
            stored = db.execute(query, (scope,))
            while some := list(islice(stored, AT_ONCE)):
                _, sound = rows.vectors([value for _, _, value in some], int(some[0][1]))
                found += [str(id_) for (id_, _, _), good in zip(some, sound, strict=True) if not good]
        return found

    def superfluous_vectors(self) -> int:
        """How many vectors belong to nodes that should have none."""
        with self._transaction("DEFERRED") as db:
            return int(db.execute(f"SELECT count(*) {_SUPERFLUOUS}").get)

    def drop_superfluous_vectors(self) -> None:
        """Delete the vectors of nodes that should have none."""
        with self._transaction("IMMEDIATE") as db:
            db.execute(f"DELETE {_SUPERFLUOUS}")
            _announce(db)

    def foreign_vectors(self) -> int:
        """How many vectors there are of another model than their scope's: a change of model that was not finished."""
        query = "SELECT count(*) FROM vector v JOIN scope s ON s.key = v.scope WHERE v.model <> s.embedder"
        with self._transaction("DEFERRED") as db:
            return int(db.execute(query).get)

    def announce(self) -> None:
        """Have every process that has the file open read it anew."""
        with self._transaction("IMMEDIATE") as db:
            _announce(db)

    def checkpoint(self) -> None:
        """Move the log into the file and empty it."""
        self._settle()


def _reading(row: Sequence[Any]) -> Reading | None:
    try:
        return rows.readings([row])[0]
    except ValueError:
        return None


def _is_time(*value: rows.SqlValue) -> bool:
    try:
        rows.instant(value[0]) if isinstance(value[0], int) else rows.time(value[0])
    except ValueError:
        return False
    return True


def _dangling(table: str) -> str:
    wrong = " OR ".join(
        f"NOT EXISTS (SELECT 1 FROM node n WHERE n.scope = {table}.scope AND n.seq = {table}.{column})"  # noqa: S608
        for column in _POINTING[table]
    )
    return f"FROM {table} WHERE {wrong}"


_UNMENTIONED = """FROM node WHERE kind = 'entity'
    AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.scope = node.scope AND e.dst = node.seq)
    AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.scope = node.scope AND e.src = node.seq)"""

_SUPERFLUOUS = f"""FROM vector WHERE EXISTS (SELECT 1 FROM node n WHERE n.scope = vector.scope AND n.seq = vector.node
    AND n.kind IN ({_BARE}))"""  # noqa: S608


_UNDATED = {
    "an end of node": """SELECT s.name, n.id, t.valid_to, t.recorded_at FROM superseded t
        JOIN scope s ON s.key = t.scope JOIN node n ON n.scope = t.scope AND n.seq = t.node
        WHERE NOT (is_time(t.valid_to) AND is_time(t.recorded_at))""",
    "an access of node": """SELECT s.name, n.id, t.at FROM access t JOIN scope s ON s.key = t.scope
        JOIN node n ON n.scope = t.scope AND n.seq = t.node WHERE NOT is_time(t.at)""",
    "batch": "SELECT s.name, t.id, t.at FROM batch t JOIN scope s ON s.key = t.scope WHERE NOT is_time(t.at)",
}
"""The rows beside nodes that hold a time that cannot be read, by what they are: scope, id and times."""
_NEAREST = """coalesce((SELECT o.recorded_at FROM node o WHERE o.scope = node.scope AND is_time(o.recorded_at)
    ORDER BY abs(o.seq - node.seq) LIMIT 1), '1970-01-01T00:00:00+00:00')"""
_MEND_TIMES = (
    """UPDATE node SET recorded_at = happened_at WHERE NOT is_time(recorded_at) AND is_time(happened_at)""",
    f"UPDATE node SET recorded_at = {_NEAREST} WHERE NOT is_time(recorded_at)",  # noqa: S608
    "UPDATE node SET happened_at = recorded_at WHERE NOT is_time(happened_at)",
    "UPDATE node SET valid_from = NULL WHERE NOT is_time(valid_from)",
    "UPDATE node SET valid_to = NULL WHERE NOT is_time(valid_to)",
    "DELETE FROM superseded WHERE NOT (is_time(valid_to) OR is_time(recorded_at))",
    "UPDATE superseded SET valid_to = recorded_at WHERE NOT is_time(valid_to)",
    "UPDATE superseded SET recorded_at = valid_to WHERE NOT is_time(recorded_at)",
    "DELETE FROM access WHERE NOT is_time(at)",
    """UPDATE batch SET at = coalesce((SELECT max(n.recorded_at) FROM node n WHERE n.scope = batch.scope
       AND n.revision <= batch.revision), '1970-01-01T00:00:00+00:00') WHERE NOT is_time(at)""",
)


def _announce(db: apsw.Connection) -> None:
    """Count every scope's revision up, as a change of model does: graphs grown before are read anew from the file."""
    db.execute("UPDATE scope SET revision = revision + 1")
    db.execute("UPDATE scope SET adopted = revision")
