"""Reads, writes and compares all rows of a scope, a part at a time, for a copy in another store."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice, zip_longest
from typing import Any

from .database import KEYS, TABLES, Database
from .scopes import ScopeRow, write_scope

ROWS_PER_PART = 256
"""Rows that are in memory at once."""
COPIED_TABLES = {table: columns for table, columns in TABLES.items() if table != "graph_snapshot"}
"""The tables that are copied, with their columns: all but the snapshot of the graph, which is derived."""
Part = list[tuple[Any, ...]]


@dataclass(frozen=True)
class ScopeRows:
    """The rows of a scope inside a transaction; ``stream`` yields the rows of a query."""

    scope: ScopeRow
    stream: Callable[[str, Sequence[Any]], Iterator[tuple[Any, ...]]]

    def parts(self, table: str) -> Iterator[Part]:
        """The rows of a table in the order of its key."""
        columns, order = ", ".join(COPIED_TABLES[table]), ", ".join(KEYS[table])
        query = f"SELECT {columns} FROM {table} WHERE scope = ? ORDER BY {order}"  # noqa: S608
        rows = self.stream(query, (self.scope.key,))
        while part := list(islice(rows, ROWS_PER_PART)):
            yield part


def count_rows(db: Database, scope: ScopeRow) -> int:
    """How many rows of a scope are copied."""
    queries = (f"SELECT count(*) FROM {table} WHERE scope = ?" for table in COPIED_TABLES)  # noqa: S608
    return sum(int(db.execute(query, (scope.key,)).get) for query in queries)


def write_rows(db: Database, source: ScopeRows, new: ScopeRow, advance: Callable[[int], None]) -> ScopeRow:
    """Write all rows to a new scope, with their ``seq`` and revision; return its row.

    ``advance`` gets the number of rows in each part.
    """
    row = source.scope.with_key(new.key)
    write_scope(db, row)
    for table, columns in COPIED_TABLES.items():
        places = ", ".join("?" * (1 + len(columns)))
        statement = f"INSERT INTO {table} (scope, {', '.join(columns)}) VALUES ({places})"  # noqa: S608
        for part in source.parts(table):
            db.executemany(statement, [(new.key, *values) for values in part])
            advance(len(part))
    return row


def find_difference(source: ScopeRows, target: ScopeRows, advance: Callable[[int], None]) -> str | None:
    """What differs between two scopes first, None if they are equal; the scopes' own rows are looked at first."""
    for column in fields(ScopeRow):
        one, other = getattr(source.scope, column.name), getattr(target.scope, column.name)
        if column.name != "key" and one != other:
            return f"its {column.name} is {one} and {other}"
    for table in COPIED_TABLES:
        number = 0
        none: Part = []
        for part, other_part in zip_longest(source.parts(table), target.parts(table), fillvalue=none):
            if part != other_part:
                pairs = zip_longest(part, other_part)
                number += next(place for place, (one, other) in enumerate(pairs, 1) if one != other)
                return f"row {number:,} of its table {table}"
            number += len(part)
            advance(len(part))
    return None
