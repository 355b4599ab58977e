"""Files and exports of older versions open and give the same results."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ecphora import Episode, HashingEmbedder, Memory
from ecphora.testing import FakeClock, OverlapScorer, graph_differences

CHAT = [
    Episode("I live in Lisbon.", id="old", speaker="Ana", happened_at="2026-01-05"),
    Episode("I moved to Porto.", id="new", speaker="Ana", happened_at="2026-03-05"),
    Episode("My sister Martina adopted a cat.", id="cat", speaker="Ben", happened_at="2026-03-06"),
]


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=OverlapScorer(), clock=FakeClock())


@pytest.fixture
def full_file(tmp_path: Path) -> Path:
    """A file with recalls, feedback, marks, a consolidation run and a forgotten memory."""
    path = tmp_path / "m.db"
    with open_memory(path) as memory:
        memory.remember(CHAT)
        memory.remember("Gone soon.", id="gone")
        memory.remember("The cat is called Kim.", id="kim", happened_at="2026-03-07", supersedes="cat")
        memory.maintenance.unpin("new")
        memory.maintenance.unarchive("new")
        memory.feedback(memory.recall("Where does Ana live?"), ["new"])
        memory.maintenance.pin("cat")
        memory.maintenance.archive("old")
        memory.consolidate()
        memory.forget("gone")
    return path


@pytest.mark.medium
def test_file_of_format_5_gives_the_same_results(full_file: Path, to_format_5: Callable[[Path], None]) -> None:
    def hits(memory: Memory) -> list[tuple[str, float]]:
        return [(hit.id, hit.score) for hit in memory.recall("Where does Ana live?", log_access=False)]

    with open_memory(full_file) as memory:
        before, expected, batches = memory.graph(), hits(memory), memory.maintenance.batches()
        assert before.cursors.get("consolidation")
    to_format_5(full_file)
    with open_memory(full_file) as memory:
        assert graph_differences(before, memory.graph()) == []
        assert hits(memory) == expected
        assert memory.maintenance.batches() == batches
        assert memory.consolidate().counts == {}  # the cursor is kept
        assert memory.undo().id == batches[-1].id
        assert not memory.graph().cursors.get("consolidation")


def to_format_1(line: str) -> str:
    """A line of an export in format 1."""
    records = {"validity_end": "superseded", "tombstone": "forgotten"}
    kinds = {"pinned": "protected", "unpinned": "released", "unarchived": "returned"}
    record: dict[str, Any] = json.loads(line)
    if "ecphora" in record:
        return json.dumps(record | {"ecphora": 1})
    ((name, item),) = record.items()
    if "provenance" in item:
        item["evidence"] = item.pop("provenance")
    if name == "access":
        item["touch"] = kinds.get(item["kind"], item.pop("kind"))
        item.pop("kind", None)
    return json.dumps({records.get(name, name): item})


@pytest.mark.medium
def test_export_of_format_1_gives_the_same_results(full_file: Path, tmp_path: Path) -> None:
    out = io.StringIO()
    with open_memory(full_file) as memory:
        memory.export(out, vectors=True)
    lines = out.getvalue().splitlines()
    assert {"node", "edge", "validity_end", "access", "tombstone", "vector"} <= {
        next(iter(json.loads(o))) for o in lines
    }
    old = [to_format_1(line) for line in lines]
    assert old != lines
    texts = []
    for name, lines_to_import in (("new.db", lines), ("old.db", old)):
        with open_memory(tmp_path / name) as memory:
            memory.import_(lines_to_import)
            out = io.StringIO()
            memory.export(out, vectors=True)
            texts.append(out.getvalue())
    assert texts[0] == texts[1]
    assert texts[0].splitlines()[1:] == lines[1:]
