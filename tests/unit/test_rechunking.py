"""Rechunking: long texts get today's chunks and keep their links, accesses, claims and feedback."""

import io
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from textwrap import fill
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import EmbedderMismatch, InvalidInput, StaleWrite, StoreBusy
from ecphora.language.chunking import Chunk
from ecphora.maintenance import rechunking
from ecphora.maintenance.doctor import examine
from ecphora.maintenance.rechunking import rechunk
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.types import AccessKind, Episode, Kind, Link, Mark, NodeId
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import documents
from ecphora.stores.rows.rechunk_writer import RechunkedDocument, RechunkWriter
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock

pytestmark = pytest.mark.medium

MODEL = HashingEmbedder(64)
GUIDE = (
    "# Guide\n\nAna Silva wrote this guide in Porto.\n\n## Herons\n\n"
    + fill("The heron nests below the old bridge and eats what the lock keeper leaves. " * 12, 72)
    + "\n\n## Barges\n\nI live in Lisbon.\n\n"
    + fill("A barge waits at the lock until Mia Torres has counted it in her green book. " * 12, 72)
    + "\n\n### Ropes\n\nBring one as long as the lock is deep.\n"
)
DIARY = "\n\n".join(fill(f"Day {day}: " + "It rained and Ben Kahn mended the roof. " * 9, 60) for day in range(12))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def fixed_width_chunker(width: int) -> Callable[..., tuple[Chunk, ...]]:
    """A function that cuts a text after every ``width`` characters."""

    def cut(text: str, *, markdown: bool | None = None) -> tuple[Chunk, ...]:
        return tuple(Chunk(start, text[start : start + width]) for start in range(0, len(text), width))

    return cut


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=MODEL, update_scorer=None, clock=FakeClock())


def remember_with_width(path: Path, *episodes: Episode, width: int = 500) -> None:
    """Remember texts with chunks of ``width`` characters."""
    with pytest.MonkeyPatch.context() as patch, open_memory(path) as memory:
        patch.setattr(documents, "split_into_chunks", fixed_width_chunker(width))
        memory.remember(episodes)


def guide(speaker: str | None = None, happened_at: str | None = None, supersedes: NodeId | None = None) -> Episode:
    return Episode(
        GUIDE, id="guide", source="guide.md", speaker=speaker, happened_at=happened_at, supersedes=supersedes
    )


def describe(path: Path) -> dict[NodeId, tuple[object, ...]]:
    """Each episode by its id: its text and position, terms, vector and names."""
    with open_memory(path) as memory:
        graph = memory.graph()
        found: dict[NodeId, tuple[object, ...]] = {}
        for node in memory._store.nodes("default", [graph.id(row) for row in graph.episodes.nonzero()[0].tolist()]):
            row = graph.row(node.id)
            assert row is not None
            at = graph.terms["rows"] == row
            names = {graph.id(name) for name in graph.mentioned_entities(graph.rows([node.id])).tolist()}
            vector = graph.vectors.view[graph.vector_positions[row]].tolist()
            words = dict(zip(graph.terms["hashes"][at].tolist(), graph.terms["counts"][at].tolist(), strict=True))
            found[node.id] = node.text, node.document, node.position, node.start, node.heading, names, vector, words
        return found


def links(graph: Graph, link: Link) -> Counter[tuple[NodeId, NodeId]]:
    table = graph.edges
    places = graph.edges_of_link(link).tolist()
    return Counter((graph.id(table["src"][place]), graph.id(table["dst"][place])) for place in places)


def accesses_of_kind(graph: Graph, kind: AccessKind | Mark) -> list[NodeId]:
    return [graph.id(row) for row in graph.accesses["rows"][graph.accesses_of_kind(kind)].tolist()]


def is_intact(path: Path) -> bool:
    with closing(SQLiteStore(path)) as store:
        assert list(store.check_integrity()) == []
    return not examine(path, fix=False, make_embedder=lambda _name: MODEL).findings


# ---- chunks


@pytest.mark.parametrize("width", [100, 500, 1000])
def test_rechunk_gives_the_chunks_of_a_new_memory(path: Path, tmp_path: Path, width: int) -> None:
    remember_with_width(path, guide(), Episode(DIARY, id="diary"), Episode("Short.", id="short"), width=width)
    with open_memory(tmp_path / "new.db") as memory:
        memory.remember([guide(), Episode(DIARY, id="diary"), Episode("Short.", id="short")])
    progress: list[tuple[int, int]] = []
    assert rechunk(path, embedder=MODEL, progress=lambda done, all_: progress.append((done, all_))) == 2
    assert progress == [(2, 2)]
    assert describe(path) == describe(tmp_path / "new.db")
    assert is_intact(path)
    assert rechunk(path, embedder=MODEL) == 0
    with open_memory(path) as memory:
        assert [memory.get(id_).text for id_ in ("guide", "diary")] == [GUIDE, DIARY]  # type: ignore[union-attr]
        assert memory.remember([guide(), Episode(DIARY, id="diary")]).existing == ("guide", "diary")


@given(st.integers(40, 3000), st.integers(40, 3000))
def test_rechunk_converts_any_chunks(first: int, second: int) -> None:
    """From any chunks to any others, the text and the links stay correct."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "memory.db"
        remember_with_width(path, guide(), width=first)
        patch.setattr(documents, "split_into_chunks", fixed_width_chunker(second))
        expected = [segment.text for segment in fixed_width_chunker(second)(GUIDE)]
        assert rechunk(path, embedder=MODEL) == (len(range(0, len(GUIDE), first)) > 1 and first != second)
        with closing(SQLiteStore(path)) as store:
            chunk_ids = store.document_chunks("default").get("guide", ["guide"])
            assert list(store.check_integrity()) == []
            if len(range(0, len(GUIDE), first)) > 1:
                assert [node.text for node in store.nodes("default", chunk_ids)] == expected


def test_open_memory_sees_the_new_chunks(path: Path) -> None:
    remember_with_width(path, guide(), width=300)
    with open_memory(path) as memory:
        before, chunks = len(memory), len(memory.graph())
        assert memory.recall("heron").hits[0].node.heading is None
        rechunk(path, embedder=MODEL)
        assert len(memory) == before
        assert len(memory.graph()) != chunks
        assert memory.recall("heron").hits[0].node.heading == "Guide > Herons"


# ---- data of the chunks


def test_rechunk_keeps_links_and_ends_of_validity(path: Path) -> None:
    remember_with_width(path, Episode(DIARY, id="older"), guide(supersedes="older"))
    with open_memory(path) as memory:
        memory.remember(Episode("The lock is closed for good.", id="end", supersedes="guide"))
    rechunk(path, embedder=MODEL)
    with open_memory(path) as memory:
        graph = memory.graph()
        chunk_ids, before = documents.node_ids_of(graph, "guide"), documents.node_ids_of(graph, "older")
        assert len(chunk_ids) > 2
        assert links(graph, Link.SUPERSEDES) == Counter(
            [*(("end", chunk_id) for chunk_id in chunk_ids), *((chunk_ids[0], chunk_id) for chunk_id in before)]
        )
        assert {node.valid_to is not None for node in memory._store.nodes("default", [*chunk_ids, *before])} == {True}
        history = memory.history("guide")
        assert history is not None
        assert [node.id for node in history.successors] == ["end"]
    assert is_intact(path)


def test_rechunk_keeps_accesses_marks_and_feedback(path: Path) -> None:
    remember_with_width(path, guide(), width=300)
    with open_memory(path) as memory:
        memory.maintenance.pin("guide")
        memory.maintenance.unpin("guide")
        memory.maintenance.pin("guide")
        recollections = [memory.recall(question) for question in ("heron", "barge", "rope", "heron")]
        memory.feedback(recollections[0], [recollections[0][0].id])
        used = recollections[0][0].text
        counts = {kind: len(accesses_of_kind(memory.graph(), kind)) for kind in (AccessKind.RECALLED, AccessKind.USED)}
    rechunk(path, embedder=MODEL)
    with open_memory(path) as memory:
        graph = memory.graph()
        chunk_ids = documents.node_ids_of(graph, "guide")
        assert {kind: len(accesses_of_kind(graph, kind)) for kind in counts} == counts
        (one,) = accesses_of_kind(graph, AccessKind.USED)
        node = memory._store.nodes("default", [one])[0]
        start = GUIDE.index(used)
        assert node.start < start + len(used)
        assert start < node.start + len(node.text)
        for chunk_id in chunk_ids:
            row = graph.row(chunk_id)
            assert row is not None
            marks = [access.kind for access in graph.accesses_of(row) if access.kind in {Mark.PINNED, Mark.UNPINNED}]
            assert marks[-1] == Mark.PINNED
        assert links(graph, Link.ANSWERED_BY).keys() <= {
            (graph.id(row), chunk_id) for row in range(len(graph)) for chunk_id in chunk_ids
        }
        seqs = graph.accesses["seq"].tolist()
        assert len(set(seqs)) == len(seqs)
        memory.recall("heron")
    with closing(sqlite3.connect(path)) as db:
        (size,), (rows,) = (
            db.execute("SELECT log_size FROM scope").fetchone(),
            db.execute("SELECT count(*) FROM access").fetchone(),
        )
        assert size == rows
    assert is_intact(path)


def test_rechunk_keeps_claims(path: Path) -> None:
    remember_with_width(path, guide(speaker="Ana", happened_at="2026-01-03"), width=420)
    with open_memory(path) as memory:
        memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        memory.consolidate()
        before = [(update.old.text, update.new.text) for update in memory.facts.updates()]
        assert len(before) == 1
        claims = int(memory.graph().of_kind(Kind.CLAIM).sum())
    rechunk(path, embedder=MODEL)
    with open_memory(path) as memory:
        (update,) = memory.facts.updates()
        assert "I live in Lisbon." in update.old.text
        graph = memory.graph()
        assert int(graph.of_kind(Kind.CLAIM).sum()) == claims
        memory.consolidate()
        assert int(memory.graph().of_kind(Kind.CLAIM).sum()) == claims
    assert is_intact(path)


def test_consolidation_before_rechunk_can_be_undone(path: Path) -> None:
    remember_with_width(path, guide(speaker="Ana", happened_at="2026-01-03"), width=420)
    with open_memory(path) as memory:
        memory.remember("I moved to Porto.", speaker="Ana", happened_at="2026-05-03")
        memory.consolidate()
    rechunk(path, embedder=MODEL)
    with open_memory(path) as memory:
        memory.maintenance.undo()
        assert memory.facts.updates() == []
        assert not links(memory.graph(), Link.CLAIMED_IN)
    assert is_intact(path)


def test_rechunk_removes_names_made_by_a_cut(path: Path) -> None:
    remember_with_width(
        path, Episode("x" * 1000 + " " + "Ana Silva came. " * 100, id="a"), width=1004
    )  # a cut inside a name: "… Ana S", "ilva came …"
    rechunk(path, embedder=MODEL)
    with open_memory(path) as memory:
        graph = memory.graph()
        assert {graph.id(row) for row in graph.of_kind(Kind.ENTITY).nonzero()[0].tolist()} == {"entity:ana silva"}
    assert is_intact(path)


# ---- conflicts


def test_rechunk_rejects_another_embedder(path: Path) -> None:
    remember_with_width(path, guide())
    with pytest.raises(EmbedderMismatch, match=r"hashing/64.*hashing/32.*ecphora\.reembed"):
        rechunk(path, embedder=HashingEmbedder(32))


def test_rechunk_of_an_empty_scope_does_nothing(path: Path) -> None:
    assert rechunk(path, embedder=MODEL) == 0
    assert rechunk(path, scope="nobody", embedder=MODEL) == 0
    with pytest.raises(InvalidInput):
        rechunk(path, extractor=3)  # type: ignore[arg-type]


def test_rechunk_skips_a_text_whose_chunk_id_is_taken(path: Path) -> None:
    remember_with_width(path, guide(), width=1500)
    with open_memory(path) as memory:
        memory.remember("Taken.", id="guide#3")
        before = documents.node_ids_of(memory.graph(), "guide")
    assert rechunk(path, embedder=MODEL) == 0
    with open_memory(path) as memory:
        assert documents.node_ids_of(memory.graph(), "guide") == before


def test_rechunk_keeps_a_concurrent_forget(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_with_width(path, guide(), Episode(DIARY, id="diary"))
    write = SQLiteStore.rechunk

    def forget_and_write(store: SQLiteStore, scope: str, texts: list[RechunkedDocument], /) -> None:
        monkeypatch.undo()
        with open_memory(path) as memory:
            memory.forget("guide")
        write(store, scope, texts)

    monkeypatch.setattr(SQLiteStore, "rechunk", forget_and_write)
    assert rechunk(path, embedder=MODEL) == 1
    with open_memory(path) as memory:
        assert memory.get("guide") is None
        assert memory.get("diary").text == DIARY  # type: ignore[union-attr]
    assert is_intact(path)


def test_rechunk_raises_store_busy_after_conflicts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember_with_width(path, guide())
    before = describe(path)
    monkeypatch.setattr(rechunking, "MAX_RETRIES", 2)
    monkeypatch.setattr(RechunkWriter, "_current_chunks", Mock(side_effect=StaleWrite("changed")))
    with pytest.raises(StoreBusy, match="2 times"):
        rechunk(path, embedder=MODEL)
    assert describe(path) == before


KILLED = """
import os, sys
from ecphora import HashingEmbedder, rechunk
from ecphora.maintenance import rechunking
from ecphora.stores.rows.rechunk_writer import RechunkWriter

rechunking.BATCH_SIZE = 1
name, left = sys.argv[2], 1
step = getattr(RechunkWriter, name)

def last(self, *given):
    global left
    left -= 1
    if left < 0:
        os._exit(9)  # amid the second text, with its transaction open
    return step(self, *given)

setattr(RechunkWriter, name, last)
rechunk(sys.argv[1], embedder=HashingEmbedder(64))
"""
"""Another process that rechunks texts and ends during the second."""


SLOW_STEPS = [pytest.param(step, marks=pytest.mark.slow) for step in ("_move_accesses", "_reassign_claims")]


@pytest.mark.parametrize("step", [*SLOW_STEPS, "_replace_vectors"])
def test_killed_rechunk_leaves_each_memory_before_or_after(step: str, path: Path, tmp_path: Path) -> None:
    remember_with_width(path, Episode(DIARY, id="diary"), guide())
    before = describe(path)
    assert subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False).returncode == 9
    with open_memory(tmp_path / "new.db") as memory:
        memory.remember([Episode(DIARY, id="diary"), guide()])
    expected = describe(tmp_path / "new.db")
    found = describe(path)
    assert {id_: of for id_, of in found.items() if of[1] == "diary"} == {
        id_: of for id_, of in expected.items() if of[1] == "diary"
    }
    assert {id_: of for id_, of in found.items() if of[1] == "guide"} == {
        id_: of for id_, of in before.items() if of[1] == "guide"
    }
    assert is_intact(path)
    assert rechunk(path, embedder=MODEL) == 1
    assert describe(path) == expected


@pytest.mark.parametrize("is_rechunked", [True, False])
def test_export_and_import_keep_chunks_positions_and_headings(path: Path, tmp_path: Path, is_rechunked: bool) -> None:
    remember_with_width(path, guide(), Episode(DIARY, id="diary"))
    if is_rechunked:
        rechunk(path, embedder=MODEL)
    with open_memory(path) as memory:
        memory.recall("heron")
        out, again = io.StringIO(), io.StringIO()
        memory.export(out, vectors=True)
    with open_memory(tmp_path / "copy.db") as copy:
        copy.import_(out.getvalue().splitlines(keepends=True))
        copy.export(again, vectors=True)
    assert again.getvalue().split("\n")[1:] == out.getvalue().split("\n")[1:]
    assert describe(tmp_path / "copy.db") == describe(path)
    assert ('"heading":"Guide > Barges"' in out.getvalue()) is is_rechunked
