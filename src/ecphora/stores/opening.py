"""Opens the store at a location: a file, or the URL of a PostgreSQL database."""

from pathlib import Path

from .postgres.urls import is_postgres_url
from .rows.store import RowStore
from .sqlite import SQLiteStore


def open_store(location: str | Path) -> RowStore:
    """The store at a location; the file is created if it does not exist, in a database the tables."""
    if isinstance(location, str) and is_postgres_url(location):
        from .postgres.store import PostgresStore  # noqa: PLC0415  # needs the extra

        return PostgresStore(location)
    return SQLiteStore(location)
