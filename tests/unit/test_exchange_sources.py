"""What an exchange is based on: all that was shown for it, so that it is deleted with what it may repeat."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ecphora.memory import Memory
from ecphora.model.types import Edge, Episode, Filter, Kind, Link, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.recall.exchange import exchange_batch
from ecphora.testing import FakeClock, sample_node

TALK = (
    Episode("The river is lovely.", id="river", speaker="Ana", happened_at="2026-05-01"),
    Episode("The boat sank in the river.", id="boat", speaker="Ben", happened_at="2026-05-02"),
    Episode("School starts in June.", id="school", speaker="Ana", happened_at="2026-05-03"),
)
QUESTION = "What sank in the river?"
RESPONSE = "The boat, as Ben said."


def open_memory(folder: Path) -> Memory:
    return Memory(folder / "memory.db", embedder=HashingEmbedder(64), clock=FakeClock())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path) as opened:
        opened.remember(TALK)
        yield opened


def record(memory: Memory, text: str = RESPONSE) -> str:
    """Record a response to the question, for which only Ben's memory was recalled."""
    id_ = memory.record_response(memory.recall(QUESTION, limit=1, where=Filter(speakers="Ben")), text)
    assert id_ is not None
    return id_


# ---- what it was told besides


@pytest.mark.medium
def test_exchange_goes_with_a_message_of_its_context(memory: Memory) -> None:
    found = memory.recall("My PIN is 4711.", limit=1)
    message, long_text = memory.remember(["My PIN is 4711.", "The PIN was changed. " * 200]).ids
    id_ = memory.record_response(found, "Noted: 4711.", context_ids=[message, long_text])
    (exchange,) = memory.recall("My PIN is 4711.", include="exchanges").exchanges
    assert exchange.id == id_
    assert message in exchange.source_ids
    assert not exchange.used_ids
    assert memory.forget(message, dry_run=True)
    memory.forget(long_text)
    assert not memory.graph().of_kind(Kind.EXCHANGE).any()
    assert memory.record_response(found, "Noted.", context_ids=[long_text]) is None
    assert memory.record_response(found, "Noted.", context_ids=[message]) is not None


# ---- what was replaced meanwhile


def test_record_response_stores_nothing_if_a_hit_has_another_text(memory: Memory) -> None:
    found = memory.recall(QUESTION)
    memory.update("school", "School starts in July.", mode="replace")
    assert memory.record_response(found, RESPONSE) is None
    assert not memory.graph().of_kind(Kind.EXCHANGE).any()
    assert memory.record_response(memory.recall(QUESTION), RESPONSE) is not None


def test_superseding_a_hit_does_not_hinder_its_response(memory: Memory) -> None:
    found = memory.recall(QUESTION)
    memory.update("school", "School starts in July.", mode="supersede")
    assert memory.record_response(found, RESPONSE) is not None


def test_response_is_not_stored_if_a_hit_is_replaced_just_before_the_commit(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = memory.recall(QUESTION)
    with open_memory(tmp_path) as other:
        monkeypatch.setattr("ecphora.memory.exchange_batch", racing := Racing(other))
        assert memory.record_response(found, RESPONSE) is None
    assert racing.has_raced
    assert not memory.graph().of_kind(Kind.EXCHANGE).any()


class Racing:
    """Builds the batch of an exchange; the first time, another handle replaces a hit before it is committed."""

    def __init__(self, other: Memory) -> None:
        self.other, self.has_raced = other, False

    def __call__(self, *arguments: Any, **options: Any) -> WriteBatch:
        batch = exchange_batch(*arguments, **options)
        if not self.has_raced:
            self.has_raced = True
            self.other.update("school", "the school is closed", mode="replace")
        return batch


def test_other_writers_do_not_hinder_a_response(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, attempts = memory.recall(QUESTION), list[WriteBatch]()
    with open_memory(tmp_path) as other:

        def build(*arguments: Any, **options: Any) -> WriteBatch:
            attempts.append(exchange_batch(*arguments, **options))
            other.remember(f"Something else, number {len(attempts)}.")
            return attempts[-1]

        monkeypatch.setattr("ecphora.memory.exchange_batch", build)
        assert memory.record_response(found, RESPONSE) is not None
    assert len(attempts) == 1


# ---- earlier exchanges, insights and engrams


def test_exchange_is_deleted_with_what_an_earlier_one_was_based_on(memory: Memory) -> None:
    """It was shown the earlier one and may repeat it, though the memory behind that was not recalled for it."""
    first = record(memory, "A boat sank.")
    found = memory.recall("What starts in the river?", where=Filter(speakers="Ben"), include="exchanges", limit=1)
    assert ([hit.id for hit in found], [one.id for one in found.exchanges]) == (["boat"], [first])
    other = replace(found, hits=(), query=replace(found.query, text="What was said?"))
    id_ = memory.record_response(other, "That a boat sank.")
    assert id_ is not None
    (shown,) = (one for one in memory.recall("What was said?", include="exchanges").exchanges if one.id == id_)
    assert (shown.source_ids, shown.used_ids) == ((first,), ())
    memory.forget("school")
    assert memory.get(id_) is not None
    memory.forget("boat")
    assert memory.get(id_) is None


def test_exchange_goes_with_an_earlier_one_in_its_prompt(memory: Memory) -> None:
    first = record(memory)
    found = memory.recall(QUESTION, include="exchanges")
    second = memory.record_response(found, "As I said: the boat.")
    assert second is not None
    memory.forget(first)
    assert memory.get(second) is None
    assert memory.record_response(found, "Once more: the boat.") is None, "it was shown one that is forgotten"
    assert len(memory) == 3


def remember_insight(memory: Memory, text: str = "Ana likes the river and school.") -> str:
    """Store an insight of the two memories of Ana, and one of this and Ben's memory; returns the id of the latter."""
    lower, upper = (replace(sample_node(f"insight:{name}", text), kind=Kind.INSIGHT) for name in ("lower", "upper"))
    sources = {"insight:lower": ("river", "school"), "insight:upper": ("insight:lower", "boat")}
    vector = memory._embedder.embed([text])[0]
    memory._store.commit(
        "default",
        WriteBatch(
            nodes=(lower, upper),
            vectors={lower.id: vector, upper.id: vector},
            edges=tuple(Edge(id_, one, Link.DERIVED_FROM) for id_, ids in sources.items() for one in ids),
            embedder=memory._embedder.name,
        ),
    )
    return upper.id


def test_exchange_goes_with_the_sources_of_an_insight_in_its_prompt(memory: Memory) -> None:
    insight = remember_insight(memory)
    found = memory.recall("Who likes the river and school?", limit=2, include="insights")
    found = replace(found, insights=tuple(one for one in found.insights if one.id == insight), hits=())
    assert found.insights
    id_ = memory.record_response(found, "Ana does.")
    assert id_ is not None
    (shown,) = memory.recall("Who likes the river and school?", include="exchanges").exchanges
    assert sorted(shown.source_ids) == ["boat", "river", "school"]
    memory.forget("school")
    assert memory.get(id_) is None
    assert memory.record_response(found, "Ana does.") is None, "the insight is gone"


def test_record_response_stores_nothing_if_an_insight_has_another_text(memory: Memory) -> None:
    remember_insight(memory)
    found = memory.recall("Who likes the river and school?", limit=1, include="insights")
    changed = replace(found, insights=tuple(replace(one, text="Ana likes the boat.") for one in found.insights))
    assert found.insights
    assert memory.record_response(changed, "Ana does.") is None
    assert memory.record_response(found, "Ana does.") is not None


def test_exchange_is_deleted_with_the_memories_of_its_engrams(memory: Memory) -> None:
    memory.remember("Ana likes Porto.", id="porto")
    found = memory.recall("Who likes Porto?", include="engrams")
    (engram,) = (one for one in found.engrams if one.name == "Porto")
    id_ = memory.record_response(replace(found, hits=(), engrams=(engram,)), "Ana does.")
    assert id_ is not None
    memory.forget("porto")
    assert memory.get(id_) is None
