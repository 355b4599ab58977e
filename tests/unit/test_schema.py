"""Whose a file is, which version it has, and the migrations that bring it up to date."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ecphora.errors import StoreDamaged, StoreError, StoreReadOnly, StoreTooNew
from ecphora.maintenance.doctor import examine
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.stores import connection, repair
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import graph_differences, sample_batch, sample_entity, sample_node

pytestmark = pytest.mark.usefixtures("migrations")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def two_memories(path: Path) -> Path:
    """A file with two memories, closed."""
    with closing(SQLiteStore(path)) as store:
        store.commit(
            "s", sample_batch(sample_node("a", "the river"), sample_node("b", "the boat"), sample_entity("Ana"))
        )
    return path


def graph_of(path: Path) -> Graph:
    with closing(SQLiteStore(path)) as store:
        return apply_batch(Graph(), store.changes_since("s", 0))


def test_file_has_application_id_and_schema_version(two_memories: Path) -> None:
    with closing(sqlite3.connect(two_memories)) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (0x65637068,)
        assert db.execute("PRAGMA user_version").fetchone() == (len(connection.load_migrations()),)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_empty_file_becomes_a_memory(path: Path) -> None:
    path.touch()
    with closing(SQLiteStore(path)) as store:
        assert store.scopes() == []


PLANTED = (
    "CREATE TRIGGER spy AFTER INSERT ON node BEGIN DELETE FROM tombstone; END",
    "CREATE VIEW spy AS SELECT text FROM node",
    "CREATE TABLE spy (text TEXT)",
    "CREATE INDEX spy ON node (text)",
    "DROP TRIGGER node_deleted; CREATE TRIGGER node_deleted AFTER DELETE ON node BEGIN DELETE FROM tombstone; END",
)


@pytest.mark.medium
@pytest.mark.parametrize("planted", PLANTED)
def test_planted_object_is_refused_and_named_by_doctor(planted: str, two_memories: Path) -> None:
    with closing(sqlite3.connect(two_memories)) as db:
        db.executescript(planted)
    before = two_memories.read_bytes()
    with pytest.raises(StoreDamaged, match=r"holds the \w+ '(spy|node_deleted)', which is not ecphora's"):
        SQLiteStore(two_memories)
    (finding,) = examine(two_memories).findings
    assert "which is not ecphora's" in finding.problem
    assert two_memories.read_bytes() == before


def table_definitions(db: sqlite3.Connection) -> list[tuple[str, ...]]:
    return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()


NEXT_MIGRATION = "ALTER TABLE scope ADD COLUMN owner TEXT; CREATE TABLE label (name TEXT NOT NULL) STRICT;"


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A version with one more migration."""
    migrations = [*connection.load_migrations(), NEXT_MIGRATION]
    monkeypatch.setattr(connection, "load_migrations", lambda: migrations)
    monkeypatch.setattr(repair, "load_migrations", lambda: migrations)
    connection._known_objects.cache_clear()
    yield
    connection._known_objects.cache_clear()


def test_next_version_migrates_a_file_once(two_memories: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    before, new = graph_of(two_memories), tmp_path / "new.db"
    request.getfixturevalue("next_version")
    for _ in range(2):
        assert graph_differences(before, graph_of(two_memories)) == []
    SQLiteStore(new).close()
    with closing(sqlite3.connect(two_memories)) as old, closing(sqlite3.connect(new)) as fresh:
        assert table_definitions(old) == table_definitions(fresh)
        assert old.execute("PRAGMA user_version").fetchone() == (len(connection.load_migrations()),)
        assert old.execute("SELECT owner FROM scope").fetchall() == [(None,)]


def test_next_version_does_not_open_a_file_that_it_cannot_write(two_memories: Path, next_version: None) -> None:
    db = apsw.Connection(f"file:{two_memories}?immutable=1", apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    with closing(db), pytest.raises(StoreReadOnly, match="open it once with write access"):
        connection.check_migrated(db, two_memories)


def test_doctor_of_the_next_version_reports_and_migrates_a_file(two_memories: Path, next_version: None) -> None:
    def is_fixed(fix: bool) -> list[bool]:
        return [one.is_fixed for one in examine(two_memories, fix=fix).findings if "older format" in one.problem]

    assert [is_fixed(fix) for fix in (False, True, True)] == [[False], [True], []]


def test_failed_migration_changes_nothing(two_memories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, now = graph_of(two_memories), connection.load_migrations()
    broken = "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)"
    monkeypatch.setattr(connection, "load_migrations", lambda: [*now, broken])
    with pytest.raises(StoreError):
        SQLiteStore(two_memories)
    monkeypatch.setattr(connection, "load_migrations", lambda: now)
    assert graph_differences(before, graph_of(two_memories)) == []


def damage_random(path: Path) -> None:
    path.write_bytes(bytes(number * 7919 % 251 for number in range(10_000)))


def damage_short(path: Path) -> None:
    path.write_bytes(b"hello")


def damage_zeros(path: Path) -> None:
    path.write_bytes(bytes(8192))


def another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (name)")
        db.commit()


def another_program_without_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 3")


def another_program_by_application_id(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 77")


@pytest.mark.parametrize(
    "make",
    [
        damage_random, damage_short, damage_zeros, another_program, another_program_without_tables,
        another_program_by_application_id,
    ],
)  # fmt: skip
def test_file_that_is_not_a_memory_is_rejected_and_not_changed(make: Callable[[Path], None], path: Path) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match=r"choose another path|restore a copy"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_newer_file_is_rejected_and_not_changed(two_memories: Path) -> None:
    with closing(sqlite3.connect(two_memories)) as db:
        db.execute(f"PRAGMA user_version = {len(connection.load_migrations()) + 1}")
    before = two_memories.read_bytes()
    with pytest.raises(StoreTooNew, match="upgrade ecphora"):
        SQLiteStore(two_memories)
    assert two_memories.read_bytes() == before
