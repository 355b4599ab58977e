"""Rows that cannot be read: damaged vectors, missing times, wrong values."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest

from ecphora.errors import StoreDamaged
from ecphora.maintenance.doctor import examine
from ecphora.memory import Memory
from ecphora.model.types import Access, AccessKind, ValidityEnd, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
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


NAN = np.full(16, np.nan, "<f2").tobytes()


INFINITE = np.array([*range(15), np.inf], "<f2").tobytes()


LONG, SHORT = (np.array([length, *[0] * 15], "<f2").tobytes() for length in (-2.5, 0.5))


@pytest.mark.medium
@pytest.mark.parametrize("value", [NAN, INFINITE, LONG, SHORT, bytes(32), b"", b"\0", NAN[:-2], bytes(34)])
def test_damaged_vector_is_ignored_and_logged_once(value: bytes, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = ["Ana moved to Porto.", "She likes the river.", "A boat lies there."]
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        first, second, third = memory.remember(texts).ids
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE vector SET value = ? WHERE node = 1", (value,))
    with Memory(path, embedder=HashingEmbedder(16)) as memory:
        graph = memory.graph()
        assert [graph.id(row) for row in graph.vector_rows["rows"]] == [second, third]
        assert memory.recall("Who moved to Porto?", strategy="bm25")[0].id == first  # found by its words
        assert first in [hit.id for hit in memory.recall("Who moved to Porto?")]
        assert memory.recall(texts[2], strategy="dense")[0].id == third
        memory._store.changes_since("default", 0)
    (record,) = caplog.records
    assert first in record.getMessage()
    assert "ecphora doctor --fix" in record.getMessage()


@pytest.mark.medium
@pytest.mark.parametrize("bit", [15, 14, 13, 12, 11, 10, 9, 8])
@pytest.mark.parametrize("use_snapshot", [False, True])
def test_flipped_bit_in_the_scale_of_a_vector_empties_no_recall(path: Path, bit: int, use_snapshot: bool) -> None:
    """The scale multiplies every number of its vector; sign, exponent and the upper half of the fraction change it."""
    embedder = HashingEmbedder(64)
    texts = ["Ana moved to Porto.", "She likes the river.", "A boat lies there."]
    with Memory(path, embedder=embedder) as memory:
        ids = memory.remember(texts, session="s").ids
    with closing(apsw.Connection(str(path))) as db:
        if not use_snapshot:
            db.execute("DELETE FROM graph_snapshot")
        value = bytearray(db.execute("SELECT value FROM vector WHERE node = 2").get)
        value[64 + bit // 8] ^= 1 << bit % 8
        db.execute("UPDATE vector SET value = ? WHERE node = 2", (bytes(value),))
    with Memory(path, embedder=embedder) as memory:
        graph = memory.graph()
        assert [graph.id(row) for row in graph.vector_rows["rows"]] == [ids[0], ids[2]]
        for strategy in ("fused", "dense", "bm25"):
            assert ids[0] in [hit.id for hit in memory.recall("Who moved to Porto?", strategy=strategy)]
    (finding,) = examine(path, fix=True, make_embedder=lambda _: embedder).findings
    assert "the vectors of 1 texts do not have the length 1" in finding.problem
    assert examine(path).findings == ()


@pytest.mark.medium
def test_recall_works_with_all_vectors_damaged(path: Path) -> None:
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
        ("media = '['", "media: '[' are no media"),
        ("media = '[[1]]'", "media: '[[1]]' are no media"),
        ('media = \'[["a", "smell", ""]]\'', "are no media"),
        ("happened_at = 'yesterday'", "happened_at: 'yesterday' is not a time"),
        ("recorded_at = ''", "recorded_at: '' is not a time"),
        ("valid_from = '2026-02-30'", "valid_from: '2026-02-30' is not a time"),
        ("valid_to = ''", "valid_to: '' is not a time"),
        ("time_mentions = '[[1]]'", "time_mentions: '[[1]]' are no times"),
        ("time_mentions = '[1]'", "time_mentions: '[1]' are no times"),
        ("time_mentions = '[[null, null]]'", "are no times"),
    ],
)
def test_unreadable_row_raises_store_damaged(path: Path, change: str, what: str) -> None:
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
        ("node", "happened_at", "node 'a'.*: happened_at: None is not a time"),
        ("validity_end", "valid_to", "an end of node 'a': None is not a time"),
        ("access", "at", "an access of node 'a': None is not a time"),
    ],
)
def test_missing_time_raises_store_damaged(two_memories: Path, table: str, column: str, what: str) -> None:
    with closing(SQLiteStore(two_memories)) as store:
        ends = (ValidityEnd("a", NOON, NOON),)
        store.commit("s", WriteBatch(validity_ends=ends, accesses=(Access("a", NOON, AccessKind.USED),)))
    with closing(sqlite3.connect(two_memories)) as db:  # as after a lost page; the schema would not allow it
        db.execute("PRAGMA writable_schema = 1")
        for kind in ("TEXT", "INTEGER"):
            statement = "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?"
            db.execute(statement, (f"{kind} NOT NULL", kind, table))
        db.commit()
    with closing(sqlite3.connect(two_memories)) as db:
        db.execute(f"UPDATE {table} SET {column} = NULL")  # noqa: S608
        db.commit()
    with (
        closing(SQLiteStore(two_memories)) as store,
        pytest.raises(StoreDamaged, match=f"{what}.*; run ecphora doctor"),
    ):
        store.changes_since("s", 0)
    if table == "validity_end":
        with closing(SQLiteStore(two_memories)) as store, pytest.raises(StoreDamaged, match=what):
            store.nodes("s", ["a"])
