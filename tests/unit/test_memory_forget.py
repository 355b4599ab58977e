"""Memory.forget: by id, by filter, permanently."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.memory import Memory
from ecphora.model.types import Edge, Episode, Filter, Kind, Link, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import NOON, FakeClock, sample_entity, sample_node

LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))


PORTO = "Ana lives in Porto."


FARO = "Ana lives in Faro."


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


def test_forget_erases_by_id(memory: Memory) -> None:
    memory.remember([Episode("Ana met Zebulon.", id="a"), Episode("Ana left.", id="b"), Episode("Rain.", id="c")])
    assert memory.forget("a").episode_ids == ("a",)
    assert (memory.get("a"), len(memory)) == (None, 2)
    assert memory.forget("a").episode_ids == ()
    result = memory.forget(["b", "c", "b", "nothing"])
    assert (set(result.episode_ids), bool(result)) == ({"b", "c"}, True)
    assert len(memory.graph()) == 0
    assert memory.recall("Ana").hits == ()


def test_forget_erases_names_with_their_last_mention(memory: Memory) -> None:
    memory.remember([Episode("I met Zebulon in Porto.", id="a"), Episode("I like Porto.", id="b")])
    assert memory.forget("a").entity_ids == ("entity:zebulon",)
    assert memory.graph().row("entity:porto") is not None
    assert memory.forget("b").entity_ids == ("entity:porto",)


def test_forget_erases_by_filter(memory: Memory) -> None:
    memory.remember([Episode(PORTO, id="a", speaker="Ana"), Episode(FARO, id="b", speaker="Ben")])
    assert memory.forget(where=Filter(speakers=("Zorro",))).episode_ids == ()
    assert memory.forget(where=Filter(speakers=("Ana",))).episode_ids == ("a",)
    assert memory.forget().episode_ids == ()
    assert len(memory) == 1
    with pytest.raises(InvalidInput, match="say what is to be forgotten"):
        memory.forget(where=Filter())
    assert memory.forget(where=Filter(before=NOON + timedelta(days=1))).episode_ids == ("b",)


@pytest.mark.medium
def test_dry_run_says_what_would_be_erased(memory: Memory) -> None:
    memory.remember([Episode("I met Zebulon in Porto.", id="a", speaker="Ana"), Episode("I like Porto.", id="b")])
    memory.remember(LONG, id="stay", speaker="Ana")
    expected = memory.forget(where=Filter(speakers="Ana"), dry_run=True)
    assert (len(memory), expected.episode_ids) == (3, ("a", "stay"))
    assert "entity:zebulon" in expected.entity_ids
    assert "entity:porto" not in expected.entity_ids
    assert memory.forget("b", dry_run=True).entity_ids == ()
    result = memory.forget(where=Filter(speakers="Ana"))
    assert result.episode_ids == expected.episode_ids
    assert set(result.entity_ids) == set(expected.entity_ids)


@pytest.mark.medium
def test_forget_erases_a_session_a_speaker_and_a_scope(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    other = open_memory("another")
    other.remember("It rains.", id="rain")
    memory.remember([Episode(PORTO, id="a", speaker="Ana", session="s"), Episode(FARO, id="b", speaker="Ben")])
    memory.remember([Episode("Ana sails.", id="c", session="s"), Episode(LONG, id="stay", speaker="Ben")])
    memory.remember("Ben has a boat.", id="d")
    memory.feedback(memory.recall("Who has a boat?"), ["d"])
    assert memory.forget(where=Filter(sessions="s")).episode_ids == ("a", "c")
    assert set(memory.forget(where=Filter(speakers="Ben")).episode_ids) == {"b", "stay"}
    assert memory.forget(everything=True, dry_run=True).episode_ids == ("d",)
    assert memory.forget(everything=True).episode_ids == ("d",)
    assert len(memory.graph()) == 0
    assert memory.forget(everything=True).episode_ids == ()
    assert len(other) == 1


def test_everything_is_given_alone(memory: Memory) -> None:
    memory.remember(PORTO, id="a")
    with pytest.raises(InvalidInput, match="give it without ids and where"):
        memory.forget("a", everything=True)
    with pytest.raises(InvalidInput, match="give it without ids and where"):
        memory.forget(where=Filter(), everything=True)
    assert len(memory) == 1


@pytest.mark.medium
def test_forget_everything_erases_derived_nodes_without_a_source(memory: Memory, tmp_path: Path) -> None:
    nodes = [
        {"id": f"{kind}:evil", "kind": kind, "text": "Zebulon hides rubies.", "title": "Why?",
         "happened_at": "2026-01-01", "recorded_at": "2026-01-01"}
        for kind in ("insight", "claim", "description", "question", "exchange")
    ]  # fmt: skip
    mention = {"src": "insight:evil", "dst": "entity:xanadu", "link": "mentions"}
    entity = {**nodes[0], "id": "entity:xanadu", "kind": "entity", "text": "Xanadu"}
    records = [{"ecphora": 2}, *({"node": node} for node in (*nodes, entity)), {"edge": mention}]
    memory.remember(Episode(PORTO, id="a"))
    memory.import_(json.dumps(record) + "\n" for record in records)
    memory.forget(everything=True)
    assert len(memory.graph()) == 0
    out = io.StringIO()
    memory.export(out)
    assert '{"node":{' not in out.getvalue()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert [word in stored for word in (b"Zebulon", b"Xanadu", b"xanadu")] == [False] * 3


def test_forget_everything_erases_entities_that_no_memory_mentions(
    memory: Memory, open_memory: Callable[..., Memory]
) -> None:
    memory.remember(Episode(PORTO, id="a"))
    entities = sample_entity("Zorro"), sample_entity("Xanadu")
    edges = (Edge("entity:zorro", "entity:zorro", Link.MENTIONS),)
    memory._store.commit("default", WriteBatch(nodes=entities, edges=edges))
    other = open_memory()
    assert other.graph().row("entity:xanadu") is not None
    memory.forget(everything=True)
    assert [len(handle.graph()) for handle in (memory, other)] == [0, 0]
    assert open_memory().remember(Episode(FARO, id="b")).ids == ("b",)
    assert other.get("b") is not None


def test_forget_erases_all_chunks_of_a_text(memory: Memory) -> None:
    memory.remember(LONG, id="stay")
    assert memory.forget("stay").episode_ids == ("stay",)
    assert len(memory.graph()) == 0
    assert memory.remember(LONG, id="stay").blocked == ("stay",)


def test_forgotten_memory_is_blocked_unless_restored(memory: Memory, open_memory: Callable[..., Memory]) -> None:
    episode = Episode(PORTO, id="a", happened_at="2026-05-01")
    memory.remember(episode)
    memory.forget("a")
    other = open_memory()
    for again in (
        episode,
        Episode(PORTO, happened_at="2026-05-01"),
        Episode(PORTO, id="b", happened_at=date(2026, 5, 1)),
    ):
        result = other.remember([again, FARO])
        assert len(result.blocked) == 1
    assert len(other) == 1
    assert other.remember(episode, restore=True).created == ("a",)
    assert other.remember(episode).existing == ("a",)
    assert memory.get("a") is not None


@pytest.mark.medium
def test_forget_keeps_a_name_mentioned_concurrently(open_memory: Callable[..., Memory], tmp_path: Path) -> None:
    other = open_memory()
    other.remember("I met Zebulon.", id="a")

    class RacingStore(SQLiteStore):
        def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
            if batch.tombstones and other.get("b") is None:
                other.remember("Zebulon called.", id="b")
            return super().commit(scope, batch)

    store = RacingStore(tmp_path / "memory.db")
    memory = Memory(store, embedder=HashingEmbedder(64), clock=FakeClock())
    assert memory.forget("a").entity_ids == ()
    assert memory.graph().row("entity:zebulon") is not None
    assert len(memory.graph().edges) == 1
    store.close()


def test_names_and_claims_are_not_forgotten_alone(memory: Memory) -> None:
    """Nothing of a list is erased then, and no tombstone keeps the name; insights can be forgotten."""
    memory.remember(Episode("Zebulon lives in Porto.", id="a", speaker="Ana"))
    nodes = sample_node("claim:a", kind=Kind.CLAIM), sample_node("insight:a", kind=Kind.INSIGHT)
    edges = Edge("claim:a", "a", Link.CLAIMED_IN), Edge("insight:a", "a", Link.DERIVED_FROM)
    memory._store.commit("default", WriteBatch(nodes=nodes, edges=edges))
    for dry_run in (True, False):
        with pytest.raises(InvalidInput, match="'entity:zebulon' is a name, not a memory; recall the name, and"):
            memory.forget(["a", "entity:zebulon"], dry_run=dry_run)
        with pytest.raises(InvalidInput, match=r"'claim:a' is a claim read off a memory; forget 'a', or, .*reject"):
            memory.forget(["a", "claim:a"], dry_run=dry_run)
    reply = memory.tools().call("forget", {"ids": ["entity:zebulon"], "dry_run": False})
    assert reply.startswith("Error: 'entity:zebulon' is a name")
    assert (len(memory), memory.graph().tombstones) == (1, frozenset())
    assert memory.forget("insight:a").episode_ids == ("insight:a",)
    assert set(memory.forget(["a", "entity:nobody"]).entity_ids) == {"entity:zebulon", "entity:porto"}
    assert not {"entity:zebulon", "claim:a"} & set(memory.graph().tombstones)
