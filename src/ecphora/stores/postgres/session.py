"""A PostgreSQL connection inside a transaction, as the readers and writers of rows use it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..rows.database import DuplicateRow

if TYPE_CHECKING:
    import psycopg

MAX_VALUES = 16_384
"""Values in one statement; PostgreSQL takes up to 65,535."""
_PLACEHOLDER = re.compile(r"\?(\d*)")
_INSERT = re.compile(r"(INSERT INTO .*?VALUES )(\([?, ]+\))(.*)", re.DOTALL)


@lru_cache(maxsize=512)
def translate(sql: str) -> str:
    """A statement with psycopg's placeholders in the place of ``?`` and ``?1``."""
    return _PLACEHOLDER.sub(lambda found: f"%(v{found[1]})s" if found[1] else "%s", sql.replace("%", "%%"))


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
        head, values, tail = map(translate, insert.groups())
        per_statement = MAX_VALUES // values.count("%s")
        for start in range(0, len(found), per_statement):
            part = found[start : start + per_statement]
            self._run(head + ", ".join([values] * len(part)) + tail, [value for row in part for value in row])

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
