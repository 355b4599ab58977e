"""What the contract of stores does not ask: the file itself, its migrations, and all that can be wrong with it."""

import multiprocessing
import os
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import apsw
import numpy as np
import pytest

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreReplaced, StoreTooNew
from ecphora.graph import Graph
from ecphora.memory import Memory
from ecphora.model import Access, AccessKind, Tombstone, ValidityEnd, WriteBatch
from ecphora.stores import sqlite
from ecphora.stores.open_files import OpenFiles
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import NOON, graph_differences, sample_batch, sample_entity, sample_node, sample_vector

pytestmark = pytest.mark.usefixtures("migrations")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def written(path: Path) -> Path:
    """A file with two memories, closed."""
    with closing(SQLiteStore(path)) as store:
        store.commit(
            "s", sample_batch(sample_node("a", "the river"), sample_node("b", "the boat"), sample_entity("Ana"))
        )
    return path


def graph_of(path: Path) -> Graph:
    with closing(SQLiteStore(path)) as store:
        return Graph().apply(store.changes_since("s", 0))


# ---- the file


def test_the_file_is_its_owners_alone(written: Path) -> None:
    with closing(SQLiteStore(written)) as store:
        store.commit("s", WriteBatch(accesses=(Access("a", NOON, AccessKind.USED),)))
        for file in written.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_closed_file_stands_alone(written: Path) -> None:
    assert [file.name for file in written.parent.iterdir()] == ["memory.db"]


def test_the_file_says_whose_it_is(written: Path) -> None:
    with closing(sqlite3.connect(written)) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (0x65637068,)
        assert db.execute("PRAGMA user_version").fetchone() == (len(sqlite._load_migrations()),)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_becomes_a_memory(path: Path) -> None:
    path.touch()
    with closing(SQLiteStore(path)) as store:
        assert store.scopes() == []


@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory", "ä ö?#%41&.db", "-x"])
def test_any_name_is_the_name_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(SQLiteStore(name)) as store:
        store.commit("s", sample_batch(sample_node("a")))
    assert [file.name for file in tmp_path.iterdir()] == [name]


# ---- migrations


def schema(db: sqlite3.Connection) -> list[tuple[str, ...]]:
    return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()


@pytest.mark.parametrize("applied", range(len(sqlite._load_migrations()) + 1))
def test_every_older_file_is_brought_up_to_date(applied: int, path: Path, tmp_path: Path) -> None:
    row = "INSERT INTO scope (key, name, revision) VALUES (7, 'old', 3)"
    with closing(sqlite3.connect(path)) as db:
        db.create_function("characters", 1, len)
        for script in sqlite._load_migrations()[:applied]:
            db.executescript(script)
        db.execute(f"PRAGMA user_version = {applied}")
        if applied:
            db.execute(f"PRAGMA application_id = {sqlite.APPLICATION_ID}")
            db.execute(row)
        db.commit()
    with closing(SQLiteStore(path)) as store:
        assert [(info.name, info.revision) for info in store.scopes()] == ([("old", 3)] if applied else [])
        assert store.commit("old", sample_batch(sample_node("a"))).revision == (4 if applied else 1)
    new = tmp_path / "new.db"
    SQLiteStore(new).close()
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(new)) as fresh:
        assert schema(old) == schema(fresh)


def test_a_migration_that_fails_leaves_the_file_as_it_was(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, now = graph_of(written), sqlite._load_migrations()
    broken = "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)"
    monkeypatch.setattr(sqlite, "_load_migrations", lambda: [*now, broken])
    with pytest.raises(StoreError):
        SQLiteStore(written)
    monkeypatch.setattr(sqlite, "_load_migrations", lambda: now)
    assert graph_differences(before, graph_of(written)) == []


# ---- what is erased is gone


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


def test_nothing_forgotten_stays_in_the_file(path: Path) -> None:
    with Memory(path, embedder=HashingEmbedder()) as memory:
        memory.remember([f"Ana walks along the river on day {number}." for number in range(300)])
        secret = memory.remember("Zebulon hides rubies.", speaker="Quentin", title="Xanadu", metadata={"k": "opal"}).id
        vector = memory.graph().vectors.view[-1].astype("<f2").tobytes()
        words = memory._store.changes_since("default", 0).analyses[secret].term_hashes.tobytes()
        told = [b"Zebulon hides", b"Quentin", b"Xanadu", b"xanadu", b"zebulon", b"opal", vector, words]
        memory.recall("Where are the rubies of Zebulon?")
        assert [part in bytes_of(path) for part in told] == [True] * len(told)
        memory.forget(secret)
        # The ids of names stay, as do those of memories: by them they are known again.
        assert [part in bytes_of(path) for part in told if part not in {b"xanadu", b"zebulon"}] == [False] * 6
    assert [part in bytes_of(path) for part in told if part not in {b"xanadu", b"zebulon"}] == [False] * 6


@pytest.mark.slow
def test_a_reader_does_not_keep_the_erased_for_ever(written: Path) -> None:
    with closing(SQLiteStore(written)) as store, closing(SQLiteStore(written)) as reader:
        with reader._transaction("DEFERRED") as db:
            assert db.execute("SELECT count(*) FROM node").get == 3
            store._open_connection().set_busy_timeout(20)
            store.commit("s", WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
        reader.commit("s", WriteBatch(tombstones=(Tombstone("b", b"digest"),)))
        assert b"the river" not in bytes_of(written)
        assert b"the boat" not in bytes_of(written)


# ---- files that are no memory


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


def another_program_by_its_mark(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 77")


@pytest.mark.parametrize(
    "make",
    [
        damage_random, damage_short, damage_zeros, another_program, another_program_without_tables,
        another_program_by_its_mark,
    ],
)  # fmt: skip
def test_what_is_no_memory_is_refused_and_left_alone(make: Callable[[Path], None], path: Path) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match=r"choose another path|restore a copy"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_newer_file_is_refused_and_left_alone(written: Path) -> None:
    with closing(sqlite3.connect(written)) as db:
        db.execute(f"PRAGMA user_version = {len(sqlite._load_migrations()) + 1}")
    before = written.read_bytes()
    with pytest.raises(StoreTooNew, match="upgrade ecphora"):
        SQLiteStore(written)
    assert written.read_bytes() == before


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_file_cut_short_is_damaged(part: float, path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        for batch in range(4):
            store.commit("s", sample_batch(*(sample_node(f"n{batch}-{n}", "river " * 50) for n in range(100))))
    os.truncate(path, int(path.stat().st_size * part))
    with pytest.raises(StoreDamaged, match="restore a copy or an export"):
        graph_of(path)


def test_faults_are_told(written: Path) -> None:
    with closing(sqlite3.connect(written)) as db:
        db.execute("DELETE FROM node WHERE id = 'a'")  # without its vector
        db.commit()
    with closing(SQLiteStore(written)) as store:
        assert list(store.check_integrity()) == ["a row of vector points at a missing node"]


@pytest.mark.parametrize("place", ["", "no/such/folder/memory.db", "file/memory.db"])
def test_a_path_that_cannot_be_a_file(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly, match="check path and rights"):
        SQLiteStore(tmp_path / place)


def test_no_write_ahead_log_is_no_endless_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file system without shared memory keeps the old mode and says nothing.
    monkeypatch.setattr(sqlite, "_load_migrations", list)
    db = apsw.Connection(":memory:")  # never in WAL mode
    with pytest.raises(StoreError, match="choose a folder on a local disk"):
        sqlite._configure_and_migrate(db, 50)


# ---- files that others use


@pytest.fixture
def locked(written: Path) -> Iterator[Path]:
    with closing(apsw.Connection(str(written))) as db:  # locks of two SQLite libraries in one process do not meet
        db.execute("BEGIN EXCLUSIVE")
        yield written
        db.execute("ROLLBACK")


def test_a_locked_file_is_waited_for_and_then_busy(locked: Path) -> None:
    with closing(SQLiteStore(locked, lock_timeout_ms=50)) as store:
        started = time.perf_counter()
        with pytest.raises(StoreBusy, match="try again"):
            store.commit("s", sample_batch(sample_node("c")))
        assert 0.03 < time.perf_counter() - started < 5
        assert [node.id for node in store.changes_since("s", 0).nodes] == ["a", "b", "entity:ana"]  # reading goes on


def test_a_new_file_that_is_locked_is_busy(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusy, match="try again"):
            SQLiteStore(path, lock_timeout_ms=50)


def test_a_full_disk_loses_nothing_acknowledged(written: Path) -> None:
    before = graph_of(written)
    with closing(SQLiteStore(written)) as store:
        db = store._open_connection()
        db.pragma("max_page_count", db.pragma("page_count"))
        large = sample_batch(*(sample_node(f"n{number}", "x" * 5000) for number in range(100)))
        with pytest.raises(StoreFull, match="what was acknowledged is safe"):
            store.commit("s", large)
        assert graph_differences(before, Graph().apply(store.changes_since("s", 0))) == []
        db.pragma("max_page_count", 1_000_000)
        assert store.commit("s", large).revision == 2
        assert list(store.check_integrity()) == []


# ---- files that are replaced while they are open

on_posix = pytest.mark.skipif(os.name == "nt", reason="an open file cannot be replaced there")


def put_backup(path: Path) -> None:
    path.with_name("backup.db").replace(path)


def replace_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))
    path.parent.mkdir()
    shutil.copy(path.parent.with_name("elsewhere") / "backup.db", path)


def delete_all(path: Path) -> None:
    for file in list(path.parent.glob(f"{path.name}*")):
        file.unlink()


@on_posix
@pytest.mark.parametrize(
    ("replace_", "left"),
    [
        (put_backup, ["a", "b"]),
        (replace_folder, ["a", "b"]),
        (lambda path: path.rename(path.with_name("away.db")), []),
        (lambda path: path.unlink(), []),
        (delete_all, []),
        (lambda path: path.with_name(f"{path.name}-wal").unlink(), ["a", "b", "c"]),
        (lambda path: path.with_name(f"{path.name}-shm").unlink(), ["a", "b", "c"]),
    ],
)  # fmt: skip
def test_a_replaced_file_takes_nothing_and_can_be_opened_anew(
    replace_: Callable[[Path], object], left: list[str], written: Path
) -> None:
    shutil.copy(written, written.with_name("backup.db"))
    with Memory(written, embedder=HashingEmbedder(16), scope="s") as memory:
        memory.remember("Only the log holds this.", id="c")
        replace_(written)
        for use in (lambda: memory.remember("lost"), lambda: memory.recall("river"), lambda: memory.forget("a")):
            with pytest.raises(StoreReplaced, match=r"was replaced, moved or deleted.*open it again"):
                use()
    with closing(SQLiteStore(written)) as store:
        assert [node.id for node in store.changes_since("s", 0).nodes if node.kind == "episode"] == left
        assert list(store.check_integrity()) == []
        store.commit("s", sample_batch(sample_node("d")))


@on_posix
def test_a_file_that_was_moved_away_has_all_that_was_acknowledged(written: Path) -> None:
    away = written.with_name("away.db")
    with closing(SQLiteStore(written)) as store:
        store.commit("s", sample_batch(sample_node("c")))
        written.rename(away)
        with pytest.raises(StoreReplaced):
            store.commit("s", sample_batch(sample_node("d")))
    with closing(SQLiteStore(away)) as other:
        assert [node.id for node in other.changes_since("s", 0).nodes][-1] == "c"


@on_posix
def test_a_file_replaced_before_it_was_looked_at_again_is_not_mixed_with_its_log(written: Path) -> None:
    shutil.copy(written, written.with_name("backup.db"))
    store = SQLiteStore(written)
    store.commit("s", sample_batch(sample_node("c")))
    put_backup(written)
    store.close()
    assert graph_of(written).row("c") is None


@on_posix
@pytest.mark.parametrize("in_time", [True, False])
def test_a_file_replaced_amid_a_commit_is_noticed(
    in_time: bool, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the commit, so that nothing is written, or just after it."""
    shutil.copy(written, written.with_name("backup.db"))
    away = written.with_name("away.db")
    with closing(SQLiteStore(written)) as store:

        def moved(files: OpenFiles = store._open_files) -> str | None:
            first = not away.exists()
            if first:
                os.link(written, away)
                put_backup(written)
            return files.replaced_path() if in_time or not first else None

        monkeypatch.setattr(store, "_open_files", Mock(replaced_path=moved))
        with pytest.raises(StoreReplaced):
            store.commit("s", sample_batch(sample_node("c")))
        assert not written.with_name(f"{written.name}-wal").stat().st_size
    assert graph_of(written).row("c") is None
    assert (graph_of(away).row("c") is None) == in_time


@on_posix
def test_a_second_handle_is_of_the_same_file(written: Path) -> None:
    shutil.copy(written, written.with_name("backup.db"))
    with closing(SQLiteStore(written)) as store:
        put_backup(written)
        with pytest.raises(StoreReplaced):
            store.nonblocking_handle()


@on_posix
def test_a_file_replaced_while_it_is_opened_is_opened_anew(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(written, written.with_name("backup.db"))
    with closing(SQLiteStore(written)) as store:
        store.commit("s", sample_batch(sample_node("c")))
    opened = sqlite._open_file

    def slowly(path: Path, wait: int) -> tuple[apsw.Connection, bool]:
        found = opened(path, wait)
        if path.with_name("backup.db").exists():
            put_backup(path)
        return found

    monkeypatch.setattr(sqlite, "_open_file", slowly)
    with closing(SQLiteStore(written)) as store:
        store.commit("s", sample_batch(sample_node("d")))
    assert [graph_of(written).row(node) for node in "cd"] == [None, 3]


def test_a_path_that_is_written_otherwise_is_the_same_file(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written.parent)
    link = written.with_name("link.db")
    link.symlink_to(written.name)
    for path in (Path(written.name), link, written.parent / ".." / written.parent.name / written.name):
        with closing(SQLiteStore(path)) as store:
            monkeypatch.chdir("/")
            store.commit("s", sample_batch(sample_node(f"{path}")))
        monkeypatch.chdir(written.parent)


# ---- files that may not be written


def as_nobody(path: Path, what: str) -> None:
    """Run in a process of its own: as a user without rights."""
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    with Memory(path, embedder=HashingEmbedder(16), scope="s") as memory:
        assert memory.is_read_only
        found = memory.recall("the river", strategy="bm25")
        assert found[0].id == "a"
        acts: dict[str, Callable[[], object]] = {
            "recall": lambda: memory.recall("the river"),
            "remember": lambda: memory.remember("more"),
            "forget": lambda: memory.forget("a"),
            "feedback": lambda: memory.feedback(found, []),
        }
        writes = pytest.raises(StoreReadOnly, match="is not writable; give its owner write access")
        with nullcontext() if what == "recall" else writes:
            acts[what]()
        assert memory.unlogged_count > 0


@pytest.mark.parametrize("what", ["recall", "remember", "forget", "feedback"])
@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o555), (0o444, 0o777), (0o644, 0o555)])
def test_a_file_that_may_not_be_written_can_be_read(what: str, file: int, folder: int, written: Path) -> None:
    for parent in written.parents[:4]:
        if parent.stat().st_uid == os.getuid() and parent != Path("/tmp"):  # noqa: S108
            parent.chmod(0o755)
    if os.getuid() == 0:
        os.chown(written, 65534, 65534)
    written.chmod(file)
    written.parent.chmod(folder)
    before = written.read_bytes()
    process = multiprocessing.get_context("fork").Process(target=as_nobody, args=(written, what))
    process.start()
    process.join()
    written.parent.chmod(0o755)
    assert process.exitcode == 0
    assert written.read_bytes() == before


# ---- another model


def test_vectors_of_another_model_wait_until_it_is_adopted(written: Path) -> None:
    with closing(SQLiteStore(written)) as store:
        before = Graph().apply(store.changes_since("s", 0))
        assert store.ids_to_reembed("s", "new", limit=9) == ["a", "b"]
        longer = {id_: np.repeat(sample_vector(id_), 2) for id_ in ("a", "b")}
        written_a = store.commit("s", WriteBatch(vectors={"a": longer["a"]}, embedder="new"))
        assert (written_a.vectors, written_a.embedder) == ({}, "hashing/16")
        assert graph_differences(replace(before, revision=2), Graph().apply(store.changes_since("s", 0))) == []
        assert store.ids_to_reembed("s", "new", limit=9) == ["b"]
        with pytest.raises(StoreError, match="embed them first"):
            store.commit("s", WriteBatch(embedder="new", switch_embedder=True))
        store.commit("s", WriteBatch(vectors={"b": longer["b"]}, embedder="new"))
        assert store.commit("s", WriteBatch(embedder="new", switch_embedder=True)).switch_embedder
        after = store.changes_since("s", 1)
        assert (after.switch_embedder, after.embedder) == (True, "new")
        assert {id_: vector.shape for id_, vector in after.vectors.items()} == {"a": (32,), "b": (32,)}
        assert store.ids_to_reembed("s", "new", limit=9) == []


def test_a_copy_of_the_file_is_the_memory(written: Path, tmp_path: Path) -> None:
    shutil.copy(written, tmp_path / "copy.db")
    assert graph_differences(graph_of(written), graph_of(tmp_path / "copy.db")) == []


def test_no_forgotten_name_stays_in_the_file(path: Path) -> None:
    with Memory(path, embedder=HashingEmbedder()) as memory:
        memory.forget(memory.remember("Then I met Zebulon.").id)
        assert b"zebulon" not in bytes_of(path).lower()


NAN = np.full(16, np.nan, "<f2").tobytes()
INFINITE = np.array([*range(15), np.inf], "<f2").tobytes()


@pytest.mark.parametrize("value", [NAN, INFINITE, b"", b"\0", NAN[:-2], bytes(34)])
def test_a_damaged_vector_is_set_aside_and_told_of_once(
    value: bytes, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = ["Ana moved to Porto.", "She likes the river.", "A boat lies there."]
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        first, second, third = memory.remember(texts).ids
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE vector SET value = ? WHERE node = 1", (value,))
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        graph = memory.graph()
        assert [graph.id(row) for row in graph.vector_rows["rows"]] == [second, third]
        assert [hit.id for hit in memory.recall("Who moved to Porto?")][:1] == [first]  # by its words
        assert memory.recall(texts[2], strategy="dense")[0].id == third
        memory._store.changes_since("default", 0)
    (record,) = caplog.records
    assert first in record.getMessage()
    assert "ecphora doctor --fix" in record.getMessage()


def test_all_vectors_damaged_is_no_error(path: Path) -> None:
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        memory.remember(["Ana moved to Porto.", "She likes the river."])
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE vector SET value = x'00'")
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        assert memory.recall("Porto")[0].text == "Ana moved to Porto."


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("term_hashes = x'00'", "its words and their counts do not agree"),
        ("term_counts = x''", "its words and their counts do not agree"),
        ("kind = 'dream'", "kind: there is no 'dream'"),
        ("metadata = '{'", "metadata: no JSON"),
        ("happened_at = 'yesterday'", "happened_at: 'yesterday' is no time"),
        ("recorded_at = ''", "recorded_at: '' is no time"),
        ("valid_from = '2026-02-30'", "valid_from: '2026-02-30' is no time"),
        ("valid_to = ''", "valid_to: '' is no time"),
        ("time_mentions = '[[1]]'", "time_mentions: '[[1]]' are no times"),
        ("time_mentions = '[1]'", "time_mentions: '[1]' are no times"),
        ("time_mentions = '[[null, null]]'", "are no times"),
    ],
)
def test_a_row_that_cannot_be_read_is_damage(path: Path, change: str, what: str) -> None:
    with Memory(path, embedder=HashingEmbedder()) as memory:
        memory.remember(["Ana moved to Porto.", "She likes the river."], id=None)
        id_ = memory.graph().id(0)
    with closing(apsw.Connection(str(path))) as db:
        db.execute(f"UPDATE node SET {change} WHERE seq = 1")  # noqa: S608
    with pytest.raises(StoreDamaged, match=f"node '{id_}'.*{re.escape(what)}.*; run ecphora doctor"):
        Memory(path, embedder=HashingEmbedder())


@pytest.mark.parametrize(
    ("table", "column", "what"),
    [
        ("node", "happened_at", "node 'a'.*: happened_at: None is no time"),
        ("validity_end", "valid_to", "an end of node 'a': None is no time"),
        ("access", "at", "an access of node 'a': None is no time"),
    ],
)
def test_a_time_that_is_missing_is_damage(written: Path, table: str, column: str, what: str) -> None:
    with closing(SQLiteStore(written)) as store:
        ends = (ValidityEnd("a", NOON, NOON),)
        store.commit("s", WriteBatch(validity_ends=ends, accesses=(Access("a", NOON, AccessKind.USED),)))
    with closing(sqlite3.connect(written)) as db:  # as after a page was lost: the schema does not let it in
        db.execute("PRAGMA writable_schema = 1")
        for kind in ("TEXT", "INTEGER"):
            looser = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?"
            db.execute(looser, (f"{kind} NOT NULL", kind, table))
        db.commit()
    with closing(sqlite3.connect(written)) as db:
        db.execute(f"UPDATE {table} SET {column} = NULL")  # noqa: S608
        db.commit()
    with closing(SQLiteStore(written)) as store, pytest.raises(StoreDamaged, match=f"{what}.*; run ecphora doctor"):
        store.changes_since("s", 0)
    if table == "validity_end":
        with closing(SQLiteStore(written)) as store, pytest.raises(StoreDamaged, match=what):
            store.nodes("s", ["a"])
