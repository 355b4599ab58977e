"""Opens the SQLite files of other programs to read them, and nothing else."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ....errors import InvalidInput
from ....model.reprs import show
from ..files.folders import first_bytes

DAMAGED_REST = "the rest of the file, which is damaged"
_MAGIC = b"SQLite format 3\0"


def is_sqlite(path: str | Path) -> bool:
    """Whether a file begins as SQLite files do."""
    return first_bytes(path, len(_MAGIC)) == _MAGIC


@contextmanager
def open_read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read, and sees one state of the file; raises ``InvalidInput`` for any other file."""
    if not is_sqlite(path):
        raise InvalidInput(f"{show(str(path))} is no SQLite file")
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=5)
    except sqlite3.Error as error:
        raise InvalidInput(f"cannot open {show(str(path))}: {error}") from error
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        yield connection
    except (sqlite3.Error, OverflowError) as error:
        raise InvalidInput(f"cannot read {show(str(path))}: {error}") from error
    finally:
        connection.close()


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table, none if the file has no such table; a view is no table."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if found is None:
        return []
    return [row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def count_rows(connection: sqlite3.Connection, table: str) -> int:
    """The number of rows of a table, 0 if it is damaged."""
    try:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608  # a name of ours
    except sqlite3.Error:
        return 0
    return int(count)


def has_columns(path: str | Path, table: str, *names: str) -> bool:
    """Whether a file has a table with these columns; never raises."""
    try:
        with open_read_only(Path(path)) as connection:
            return set(names) <= set(columns(connection, table))
    except (InvalidInput, OSError, ValueError):
        return False


def rows_until_damage(rows: Iterator[tuple[object, ...]]) -> Iterator[tuple[object, ...] | None]:
    """Rows, and None in place of what cannot be read any more after the first of them."""
    count = 0
    while True:
        try:
            row = next(rows, None)
        except (sqlite3.Error, OverflowError):
            if not count:
                raise
            yield None
            return
        if row is None:
            return
        count += 1
        yield row
