"""What is said of a chunk of a long text holds for the whole text."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.memory import Memory
from ecphora.model.types import Edge, Episode, Kind, Link, Mark, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock, sample_node

LONG = "\n\n".join(f"# Part {part}\n\n" + f"Ana lives in Porto, part {part}. " * 40 for part in range(3))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        opened.remember(LONG, id="guide", trust=0.5, happened_at="2026-01-01")
        yield opened


@pytest.mark.medium
def test_memory_that_supersedes_a_chunk_supersedes_its_text(memory: Memory) -> None:
    hit = memory.recall("Where does Ana live?", limit=1).hits[0]
    assert hit.id.startswith("guide#")
    with pytest.raises(InvalidInput, match="may not supersede"):
        memory.remember("Ana lives in Faro.", supersedes=hit.id, trust=0.1)
    memory.remember("Ana lives in Faro.", id="new", supersedes=hit.id, happened_at="2026-03-01")
    node = memory.get("new")
    assert node is not None
    assert {chunk.valid_to for chunk in memory.chunks("guide")} == {node.happened_at}
    for id_ in ("guide", "guide#1", "guide#3"):
        history = memory.history(id_)
        assert history is not None
        assert [successor.id for successor in history.successors] == ["new"]
    with pytest.raises(InvalidInput, match="'guide' is superseded by 'new'"):
        memory.update("guide", "Ana lives in Braga.", mode="supersede")
    memory.forget("new")
    assert {chunk.valid_to for chunk in memory.chunks("guide")} == {None}


@pytest.mark.medium
@pytest.mark.parametrize("mark", list(Mark))
def test_mark_of_a_chunk_is_one_of_its_text(mark: Mark, memory: Memory) -> None:
    names = {Mark.PINNED: "pin", Mark.UNPINNED: "unpin", Mark.ARCHIVED: "archive", Mark.UNARCHIVED: "unarchive"}
    memory.remember("Bo lives in Ghent.", id="bo")
    getattr(memory.maintenance, names[mark])(["guide#2", "guide#1", "bo"])
    graph = memory.graph()
    for node in (*memory.chunks("guide"), *memory.chunks("bo")):
        kinds = [access.kind for access in graph.accesses_of(graph.row(node.id) or 0)]
        assert kinds.count(mark) == 1


@pytest.mark.medium
def test_memory_supersedes_memories_only(memory: Memory) -> None:
    found = memory.recall("Where does Ana live?", limit=1)
    question = memory.feedback(found, found.hits[0].id)
    exchange = memory.record_response(found, "In Porto.")
    claim, edge = sample_node("claim:a", kind=Kind.CLAIM), Edge("claim:a", "guide#1", Link.CLAIMED_IN)
    memory._store.commit("default", WriteBatch(nodes=(claim,), edges=(edge,)))
    revision = memory.graph().revision
    for id_ in ("entity:porto", "entity:nobody", "claim:a", question, exchange):
        with pytest.raises(
            InvalidInput, match=f"'new' supersedes '{id_}', which is no memory; give the id of a memory"
        ):
            memory.remember([Episode("Bo sleeps.", "bo"), Episode("Ana lives in Faro.", "new", supersedes=id_)])
    assert memory.graph().revision == revision


def test_memory_may_supersede_a_long_text_that_is_gone(memory: Memory) -> None:
    """A list of memories can be remembered again after one of them was forgotten, a long text as a short one."""
    memory.forget("guide")
    assert memory.remember("Ana lives in Faro.", id="new", supersedes="guide").created == ("new",)
