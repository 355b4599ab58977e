"""What stays in a file when a memory is forgotten that others depend on: entities, and what it superseded."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ecphora.memory import Memory
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock, graph_differences


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock())


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path) as opened:
        yield opened


def check_other_handles(memory: Memory, path: Path, other: Memory) -> None:
    """A handle that was open before and one that is opened now have the graph of the one that wrote."""
    with open_memory(path) as reopened:
        assert not graph_differences(memory.graph(), reopened.graph())
        assert not graph_differences(memory.graph(), other.graph())


@pytest.mark.medium
@pytest.mark.parametrize(
    ("title", "kept", "spelling"),
    [
        ("Ana (robber)", Episode("She likes tea.", title="Ana"), "Ana"),
        ("Ana (robber)", Episode("We met Ana at the lake."), "Ana"),
        ("ANA", Episode("We met Ana and ANA."), "ANA"),
        ("Ana", Episode("She likes tea.", title="Ana (baker)"), "Ana"),
    ],
)
def test_entity_keeps_nothing_of_a_forgotten_mention(
    memory: Memory, path: Path, title: str, kept: Episode, spelling: str
) -> None:
    memory.remember("She took the money.", id="gone", happened_at="1999-09-09", title=title)
    memory.remember(replace(kept, happened_at="2026-01-01"))
    with open_memory(path) as other:
        assert len(other) == 2
        memory.forget("gone")
        check_other_handles(memory, path, other)
    (entity,) = memory._store.nodes("default", ["entity:ana"])
    assert (entity.text, entity.happened_at) == (spelling, datetime(2026, 1, 1, tzinfo=UTC))
    assert not any(b"1999-09-09" in file.read_bytes() for file in path.parent.glob("m.db*"))


def test_entity_that_a_forgotten_memory_mentioned_later_stays_as_it_is(memory: Memory) -> None:
    memory.remember("She likes tea.", title="Ana", happened_at="2026-01-01")
    memory.remember("She likes rum.", id="gone", title="Ana", happened_at="2026-02-01")
    before = memory._store.nodes("default", ["entity:ana"])
    memory.forget("gone")
    assert memory._store.nodes("default", ["entity:ana"]) == before


@pytest.mark.medium
def test_forgetting_a_successor_makes_the_old_memory_valid_again(memory: Memory, path: Path) -> None:
    memory.remember("Ana lives in Porto.", id="old", happened_at="2026-01-01")
    memory.remember("Ana lives in Faro.", id="new", happened_at="2026-03-01", supersedes="old")
    memory.remember("Ana lives in Braga.", id="newest", happened_at="2026-04-01", supersedes="old")
    with open_memory(path) as other:
        assert len(other) == 3
        memory.forget("new")
        check_other_handles(memory, path, other)
        found = memory.get("old")
        assert found is not None
        assert found.valid_to == datetime(2026, 4, 1, tzinfo=UTC)  # the other one supersedes it still
        memory.forget("newest")
        check_other_handles(memory, path, other)
    found = memory.get("old")
    assert found is not None
    assert found.valid_to is None
    assert not any(b"2026-03-01" in file.read_bytes() for file in path.parent.glob("m.db*"))


def test_replaced_successor_supersedes_still(memory: Memory) -> None:
    memory.remember("Ana lives in Porto.", id="old", happened_at="2026-01-01")
    memory.remember("Ana lives in Faro.", id="new", happened_at="2026-03-01", supersedes="old")
    memory.update("new", "Ana lives in Braga.", mode="replace")
    found = memory.get("old")
    assert found is not None
    assert found.valid_to == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("is_one_call", [False, True])
def test_superseded_memory_ends_no_earlier_than_it_began(memory: Memory, *, is_one_call: bool) -> None:
    old = Episode("The dentist is Holm.", "old", happened_at="2026-03-01")
    new = Episode("The dentist is Early.", "new", happened_at="2025-01-01", supersedes="old")
    for call in [[old, new]] if is_one_call else [[old], [new]]:
        memory.remember(call)
    found = memory.get("old")
    assert found is not None
    assert found.valid_to == found.happened_at
