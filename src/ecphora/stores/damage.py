"""Finds damaged rows of a file: rows that cannot be read, and damaged vectors."""

from collections.abc import Iterator, Sequence
from itertools import islice

import apsw

from ..model.types import UNEMBEDDED_KINDS, NodeId
from .rows import row_mapping
from .rows.batch_reader import parse_media_vectors

VECTORS_PER_READ = 4096
"""Vectors checked at once."""
MAX_NAMED_ROWS, MAX_LINES, MAX_LINE_CHARS = 10, 5, 300
"""How much a summary says: the damaged rows of a kind, the kinds, and the characters about each."""
UNEMBEDDED_KINDS_SQL = ", ".join(f"'{kind.value}'" for kind in sorted(UNEMBEDDED_KINDS))
_UNREADABLE_TIMES = {
    "an end of node": """SELECT s.name, n.id, t.valid_to, t.recorded_at FROM validity_end t
        JOIN scope s ON s.key = t.scope JOIN node n ON n.scope = t.scope AND n.seq = t.node
        WHERE NOT (is_time(t.valid_to) AND is_time(t.recorded_at))""",
    "an access of node": """SELECT s.name, n.id, t.at FROM access t JOIN scope s ON s.key = t.scope
        JOIN node n ON n.scope = t.scope AND n.seq = t.node WHERE NOT is_time(t.at)""",
    "undo batch": "SELECT s.name, t.id, t.at FROM undo_batch t JOIN scope s ON s.key = t.scope WHERE NOT is_time(t.at)",
}
"""Queries for the rows, other than nodes, with an unreadable time, by their description: scope, id and times."""


def summarize_damage(db: apsw.Connection) -> tuple[str, ...]:
    """A line for each kind of damage, five at most: how many rows have it, and the first ones; none if none has any."""
    db.create_scalar_function("is_time", is_time, 1)
    lines = (f"{line[:MAX_LINE_CHARS]}..." if len(line) > MAX_LINE_CHARS else line for line in _summary_lines(db))
    return tuple(islice(lines, MAX_LINES))


def _summary_lines(db: apsw.Connection) -> Iterator[str]:
    if unreadable := find_unreadable_rows(db):
        yield f"{len(unreadable):,} rows cannot be read: {_named(unreadable, '; ')}"
    for (name,) in db.execute("SELECT name FROM scope ORDER BY name").fetchall():
        for kind, find in _FINDERS.items():
            if ids := find(db, str(name)):
                yield f"scope {name!r}: {len(ids):,} memories have damaged {kind}: {_named([*map(repr, ids)], ', ')}"


def _named(found: Sequence[str], separator: str) -> str:
    return separator.join(found[:MAX_NAMED_ROWS]) + (f"{separator}..." if len(found) > MAX_NAMED_ROWS else "")


def find_unreadable_rows(db: apsw.Connection) -> list[str]:
    """Describe the rows that prevent a memory from opening; the connection has the function ``is_time``."""
    columns = ", ".join(f"n.{name}" for name in row_mapping.NODE_COLUMNS)
    found: list[str] = []
    nodes = f"SELECT s.name, {columns} FROM node n JOIN scope s ON s.key = n.scope ORDER BY n.scope, n.seq"  # noqa: S608
    for scope, *row in db.execute(nodes):
        try:
            row_mapping.row_to_node(row)
        except ValueError as error:
            found.append(f"scope {scope!r}: {error}")
    for label, query in _UNREADABLE_TIMES.items():
        for scope, id_, *stored in db.execute(query):
            wrong = next(value for value in stored if not is_time(value))
            found.append(f"scope {scope!r}: {label} {id_!r}: {wrong!r} is not a time")
    return found


def is_time(*value: row_mapping.SqlValue) -> bool:
    """Whether a stored value is a time."""
    try:
        row_mapping.from_microseconds(value[0]) if isinstance(value[0], int) else row_mapping.parse_time(value[0])
    except ValueError:
        return False
    return True


def ids_with_damaged_vector(db: apsw.Connection, scope: str) -> list[NodeId]:
    """The nodes whose vector of the scope's model has the wrong size or another length than 1."""
    query = f"""SELECT n.id, s.dim, v.value FROM scope s JOIN node n ON n.scope = s.key
                JOIN vector v ON v.scope = s.key AND v.model = s.embedder AND v.node = n.seq
                WHERE s.name = ? AND n.kind NOT IN ({UNEMBEDDED_KINDS_SQL}) ORDER BY n.seq"""  # noqa: S608
    return _ids_of_damaged(db, query, scope)


def ids_with_damaged_english_vector(db: apsw.Connection, scope: str) -> list[NodeId]:
    """The nodes whose English vector has the wrong size or another length than 1."""
    query = """SELECT n.id, s.english_dim, v.value FROM scope s JOIN node n ON n.scope = s.key
               JOIN english_vector v ON v.scope = s.key AND v.node = n.seq WHERE s.name = ? ORDER BY n.seq"""
    return _ids_of_damaged(db, query, scope)


def _ids_of_damaged(db: apsw.Connection, query: str, scope: str) -> list[NodeId]:
    found: list[NodeId] = []
    stored = db.execute(query, (scope,))
    while rows := list(islice(stored, VECTORS_PER_READ)):
        _, sound = row_mapping.blobs_to_vectors([value for _, _, value in rows], int(rows[0][1]))
        found += [str(id_) for (id_, _, _), is_sound in zip(rows, sound, strict=True) if not is_sound]
    return found


def ids_with_damaged_media_vector(db: apsw.Connection, scope: str) -> list[NodeId]:
    """The nodes of which a medium has a vector of the wrong size or another length than 1."""
    return list(dict.fromkeys(id_ for id_, _ in find_damaged_media_vectors(db, scope)))


def find_damaged_media_vectors(db: apsw.Connection, scope: str) -> list[tuple[NodeId, int]]:
    """The node and the rowid of each damaged vector of a medium."""
    query = """SELECT n.id, v.rowid, v.model, v.value FROM media_vector v JOIN scope s ON s.key = v.scope
               JOIN node n ON n.scope = v.scope AND n.seq = v.node WHERE s.name = ? ORDER BY v.rowid"""
    found = parse_media_vectors(db.execute(query, (scope,)))
    return [(str(row[0]), int(row[1])) for row, vector in found if vector is None]


_FINDERS = {
    "vectors": ids_with_damaged_vector,
    "English vectors": ids_with_damaged_english_vector,
    "vectors of media": ids_with_damaged_media_vector,
}
