"""The access log: recalls neither wait for it nor fail because of it, and it is complete and in order."""

import logging
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from time import monotonic

import apsw
import pytest

from ecphora import RecallOptions
from ecphora.errors import StoreBusy, StoreError
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import AccessKind, Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall import access_log
from ecphora.recall.access_log import AccessLog
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences

TALK = (
    Episode("The river is lovely.", id="river"),
    Episode("The boat sank in the river.", id="boat"),
    Episode("School starts in June.", id="school"),
)
OpenMemory = Callable[..., Memory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def open_memory(path: Path) -> Iterator[OpenMemory]:
    """A function that opens handles on one file; all are closed at the end."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(
            Memory(
                path,
                **{
                    "embedder": HashingEmbedder(64),
                    "update_scorer": None,
                    "strategy": "bm25",
                    "clock": FakeClock(),
                    **options,
                },
            )
        )


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    found = open_memory()
    found.remember(TALK)
    return found


@dataclass
class Lock:
    """The lock of a writer, taken by another connection."""

    path: Path

    def __enter__(self) -> None:
        self.db = apsw.Connection(str(self.path))
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self.db.execute("ROLLBACK")
        self.db.close()


def recalled_ids(graph: Graph) -> list[str]:
    """The recalled ids, in the order of the log."""
    return [graph.id(row) for row in graph.accesses["rows"][graph.accesses_of_kind(AccessKind.RECALLED)].tolist()]


def stored(path: Path) -> Graph:
    with closing(SQLiteStore(path)) as store:
        return apply_batch(Graph(), store.changes_since("default", 0))


def flush(memory: Memory) -> Memory:
    assert memory._access_log.flush(10)
    return memory


# ---- another writer


@pytest.mark.medium
def test_recall_does_not_wait_for_another_writer(memory: Memory, path: Path) -> None:
    """The next recall of the same memory sees the accesses before they are written."""
    with Lock(path):
        started = monotonic()
        for count, question in enumerate(("school", "boat", "lovely"), 1):
            assert [hit.id for hit in memory.recall(question)] == [("school", "boat", "river")[count - 1]]
            assert recalled_ids(memory.graph()) == ["school", "boat", "river"][:count]
        assert monotonic() - started < 5  # the lock timeout of a writer is 20 seconds
        history = memory.history("school")
        assert history is not None
        assert [access.kind for access in history.accesses] == [AccessKind.ENCODED, AccessKind.RECALLED]
        assert recalled_ids(stored(path)) == []
    assert recalled_ids(flush(memory).graph()) == recalled_ids(stored(path)) == ["school", "boat", "river"]
    assert memory.unlogged_count == 0


@pytest.mark.medium
def test_pending_accesses_equal_the_written_ones(memory: Memory, path: Path) -> None:
    with Lock(path):
        memory.recall("river")
        memory.recall("school")
        before_write = memory.graph()
    after_write = flush(memory).graph()
    assert [found for found in graph_differences(before_write, after_write) if not found.startswith("revision")] == []
    assert after_write.accesses_of(0) == before_write.accesses_of(0)


@pytest.mark.medium
def test_accesses_dropped_for_a_lock_are_counted(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(access_log, "LOCK_TIMEOUT_SECONDS", 0.0)
    with Lock(path), caplog.at_level(logging.WARNING):
        for count, question in enumerate(("river", "school"), 1):
            memory.recall(question)
            assert flush(memory).unlogged_count == (2, 3)[count - 1]
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "the accesses of a recall were not logged: another process holds the lock"
    ]
    memory.recall("boat")
    assert recalled_ids(flush(memory).graph()) == ["boat"]
    assert memory.unlogged_count == 3


@pytest.mark.medium
def test_accesses_over_the_queue_capacity_are_counted(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "QUEUE_CAPACITY", 3)
    with Lock(path):
        for question in ("river", "school", "boat", "school"):
            memory.recall(question)
        assert memory.unlogged_count == 2
    assert recalled_ids(flush(memory).graph()) == ["river", "boat", "school"]
    memory.recall("boat")
    assert recalled_ids(flush(memory).graph())[3:] == ["boat"]


def test_pending_accesses_do_not_block_closing(memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecphora.memory.LOG_FLUSH_SECONDS", 0.0)
    with Lock(path):
        memory.recall("school")
        memory.close()
    assert memory.unlogged_count == 1
    assert recalled_ids(stored(path)) == []
    memory.close()


@pytest.mark.medium
def test_readers_do_not_wait_for_a_blocked_writer_of_their_process(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory()
    memory.remember(TALK)
    with Lock(path):
        writer = threading.Thread(target=memory.remember, args=("A late one.",))
        writer.start()
        for _ in range(3):
            assert memory.recall("school")[0].id == "school"
        assert writer.is_alive()
    writer.join()
    assert len(memory) == 4


@pytest.mark.medium
def test_episode_of_a_recall_is_queued_like_an_access(open_memory: OpenMemory, path: Path) -> None:
    memory = open_memory(strategy="eisa-faithful")
    memory.remember([Episode("Ana: I met Ben by the river.", id="met", session="s", speaker="Ana")])
    memory.recall("Who met Ben by the river?")
    assert len(memory) == 2
    with Lock(path):
        memory.recall("When did Ana meet Ben?")
        memory.recall("Where did I go with Ana?")
        assert len(memory) == 2
    assert flush(memory).unlogged_count == 0
    assert len(memory) == 4
    log = memory.graph().accesses
    assert log["seq"].tolist() == sorted(log["seq"].tolist())


# ---- write errors


@pytest.mark.medium
def test_full_disk_drops_accesses_but_not_recalls(memory: Memory, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(memory._store, SQLiteStore)
    db = memory._store.nonblocking_handle()._open_connection()
    db.pragma("max_page_count", db.pragma("page_count"))
    recalls = 0
    while not memory.unlogged_count:
        recalls += 1
        assert [hit.id for hit in memory.recall("river")] == ["river", "boat"]
        flush(memory)
    assert memory.unlogged_count == 2
    assert len(recalled_ids(memory.graph())) == len(recalled_ids(stored(path))) == 2 * (recalls - 1)
    assert [record.message.split(";")[0] for record in caplog.records] == [
        f"the accesses of a recall were not logged: no space left for {path}"
    ]
    db.pragma("max_page_count", 1_000_000)
    memory.recall("school")
    assert recalled_ids(flush(memory).graph())[-1] == "school"


@pytest.mark.parametrize("error", [StoreError("odd"), ValueError("a bug")])
def test_log_errors_do_not_reach_the_recall(memory: Memory, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def raise_error(_: object) -> None:
        raise error

    monkeypatch.setattr(SQLiteStore, "nonblocking_handle", raise_error)
    assert memory.recall("school")[0].id == "school"
    assert flush(memory).unlogged_count == 1
    monkeypatch.undo()
    memory.recall("school")
    assert recalled_ids(flush(memory).graph()) == ["school"]


def test_accesses_are_dropped_without_a_thread(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse_start)
    assert memory.recall("school")[0].id == "school"
    assert memory.unlogged_count == 1


# ---- order


@pytest.mark.medium
def test_accesses_are_in_the_order_of_the_recalls(memory: Memory, path: Path) -> None:
    with Lock(path):
        for question in ("school", "boat", "school", "lovely"):
            memory.recall(question)
    graph = flush(memory).graph()
    assert recalled_ids(graph) == ["school", "boat", "school", "river"]
    assert graph.revision == 2  # in one commit


@pytest.mark.medium
def test_writes_come_after_earlier_recalls(memory: Memory) -> None:
    """The accesses of a recall are in the log before any other write or export."""
    out = StringIO()
    operations: dict[str, Callable[[], object]] = {
        "remember": lambda: memory.remember("Something new."),
        "feedback": lambda: memory.feedback(
            memory.recall("school", options=RecallOptions(log_access=False)), ["school"]
        ),
        "mark": lambda: memory.maintenance.pin("school"),
        "consolidate": memory.consolidate,
        "export": lambda: memory.export(out),
        "import": lambda: memory.import_(out.getvalue().splitlines()),
        "forget": lambda: memory.forget("boat"),
    }
    for count, (name, act) in enumerate(operations.items(), 1):
        memory._access_log.pause()
        memory.recall("school")
        memory._access_log.resume()
        act()
        assert memory._access_log.flush(0), name
        assert len(recalled_ids(memory._scope_writer.graph())) == count
    assert out.getvalue().count('"kind":"recalled"') == 5


def test_accesses_of_forgotten_memories_are_left_out(memory: Memory, open_memory: OpenMemory) -> None:
    other = open_memory()
    memory._access_log.pause()
    assert len(memory.recall("river")) == 2
    other.forget("boat")
    memory._access_log.resume()
    assert recalled_ids(flush(memory).graph()) == ["river"]
    assert memory.unlogged_count == 0


def test_closing_writes_pending_accesses(memory: Memory, path: Path) -> None:
    memory._access_log.pause()
    memory.recall("river")
    memory._access_log.resume()
    memory.close()
    assert recalled_ids(stored(path)) == ["river", "boat"]


@pytest.mark.medium
def test_memories_of_one_store_log_to_their_own_scopes(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        for scope in ("a", "b"):
            with Memory(store, scope=scope, embedder=HashingEmbedder(64)) as memory:
                memory.remember(TALK)
                memory.recall("school", limit=1)
        for scope in ("a", "b"):
            assert recalled_ids(apply_batch(Graph(), store.changes_since(scope, 0))) == ["school"]


# ---- the thread


def test_thread_ends_when_idle(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "IDLE_SECONDS", 0.0)
    for count in (1, 2):
        memory._access_log.pause()
        memory.recall("school")
        thread = memory._access_log._thread
        assert thread is not None
        memory._access_log.resume()
        thread.join(10)
        assert not thread.is_alive()
        assert memory._access_log._thread is None
        assert len(recalled_ids(memory.graph())) == count


def in_child(memory: Memory) -> None:
    assert (memory._access_log._thread, len(memory._access_log._entries)) == (None, 0)
    memory.recall("boat")
    assert memory._access_log.flush(10)
    assert memory.unlogged_count == 0


@pytest.mark.medium
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_processes_write_each_access_once(memory: Memory, path: Path) -> None:
    """Pending accesses are written by the parent, those of the child by the child."""
    memory.recall("lovely")
    memory._access_log.pause()
    memory.recall("school")
    child = multiprocessing.get_context("fork").Process(target=in_child, args=(memory,))
    child.start()
    memory._access_log.resume()
    child.join()
    assert child.exitcode == 0
    flush(memory)
    assert sorted(recalled_ids(stored(path))) == ["boat", "river", "school"]


@pytest.mark.slow
def test_pending_accesses_are_written_at_exit(memory: Memory, path: Path) -> None:
    program = f"""
from ecphora import Memory
from ecphora.models.embedders.hashing import HashingEmbedder
memory = Memory({str(path)!r}, embedder=HashingEmbedder(64), strategy="bm25")
memory._access_log.pause()
memory.recall("school")
memory._access_log.resume()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert recalled_ids(stored(path)) == ["school"]


def test_closed_log_accepts_nothing(memory: Memory) -> None:
    log = AccessLog(memory._scope_writer)
    log.close(1)
    assert log.flush(0)


def test_nonblocking_handle_does_not_wait(memory: Memory, path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        second = store.nonblocking_handle()
        assert store.nonblocking_handle() is second
        with Lock(path), pytest.raises(StoreBusy):
            second.commit("default", memory._store.changes_since("default", 0))
    with pytest.raises(StoreError, match="was closed"):
        second.changes_since("default", 0)
