"""Backups: one state of a file that is in use, verified, whole under its name or not there at all."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner

import ecphora
from ecphora.cli.main import main
from ecphora.errors import InvalidInput, StoreClosed, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreReplaced
from ecphora.maintenance.doctor import examine
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores import backup
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import graph_differences, sample_batch, sample_node

LARGE_BATCH = sample_batch(*(sample_node(f"n{number}", "river boat " * 40) for number in range(300)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    """An open store with two scopes, partly only in its write-ahead log."""
    with closing(SQLiteStore(tmp_path / "a.db")) as store:
        store.commit("s", LARGE_BATCH)
        store.commit("t", sample_batch(sample_node("a"), sample_node("b")))
        yield store


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "b.db"


def graph_of(store: SQLiteStore, scope: str) -> Graph:
    return apply_batch(Graph(), store.changes_since(scope, 0))


@pytest.mark.medium
def test_backup_equals_the_memory(store: SQLiteStore, target: Path) -> None:
    steps: list[tuple[int, int]] = []
    copy = store.backup(target, progress=lambda done, total: steps.append((done, total)))
    data = target.read_bytes()
    assert (copy.path, copy.episodes, copy.size) == (str(target), 302, len(data))
    assert copy.sha256 == hashlib.sha256(data).hexdigest()
    assert steps[-1][0] == steps[-1][1] == len(data) // 4096
    assert [file.name for file in target.parent.iterdir()] == ["b.db"]
    assert os.name == "nt" or stat.S_IMODE(target.stat().st_mode) == 0o600
    with closing(SQLiteStore(target)) as other:
        assert other.scopes() == store.scopes()
        for scope in "st":
            assert graph_differences(graph_of(store, scope), graph_of(other, scope)) == []
    assert target.read_bytes() == data  # opening the copy does not change it
    assert examine(target).findings == ()
    assert "\n" not in repr(copy)


@pytest.mark.medium
def test_backup_is_one_snapshot_during_writes(
    store: SQLiteStore, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_PER_STEP", 8)
    initial = graph_of(store, "s")
    with closing(SQLiteStore(store.path)) as writer:

        def write(done: int, _total: int) -> None:
            writer.commit("s", sample_batch(sample_node(f"meanwhile {done}")))

        copy = store.backup(target, progress=write)
    assert copy.episodes == 302
    assert len(graph_of(store, "s")) > len(initial) + 5
    with closing(SQLiteStore(target)) as other:
        assert graph_differences(initial, graph_of(other, "s")) == []


def test_existing_file_is_replaced_with_overwrite_only(store: SQLiteStore, target: Path) -> None:
    target.write_text("precious")
    with pytest.raises(InvalidInput, match=r"is there already.*--overwrite"):
        store.backup(target)
    assert target.read_text() == "precious"
    store.backup(target, overwrite=True)
    with closing(SQLiteStore(target)) as other:
        assert len(graph_of(other, "t")) == 2


@pytest.mark.medium
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("path_format", "message"),
    [
        ("{source}", "is the memory itself"),
        ("{folder}/../a.db", "is the memory itself"),
        ("{folder}/link.db", "is the memory itself"),
        ("{folder}/hard_link.db", "is the memory itself"),
        ("{source}-wal", "is the memory itself"),
        ("{folder}/b.db-wal", "uses for files beside a database"),
        ("{folder}", "is a folder"),
        (os.devnull, "is there already"),
        ("{folder}/logged.db", "would be read with the copy"),
        ("{folder}/rolled_back.db", "would be read with the copy"),
        ("{folder}/none/b.db", "check path and rights"),
    ],
)
def test_invalid_target_is_rejected(
    path_format: str, message: str, store: SQLiteStore, target: Path, overwrite: bool
) -> None:
    folder, initial = target.parent, graph_of(store, "s")
    (folder / "link.db").symlink_to(store.path)
    os.link(store.path, folder / "hard_link.db")
    (folder / "logged.db-wal").write_bytes(b"hot")
    (folder / "rolled_back.db-journal").write_bytes(b"hot")
    files = sorted(folder.iterdir())
    with pytest.raises((InvalidInput, StoreReadOnly), match=message):
        store.backup(path_format.format(source=store.path, folder=folder), overwrite=overwrite)
    assert graph_differences(initial, graph_of(store, "s")) == []
    assert sorted(folder.iterdir()) == files


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "kind"),
    [(apsw.FullError("full"), StoreFull), (OSError("gone"), StoreReadOnly), (ZeroDivisionError(), None)],
)
def test_failed_backup_leaves_no_files(
    error: Exception, kind: type[Exception] | None, store: SQLiteStore, target: Path
) -> None:
    with pytest.raises(kind or type(error)):
        store.backup(target, progress=raising(error))
    assert list(target.parent.iterdir()) == []
    assert store.backup(target).episodes == 302


def delete_row(db: apsw.Connection) -> None:
    db.execute("DELETE FROM node WHERE id = 'a'")


def break_index(db: apsw.Connection) -> None:
    db.pragma("writable_schema", 1)
    db.execute("UPDATE sqlite_master SET sql = replace(sql, '(scope, id)', '(scope, text)') WHERE name = 'node_id'")


@pytest.mark.parametrize("damage", [delete_row, break_index])
def test_damaged_copy_is_deleted(
    damage: Callable[[apsw.Connection], None], store: SQLiteStore, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_pages = backup._copy_pages

    def damaging_copy(db: apsw.Connection, source: Path, copy: Path, progress: Any) -> None:
        copy_pages(db, source, copy, progress)
        with closing(apsw.Connection(str(copy))) as connection:
            connection.pragma("journal_mode", "delete")
            damage(connection)

    monkeypatch.setattr(backup, "_copy_pages", damaging_copy)
    with pytest.raises(StoreDamaged, match="nothing was kept: run ecphora doctor"):
        store.backup(target)
    assert list(target.parent.iterdir()) == []


def test_damaged_file_has_no_backup(store: SQLiteStore, target: Path) -> None:
    store.close()
    with closing(apsw.Connection(str(store.path))) as db:
        last_root = db.execute(
            "SELECT max(rootpage) FROM sqlite_schema"
        ).get  # pages after it hold rows of large tables
    with store.path.open("r+b") as file:
        for page in range(last_root, store.path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)
    with closing(SQLiteStore(store.path)) as broken, pytest.raises(StoreDamaged):
        broken.backup(target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("has_hard_links", [True, False])
def test_file_created_during_the_backup_is_not_replaced(
    has_hard_links: bool, store: SQLiteStore, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_hard_links:
        monkeypatch.setattr(os, "link", raising(PermissionError("hard links are not supported")))
        assert store.backup(target.with_name("c.db")).episodes == 302

    def create_target(_done: int, _total: int) -> None:
        target.write_text("new")

    with pytest.raises(InvalidInput, match="is there already"):
        store.backup(target, progress=create_target)
    assert target.read_text() == "new"
    assert not list(target.parent.glob(".ecphora-*"))


def test_backup_of_a_memory_has_pending_accesses(tmp_path: Path, target: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(16)) as memory:
        memory.remember("The river is wide.")
        memory.recall("river")
        copy = memory.backup(target)
        assert isinstance(copy, ecphora.Backup)
        with Memory(target, embedder=HashingEmbedder(16)) as other:
            assert graph_differences(memory.graph(), other.graph()) == []
            assert len(other.graph().accesses) == 2


def test_store_without_backups_is_an_error(store: SQLiteStore, target: Path) -> None:
    class Plain:
        commit, changes_since, nodes, scopes, undo_batches, close = (
            store.commit, store.changes_since, store.nodes, store.scopes, store.undo_batches, store.close,
        )  # fmt: skip

    with (
        Memory(Plain(), embedder=HashingEmbedder(16)) as memory,
        pytest.raises(StoreError, match="a Plain makes no backups"),
    ):
        memory.backup(target)


def test_closed_or_replaced_store_has_no_backup(store: SQLiteStore, target: Path) -> None:
    copy = Path(store.backup(target).path)
    if os.name != "nt":
        copy.replace(store.path)
        with pytest.raises(StoreReplaced):
            store.backup(target)
    store.close()
    with pytest.raises(StoreClosed):
        store.backup(target)


@pytest.mark.medium
def test_backup_names_damaged_rows(tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.db"
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        memory.remember([ecphora.Episode(f"The river {number} is wide.", f"n{number}") for number in range(12)])
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE vector SET value = x'003c'")
        db.execute("UPDATE node SET happened_at = 'soon' WHERE id = 'n1'")
    with closing(SQLiteStore(path)) as damaged:
        rows, vectors = damaged.backup(target).damage
    assert rows == "1 rows cannot be read: scope 'default': node 'n1': happened_at: 'soon' is not a time"
    assert vectors.startswith("scope 'default': 12 memories have damaged vectors: 'n0', 'n1', 'n2'")
    assert "'n10'" not in vectors
    monkeypatch.setenv("ECPHORA_DB", str(path))
    result = CliRunner().invoke(main, ["backup", str(target), "--overwrite"])
    assert f"damaged, in the copy too: {rows}; run ecphora doctor" in result.output


# ---- the command


@pytest.fixture
def ecphora_(store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(store.path.parent)
    monkeypatch.setenv("ECPHORA_DB", "a.db")
    monkeypatch.setenv("HOME", str(store.path.parent))
    return lambda *args: CliRunner().invoke(main, ["backup", *args])


@pytest.mark.medium
def test_backup_command_prints_path_counts_and_digest(ecphora_: Callable[..., Any], target: Path) -> None:
    result = ecphora_("copies/b.db")
    assert result.exit_code == 0, result.output
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    assert result.output == (
        f"copied 302 memories, {target.stat().st_size:,} bytes, to copies{os.sep}b.db\nsha256 {digest}\n"
    )
    repeated = ecphora_("copies/b.db", "--json")
    assert (repeated.exit_code, repeated.stdout) == (1, "")
    assert "--overwrite" in json.loads(repeated.stderr)["error"]["message"]
    output = json.loads(ecphora_("~/copies/b.db", "--overwrite", "--json").stdout)
    assert output == {
        "path": str(target),
        "episodes": 302,
        "size": target.stat().st_size,
        "sha256": output["sha256"],
        "damage": [],
    }
