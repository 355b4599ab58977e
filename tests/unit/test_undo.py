"""Undo: which batch is the latest, what is told of it, and what it takes back."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ecphora import HashingEmbedder, Memory
from ecphora.errors import InvalidInput
from ecphora.model.types import Edge, Link, UndoBatch, WriteBatch
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "m.db")
    yield store
    store.close()


@pytest.fixture
def memory(store: SQLiteStore) -> Iterator[Memory]:
    with Memory(store, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock(NOW)) as opened:
        yield opened


def test_undo_reverts_and_reports_the_batch_that_wrote_last(memory: Memory, store: SQLiteStore) -> None:
    memory.remember(["Ana lives in Lisbon.", "Ben lives in Porto."])
    ana, ben = (node.id for node in memory.find().memories)
    for name in ("long", "short", "long"):
        edge, undo_batch = Edge(ana, ben, Link.ASSOCIATION), UndoBatch(name, NOW, {name: 1})
        store.commit("default", WriteBatch(edges=(edge,), undo_batch=undo_batch))
    assert [batch.id for batch in memory.maintenance.batches()] == ["short", "long"]
    with pytest.raises(InvalidInput, match="'long': undo that first"):
        memory.maintenance.undo("short")
    assert (memory.maintenance.undo("long").id, memory.maintenance.undo().counts) == ("long", {"short": 1})


def test_undo_leaves_what_belongs_to_no_batch(memory: Memory) -> None:
    memory.remember(["Ana lives in Lisbon.", "Ben lives in Porto."])
    memory.entities.merge("Ana", "Ben")
    memory.remember("Cora lives in Faro.")
    assert memory.maintenance.undo().counts == {"alias": 1}
    assert len(memory) == 3
    with pytest.raises(InvalidInput, match="no consolidation, import, merge, split or rejected update"):
        memory.maintenance.undo()
