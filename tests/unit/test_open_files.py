"""Files that are replaced, moved or deleted while they are open."""

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import apsw
import pytest

from ecphora.errors import StoreReplaced
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores import connection
from ecphora.stores.connection import OpenFiles
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import sample_batch, sample_entity, sample_node

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


@pytest.mark.medium
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
def test_replaced_file_rejects_calls_and_can_be_reopened(
    replace_: Callable[[Path], object], left: list[str], two_memories: Path
) -> None:
    shutil.copy(two_memories, two_memories.with_name("backup.db"))
    with Memory(two_memories, embedder=HashingEmbedder(16), scope="s") as memory:
        memory.remember("Only the log holds this.", id="c")
        replace_(two_memories)
        for call in (lambda: memory.remember("lost"), lambda: memory.recall("river"), lambda: memory.forget("a")):
            with pytest.raises(StoreReplaced, match=r"was replaced, moved or deleted.*open it again"):
                call()
    with closing(SQLiteStore(two_memories)) as store:
        assert [node.id for node in store.changes_since("s", 0).nodes if node.kind == "episode"] == left
        assert list(store.check_integrity()) == []
        store.commit("s", sample_batch(sample_node("d")))


@pytest.mark.medium
@on_posix
def test_moved_file_has_all_acknowledged_commits(two_memories: Path) -> None:
    moved_path = two_memories.with_name("away.db")
    with closing(SQLiteStore(two_memories)) as store:
        store.commit("s", sample_batch(sample_node("c")))
        two_memories.rename(moved_path)
        with pytest.raises(StoreReplaced):
            store.commit("s", sample_batch(sample_node("d")))
    with closing(SQLiteStore(moved_path)) as other:
        assert [node.id for node in other.changes_since("s", 0).nodes][-1] == "c"


@on_posix
def test_replaced_file_is_not_mixed_with_the_old_log(two_memories: Path) -> None:
    shutil.copy(two_memories, two_memories.with_name("backup.db"))
    store = SQLiteStore(two_memories)
    store.commit("s", sample_batch(sample_node("c")))
    put_backup(two_memories)
    store.close()
    assert graph_of(two_memories).row("c") is None


@pytest.mark.medium
@on_posix
@pytest.mark.parametrize("in_time", [True, False])
def test_replacement_during_a_commit_is_noticed(
    in_time: bool, two_memories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is replaced before the commit, so that nothing is written, or just after it."""
    shutil.copy(two_memories, two_memories.with_name("backup.db"))
    moved_path = two_memories.with_name("away.db")
    with closing(SQLiteStore(two_memories)) as store:
        store.commit("s", sample_batch(sample_node("d")))

        def moved(files: OpenFiles = store._open_files) -> str | None:
            first = not moved_path.exists()
            if first:
                os.link(two_memories, moved_path)
                put_backup(two_memories)
            return files.replaced_path() if in_time or not first else None

        monkeypatch.setattr(store, "_open_files", Mock(replaced_path=moved))
        with pytest.raises(StoreReplaced):
            store.commit("s", sample_batch(sample_node("c")))
        assert not two_memories.with_name(f"{two_memories.name}-wal").stat().st_size
    assert graph_of(two_memories).row("c") is None
    assert (graph_of(moved_path).row("c") is None) == in_time


@on_posix
def test_second_handle_of_a_replaced_file_is_rejected(two_memories: Path) -> None:
    shutil.copy(two_memories, two_memories.with_name("backup.db"))
    with closing(SQLiteStore(two_memories)) as store:
        put_backup(two_memories)
        with pytest.raises(StoreReplaced):
            store.nonblocking_handle()


@pytest.mark.medium
@on_posix
def test_file_replaced_during_opening_is_opened_again(two_memories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(two_memories, two_memories.with_name("backup.db"))
    with closing(SQLiteStore(two_memories)) as store:
        store.commit("s", sample_batch(sample_node("c")))
    opened = connection._open_file

    def slowly(path: Path, wait: int) -> tuple[apsw.Connection, bool]:
        found = opened(path, wait)
        if path.with_name("backup.db").exists():
            put_backup(path)
        return found

    monkeypatch.setattr(connection, "_open_file", slowly)
    with closing(SQLiteStore(two_memories)) as store:
        store.commit("s", sample_batch(sample_node("d")))
    assert [graph_of(two_memories).row(node) for node in "cd"] == [None, 3]


@pytest.mark.medium
@on_posix
def test_new_file_replaced_during_opening_is_opened_again(
    two_memories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was at the path before, so that only the open file says that another one is there by now."""
    path = tmp_path / "new.db"
    shutil.copy(two_memories, path.with_name("backup.db"))
    opened = connection._open_file

    def slowly(path: Path, wait: int) -> tuple[apsw.Connection, bool]:
        found = opened(path, wait)
        if path.with_name("backup.db").exists():
            put_backup(path)
        return found

    monkeypatch.setattr(connection, "_open_file", slowly)
    with closing(SQLiteStore(path)) as store:
        store.commit("s", sample_batch(sample_node("d")))
    assert [graph_of(path).row(node) for node in "ad"] == [0, 3]


def test_other_spellings_of_a_path_open_the_same_file(two_memories: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(two_memories.parent)
    link = two_memories.with_name("link.db")
    link.symlink_to(two_memories.name)
    for path in (
        Path(two_memories.name),
        link,
        two_memories.parent / ".." / two_memories.parent.name / two_memories.name,
    ):
        with closing(SQLiteStore(path)) as store:
            monkeypatch.chdir("/")
            store.commit("s", sample_batch(sample_node(f"{path}")))
        monkeypatch.chdir(two_memories.parent)
