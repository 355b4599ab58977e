"""Scopes copied between files and PostgreSQL databases: every row, whole or not at all, and nothing overwritten."""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from click.testing import CliRunner
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import ecphora
from ecphora import CopyResult, Episode, HashingEmbedder, Memory, SQLiteStore
from ecphora.cli.main import main
from ecphora.errors import InvalidInput, StoreDamaged, StoreError, UnknownName
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import WriteBatch
from ecphora.stores.opening import open_store
from ecphora.stores.postgres.store import PostgresStore
from ecphora.stores.rows.row_copy import COPIED_TABLES, ROWS_PER_PART
from ecphora.testing import SCOPE, FakeClock, graph_differences, sample_english_vector
from ecphora.testing.samples import SAMPLE_ENGLISH_MODEL, sample_media_vector
from ecphora.testing.state_machine import _make_history_machine

pytestmark = pytest.mark.medium

ODD_TEXTS = ["Ana said \x00 twice.", "Ben \x10P wrote \x10N.", "\U0001f41f 你好", "A secret \x00.", "quote ' \\ % ?"]
LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))
COUNT = 400
"""More nodes than a part has rows."""


def open_memory(place: str | Path, scope: str = "ana") -> Memory:
    """A memory with a small model."""
    return Memory(place, scope=scope, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock())


def fill(place: str | Path, scope: str = "ana") -> None:
    """Write something of every kind to a scope."""
    with open_memory(place, scope) as memory:
        memory.remember([*ODD_TEXTS, LONG, *(f"Mia has {n} cats." for n in range(COUNT))], speaker="Ana")
        memory.remember(Episode("Ana lives in Porto.", id="old"))
        memory.remember(Episode("Ana lives in Ghent.", id="new", supersedes="old"))
        memory.entities.merge("Ana", "Mia")
        memory.consolidate()
        memory.recall("Where does Ana live?")
        memory.maintenance.pin("new")
        memory.forget(memory.remember("A secret.", id="secret").id)
    with closing(open_store(place)) as store:
        ids = [node.id for node in store.nodes(scope, ["old", "new"])]
        embedder = HashingEmbedder(64).name
        assert ids == ["old", "new"]
        store.commit(
            scope,
            WriteBatch(
                embedder=embedder,
                english_vectors={id_: sample_english_vector(id_) for id_ in ids},
                english_embedder=SAMPLE_ENGLISH_MODEL,
                media_vectors=tuple(sample_media_vector(id_, 0, "clip") for id_ in ids),
                token_codes=dict.fromkeys(ids, b"\x00\xff codes"),
                code_model="reader",
            ),
        )


def graph_of(place: str | Path, scope: str = "ana") -> Graph:
    with closing(open_store(place)) as store:
        return apply_batch(Graph(), store.changes_since(scope, 0))


def rows_of(path: Path, scope: str = "ana") -> dict[str, list[Any]]:
    """All rows of a scope in a file but for its key and the snapshot, read without the package."""
    with closing(apsw.Connection(str(path))) as db:
        found: dict[str, list[Any]] = {}
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
            if "scope" in columns and table != "graph_snapshot":
                names = ", ".join(name for name in columns if name != "scope")
                order = "node, kind, nth" if table == "access" else "rowid"
                where = f"WHERE scope = (SELECT key FROM scope WHERE name = ?) ORDER BY {order}"  # noqa: S608
                query = f"SELECT {names} FROM {table} {where}"  # noqa: S608
                found[str(table)] = db.execute(query, (scope,)).fetchall()
        found["scope"] = [row[1:] for row in db.execute("SELECT * FROM scope WHERE name = ?", (scope,))]
    ordered = {"edge", "validity_end", "tombstone"}  # the others have keys, and lie in any order in a file
    return {table: rows if table in ordered else sorted(rows, key=repr) for table, rows in found.items()}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("filled") / "memory.db"
    fill(file)
    return file


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path))


def test_round_trip_keeps_every_row(path: Path, url: str, tmp_path: Path) -> None:
    back = tmp_path / "back.db"
    assert ecphora.copy_scopes(path, url) == CopyResult(copied=("ana",))
    assert ecphora.copy_scopes(url, back) == CopyResult(copied=("ana",))
    rows = rows_of(path)
    assert {table for table, found in rows.items() if not found} == set()
    assert rows.keys() == COPIED_TABLES.keys() | {"scope"}
    assert rows_of(back) == rows
    assert graph_differences(graph_of(path), graph_of(url)) == []
    assert graph_differences(graph_of(path), graph_of(back)) == []
    with open_memory(url) as memory:
        assert {node.text for node in memory.find(limit=1000)} >= set(ODD_TEXTS)


def test_between_files_and_between_databases(path: Path, new_database: Callable[[], str], tmp_path: Path) -> None:
    plain, partitioned, other, back = new_database(), new_database(), tmp_path / "other.db", tmp_path / "back.db"
    PostgresStore(partitioned, partitions=4).close()
    for source, target in ((path, other), (other, plain), (plain, partitioned), (partitioned, back)):
        assert ecphora.copy_scopes(source, target).copied == ("ana",)
    assert rows_of(back) == rows_of(path)


def test_any_history_survives_the_round_trip(tmp_path_factory: pytest.TempPathFactory, url: str) -> None:
    histories: Any = _make_history_machine()
    PostgresStore(url).close()

    class Copies(histories):  # type: ignore[misc]
        def __init__(self) -> None:
            self.folder = tmp_path_factory.mktemp("copies")
            super().__init__(lambda: SQLiteStore(self.folder / "memory.db"))

        def teardown(self) -> None:
            super().teardown()
            if not self.graphs[-1].revision:
                return
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("TRUNCATE ecphora.scope_name, ecphora.scope CASCADE")
            ecphora.copy_scopes(self.folder / "memory.db", url)
            ecphora.copy_scopes(url, self.folder / "back.db")
            assert graph_differences(self.graphs[-1], graph_of(url, SCOPE)) == []
            assert graph_differences(self.graphs[-1], graph_of(self.folder / "back.db", SCOPE)) == []
            assert rows_of(self.folder / "back.db", SCOPE) == rows_of(self.folder / "memory.db", SCOPE)

    profile = settings(settings.default, stateful_step_count=12)
    run_state_machine_as_test(Copies, settings=profile)


def test_copy_goes_on_by_itself(path: Path, url: str) -> None:
    ecphora.copy_scopes(path, url)
    with open_memory(path) as source, open_memory(url) as copy:
        recalled = [
            [(hit.id, hit.score) for hit in one.recall("Where does Ana live?", limit=5)] for one in (source, copy)
        ]
        assert recalled[0] == recalled[1]
        assert copy.remember("A secret.", id="secret").blocked == ("secret",)
        copy.remember("Ana moved to Lyon.", id="lyon")
        assert copy.recall("Where did Ana move? Lyon?")[0].id == "lyon"
        batches = source.maintenance.batches()
        assert copy.maintenance.batches() == batches
        copy.maintenance.undo()
        assert copy.maintenance.batches() == batches[:-1]
        copy.forget("old")
        assert copy.get("old") is None
        assert source.get("old") is not None
        assert source.get("lyon") is None


def test_all_scopes_or_those_named(path: Path, url: str, tmp_path: Path) -> None:
    with open_memory(path, "ben") as memory:
        memory.remember("Ben has a cat.")
    with open_memory(path, "a\x00b") as memory:
        memory.remember("An odd name.")
    assert ecphora.copy_scopes(path, url, scopes="ben").copied == ("ben",)
    assert ecphora.copy_scopes(path, url) == CopyResult(("a\x00b", "ana"), ("ben",))
    assert ecphora.copy_scopes(url, tmp_path / "back.db", scopes=["ben", "a\x00b", "ben"]).copied == ("a\x00b", "ben")
    assert rows_of(tmp_path / "back.db", "a\x00b") == rows_of(path, "a\x00b")


def test_unknown_scope_or_source_creates_nothing(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    with pytest.raises(UnknownName, match=r"there is no scope 'ben' in .*; it holds 'ana'"):
        ecphora.copy_scopes(path, target, scopes=["ana", "ben"])
    with pytest.raises(InvalidInput, match="there is no file"):
        ecphora.copy_scopes(tmp_path / "none.db", target)
    SQLiteStore(tmp_path / "empty.db").close()
    with pytest.raises(InvalidInput, match="holds no scope"):
        ecphora.copy_scopes(tmp_path / "empty.db", target)
    assert sorted(file.name for file in tmp_path.iterdir() if file.suffix == ".db") == ["empty.db", "memory.db"]


def test_a_place_is_not_copied_to_itself(path: Path, url: str) -> None:
    other_name = path.parent / ".." / path.parent.name / path.name
    for source, target in ((path, path), (path, other_name), (url, url)):
        with pytest.raises(InvalidInput, match="are the same"):
            ecphora.copy_scopes(source, target)


def test_progress_grows_to_the_total(path: Path, url: str) -> None:
    passes: list[list[tuple[int, int]]] = [[], []]
    for calls in passes:  # the second time nothing is written
        ecphora.copy_scopes(path, url, progress=lambda done, total, calls=calls: calls.append((done, total)))  # type: ignore[misc]
        dones = [done for done, _ in calls]
        assert dones == sorted(dones)
        assert calls[-1] == (calls[-1][1],) * 2
        assert {total for _, total in calls} == {2 * sum(map(len, rows_of(path).values())) - 2}
        assert len(calls) > 2 * len(COPIED_TABLES) - 8


def test_role_that_owns_no_table_copies_both_ways(path: Path, url: str, tmp_path: Path) -> None:
    role = f"role_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role}".encode())
    try:
        with closing(PostgresStore(url, partitions=2)) as store:
            store.grant(role)
        as_role = f"{url}{'&' if '?' in url else '?'}options=-c%20role%3D{role}"
        with open_memory(url, "ben") as memory:
            memory.remember("Ben has a cat.")
        assert ecphora.copy_scopes(path, as_role).copied == ("ana",)
        assert ecphora.copy_scopes(as_role, tmp_path / "back.db").copied == ("ana", "ben")
        assert rows_of(tmp_path / "back.db") == rows_of(path)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


# ---- scopes that are there already


def test_scope_that_differs_is_refused_and_kept(path: Path, url: str) -> None:
    ecphora.copy_scopes(path, url)
    with open_memory(path) as memory:
        memory.remember("Ana moved to Lyon.", id="lyon")
    before = graph_of(url)
    with pytest.raises(InvalidInput, match=r"'ana' is in .* already and differs \(its revision is \d+ and \d+\)"):
        ecphora.copy_scopes(path, url)
    assert graph_differences(graph_of(url), before) == []


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("UPDATE vector SET value = value || value WHERE node = 300", r"row \d+ of its table vector"),
        ("DELETE FROM tombstone", "row 1 of its table tombstone"),
        ("UPDATE edge SET weight = weight + 1 WHERE rowid = (SELECT max(rowid) FROM edge)", "table edge"),
        ("DELETE FROM access WHERE node = (SELECT max(node) FROM access)", "table access"),
        ("INSERT INTO cursor SELECT key, 'x', 1, 1 FROM scope", "row 1 of its table cursor|table cursor"),
        ("UPDATE scope SET needs_full_log = 1 - needs_full_log", "its needs_full_log is"),
    ],
)
def test_equal_revisions_are_not_believed(path: Path, url: str, change: str, difference: str) -> None:
    ecphora.copy_scopes(path, url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = ecphora")
        connection.execute("SET ecphora.scope = 'all'")
        assert connection.execute(change.encode()).rowcount > 0
    with pytest.raises(InvalidInput, match=difference):
        ecphora.copy_scopes(path, url)


def test_difference_is_numbered(path: Path, url: str) -> None:
    ecphora.copy_scopes(path, url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET ecphora.scope = 'all'")
        connection.execute("UPDATE ecphora.node SET heading = 'x' WHERE id = 'new'")
    number = next(n for n, row in enumerate(sorted(rows_of(path)["node"], key=lambda row: row[0]), 1) if "new" in row)
    assert number > ROWS_PER_PART
    with pytest.raises(InvalidInput, match=f"row {number} of its table node"):
        ecphora.copy_scopes(path, url)


def test_scope_is_renamed_to_make_room(path: Path, url: str) -> None:
    ecphora.copy_scopes(path, url)
    with open_memory(path) as memory:
        memory.remember("Ana moved to Lyon.", id="lyon")
    ecphora.rename_scope(url, "ana", "ana before")
    assert ecphora.copy_scopes(path, url).copied == ("ana",)
    assert graph_differences(graph_of(url), graph_of(path)) == []


# ---- interruptions

KILLED = """
import os, sys, ecphora
def progress(done, total):
    if done > int(sys.argv[3]):
        os._exit(9)
ecphora.copy_scopes(sys.argv[1], sys.argv[2], progress=progress)
"""


@pytest.mark.parametrize("to_database", [True, False])
def test_killed_copy_continues(path: Path, url: str, tmp_path: Path, *, to_database: bool) -> None:
    ecphora.clone_scope(path, "ana", "ben")
    rows = sum(map(len, rows_of(path).values()))
    source, target = str(path), url
    if not to_database:
        ecphora.copy_scopes(path, url)
        source, target = url, str(tmp_path / "target.db")
    limits = 2 * rows + rows // 2, 2 * rows + rows + rows // 2  # in the midst of writing "ben", of comparing it
    for limit in limits:
        command = [sys.executable, "-c", KILLED, source, target, str(limit)]
        assert subprocess.run(command, check=False, env=dict(os.environ)).returncode == 9
        with closing(open_store(target)) as store:
            assert [info.name for info in store.scopes()] == ["ana"]
    assert ecphora.copy_scopes(source, target) == CopyResult(copied=("ben",), existing=("ana",))
    assert graph_differences(graph_of(target, "ben"), graph_of(path, "ben")) == []


def end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_lost_connection_of_the_target_is_replaced(path: Path, url: str, share: float) -> None:
    lost: list[int] = []

    def progress(done: int, total: int) -> None:
        if not lost and done > share * total:  # while rows are written, or compared
            lost.append(done)
            end_connections(url)

    assert ecphora.copy_scopes(path, url, progress=progress).copied == ("ana",)
    assert len(lost) == 1
    assert graph_differences(graph_of(url), graph_of(path)) == []


def test_lost_connection_of_the_source_is_named(path: Path, new_database: Callable[[], str]) -> None:
    source, target = new_database(), new_database()
    ecphora.copy_scopes(path, source)

    def progress(done: int, _: int) -> None:
        if done > 300:
            end_connections(source)

    with pytest.raises(StoreError, match=source.rpartition("/")[2]):
        ecphora.copy_scopes(source, target, progress=progress)
    with closing(open_store(target)) as store:
        assert store.scopes() == []
    assert ecphora.copy_scopes(source, target).copied == ("ana",)


def test_two_copies_at_once_make_one(path: Path, url: str) -> None:
    waits = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as pool:
        second: list[Future[CopyResult]] = []

        def progress(_: int, __: int) -> None:
            if not second:
                second.append(pool.submit(ecphora.copy_scopes, path, url))
                with psycopg.connect(url, autocommit=True) as connection:
                    while connection.execute(waits).fetchone() == (0,):  # until it waits for this one
                        assert not second[0].done()

        ecphora.copy_scopes(path, url, progress=progress)
        second[0].result(timeout=60)
    assert graph_differences(graph_of(url), graph_of(path)) == []


def test_target_that_changes_what_is_written_gets_nothing(path: Path, url: str) -> None:
    PostgresStore(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            """CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN IF new.id = 'new' THEN new.text := 'changed'; END IF; RETURN new; END $$"""
        )
        connection.execute("CREATE TRIGGER change BEFORE INSERT ON ecphora.node FOR EACH ROW EXECUTE FUNCTION change()")
    with pytest.raises(StoreDamaged, match=r"did not keep scope 'ana' as it was written \(row \d+ of its table node\)"):
        ecphora.copy_scopes(path, url)
    with closing(open_store(url)) as store:
        assert store.scopes() == []


# ---- a source in use

WRITER = """
import sys
from ecphora import HashingEmbedder, Memory
with Memory(sys.argv[1], scope="ana", embedder=HashingEmbedder(64), update_scorer=None) as memory:
    n = 0
    while True:
        memory.remember(f"Tom writes note {n}.", id=f"note{n}")
        n += 1
        print(n, flush=True)
        if sys.stdin.read(1) != "w":
            break
"""


@pytest.mark.parametrize("from_database", [True, False])
def test_one_state_is_copied_while_another_process_writes(
    path: Path, url: str, tmp_path: Path, *, from_database: bool
) -> None:
    source, target = (url, str(tmp_path / "target.db")) if from_database else (str(path), url)
    if from_database:
        ecphora.copy_scopes(path, url)
    before = graph_of(source)
    command = [sys.executable, "-c", WRITER, source]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        assert writer.stdout.readline() == "1\n"
        state = graph_of(source)

        def progress(_: int, __: int) -> None:
            assert writer.stdin is not None
            assert writer.stdout is not None
            writer.stdin.write("w")
            writer.stdin.flush()
            assert writer.stdout.readline()  # written, in the midst of the copy

        ecphora.copy_scopes(source, target, progress=progress)
        writer.stdin.write("e")
        writer.stdin.close()
    assert graph_differences(graph_of(target), state) == []
    assert graph_of(source).revision > state.revision + 10
    assert state.revision == before.revision + 1


# ---- the command


def test_command(path: Path, url: str) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(main, arguments)
        return result.exit_code, result.stdout, result.stderr

    with open_memory(path, "ben") as memory:
        memory.remember("Ben has a cat.")
    assert run("copy", str(path), url, "--scope", "ben") == (0, "copied: ben\n", "")
    assert run("copy", str(path), url) == (0, "copied: ana\nthere already, equal: ben\n", "")
    code, out, _ = run("copy", str(path), url, "--json")
    assert (code, json.loads(out)) == (0, {"copied": [], "existing": ["ana", "ben"]})
    code, _, said = run("copy", str(path), url, "--scope", "eve")
    assert (code, said) == (1, f"error: there is no scope 'eve' in {path}; it holds 'ana', 'ben'\n")
    assert run("copy", str(path))[0] == 2
