"""Opening a file: its name, its access rights, and locks that others hold."""

import multiprocessing
import os
import stat
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import apsw
import pytest

from ecphora.errors import StoreBusy, StoreError, StoreReadOnly
from ecphora.memory import Memory
from ecphora.model.types import Access, AccessKind, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores import connection
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import NOON, sample_batch, sample_entity, sample_node

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


def test_files_are_readable_by_the_owner_only(two_memories: Path) -> None:
    with closing(SQLiteStore(two_memories)) as store:
        store.commit("s", WriteBatch(accesses=(Access("a", NOON, AccessKind.USED),)))
        for file in two_memories.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="there are no modes")
def test_file_that_others_can_read_becomes_private_and_that_is_said_once(
    two_memories: Path, caplog: pytest.LogCaptureFixture
) -> None:
    two_memories.chmod(0o644)
    for _ in range(2):
        with closing(SQLiteStore(two_memories)) as store:
            store.commit("s", WriteBatch(accesses=(Access("a", NOON, AccessKind.USED),)))
            assert {stat.S_IMODE(file.stat().st_mode) for file in two_memories.parent.iterdir()} == {0o600}
    (record,) = caplog.records
    assert "now only by their owner" in record.getMessage()


def test_closed_store_leaves_one_file(two_memories: Path) -> None:
    assert [file.name for file in two_memories.parent.iterdir()] == ["memory.db"]


@pytest.mark.parametrize("name", [":memory:", "file:x.db?mode=memory", "ä ö?#%41&.db", "-x"])
def test_any_name_opens_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(SQLiteStore(name)) as store:
        store.commit("s", sample_batch(sample_node("a")))
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("place", ["", "no/such/folder/memory.db", "file/memory.db"])
def test_path_that_cannot_be_a_file_is_rejected(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreReadOnly, match="check path and rights"):
        SQLiteStore(tmp_path / place)


def test_file_system_without_wal_is_rejected() -> None:
    # A file system without shared memory silently keeps the old journal mode.
    db = apsw.Connection(":memory:")  # never in WAL mode
    with pytest.raises(StoreError, match="choose a folder on a local disk"):
        connection._configure(db, 50)


@pytest.mark.medium
def test_locked_new_file_raises_store_busy(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusy, match="try again"):
            SQLiteStore(path, lock_timeout_ms=50)


def run_without_rights(path: Path, what: str) -> None:
    """Run in a separate process as a user without rights."""
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


@pytest.mark.medium
@pytest.mark.parametrize("what", ["recall", "remember", "forget", "feedback"])
@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o555), (0o444, 0o777), (0o644, 0o555)])
def test_read_only_file_can_be_recalled_from(what: str, file: int, folder: int, two_memories: Path) -> None:
    for parent in two_memories.parents[:4]:
        if parent.stat().st_uid == os.getuid() and parent != Path("/tmp"):  # noqa: S108
            parent.chmod(0o755)
    if os.getuid() == 0:
        os.chown(two_memories, 65534, 65534)
    two_memories.chmod(file)
    two_memories.parent.chmod(folder)
    before = two_memories.read_bytes()
    process = multiprocessing.get_context("fork").Process(target=run_without_rights, args=(two_memories, what))
    process.start()
    process.join()
    two_memories.parent.chmod(0o755)
    assert process.exitcode == 0
    assert two_memories.read_bytes() == before
