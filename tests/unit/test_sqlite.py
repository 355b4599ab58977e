"""What the contract of stores does not ask: erased data, damage, locks, a full disk, another model."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import numpy as np
import pytest

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import StoreBusy, StoreDamaged, StoreError, StoreFull
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.memory import Memory
from ecphora.model import Tombstone, WriteBatch
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import graph_differences, sample_batch, sample_entity, sample_node, sample_vector

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
        return apply_batch(Graph(), store.changes_since("s", 0))


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


# ---- damage


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


def test_a_full_disk_loses_nothing_acknowledged(written: Path) -> None:
    before = graph_of(written)
    with closing(SQLiteStore(written)) as store:
        db = store._open_connection()
        db.pragma("max_page_count", db.pragma("page_count"))
        large = sample_batch(*(sample_node(f"n{number}", "x" * 5000) for number in range(100)))
        with pytest.raises(StoreFull, match="what was acknowledged is safe"):
            store.commit("s", large)
        assert graph_differences(before, apply_batch(Graph(), store.changes_since("s", 0))) == []
        db.pragma("max_page_count", 1_000_000)
        assert store.commit("s", large).revision == 2
        assert list(store.check_integrity()) == []


# ---- another model


def test_vectors_of_another_model_wait_until_it_is_adopted(written: Path) -> None:
    with closing(SQLiteStore(written)) as store:
        before = apply_batch(Graph(), store.changes_since("s", 0))
        assert store.ids_to_reembed("s", "new", limit=9) == ["a", "b"]
        longer = {id_: np.repeat(sample_vector(id_), 2) for id_ in ("a", "b")}
        written_a = store.commit("s", WriteBatch(vectors={"a": longer["a"]}, embedder="new"))
        assert (written_a.vectors, written_a.embedder) == ({}, "hashing/16")
        assert graph_differences(replace(before, revision=2), apply_batch(Graph(), store.changes_since("s", 0))) == []
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
