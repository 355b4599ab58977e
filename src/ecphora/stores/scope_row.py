"""The row of a scope in the database: find, create and list it."""

from dataclasses import dataclass, fields

import apsw

from ..model import ScopeInfo


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """A scope's row.

    Of the accesses up to ``retention_seq`` each node keeps the last of each kind; the others are deleted already for
    the nodes up to ``sweep_cursor``. The log has ``log_size`` accesses, ``log_growth`` of them since it last expired.
    """

    key: int
    revision: int = 0
    seq: int = 0
    embedder: str | None = None
    dim: int | None = None
    reload_revision: int = 0
    needs_full_log: int = 0
    retention_seq: int = 0
    sweep_cursor: int = 0
    log_size: int = 0
    log_growth: int = 0
    english_embedder: str | None = None
    english_dim: int | None = None


_SCOPE_COLUMNS = ", ".join(column.name for column in fields(ScopeRow))


def find_scope(db: apsw.Connection, name: str) -> ScopeRow | None:
    """Return the scope of that name, None if nothing was written to it."""
    row = db.execute(f"SELECT {_SCOPE_COLUMNS} FROM scope WHERE name = ?", (name,)).fetchone()  # noqa: S608
    return None if row is None else ScopeRow(*row)


def create_scope(db: apsw.Connection, name: str) -> ScopeRow:
    """Create a scope."""
    db.execute("INSERT INTO scope (name) VALUES (?)", (name,))
    return ScopeRow(db.last_insert_rowid())


def read_scopes(db: apsw.Connection) -> list[ScopeInfo]:
    """Every scope that holds anything, by name."""
    query = """SELECT s.name, s.revision, s.embedder, count(DISTINCT coalesce(n.document, n.id)) FROM scope s
               LEFT JOIN node n ON n.scope = s.key AND n.kind = 'episode' GROUP BY s.key ORDER BY s.name"""
    return [
        ScopeInfo(str(name), int(revision or 0), int(episodes or 0), None if embedder is None else str(embedder))
        for name, revision, embedder, episodes in db.execute(query).fetchall()
    ]
