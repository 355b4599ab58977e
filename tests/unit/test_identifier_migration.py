"""Files made before identifiers were indexed get them when they are opened: all or none."""

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from ecphora import Episode, Memory
from ecphora.language.identifiers.terms import index_hashes
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.encode import analyze
from ecphora.stores import schema
from ecphora.stores.repair import RepairStore

pytestmark = [pytest.mark.usefixtures("migrations"), pytest.mark.medium]
TEXTS = ("The admin panel is on port 8080.", "It rained all day.", "PAY-1482 costs 20 euros.", "報告は/etc/app.conf")


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None)


def counts_of(path: Path) -> list[tuple[Any, ...]]:
    with closing(apsw.Connection(str(path))) as db:
        return db.execute("SELECT id, hex(term_hashes), hex(term_counts) FROM node ORDER BY seq").fetchall()


def words(*values: Any) -> Any:
    hashes, counts = values
    return hashes[: 4 * len(counts.rstrip(b"\0"))]


def without_zeros(*values: Any) -> Any:
    return values[0].rstrip(b"\0")


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    """A file of format 7, with words alone in its text analyses."""
    path = tmp_path / "m.db"
    with open_memory(path) as memory:
        memory.remember(
            [Episode(text, id=f"e{n}", title="Build LMP-77" if n == 1 else None) for n, text in enumerate(TEXTS)]
        )
    with closing(apsw.Connection(str(path))) as db:
        db.create_scalar_function("words", words, 2)
        db.create_scalar_function("without_zeros", without_zeros, 1)
        db.execute(
            """UPDATE node SET term_hashes = words(term_hashes, term_counts), term_counts = without_zeros(term_counts)
               WHERE term_counts IS NOT NULL;
               DROP TABLE graph_snapshot;
               DROP TABLE log_mark;
               DROP TRIGGER node_deleted;
               DROP TRIGGER node_updated;
               DROP TABLE token_codes;
               DROP TABLE english_vector;
               ALTER TABLE scope DROP COLUMN english_embedder;
               ALTER TABLE scope DROP COLUMN english_dim;
               PRAGMA user_version = 7"""
        ).fetchall()
    return path


def test_old_file_gets_the_identifiers_of_its_memories(old_file: Path, tmp_path: Path) -> None:
    before = counts_of(old_file)
    with open_memory(old_file) as memory:
        found = memory.graph()
        assert memory.recall("What is on port 8080?")[0].id == "e0"
        assert memory.recall("What is LMP-77?")[0].id == "e1"
    after = counts_of(old_file)
    assert [row for row, old in zip(after, before, strict=True) if row != old]
    with closing(RepairStore(old_file)) as store:
        for node, analysis in store.read_analyses("default"):
            expected = analyze(node)
            assert analysis is not None
            assert analysis.term_hashes.tolist() == expected.term_hashes.tolist()
            assert analysis.term_counts.tolist() == expected.term_counts.tolist()
    assert len(found.identifiers) > len(TEXTS)


def test_failed_migration_leaves_the_file_as_it_was(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, read = counts_of(old_file), []

    def fail_late(*texts: str | None) -> Any:
        read.append(texts)
        if len(read) > 2:
            raise MemoryError
        return real(*texts)

    real = index_hashes
    monkeypatch.setattr(schema, "index_hashes", fail_late)
    with pytest.raises(MemoryError):
        open_memory(old_file)
    assert counts_of(old_file) == before
    monkeypatch.undo()
    with open_memory(old_file) as memory:
        assert memory.recall("What is PAY-1482?")[0].id == "e2"


def test_migration_is_done_once(old_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_memory(old_file).close()
    monkeypatch.setattr(schema, "index_hashes", lambda *_: pytest.fail("read again"))
    open_memory(old_file).close()
