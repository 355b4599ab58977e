"""What the readers and writers of rows need of a database. SQLite and PostgreSQL both give it, with one SQL.

The SQL is what both understand: ``?`` and ``?1`` stand for values, ``ON CONFLICT`` for ``OR REPLACE``, and rows that
have to keep their order are read by ``rowid``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

TABLES: Mapping[str, tuple[str, ...]] = {
    "node": (
        "seq", "revision", "id", "kind", "text", "happened_at", "recorded_at", "speaker", "session", "title", "source",
        "document", "position", "valid_from", "valid_to", "trust", "metadata", "term_hashes", "term_counts",
        "is_question", "time_mentions", "start", "heading", "media",
    ),
    "vector": ("model", "node", "revision", "value"),
    "english_vector": ("node", "revision", "value"),
    "media_vector": ("model", "node", "position", "revision", "value"),
    "token_codes": ("node", "model", "value"),
    "edge": ("revision", "src", "dst", "link", "weight", "provenance"),
    "validity_end": ("revision", "node", "valid_to", "recorded_at"),
    "access": ("node", "kind", "nth", "seq", "revision", "at", "strength"),
    "tombstone": ("revision", "node", "digest"),
    "cursor": ("name", "revision", "seq"),
    "undo_batch": ("revision", "id", "at", "counts", "previous_cursors"),
    "graph_snapshot": ("revision", "value"),
}  # fmt: skip
"""The tables with rows of scopes, nodes first, and their columns without ``scope``."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "node": ("seq",),
    "vector": ("model", "node"),
    "english_vector": ("node",),
    "media_vector": ("model", "node", "position"),
    "token_codes": ("node",),
    "edge": ("rowid",),
    "validity_end": ("rowid",),
    "access": ("node", "kind", "nth"),
    "tombstone": ("rowid",),
    "cursor": ("name",),
    "undo_batch": ("revision",),
    "graph_snapshot": ("revision",),
}
"""The columns that order the rows of a scope in a table, one way."""


class Result(Protocol):
    """The rows of a query."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row, None after the last."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    @property
    def get(self) -> Any:
        """The value of a query for one value, None if no row was found."""
        ...


class Database(Protocol):
    """A connection inside a transaction."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Result:
        """Run a statement."""
        ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run a statement for every row of values."""
        ...

    def changes(self) -> int:
        """How many rows the last statement has changed."""
        ...

    def total_changes(self) -> int:
        """How many rows all statements have changed."""
        ...


class DuplicateRow(Exception):  # not shown to users
    """A row with the same key is there already; SQLite raises ``apsw.ConstraintError``."""
