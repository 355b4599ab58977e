"""The SQL of ``ecphora doctor``: finds damage in a memory's file and repairs it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import SEEK_CUR, BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import apsw

from ..errors import StoreDamaged, StoreReadOnly
from ..model.types import Node, NodeId, TextAnalysis
from . import damage
from .connection import APPLICATION_ID, load_migrations
from .damage import UNEMBEDDED_KINDS_SQL
from .rows import row_mapping
from .sqlite import SQLiteStore

_NODE_REFERENCES = {
    "vector": ("node",),
    "english_vector": ("node",),
    "token_codes": ("node",),
    "media_vector": ("node",),
    "edge": ("src", "dst"),
    "validity_end": ("node",),
    "access": ("node",),
}
"""Tables whose rows belong to nodes, and the columns that name them."""
_MAGIC, _HEADER_SIZE = b"SQLite format 3\0", 100
_VERSION_OFFSET, _APPLICATION_ID_OFFSET = 60, 68
"""Offsets in the database header, https://www.sqlite.org/fileformat2.html."""
_WAL_HEADER_SIZE, _FRAME_HEADER_SIZE = 32, 24
_FIRST_PAGE, _NO_COMMIT = (1).to_bytes(4, "big"), bytes(4)


@dataclass(frozen=True, slots=True)
class FileFormat:
    """Whether a file is a memory, its format version, and the latest version that this package knows."""

    is_ours: bool
    version: int
    latest: int


def read_file_format(path: Path) -> FileFormat:
    """Read a file's format from its bytes, not through SQLite, which creates files next to a database that it opens.

    Raises ``StoreDamaged`` if it is not an SQLite database, ``StoreReadOnly`` if it cannot be read.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_SIZE)
        wal_path = path.with_name(f"{path.name}-wal")
        if header and not header.startswith(_MAGIC):
            raise StoreDamaged(f"{path} is not an SQLite file, or a damaged one")
        with wal_path.open("rb") if wal_path.is_file() else BytesIO() as frames:
            header = _wal_header(frames) or header
    except OSError as error:
        raise StoreReadOnly(f"{path} cannot be read ({error}); check its rights") from error
    application_id, version = (
        int.from_bytes(header[offset : offset + 4], "big") for offset in (_APPLICATION_ID_OFFSET, _VERSION_OFFSET)
    )
    return FileFormat(application_id == APPLICATION_ID, version, len(load_migrations()))


def _wal_header(wal: BinaryIO) -> bytes:
    """Return the database header after the last transaction in the write-ahead log; empty if none wrote it.

    The format: https://www.sqlite.org/fileformat2.html#walformat. Checksums are not verified.
    """
    wal_header = wal.read(_WAL_HEADER_SIZE)
    page_size, salts = int.from_bytes(wal_header[8:12], "big"), wal_header[16:24]
    latest = committed = b""
    while (
        len(frame := wal.read(_FRAME_HEADER_SIZE)) == _FRAME_HEADER_SIZE
        and frame[8:16] == salts
        and page_size >= _HEADER_SIZE
    ):
        if frame[:4] == _FIRST_PAGE:
            latest = wal.read(_HEADER_SIZE)
            wal.seek(page_size - _HEADER_SIZE, SEEK_CUR)
        else:
            wal.seek(page_size, SEEK_CUR)
        if frame[4:8] != _NO_COMMIT:
            committed = latest
    return committed


@dataclass(frozen=True, slots=True)
class StoredScope:
    """The row of a scope: its name and the model of its vectors."""

    name: str
    embedder: str | None


class RepairStore(SQLiteStore):
    """A memory's file, opened for inspection and repair. Every repair is one transaction."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._lock, self._translate_errors():
            self._open_connection().create_scalar_function("is_time", damage.is_time, 1)

    def _make_private(self) -> None:
        """Nothing is changed before it is reported."""

    def stored_scopes(self) -> list[StoredScope]:
        """Return every scope, by name."""
        with self._transaction("DEFERRED") as db:
            found = db.execute("SELECT name, embedder FROM scope ORDER BY name").fetchall()
        return [StoredScope(str(name), None if embedder is None else str(embedder)) for name, embedder in found]

    # ---- dangling rows and orphan entities

    def count_dangling_rows(self) -> Mapping[str, int]:
        """Count the rows of each table that refer to missing nodes."""
        with self._transaction("DEFERRED") as db:
            counts = {
                table: int(db.execute(f"SELECT count(*) {_dangling_clause(table)}").get) for table in _NODE_REFERENCES
            }
        return {table: count for table, count in counts.items() if count}

    def delete_dangling_rows(self) -> None:
        """Delete the rows that refer to missing nodes."""
        with self._transaction("IMMEDIATE") as db:
            for table in _NODE_REFERENCES:
                db.execute(f"DELETE {_dangling_clause(table)}")
            _force_reload(db)

    def count_orphan_entities(self) -> int:
        """Count the entities that nothing mentions."""
        with self._transaction("DEFERRED") as db:
            return int(db.execute(f"SELECT count(*) {_ORPHAN_ENTITIES_CLAUSE}").get)

    def delete_orphan_entities(self) -> None:
        """Delete the entities that nothing mentions."""
        with self._transaction("IMMEDIATE") as db:
            db.execute(f"DELETE {_ORPHAN_ENTITIES_CLAUSE}")
            _force_reload(db)

    def rebuild_indexes(self) -> None:
        """Rebuild SQLite's indexes from the rows."""
        with self._lock, self._translate_errors():
            self._open_connection().execute("REINDEX")

    # ---- unreadable rows

    def find_unreadable_rows(self) -> list[str]:
        """Describe the rows that prevent a memory from opening: nodes, and times that belong to nodes."""
        with self._transaction("DEFERRED") as db:
            return damage.find_unreadable_rows(db)

    def repair_times(self) -> None:
        """Replace each unreadable time with the nearest known one: the row's other time, or its neighbor's.

        Unreadable bounds of validity are cleared; ends of validity and accesses without any readable time are deleted.
        """
        with self._transaction("IMMEDIATE") as db:
            for statement in _REPAIR_TIMES:
                db.execute(statement)
            _force_reload(db)

    # ---- text analyses

    def read_analyses(self, scope: str) -> Iterator[tuple[Node, TextAnalysis | None]]:
        """Yield every readable episode of a scope with its stored text analysis, None if that is damaged."""
        columns = ", ".join(f"n.{name}" for name in (*row_mapping.NODE_COLUMNS, *row_mapping.ANALYSIS_COLUMNS))
        with self._transaction("DEFERRED") as db:
            query = f"""SELECT {columns} FROM node n JOIN scope s ON s.key = n.scope
                        WHERE s.name = ? AND n.kind = 'episode' ORDER BY n.seq"""  # noqa: S608
            for row in db.execute(query, (scope,)):
                with suppress(ValueError):  # reported by find_unreadable_rows()
                    yield row_mapping.row_to_node(row), _read_analysis(row)

    def write_analyses(self, scope: str, analyses: Mapping[NodeId, TextAnalysis]) -> None:
        """Replace the stored text analyses."""
        with self._transaction("IMMEDIATE") as db:
            db.executemany(
                """UPDATE node SET term_hashes = ?, term_counts = ?, is_question = ?, time_mentions = ?
                   WHERE scope = (SELECT key FROM scope WHERE name = ?) AND id = ?""",
                ((*row_mapping.analysis_to_row(analysis), scope, id_) for id_, analysis in analyses.items()),
            )
            _force_reload(db)

    # ---- vectors

    def ids_without_vector(self, scope: str) -> list[NodeId]:
        """Return the nodes that should have a vector of the scope's model and have none."""
        query = f"""SELECT n.id FROM scope s JOIN node n ON n.scope = s.key
                    WHERE s.name = ? AND n.kind NOT IN ({UNEMBEDDED_KINDS_SQL}) AND NOT EXISTS
                      (SELECT 1 FROM vector v WHERE v.scope = s.key AND v.model = s.embedder AND v.node = n.seq)
                    ORDER BY n.seq"""  # noqa: S608
        with self._transaction("DEFERRED") as db:
            return [str(id_) for (id_,) in db.execute(query, (scope,))]

    def ids_with_damaged_vector(self, scope: str) -> list[NodeId]:
        """Return the nodes whose vector of the scope's model has the wrong size or another length than 1."""
        with self._transaction("DEFERRED") as db:
            return damage.ids_with_damaged_vector(db, scope)

    def ids_with_damaged_english_vector(self, scope: str) -> list[NodeId]:
        """Return the nodes whose English vector has the wrong size or another length than 1."""
        with self._transaction("DEFERRED") as db:
            return damage.ids_with_damaged_english_vector(db, scope)

    def delete_english_vectors(self, scope: str, ids: Iterable[NodeId]) -> None:
        """Delete the English vectors of some nodes."""
        query = """DELETE FROM english_vector WHERE (scope, node) IN
                   (SELECT n.scope, n.seq FROM node n JOIN scope s ON s.key = n.scope WHERE s.name = ? AND n.id = ?)"""
        with self._transaction("IMMEDIATE") as db:
            db.executemany(query, ((scope, id_) for id_ in ids))
            _force_reload(db)

    def ids_with_damaged_token_codes(self, scope: str, model: str, size: int) -> list[NodeId]:
        """Return the nodes whose token codes by a model are not of ``size`` bytes for each token."""
        query = """SELECT n.id FROM scope s JOIN token_codes t ON t.scope = s.key
                   JOIN node n ON n.scope = s.key AND n.seq = t.node
                   WHERE s.name = ? AND t.model = ? AND (typeof(t.value) <> 'blob' OR length(t.value) % ?)
                   ORDER BY n.seq"""
        with self._transaction("DEFERRED") as db:
            return [str(id_) for (id_,) in db.execute(query, (scope, model, size))]

    def delete_token_codes(self, scope: str, ids: Iterable[NodeId]) -> None:
        """Delete the token codes of some nodes; the reranker makes them again."""
        query = """DELETE FROM token_codes WHERE (scope, node) IN
                   (SELECT n.scope, n.seq FROM node n JOIN scope s ON s.key = n.scope WHERE s.name = ? AND n.id = ?)"""
        with self._transaction("IMMEDIATE") as db:
            db.executemany(query, ((scope, id_) for id_ in ids))

    def ids_with_damaged_media_vector(self, scope: str) -> list[NodeId]:
        """Return the nodes of which a medium has a vector of the wrong size or another length than 1."""
        with self._transaction("DEFERRED") as db:
            return damage.ids_with_damaged_media_vector(db, scope)

    def delete_damaged_media_vectors(self, scope: str) -> None:
        """Delete the vectors of media that have the wrong size or another length than 1."""
        with self._transaction("IMMEDIATE") as db:
            found = damage.find_damaged_media_vectors(db, scope)
            db.executemany("DELETE FROM media_vector WHERE rowid = ?", ((rowid,) for _, rowid in found))
            _force_reload(db)

    def count_foreign_vectors(self) -> int:
        """Count the vectors of another model than their scope's, left by an unfinished change of model."""
        query = "SELECT count(*) FROM vector v JOIN scope s ON s.key = v.scope WHERE v.model <> s.embedder"
        with self._transaction("DEFERRED") as db:
            return int(db.execute(query).get)

    def force_reload(self) -> None:
        """Make every process that has the file open reload it."""
        with self._transaction("IMMEDIATE") as db:
            _force_reload(db)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file and empty it."""
        self._truncate_wal()


def _read_analysis(row: Sequence[Any]) -> TextAnalysis | None:
    try:
        return row_mapping.rows_to_analyses([row])[0]
    except ValueError:
        return None


def _dangling_clause(table: str) -> str:
    wrong = " OR ".join(
        f"NOT EXISTS (SELECT 1 FROM node n WHERE n.scope = {table}.scope AND n.seq = {table}.{column})"  # noqa: S608
        for column in _NODE_REFERENCES[table]
    )
    return f"FROM {table} WHERE {wrong}"


_ORPHAN_ENTITIES_CLAUSE = """FROM node WHERE kind = 'entity'
    AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.scope = node.scope AND e.dst = node.seq)
    AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.scope = node.scope AND e.src = node.seq)"""


_NEAREST_RECORDED_AT = """coalesce((SELECT o.recorded_at FROM node o
    WHERE o.scope = node.scope AND is_time(o.recorded_at)
    ORDER BY abs(o.seq - node.seq) LIMIT 1), '1970-01-01T00:00:00+00:00')"""
_REPAIR_TIMES = (
    """UPDATE node SET recorded_at = happened_at WHERE NOT is_time(recorded_at) AND is_time(happened_at)""",
    f"UPDATE node SET recorded_at = {_NEAREST_RECORDED_AT} WHERE NOT is_time(recorded_at)",  # noqa: S608
    "UPDATE node SET happened_at = recorded_at WHERE NOT is_time(happened_at)",
    "UPDATE node SET valid_from = NULL WHERE NOT is_time(valid_from)",
    "UPDATE node SET valid_to = NULL WHERE NOT is_time(valid_to)",
    "DELETE FROM validity_end WHERE NOT (is_time(valid_to) OR is_time(recorded_at))",
    "UPDATE validity_end SET valid_to = recorded_at WHERE NOT is_time(valid_to)",
    "UPDATE validity_end SET recorded_at = valid_to WHERE NOT is_time(recorded_at)",
    "DELETE FROM access WHERE NOT is_time(at)",
    """UPDATE undo_batch SET at = coalesce((SELECT n.recorded_at FROM node n WHERE n.scope = undo_batch.scope
       AND n.revision <= undo_batch.revision ORDER BY julianday(n.recorded_at) DESC LIMIT 1),
       '1970-01-01T00:00:00+00:00') WHERE NOT is_time(at)""",
)


def _force_reload(db: apsw.Connection) -> None:
    """Increment every scope's revision, as a change of model does, so that cached graphs are reloaded."""
    db.execute("UPDATE scope SET revision = revision + 1")
    db.execute("UPDATE scope SET reload_revision = revision")
