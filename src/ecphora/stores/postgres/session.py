"""A PostgreSQL connection inside a transaction, as the readers and writers of rows use it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from ..rows.database import DuplicateRow
from .schema import load_column_types

if TYPE_CHECKING:
    import psycopg

ROWS_PER_INSERT = 1_000
"""Rows that one statement inserts."""
STREAMED_ROWS = 256
"""Rows that a stream fetches at once."""
_CURSOR_NUMBERS = count()
_PLACEHOLDER = re.compile(r"\?(\d*)")
_INSERT = re.compile(r"(INSERT INTO (\w+)(?: \(([\w, ]+)\))? )VALUES \(([?, ]+)\)(.*)", re.DOTALL)


@lru_cache(maxsize=512)
def translate(sql: str) -> str:
    """A statement with psycopg's placeholders in the place of ``?`` and ``?1``."""
    return _PLACEHOLDER.sub(lambda found: f"%(v{found[1]})s" if found[1] else "%s", sql.replace("%", "%%"))


@lru_cache(maxsize=64)
def _insert_arrays(head: str, table: str, names: str | None, places: str, tail: str) -> str:
    """An insertion of many rows, given as an array for each column: faster than a value for each place of each row.

    Texts are sent as texts, which :mod:`.texts` escapes, and all others as bytes.
    """
    types = load_column_types()[table]
    columns = names.split(", ") if names else list(types)[: places.count("?")]
    arrays = (f"{'%t' if types[name] == 'TEXT' else '%b'}::{types[name]}[]" for name in columns)
    return f"{head}SELECT * FROM unnest({', '.join(arrays)}){translate(tail)}"  # noqa: S608


def _bind(sql: str, values: Sequence[Any]) -> Sequence[Any] | dict[str, Any]:
    """The values of a statement, by name if it has ``?1``."""
    return {f"v{number}": value for number, value in enumerate(values, 1)} if "?1" in sql else values


class Rows:
    """The rows that a statement has found."""

    def __init__(self, cursor: "psycopg.Cursor[Any]") -> None:
        self._cursor = cursor

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)

    def fetchone(self) -> Any:
        """The next row, None after the last."""
        return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        return self._cursor.fetchall()

    @property
    def get(self) -> Any:
        """The value of a query for one value, None if no row was found."""
        row = self._cursor.fetchone()
        return None if row is None else row[0]


class Session:
    """A :class:`~ecphora.stores.rows.database.Database`; many rows are inserted by one statement."""

    def __init__(self, connection: "psycopg.Connection") -> None:
        self._connection = connection
        self._changes = 0
        self._total_changes = 0

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        """Run a statement."""
        return Rows(self._run(translate(sql), _bind(sql, values)))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Run a statement for every row of values."""
        found, insert = list(rows), _INSERT.fullmatch(sql)
        if not found:
            return
        if insert is None:
            self._run(translate(sql), [_bind(sql, row) for row in found], many=True)
            return
        statement = _insert_arrays(*insert.groups())
        for start in range(0, len(found), ROWS_PER_INSERT):
            columns = zip(*found[start : start + ROWS_PER_INSERT], strict=True)
            self._run(statement, [list(values) for values in columns])

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query, which stay on the server until they are read."""
        with self._connection.cursor(f"rows_{next(_CURSOR_NUMBERS)}", binary=True) as cursor:
            cursor.itersize = STREAMED_ROWS
            cursor.execute(translate(sql).encode(), values)
            yield from cursor

    def _run(self, statement: str, values: Any, *, many: bool = False) -> "psycopg.Cursor[Any]":
        """Run a statement, or one for each of many rows of values, in one round trip."""
        from psycopg.errors import UniqueViolation  # noqa: PLC0415  # optional

        cursor = self._connection.cursor(binary=True)
        try:
            (cursor.executemany if many else cursor.execute)(statement.encode(), values)
        except UniqueViolation as error:
            raise DuplicateRow(str(error).split("\n", maxsplit=1)[0]) from error
        self._changes = max(cursor.rowcount, 0) if cursor.description is None else 0
        self._total_changes += self._changes
        return cursor

    def changes(self) -> int:
        """How many rows the last statement has changed."""
        return self._changes

    def total_changes(self) -> int:
        """How many rows all statements have changed."""
        return self._total_changes
