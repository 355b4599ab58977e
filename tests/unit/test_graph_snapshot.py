"""The snapshot of a graph's columns: when it is written, and when it is not used."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ecphora import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import StoredSnapshot, StoredVectors
from ecphora.model.types import Tombstone, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import graph_cache
from ecphora.remember.graph_cache import GraphCache
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import graph_differences, sample_batch, sample_node

SCOPE = "default"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def small_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of two nodes are large enough for a snapshot."""
    monkeypatch.setattr(graph_cache, "MIN_ROWS", 2)


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None)


def stored_snapshot(path: Path) -> StoredSnapshot | None:
    with closing(SQLiteStore(path)) as store:
        return store.graph_snapshot(SCOPE)


# ---- when it is written


def test_snapshot_is_due_when_a_twentieth_of_a_large_graph_is_not_in_it() -> None:
    graph = apply_batch(Graph(), sample_batch(*(sample_node(f"n{number}", seq=number) for number in range(1, 1001))))
    assert [graph_cache.is_due(graph, saved) for saved in (0, 949, 950, 1000)] == [True, True, False, False]
    smaller = apply_batch(graph, WriteBatch(tombstones=(Tombstone("n1", b""),), revision=2))
    assert not graph_cache.is_due(smaller, 0)


def test_many_writes_keep_a_snapshot_before_the_memory_is_closed(path: Path) -> None:
    with open_memory(path) as memory:
        memory.remember([f"Note {number}." for number in range(1100)])
        stored = stored_snapshot(path)
    assert stored is not None
    assert stored.revision < 3  # there were three batches; after the last the graph had not doubled again


@pytest.mark.usefixtures("small_snapshots")
def test_closing_writes_a_snapshot_from_which_the_scope_opens(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(path) as memory:
        memory.remember(["Ana lives in Porto.", "Ben rows a boat."], speaker="Ana", metadata={"k": [1]})
        assert stored_snapshot(path) is None
        graph = memory.graph()
    stored = stored_snapshot(path)
    assert stored is not None
    assert stored.revision == graph.revision
    with closing(SQLiteStore(path)) as store:
        loads: list[int] = []
        read = store.changes_since

        def note(scope: str, revision: int) -> WriteBatch:
            loads.append(revision)
            return read(scope, revision)

        monkeypatch.setattr(store, "changes_since", note)
        assert graph_differences(GraphCache(store, SCOPE).refresh(), graph) == []
        assert loads == [graph.revision]


@pytest.mark.usefixtures("small_snapshots")
def test_scope_that_has_hardly_grown_keeps_its_snapshot(path: Path) -> None:
    with open_memory(path) as memory:
        memory.remember([f"Text number {number}." for number in range(40)])
    first = stored_snapshot(path)
    with open_memory(path) as memory:
        memory.remember("One more.")
        assert [hit.text for hit in memory.recall("What is one more?", limit=1)] == ["One more."]
    second = stored_snapshot(path)
    assert first is not None
    assert second is not None
    assert first.revision == second.revision
    with open_memory(path) as memory:
        assert len(memory) == 41


@pytest.mark.usefixtures("small_snapshots")
def test_snapshot_after_forgetting_lacks_the_memory(path: Path) -> None:
    with open_memory(path) as memory:
        kept, gone = memory.remember(["Ana lives in Porto.", "Zebulon hides rubies."], speaker="Quentin").ids
    stored = stored_snapshot(path)
    assert stored is not None
    assert gone.encode() in stored.value
    with open_memory(path) as memory:
        memory.forget(gone)
        assert stored_snapshot(path) is None
        memory.remember(["Ben rows a boat.", "Mira paints."])
    stored = stored_snapshot(path)
    assert stored is not None
    assert (kept.encode() in stored.value, stored.value.count(gone.encode())) == (True, 1)  # its tombstone
    with open_memory(path) as memory:
        assert memory.get(gone) is None
        assert len(memory) == 3


@pytest.mark.usefixtures("small_snapshots")
def test_writing_over_a_memory_deletes_the_snapshot(path: Path) -> None:
    with open_memory(path) as memory:
        memory.remember(["Ana lives in Porto.", "Ben rows a boat."])
    assert stored_snapshot(path) is not None
    with closing(SQLiteStore(path)) as store, store._transaction("IMMEDIATE") as db:
        db.execute("UPDATE node SET text = 'something else' WHERE text = 'Ben rows a boat.'")
    assert stored_snapshot(path) is None


@pytest.mark.usefixtures("small_snapshots")
def test_file_in_use_gets_no_snapshot(path: Path) -> None:
    with open_memory(path) as memory:
        memory.remember(["Ana lives in Porto.", "Ben rows a boat."])
        with closing(SQLiteStore(path)) as other, other._transaction("IMMEDIATE"):
            memory._scope_writer.cache.save()
    assert stored_snapshot(path) is None


# ---- when it is not used


def damage(value: bytes) -> bytes:
    return value[:-1] + bytes([value[-1] ^ 1])


@pytest.mark.usefixtures("small_snapshots")
def test_snapshot_with_a_fault_or_of_another_format_makes_no_graph(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(path) as memory:
        memory.remember(["Ana lives in Porto.", "Ben rows a boat."])
    stored = stored_snapshot(path)
    assert stored is not None
    assert graph_cache.to_graph(stored) is not None
    for value in (damage(stored.value), b"", b"x" * 3):
        assert graph_cache.to_graph(replace(stored, value=value)) is None
    without = StoredVectors(stored.vectors.seqs[:1], stored.vectors.values.select(slice(0, 1)))
    assert graph_cache.to_graph(replace(stored, vectors=without)) is None
    with closing(SQLiteStore(path)) as store:
        store.write_graph_snapshot(SCOPE, stored.revision, damage(stored.value))
    with open_memory(path) as memory:
        assert len(memory) == 2
    monkeypatch.setattr(graph_cache, "FORMAT", 2)
    assert graph_cache.to_graph(stored) is None


@pytest.mark.usefixtures("small_snapshots")
def test_file_that_is_not_writable_opens_from_its_snapshot(path: Path) -> None:
    with open_memory(path) as memory:
        memory.remember(["Ana lives in Porto.", "Ben rows a boat."])
    path.chmod(0o400)
    with open_memory(path) as memory:
        assert len(memory) == 2
