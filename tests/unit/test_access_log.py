"""A recall neither waits for the access log nor fails for it, and yet the log has everything in order."""

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

from ecphora import access_log
from ecphora.access_log import AccessLog
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import StoreBusy, StoreError
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.memory import Memory
from ecphora.model import AccessKind, Episode
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences

TALK = (
    Episode("The river is lovely.", id="river"),
    Episode("The boat sank in the river.", id="boat"),
    Episode("School starts in June.", id="school"),
)
Opened = Callable[..., Memory]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def opened(path: Path) -> Iterator[Opened]:
    """Opens the file, again and again."""
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
def memory(opened: Opened) -> Memory:
    found = opened()
    found.remember(TALK)
    return found


@dataclass
class Lock:
    """The lock that a writer takes, held by somebody else."""

    path: Path

    def __enter__(self) -> None:
        self.db = apsw.Connection(str(self.path))
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self.db.execute("ROLLBACK")
        self.db.close()


def recalled(graph: Graph) -> list[str]:
    """What was brought back, in the order of the log."""
    return [graph.id(row) for row in graph.accesses["rows"][graph.accesses_of_kind(AccessKind.RECALLED)].tolist()]


def stored(path: Path) -> Graph:
    with closing(SQLiteStore(path)) as store:
        return apply_batch(Graph(), store.changes_since("default", 0))


def flushed(memory: Memory) -> Memory:
    assert memory._access_log.flush(10)
    return memory


# ---- another writer


def test_a_recall_does_not_wait_for_another_writer(memory: Memory, path: Path) -> None:
    """Not for the log, and its own next recall sees it all the same."""
    with Lock(path):
        started = monotonic()
        for count, question in enumerate(("school", "boat", "lovely"), 1):
            assert [hit.id for hit in memory.recall(question)] == [("school", "boat", "river")[count - 1]]
            assert recalled(memory.graph()) == ["school", "boat", "river"][:count]
        assert monotonic() - started < 5  # it was 20 seconds, and then an error
        history = memory.history("school")
        assert history is not None
        assert [access.kind for access in history.accesses] == [AccessKind.ENCODED, AccessKind.RECALLED]
        assert recalled(stored(path)) == []
    assert recalled(flushed(memory).graph()) == recalled(stored(path)) == ["school", "boat", "river"]
    assert memory.unlogged_count == 0


def test_what_is_seen_before_it_is_written_is_what_will_be(memory: Memory, path: Path) -> None:
    with Lock(path):
        memory.recall("river")
        memory.recall("school")
        early = memory.graph()
    late = flushed(memory).graph()
    assert [found for found in graph_differences(early, late) if not found.startswith("revision")] == []
    assert late.accesses_of(0) == early.accesses_of(0)


def test_what_another_process_keeps_out_for_too_long_is_counted(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(access_log, "LOCK_TIMEOUT_SECONDS", 0.0)
    with Lock(path), caplog.at_level(logging.WARNING):
        for count, question in enumerate(("river", "school"), 1):
            memory.recall(question)
            assert flushed(memory).unlogged_count == (2, 3)[count - 1]
    assert [record.message.split(";")[0] for record in caplog.records] == [
        "the accesses of a recall were not logged: another process holds the lock"
    ]
    memory.recall("boat")
    assert recalled(flushed(memory).graph()) == ["boat"]
    assert memory.unlogged_count == 3


def test_what_is_too_much_to_wait_is_counted(memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "QUEUE_CAPACITY", 3)
    with Lock(path):
        for question in ("river", "school", "boat", "school"):
            memory.recall(question)
        assert memory.unlogged_count == 2
    assert recalled(flushed(memory).graph()) == ["river", "boat", "school"]
    memory.recall("boat")
    assert recalled(flushed(memory).graph())[3:] == ["boat"]


def test_what_waits_does_not_keep_a_memory_from_closing(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ecphora.memory.LOG_FLUSH_SECONDS", 0.0)
    with Lock(path):
        memory.recall("school")
        memory.close()
    assert memory.unlogged_count == 1
    assert recalled(stored(path)) == []
    memory.close()


def test_readers_do_not_wait_for_a_writer_of_their_own_process_that_waits(opened: Opened, path: Path) -> None:
    memory = opened()
    memory.remember(TALK)
    with Lock(path):
        writer = threading.Thread(target=memory.remember, args=("A late one.",))
        writer.start()
        for _ in range(3):
            assert memory.recall("school")[0].id == "school"
        assert writer.is_alive()
    writer.join()
    assert len(memory) == 4


def test_an_episode_that_a_recall_leaves_waits_like_an_access(opened: Opened, path: Path) -> None:
    memory = opened(strategy="eisa-faithful")
    memory.remember([Episode("Ana: I met Ben by the river.", id="met", session="s", speaker="Ana")])
    memory.recall("Who met Ben by the river?")
    assert len(memory) == 2
    with Lock(path):
        memory.recall("When did Ana meet Ben?")
        memory.recall("Where did I go with Ana?")
        assert len(memory) == 2
    assert flushed(memory).unlogged_count == 0
    assert len(memory) == 4
    log = memory.graph().accesses
    assert log["seq"].tolist() == sorted(log["seq"].tolist())


# ---- files that take nothing


def test_a_full_disk_costs_the_log_and_no_recall(memory: Memory, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(memory._store, SQLiteStore)
    db = memory._store.nonblocking_handle()._open_connection()
    db.pragma("max_page_count", db.pragma("page_count"))
    recalls = 0
    while not memory.unlogged_count:
        recalls += 1
        assert [hit.id for hit in memory.recall("river")] == ["river", "boat"]
        flushed(memory)
    assert memory.unlogged_count == 2
    assert len(recalled(memory.graph())) == len(recalled(stored(path))) == 2 * (recalls - 1)
    assert [record.message.split(";")[0] for record in caplog.records] == [
        f"the accesses of a recall were not logged: no space left for {path}"
    ]
    db.pragma("max_page_count", 1_000_000)
    memory.recall("school")
    assert recalled(flushed(memory).graph())[-1] == "school"


@pytest.mark.parametrize("error", [StoreError("odd"), ValueError("a bug")])
def test_no_error_of_the_log_reaches_a_recall(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(_: object) -> None:
        raise error

    monkeypatch.setattr(SQLiteStore, "nonblocking_handle", broken)
    assert memory.recall("school")[0].id == "school"
    assert flushed(memory).unlogged_count == 1
    monkeypatch.undo()
    memory.recall("school")
    assert recalled(flushed(memory).graph()) == ["school"]


def test_no_thread_no_log_and_no_error(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert memory.recall("school")[0].id == "school"
    assert memory.unlogged_count == 1


# ---- order


def test_accesses_come_in_the_order_of_the_recalls(memory: Memory, path: Path) -> None:
    with Lock(path):
        for question in ("school", "boat", "school", "lovely"):
            memory.recall(question)
    graph = flushed(memory).graph()
    assert recalled(graph) == ["school", "boat", "school", "river"]
    assert graph.revision == 2  # in one commit


def test_what_writes_comes_after_the_recalls_before_it(memory: Memory) -> None:
    """What a recall left is in the log before anything else is written or read out."""
    out = StringIO()
    acts: dict[str, Callable[[], object]] = {
        "remember": lambda: memory.remember("Something new."),
        "feedback": lambda: memory.feedback(memory.recall("school", log_access=False), ["school"]),
        "mark": lambda: memory.maintenance.pin("school"),
        "consolidate": memory.consolidate,
        "export": lambda: memory.export(out),
        "import": lambda: memory.import_(out.getvalue().splitlines()),
        "forget": lambda: memory.forget("boat"),
    }
    for count, (name, act) in enumerate(acts.items(), 1):
        memory._access_log.pause()
        memory.recall("school")
        memory._access_log.resume()
        act()
        assert memory._access_log.flush(0), name
        assert len(recalled(memory._scope_writer.graph())) == count
    assert out.getvalue().count('"kind":"recalled"') == 5


def test_what_was_forgotten_meanwhile_is_left_out(memory: Memory, opened: Opened) -> None:
    other = opened()
    memory._access_log.pause()
    assert len(memory.recall("river")) == 2
    other.forget("boat")
    memory._access_log.resume()
    assert recalled(flushed(memory).graph()) == ["river"]
    assert memory.unlogged_count == 0


def test_closing_writes_what_waits(memory: Memory, path: Path) -> None:
    memory._access_log.pause()
    memory.recall("river")
    memory._access_log.resume()
    memory.close()
    assert recalled(stored(path)) == ["river", "boat"]


def test_several_memories_of_one_store_log_each_to_its_own_scope(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        for scope in ("a", "b"):
            with Memory(store, scope=scope, embedder=HashingEmbedder(64)) as memory:
                memory.remember(TALK)
                memory.recall("school", limit=1)
        for scope in ("a", "b"):
            assert recalled(apply_batch(Graph(), store.changes_since(scope, 0))) == ["school"]


# ---- the thread


def test_the_thread_ends_when_nothing_is_left_to_do(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert len(recalled(memory.graph())) == count


def in_child(memory: Memory) -> None:
    assert (memory._access_log._thread, len(memory._access_log._entries)) == (None, 0)
    memory.recall("boat")
    assert memory._access_log.flush(10)
    assert memory.unlogged_count == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_writes_everything_once(memory: Memory, path: Path) -> None:
    """What waits is written by the parent; what the child recalls by the child."""
    memory.recall("lovely")
    memory._access_log.pause()
    memory.recall("school")
    child = multiprocessing.get_context("fork").Process(target=in_child, args=(memory,))
    child.start()
    memory._access_log.resume()
    child.join()
    assert child.exitcode == 0
    flushed(memory)
    assert sorted(recalled(stored(path))) == ["boat", "river", "school"]


@pytest.mark.slow
def test_what_waits_is_written_at_exit(memory: Memory, path: Path) -> None:
    program = f"""
from ecphora import Memory
from ecphora.embedders.hashing import HashingEmbedder
memory = Memory({str(path)!r}, embedder=HashingEmbedder(64), strategy="bm25")
memory._access_log.pause()
memory.recall("school")
memory._access_log.resume()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert recalled(stored(path)) == ["school"]


def test_a_log_that_is_closed_takes_nothing(memory: Memory) -> None:
    log = AccessLog(memory._scope_writer)
    log.close(1)
    assert log.flush(0)


def test_a_second_handle_waits_for_nobody(memory: Memory, path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        second = store.nonblocking_handle()
        assert store.nonblocking_handle() is second
        with Lock(path), pytest.raises(StoreBusy):
            second.commit("default", memory._store.changes_since("default", 0))
    with pytest.raises(StoreError, match="was closed"):
        second.changes_since("default", 0)
