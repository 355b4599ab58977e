"""Many rows are inserted by arrays, of the types that the tables have."""

from collections.abc import Iterator

import psycopg
import pytest

from ecphora.stores.postgres.schema import load_column_types
from ecphora.stores.postgres.session import ROWS_PER_INSERT, Session
from ecphora.stores.postgres.store import PostgresStore
from ecphora.stores.postgres.texts import register
from ecphora.stores.rows.database import TABLES, DuplicateRow

pytestmark = pytest.mark.medium


@pytest.fixture
def session(url: str) -> Iterator[Session]:
    PostgresStore(url).close()
    with psycopg.connect(url) as connection:
        register(connection)
        opened = Session(connection)
        opened.execute("SELECT set_config('search_path', 'ecphora', true), set_config('ecphora.scope', '1', true)")
        opened.execute("SELECT set_config('ecphora.scope_name', 'ana', true)")
        opened.execute("INSERT INTO scope_name (name) VALUES (?)", ("ana",))
        opened.execute("INSERT INTO scope (key, name) VALUES (?, ?)", (1, "ana"))
        yield opened


def test_types_are_those_of_the_tables(session: Session) -> None:
    query = """SELECT column_name::text, upper(data_type)::text FROM information_schema.columns
               WHERE table_schema = 'ecphora' AND table_name = ? ORDER BY ordinal_position"""
    for table, types in load_column_types().items():
        assert list(types.items()) == session.execute(query, (table,)).fetchall()
    assert TABLES.keys() <= load_column_types().keys()


def test_rows_are_inserted_as_they_are_and_in_their_order(session: Session) -> None:
    count = 2 * ROWS_PER_INSERT + 1
    odd = ("", "NULL", "null", '{"a", b}', "back\\slash", "'quote\"", "\x00", "\x10N", "\x10", "💡", " \n\t")
    rows = [(1, n, odd[n % len(odd)], bytes([n % 256]) * (n % 3)) for n in range(count)]
    session.executemany("INSERT INTO tombstone VALUES (?, ?, ?, ?)", rows)
    assert session.execute("SELECT scope, revision, node, digest FROM tombstone ORDER BY rowid").fetchall() == rows
    assert session.total_changes() == count + 2
    assert session.changes() == 0


def test_null_columns_and_conflicts(session: Session) -> None:
    session.executemany("INSERT INTO cursor (scope, name, seq, revision) VALUES (?, ?, ?, ?)", [(1, "a", 5, 6)])
    upsert = """INSERT INTO cursor VALUES (?, ?, ?, ?)
                ON CONFLICT (scope, name) DO UPDATE SET seq = cursor.seq + excluded.seq"""
    session.executemany(upsert, [(1, "a", 7, 10), (1, "%b", 1, 2)])
    assert session.execute("SELECT name, revision, seq FROM cursor ORDER BY name").fetchall() == [
        ("%b", 1, 2),
        ("a", 6, 15),
    ]
    names = "scope, seq, revision, id, kind, text, happened_at, recorded_at, position, trust, is_question, media"
    node = (1, 1, 1, "m", "episode", "text", "2026", "2026", 2**40, 0.1, 1, None)
    session.executemany(f"INSERT INTO node ({names}) VALUES ({', '.join('?' * 12)})", [node])  # noqa: S608
    assert session.execute(f"SELECT {names} FROM node").fetchall() == [node]  # noqa: S608
    with pytest.raises(DuplicateRow):
        session.executemany("INSERT INTO cursor VALUES (?, ?, ?, ?)", [(1, "c", 1, 1), (1, "a", 1, 1)])


def test_stream_yields_every_row(session: Session) -> None:
    session.executemany("INSERT INTO tombstone VALUES (?, ?, ?, ?)", [(1, n, "\x00", b"") for n in range(1000)])
    first = session.stream("SELECT revision, node FROM tombstone WHERE scope = ? ORDER BY rowid", (1,))
    second = session.stream("SELECT revision FROM tombstone ORDER BY rowid")
    assert [(*one, *other) for one, other in zip(first, second, strict=True)] == [(n, "\x00", n) for n in range(1000)]
