"""Memory.update: a new memory supersedes the old one, or another text takes its place."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest

from ecphora.errors import IdCollision, InvalidInput, StaleWrite
from ecphora.memory import Memory
from ecphora.model.types import Episode, Filter, Kind, Node, RememberResult, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, graph_differences, sample_node

LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(100))
LONGER = "".join(f"Ana met Tom in Ghent on day {day} of her journey. " for day in range(150))
CLOCK = FakeClock()
ANA = Episode(
    "Ana lives in Zanzibar.", id="home", speaker="Ana", session="s", happened_at="2026-02-01", title="Home",
    source="chat", metadata={"tags": ["x"]}, trust=0.5,
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def open_memory(path: Path, **options: object) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=CLOCK, **options)  # type: ignore[arg-type]


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with open_memory(path) as opened:
        opened.remember(ANA)
        yield opened


def get(memory: Memory, id_: str) -> Node:
    node = memory.get(id_)
    assert node is not None
    return node


def text_in_file(path: Path) -> bytes:
    return path.read_bytes() + path.with_name(path.name + "-wal").read_bytes()


# ---- supersede


def test_supersede_writes_a_memory_that_supersedes(memory: Memory) -> None:
    result = memory.update("home", "Ana lives in Ghent.", mode="supersede", happened_at="2026-03-01")
    new = get(memory, result.id)
    assert (result.created, new.text, new.id != "home") == ((new.id,), "Ana lives in Ghent.", True)
    assert [getattr(new, name) for name in ("speaker", "session", "title", "source", "metadata", "trust")] == [
        getattr(get(memory, "home"), name) for name in ("speaker", "session", "title", "source", "metadata", "trust")
    ]
    history = memory.history("home")
    assert history is not None
    assert [node.id for node in history.successors] == [new.id]
    assert get(memory, "home").valid_to == new.happened_at
    assert memory.update("home", "Ana lives in Ghent.", mode="supersede", happened_at="2026-03-01").existing == (
        new.id,
    )


def test_superseded_memory_is_not_superseded_again(memory: Memory) -> None:
    new_id = memory.update("home", "Ana lives in Ghent.", mode="supersede", happened_at="2026-03-01").id
    with pytest.raises(InvalidInput, match=f"'home' is superseded by '{new_id}'; update that one"):
        memory.update("home", "Ana lives in Faro.", mode="supersede", happened_at="2026-04-01")
    newest_id = memory.update(new_id, "Ana lives in Faro.", mode="supersede", happened_at="2026-04-01").id
    memory.forget(newest_id)
    assert memory.update(new_id, "Ana lives in Braga.", mode="supersede", happened_at="2026-05-01").created


def test_memory_may_be_updated_back_to_an_earlier_text(memory: Memory) -> None:
    """Paris, Rome, Paris, Rome: four memories, each superseded by the next."""
    chain = [memory.remember("Bo lives in Paris.", speaker="Bo").id]
    for text in ("Bo lives in Rome.", "Bo lives in Paris.", "Bo lives in Rome."):
        CLOCK.advance(days=1)
        result = memory.update(chain[-1], text, mode="supersede")
        assert (result.created, result.existing) == ((result.id,), ())
        again = memory.update(chain[-1], text, mode="supersede")
        assert (again.created, again.existing) == ((), (result.id,)), "the reply was lost, and the call repeated"
        chain.append(result.id)
    assert len(set(chain)) == 4
    history = memory.history(chain[-1])
    assert history is not None
    assert [node.id for node in history.predecessors] == chain[:-1]
    current = [hit.id for hit in memory.recall("Where does Bo live?") if hit.validity is None and "Bo" in hit.text]
    assert current == chain[-1:]
    again = memory.remember("Bo lives in Paris.", speaker="Bo")
    assert again.created == (again.id,), "said after what is newer"
    assert len(memory) == 6


def test_update_to_the_text_of_another_memory_supersedes(memory: Memory) -> None:
    other = memory.remember("Ana lives in Ghent.", speaker="Ana").id
    old = memory.remember("Ana lives in Faro.", speaker="Ana").id
    new = memory.update(old, "Ana lives in Ghent.", mode="supersede")
    assert new.created == (new.id,)
    assert new.id != other
    assert (get(memory, new.id).text, get(memory, old).valid_to is not None) == ("Ana lives in Ghent.", True)


def test_restored_memory_may_be_updated_again(memory: Memory) -> None:
    """What superseded it before it was forgotten is stored, but supersedes it no longer."""
    first = memory.remember("Bo lives in Paris.").id
    second = memory.update(first, "Bo lives in Rome.", mode="supersede").id
    third = memory.update(second, "Bo lives in Paris.", mode="supersede").id
    memory.forget(second)
    memory.remember("Bo lives in Rome.", restore=True)
    fourth = memory.update(second, "Bo lives in Paris.", mode="supersede")
    assert fourth.created == (fourth.id,)
    assert len({first, second, third, fourth.id}) == 4


@pytest.mark.medium
def test_long_text_may_be_updated_back(memory: Memory) -> None:
    first = memory.remember(LONG, speaker="Bo").id
    second = memory.update(first, LONGER, mode="supersede").id
    third = memory.update(second, LONG, mode="supersede").id
    assert memory.update(second, LONG, mode="supersede").existing == (third,)
    assert (get(memory, third).text, len({first, second, third})) == (LONG, 3)


def test_repeated_update_may_leave_out_the_time_but_not_change_it(memory: Memory) -> None:
    new_id = memory.update("home", "Ana lives in Ghent.", mode="supersede", happened_at="2026-03-01").id
    assert memory.update("home", "Ana lives in Ghent.", mode="supersede").existing == (new_id,)
    with pytest.raises(InvalidInput, match=f"'home' is superseded by '{new_id}'; update that one"):
        memory.update("home", "Ana lives in Ghent.", mode="supersede", happened_at="2026-04-01")
    assert len(memory) == 2


def test_update_supersedes_though_another_process_stores_its_text_meanwhile(
    memory: Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = memory.remember("Bo lives in Paris.", speaker="Bo").id
    remember = memory.remember
    others: list[str] = []

    def race(episode: Episode) -> RememberResult:
        if not others:
            with open_memory(path) as other:
                others.append(other.remember("Bo lives in Rome.", speaker="Bo").id)
        return remember(episode)

    monkeypatch.setattr(memory, "remember", race)
    new = memory.update(old, "Bo lives in Rome.", mode="supersede")
    assert new.created == (new.id,)
    assert others != [new.id]
    history = memory.history(old)
    assert history is not None
    assert [node.id for node in history.successors] == [new.id]


# ---- replace


def test_replace_keeps_the_id_and_all_but_the_text(memory: Memory) -> None:
    before = get(memory, "home")
    CLOCK.advance(days=1)
    assert memory.update("home", "Ana lives in Ghent.", mode="replace").created == ("home",)
    after = get(memory, "home")
    assert after.text == "Ana lives in Ghent."
    names = (
        "id",
        "speaker",
        "session",
        "title",
        "source",
        "metadata",
        "trust",
        "happened_at",
        "valid_from",
        "valid_to",
    )
    assert [getattr(after, name) for name in names] == [getattr(before, name) for name in names]
    assert (len(memory), after.recorded_at > before.recorded_at) == (1, True)


def test_replace_erases_the_old_text(memory: Memory, path: Path) -> None:
    memory.feedback(memory.recall("Where does Ana live?"), ["home"])
    assert b"Zanzibar" in text_in_file(path)
    memory.update("home", "Ana lives in Ghent.", mode="replace")
    assert b"Zanzibar" not in text_in_file(path)
    assert b"zanzibar" not in text_in_file(path)
    graph = memory.graph()
    assert graph.row("entity:zanzibar") is None
    assert graph.row("entity:ghent") is not None
    assert graph.row("entity:ana") is not None  # it was an orphan, and is mentioned again
    assert not graph.of_kind(Kind.QUESTION).any()
    assert [hit.text for hit in memory.recall("Zanzibar", strategy="bm25")] == []
    assert [hit.id for hit in memory.recall("Ghent", strategy="bm25")] == ["home"]


@pytest.mark.medium
@pytest.mark.parametrize(("old", "new"), [(LONG, "Short."), ("Short.", LONG), (LONG, LONGER), (LONGER, LONG)])
def test_replace_of_long_texts(old: str, new: str, memory: Memory, path: Path) -> None:
    memory.remember(old, id="text", speaker="Ana")
    memory.maintenance.pin("text")
    memory.update("text", new, mode="replace")
    assert get(memory, "text").text == new
    assert len(memory) == 2
    assert len(memory.chunks("text")) == len(memory.graph()) - 1 - int(memory.graph().of_kind(Kind.ENTITY).sum())
    with open_memory(path) as other:
        assert graph_differences(other.graph(), memory.graph()) == []


def test_open_memory_sees_a_replaced_text(memory: Memory, path: Path) -> None:
    with open_memory(path) as other:
        assert get(other, "home").text == ANA.text
        memory.update("home", "Ana lives in Ghent.", mode="replace")
        memory.update("home", "Ana lives in Faro.", mode="replace")
        assert get(other, "home").text == "Ana lives in Faro."
        assert graph_differences(other.graph(), memory.graph()) == []


def test_replace_keeps_supersession_validity_and_marks(memory: Memory) -> None:
    memory.remember("Ana lives in Ghent.", id="new", supersedes="home", happened_at="2026-03-01")
    memory.remember("Ana lives in Faro.", id="last", supersedes="new", happened_at="2026-04-01")
    memory.maintenance.archive("new")
    end = get(memory, "new").valid_to
    memory.update("new", LONG, mode="replace")
    history = memory.history("new")
    assert history is not None
    assert [node.id for node in history.predecessors] == ["home"]
    assert [node.id for node in history.successors] == ["last"]
    assert {node.valid_to for node in memory.chunks("new")} == {end}
    assert {access.kind.value for access in history.accesses} >= {"archived"}


def test_replace_keeps_the_start_of_validity(memory: Memory) -> None:
    start = CLOCK.now - timedelta(days=9)
    imported = replace(sample_node("old", "It rained."), valid_from=start)
    memory._store.commit("default", WriteBatch(nodes=(imported,)))
    memory.update("old", "It snowed.", mode="replace")
    assert (get(memory, "old").text, get(memory, "old").valid_from) == ("It snowed.", start)


def test_replaced_text_stays_forgotten(memory: Memory) -> None:
    auto = memory.remember("It rains in Porto.").id
    memory.update(auto, "It snows in Porto.", mode="replace")
    assert memory.remember("It rains in Porto.").blocked == (auto,)
    with pytest.raises(IdCollision):
        memory.remember("It rains in Porto.", restore=True)
    assert memory.remember("It snows in Porto.", id=auto, happened_at=get(memory, auto).happened_at).existing == (auto,)
    with pytest.raises(IdCollision):
        memory.remember("It hails in Porto.", id=auto)


def test_replace_gives_other_metadata_and_keeps_it_by_default(memory: Memory) -> None:
    assert memory.update("home", ANA.text, mode="replace", metadata={"tags": ["y"], "n": 1}).created == ("home",)
    assert get(memory, "home").metadata == {"tags": ["y"], "n": 1}
    assert memory.count(where=Filter(metadata={"tags": "x"})) == 0
    assert memory.count(where=Filter(metadata={"n": 1})) == 1
    again = memory.update("home", ANA.text, mode="replace", metadata={"tags": ["y"], "n": 1})
    assert (again.created, again.existing) == ((), ("home",))
    memory.update("home", "Ana lives in Ghent.", mode="replace")
    assert get(memory, "home").metadata == {"tags": ["y"], "n": 1}
    memory.update("home", "Ana lives in Ghent.", mode="replace", metadata={})
    assert get(memory, "home").metadata == {}


def test_metadata_of_a_long_text_is_replaced_in_every_chunk(memory: Memory) -> None:
    memory.remember(LONG, id="trip", metadata={"year": 2025})
    memory.update("trip", LONG, mode="replace", metadata={"year": 2026})
    assert {chunk.metadata["year"] for chunk in memory.chunks("trip")} == {2026}
    assert get(memory, "trip").text == LONG


def test_supersede_with_other_metadata(memory: Memory) -> None:
    new = memory.update("home", "Ana lives in Ghent.", mode="supersede", metadata={"tags": ["z"]})
    assert (get(memory, new.id).metadata, get(memory, "home").metadata) == ({"tags": ["z"]}, {"tags": ["x"]})
    same = memory.update(new.id, "Ana lives in Ghent.", mode="supersede", metadata={"tags": ["w"]})
    assert get(memory, same.id).metadata == {"tags": ["w"]}


def test_replace_back_to_an_earlier_text_needs_restore(memory: Memory) -> None:
    memory.update("home", "Ana lives in Ghent.", mode="replace")
    assert memory.update("home", ANA.text, mode="replace").blocked == ("home",)
    assert memory.update("home", ANA.text, mode="replace", restore=True).created == ("home",)
    assert get(memory, "home").text == ANA.text
    assert [hit.id for hit in memory.recall("Where does Ana live?")] == ["home"]


def test_restore_goes_with_replace_only(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r'restore goes with mode="replace"'):
        memory.update("home", "Ana lives in Ghent.", mode="supersede", restore=True)
    with pytest.raises(InvalidInput, match="metadata is a list"):
        memory.update("home", "Ana lives in Ghent.", mode="replace", metadata=["x"])  # type: ignore[arg-type]


def test_replaced_memory_is_exported_and_imported(memory: Memory, tmp_path: Path) -> None:
    memory.update("home", "Ana lives in Ghent.", mode="replace")
    out = StringIO()
    memory.export(out)
    assert "Zanzibar" not in out.getvalue()
    with open_memory(tmp_path / "other.db") as other:
        other.import_(out.getvalue().splitlines())
        assert get(other, "home").text == "Ana lives in Ghent."


class RacingStore(SQLiteStore):
    """Lets another process replace the memory "home" before the first replacement or forgetting."""

    has_raced = False

    def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
        if batch.tombstones and not self.has_raced:
            self.has_raced = True
            with open_memory(Path(self.path)) as other:
                text, metadata = "the cat sleeps all day. " * 200, {"version": 2}
                other.update("home", text, mode="replace", metadata=metadata, restore=True)
        return super().commit(scope, batch)


def test_replace_is_one_commit_and_survives_a_race(path: Path) -> None:
    with open_memory(path) as first:
        first.remember("the cat sleeps", id="home")  # mentions no name, which two writers could not both create
    store = RacingStore(path)
    with open_memory(store) as memory:  # type: ignore[arg-type]
        before = memory.graph().revision
        memory.update("home", "the dog sleeps", mode="replace")
        assert get(memory, "home").text == "the dog sleeps"
        assert memory.graph().revision == before + 2
        assert [node.id for node in memory.find()] == ["home"]
        assert int(memory.graph().episodes.sum()) == 1
    store.close()


def test_replace_if_unchanged_and_forgetting_by_a_filter_lose_a_race(path: Path) -> None:
    with open_memory(path) as first:
        first.remember("the cat sleeps", id="home", metadata={"version": 1})
    for attempt in ("update", "forget"):
        store = RacingStore(path)
        with open_memory(store) as memory:  # type: ignore[arg-type]
            old = memory.update("home", "the cat sleeps", mode="replace", metadata={"version": 1}, restore=True)
            store.has_raced = False
            if attempt == "forget":
                assert not memory.forget(where=Filter(metadata={"version": 1}))
            else:
                with pytest.raises(StaleWrite, match="'home' was replaced or forgotten since it was read"):
                    memory.update("home", "the dog sleeps", mode="replace", if_unchanged=get(memory, old.id))
            assert get(memory, "home").metadata == {"version": 2}
        store.close()


def test_replace_if_unchanged(memory: Memory) -> None:
    old = get(memory, "home")
    memory.update("home", "Ana lives in Ghent.", mode="replace", if_unchanged=old)
    for _ in range(2):
        with pytest.raises(StaleWrite):
            memory.update("home", "Ana lives in Porto.", mode="replace", if_unchanged=old)
        memory.forget("home")
    with pytest.raises(InvalidInput, match=r'if_unchanged goes with mode="replace"'):
        memory.update("home", "Ana lives in Porto.", mode="supersede", if_unchanged=old)
    with pytest.raises(InvalidInput, match="give the memory that get returned"):
        memory.update("home", "Ana lives in Porto.", mode="replace", if_unchanged="home")  # type: ignore[arg-type]


# ---- both


@pytest.mark.parametrize("mode", ["supersede", "replace"])
def test_same_text_changes_nothing(mode: str, memory: Memory) -> None:
    before = memory.graph().revision
    assert memory.update("home", ANA.text, mode=mode).existing == ("home",)  # type: ignore[arg-type]
    assert memory.graph().revision == before


@pytest.mark.parametrize("mode", ["supersede", "replace"])
def test_update_needs_the_id_of_a_memory(mode: str, memory: Memory) -> None:
    memory.remember(LONG, id="stay")
    for id_, message in (
        ("nothing", "there is no memory 'nothing'; give the id"),
        ("entity:ana", "there is no memory 'entity:ana'; give the id"),
        ("stay#2", "'stay#2' is a chunk of 'stay'; give that id, with the whole new text"),
    ):
        with pytest.raises(InvalidInput, match=message):
            memory.update(id_, "Another text.", mode=mode)  # type: ignore[arg-type]


def test_mode_must_be_said(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="mode is 'overwrite'; give 'supersede' or 'replace'"):
        memory.update("home", "Another text.", mode="overwrite")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a replaced text keeps its time, leave it out"):
        memory.update("home", "Another text.", mode="replace", happened_at="2026-03-01")
    assert memory.count(where=Filter(metadata={"tags": "x"})) == 1
