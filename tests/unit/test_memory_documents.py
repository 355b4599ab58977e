"""Long texts in a memory: their chunks and the reassembled text."""

from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import fill

import pytest

from ecphora.memory import Memory
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import encode
from ecphora.testing import FakeClock

LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_memory(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[..., Memory]]:
    """A function that opens handles on one file; all are closed at the end."""
    handles: list[Memory] = []

    def open_(scope: str = "default", dim: int = 64) -> Memory:
        handles.append(Memory(tmp_path / "memory.db", scope=scope, embedder=HashingEmbedder(dim), clock=clock))
        return handles[-1]

    yield open_
    for handle in handles:
        handle.close()


@pytest.fixture
def memory(open_memory: Callable[..., Memory]) -> Memory:
    return open_memory()


@pytest.mark.medium
def test_get_reassembles_a_long_text(memory: Memory) -> None:
    result = memory.remember(LONG, id="stay", speaker="Ana")
    assert result.created == ("stay",)
    node = memory.get("stay")
    assert node is not None
    assert (node.id, node.text, node.document) == ("stay", LONG, None)
    positions = [hit.node.position for hit in memory.recall("day 50 of her stay", limit=50)]
    assert sorted(positions) == list(range(1, len(positions) + 1))
    graph = memory.graph()
    rows = graph.document_rows("stay")
    assert graph.previous_rows[rows].tolist() == [-1, *rows[:-1].tolist()]
    assert all(memory.get(hit.id) is not None for hit in memory.recall("Porto"))


def test_unknown_id_is_none(memory: Memory) -> None:
    assert memory.get("nothing") is None
    assert memory.history("nothing") is None
    assert not memory.forget("nothing")


FIRST = "The heron that nested below the old bridge returned in April when nobody at the lock expected to see it again"


KEEPER = "The keeper counts barges and writes each of them down in a large green book that his mother gave him. "


MANUAL = (
    "# Lock manual\n\n"
    + fill(KEEPER * 7 + "Barges pay by their weight, and boats that carry nobody pay half. ", 72)
    + "\n\n"
    + fill(f"{FIRST}, so the keeper was told to leave the nest alone. " + KEEPER * 3, 72)
    + "\n\n## Ropes\n\n"
    + "\n\n".join([fill("Bring one that is as long as the lock is deep, and dry it each night. " * 9, 72)] * 2)
    + "\n\n## Lamps\n\n"
    + "\n\n".join([fill("Fill them before it is dark, and trim the wick with the small knife. " * 9, 72)] * 2)
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_recall_finds_a_wrapped_sentence_in_one_chunk(memory: Memory, end: str) -> None:
    memory.remember(MANUAL.replace("\n", end), source="manual.md")
    best = memory.recall("When did the heron return to its nest below the old bridge?")[0]
    assert FIRST in " ".join(best.text.split())
    assert best.node.heading == "Lock manual"


@pytest.mark.medium
def test_recall_finds_chunks_by_their_heading(memory: Memory) -> None:
    memory.remember(MANUAL, title="Manual.MD")
    for name in ("Ropes", "Lamps"):
        assert memory.recall(f"{name}?")[0].node.heading == f"Lock manual > {name}"
        found = memory.recall(f"{name}?", strategy="bm25")
        assert len(found) == 2
        assert {hit.node.heading for hit in found} == {f"Lock manual > {name}"}
        assert any(name not in hit.text for hit in found)
        as_json = found[1].to_dict()
        assert MANUAL[as_json["start"] : as_json["start"] + len(as_json["text"])] == as_json["text"]
        assert as_json["heading"] == f"Lock manual > {name}"


def test_short_markdown_text_is_one_memory(memory: Memory) -> None:
    result = memory.remember("# Lock\n\n## Ropes\n\nBring one.", source="lock.md")
    (hit,) = memory.recall("ropes")
    assert (hit.id, hit.node.document, hit.node.heading, hit.node.start) == (result.id, None, None, 0)
    assert encode.indexed_text(hit.node) == "# Lock\n\n## Ropes\n\nBring one."
