"""Updates of which consolidation is not sure: they change nothing until somebody accepts them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ecphora import HashingEmbedder, InvalidInput, Memory
from ecphora.model.types import Edge, Link, WriteBatch
from ecphora.retrieval.validity import MIN_CONFIDENCE
from ecphora.testing import FakeClock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Ana lived in Lisbon and moved to Porto, found by the rules; the confidence is set to less than enough."""
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as memory:
        memory.remember("I live in Lisbon.", id="old", speaker="Ana", happened_at="2026-01-03")
        memory.remember("I moved to Porto.", id="new", speaker="Ana", happened_at="2026-05-03")
        memory.consolidate()
        (edge,) = edges(memory)
        doubtful = Edge(edge.src, edge.dst, edge.link, MIN_CONFIDENCE - 0.01)
        memory._scope_writer.commit(lambda _graph: WriteBatch(edges=(doubtful,)))
        yield memory


def edges(memory: Memory) -> list[Edge]:
    graph = memory.graph()
    return [
        Edge(graph.id(int(graph.edges["src"][row])), graph.id(int(graph.edges["dst"][row])), Link.SUPERSEDES)
        for row in graph.edges_of_link(Link.SUPERSEDES).tolist()
    ]


def state(memory: Memory) -> list[tuple[str, bool]]:
    """The ids of a recall in their order, and whether each is valid."""
    found = memory.recall("Where does Ana live in Lisbon?")
    return [(hit.id, hit.validity is None or hit.validity.is_valid) for hit in found]


def test_pending_update_changes_neither_order_nor_validity(memory: Memory) -> None:
    assert memory.facts.updates() == []
    (update,) = memory.facts.updates(pending=True)
    assert (update.old.id, update.new.id) == ("old", "new")
    assert update.confidence == pytest.approx(MIN_CONFIDENCE - 0.01)
    assert state(memory) == [("old", True), ("new", True)]
    history = memory.history("old")
    assert history is not None
    assert history.successors == ()


def test_accepted_update_counts_until_it_is_undone(memory: Memory) -> None:
    batch = memory.facts.accept("old", "new")
    assert batch.counts == {"accepted": 1}
    assert memory.facts.updates(pending=True) == []
    (update,) = memory.facts.updates()
    assert update.confidence == 1
    assert state(memory) == [("new", True), ("old", False)]
    memory.maintenance.undo(batch.id)
    assert memory.facts.updates() == []
    assert len(memory.facts.updates(pending=True)) == 1


def test_rejected_update_is_not_offered_again(memory: Memory) -> None:
    memory.facts.reject("old", "new")
    assert memory.facts.updates(pending=True) == []
    assert state(memory) == [("old", True), ("new", True)]


def test_only_what_was_found_can_be_accepted(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"facts.updates\(pending=True\) list the updates that were"):
        memory.facts.accept("new", "old")
