"""The SQLite store beyond the contract of stores: erased data, damage, locks, a full disk, another embedder."""

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

from ecphora.errors import StoreBusy, StoreDamaged, StoreError, StoreFull
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Tombstone, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.graph_cache import GraphCache
from ecphora.stores.rows.row_mapping import vector_to_blob
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import SAMPLE_EMBEDDER, graph_differences, sample_batch, sample_entity, sample_node, sample_vector
from ecphora.testing.samples import SAMPLE_ENGLISH_MODEL

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


# ---- erased data


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


@pytest.mark.medium
def test_forgotten_texts_are_overwritten_in_the_file(path: Path) -> None:
    with Memory(path, embedder=HashingEmbedder()) as memory:
        memory.remember([f"Ana walks along the river on day {number}." for number in range(300)])
        secret = memory.remember("Zebulon hides rubies.", speaker="Quentin", title="Xanadu", metadata={"k": "opal"}).id
        vector = vector_to_blob(memory.graph().vectors.rows(-1), 256, secret)
        words = memory._store.changes_since("default", 0).analyses[secret].term_hashes.tobytes()
        secrets = [b"Zebulon hides", b"Quentin", b"Xanadu", b"xanadu", b"zebulon", b"opal", vector, words]
        memory.recall("Where are the rubies of Zebulon?")
        assert [part in bytes_of(path) for part in secrets] == [True] * len(secrets)
        memory.forget(secret)
        # The ids of names and memories stay, so that they are recognized.
        assert [part in bytes_of(path) for part in secrets if part not in {b"xanadu", b"zebulon"}] == [False] * 6
    assert [part in bytes_of(path) for part in secrets if part not in {b"xanadu", b"zebulon"}] == [False] * 6


@pytest.mark.slow
def test_erased_data_is_overwritten_after_a_reader_ends(two_memories: Path) -> None:
    with (
        closing(SQLiteStore(two_memories, lock_timeout_ms=20)) as store,
        closing(SQLiteStore(two_memories)) as reader,
    ):
        with reader._transaction("DEFERRED") as db:
            assert db.execute("SELECT count(*) FROM node").get == 3
            store.commit("s", WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
        reader.commit("s", WriteBatch(tombstones=(Tombstone("b", b"digest"),)))
        assert b"the river" not in bytes_of(two_memories)
        assert b"the boat" not in bytes_of(two_memories)


@pytest.mark.medium
def test_forgetting_while_another_reads_is_brief_and_completed_later(two_memories: Path) -> None:
    with closing(SQLiteStore(two_memories)) as store, closing(SQLiteStore(two_memories)) as reader:
        with reader._transaction("DEFERRED") as db:
            assert db.execute("SELECT count(*) FROM node").get == 3
            start = time.monotonic()
            store.commit("s", WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
            assert time.monotonic() - start < 5
            store.commit("s", sample_batch(sample_node("c", "Mia sings.")))
            assert b"the river" in bytes_of(two_memories)
        store.commit("s", sample_batch(sample_node("d", "Mia rests.")))
        assert b"the river" not in bytes_of(two_memories)


@pytest.mark.medium
def test_close_empties_the_log_once_no_connection_reads(two_memories: Path) -> None:
    with closing(SQLiteStore(two_memories)) as reader:
        with closing(SQLiteStore(two_memories, lock_timeout_ms=10)) as store:
            with reader._transaction("DEFERRED") as db:
                assert db.execute("SELECT count(*) FROM node").get == 3
                store.commit("s", WriteBatch(tombstones=(Tombstone("a", b"digest"),)))
            assert b"the river" in bytes_of(two_memories)
        assert b"the river" not in bytes_of(two_memories)


# ---- damage


@pytest.mark.medium
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_truncated_file_is_damaged(part: float, path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        for batch in range(4):
            store.commit("s", sample_batch(*(sample_node(f"n{batch}-{n}", "river " * 50) for n in range(100))))
    os.truncate(path, int(path.stat().st_size * part))
    with pytest.raises(StoreDamaged, match="restore a copy or an export"):
        graph_of(path)


def test_cache_forgets_the_english_model_with_its_vectors(path: Path) -> None:
    with closing(SQLiteStore(path)) as store:
        cache = GraphCache(store, "s")
        cache.apply(store.commit("s", sample_batch(sample_node("a"))))
        assert cache.english_embedder_name == SAMPLE_ENGLISH_MODEL
        store.commit("s", WriteBatch(embedder=SAMPLE_EMBEDDER.name, switch_embedder=True))
        assert len(cache.refresh().english_vectors) == 0
        assert cache.english_embedder_name is None


def test_english_vector_of_another_length_is_not_compared(path: Path) -> None:
    second, first = HashingEmbedder(32), HashingEmbedder(16)
    first.english_embedder = second  # type: ignore[attr-defined]
    with closing(SQLiteStore(path)) as store, Memory(store, embedder=first, reranker=None) as memory:
        store.commit("default", sample_batch(sample_node("a"), english_embedder=second.name))
        assert memory.graph().english_vectors.view.shape == (1, 8)
        assert memory.build_query("Where is the river?").english_vector is None


def test_vectors_need_the_name_of_their_model(two_memories: Path) -> None:
    with closing(SQLiteStore(two_memories)) as store:
        vectors = {"a": sample_vector("x")}
        for batch in (WriteBatch(vectors=vectors), WriteBatch(english_vectors=vectors)):
            with pytest.raises(StoreError, match="must name their embedder"):
                store.commit("s", batch)


def test_integrity_check_lists_dangling_rows(two_memories: Path) -> None:
    with closing(sqlite3.connect(two_memories)) as db:
        db.execute("DELETE FROM node WHERE id = 'a'")  # without its vector
        db.commit()
    with closing(SQLiteStore(two_memories)) as store:
        assert sorted(store.check_integrity()) == [
            f"a row of {table} points at a missing node" for table in ("english_vector", "vector")
        ]


# ---- files that others use


@pytest.fixture
def locked_file(two_memories: Path) -> Iterator[Path]:
    with closing(apsw.Connection(str(two_memories))) as db:  # two SQLite libraries in one process do not share locks
        db.execute("BEGIN EXCLUSIVE")
        yield two_memories
        db.execute("ROLLBACK")


@pytest.mark.medium
def test_commit_to_a_locked_file_waits_and_raises_store_busy(locked_file: Path) -> None:
    with closing(SQLiteStore(locked_file, lock_timeout_ms=50)) as store:
        started = time.perf_counter()
        with pytest.raises(StoreBusy, match="try again"):
            store.commit("s", sample_batch(sample_node("c")))
        assert 0.03 < time.perf_counter() - started < 5
        assert [node.id for node in store.changes_since("s", 0).nodes] == ["a", "b", "entity:ana"]  # reading goes on


@pytest.mark.medium
def test_full_disk_loses_no_acknowledged_commit(two_memories: Path) -> None:
    before = graph_of(two_memories)
    with closing(SQLiteStore(two_memories)) as store:
        db = store._open_connection()
        db.pragma("max_page_count", db.pragma("page_count"))
        large = sample_batch(*(sample_node(f"n{number}", "x" * 5000) for number in range(100)))
        with pytest.raises(StoreFull, match="what was acknowledged is safe"):
            store.commit("s", large)
        assert graph_differences(before, apply_batch(Graph(), store.changes_since("s", 0))) == []
        db.pragma("max_page_count", 1_000_000)
        assert store.commit("s", large).revision == 2
        assert list(store.check_integrity()) == []


# ---- another embedder


def test_vectors_of_another_embedder_are_hidden_until_the_switch(two_memories: Path) -> None:
    with closing(SQLiteStore(two_memories)) as store:
        before = apply_batch(Graph(), store.changes_since("s", 0))
        assert store.ids_to_reembed("s", "new", limit=9) == ["a", "b"]
        longer = {id_: np.repeat(sample_vector(id_), 2) / np.float32(np.sqrt(2)) for id_ in ("a", "b")}
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


def test_copy_of_the_file_is_the_same_memory(two_memories: Path, tmp_path: Path) -> None:
    shutil.copy(two_memories, tmp_path / "copy.db")
    assert graph_differences(graph_of(two_memories), graph_of(tmp_path / "copy.db")) == []


def test_forgotten_names_are_overwritten_in_the_file(path: Path) -> None:
    with Memory(path, embedder=HashingEmbedder()) as memory:
        memory.forget(memory.remember("Then I met Zebulon.").id)
        assert b"zebulon" not in bytes_of(path).lower()
