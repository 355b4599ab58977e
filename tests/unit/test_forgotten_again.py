"""What was forgotten or replaced stays so when it is remembered or imported again, and blocks nothing else."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from ecphora.language import chunking
from ecphora.maintenance.interchange import jsonl
from ecphora.memory import Memory
from ecphora.model.types import Edge, Episode, Kind, Link, Node, ValidityEnd, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember import documents
from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import FakeClock, sample_node

INTRO = "# Intro\n\n" + "This is teh handbook of the firm. " * 40
RULES = "\n\n# Rules\n\n" + "Everybody comes at nine. " * 90
HANDBOOK = INTRO + RULES
VISITORS = "# Visitors\n\n" + "All visitors register first. " * 60 + RULES
JANUARY, MARCH, APRIL = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 3, 4))
OpenMemory = Callable[[str], Memory]


class TickingClock(FakeClock):
    """A second later with every call: the text of a memory is replaced later than the memory was stored."""

    def __call__(self) -> datetime:
        return self.advance(seconds=1)


@pytest.fixture
def open_memory(tmp_path: Path) -> Iterator[OpenMemory]:
    opened = []

    def open_one(name: str) -> Memory:
        opened.append(Memory(tmp_path / name, embedder=HashingEmbedder(64), update_scorer=None, clock=TickingClock()))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory("memory.db")


def export(memory: Memory) -> Sequence[str]:
    out = StringIO()
    memory.export(out)
    return out.getvalue().splitlines()


def get(memory: Memory, id_: str) -> Node:
    node = memory.get(id_)
    assert node is not None
    return node


# ---- long texts


@pytest.mark.medium
def test_corrected_text_can_be_superseded_and_shares_its_sections(memory: Memory) -> None:
    memory.remember(HANDBOOK, id="handbook")
    corrected = HANDBOOK.replace("teh", "the")
    memory.update("handbook", corrected, mode="replace")
    result = memory.update("handbook", corrected.replace("the firm", "our firm"), mode="supersede")
    assert (result.created, result.blocked) == ((result.id,), ())
    assert memory.remember(VISITORS).blocked == ()
    assert memory.remember(memory.chunks("handbook")[-1].text).blocked == ()
    assert memory.remember(HANDBOOK, id="handbook").blocked == ("handbook",)
    assert memory.remember(HANDBOOK).blocked != ()


@pytest.mark.medium
def test_forgotten_text_is_blocked_under_any_id_and_in_other_chunks(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember(HANDBOOK, id="handbook")
    chunk_texts = [node.text for node in memory.chunks("handbook")]
    memory.forget("handbook#2")
    assert memory.remember(HANDBOOK, id="other").blocked == ("other",)
    assert memory.remember(VISITORS, id="handbook").blocked == ("handbook",)  # by its id, as a short text is
    monkeypatch.setattr(
        documents, "split_into_chunks", lambda text, **_: chunking.split_into_chunks(text, markdown=False)
    )
    other_chunks = documents.check_episode(Episode(HANDBOOK, "other"), FakeClock().now).chunks
    assert [node.text for node in other_chunks] != chunk_texts
    assert memory.remember(HANDBOOK, id="other").blocked == ("other",)
    assert memory.remember(VISITORS, id="visitors").created == ("visitors",)
    assert memory.remember(HANDBOOK, id="other", restore=True).created == ("other",)


def test_long_text_is_blocked_by_the_id_of_a_forgotten_short_one(memory: Memory) -> None:
    memory.remember("Short.", id="handbook")
    memory.forget("handbook")
    assert memory.remember("Shorter.", id="handbook").blocked == ("handbook",)
    assert memory.remember(HANDBOOK, id="handbook").blocked == ("handbook",)


def test_short_text_is_blocked_by_the_id_of_a_forgotten_long_one(memory: Memory) -> None:
    memory.remember(HANDBOOK, id="handbook")
    memory.forget("handbook")
    assert memory.remember("Short.", id="handbook").blocked == ("handbook",)


@pytest.mark.medium
def test_text_that_shares_a_section_is_imported_whole(memory: Memory, open_memory: OpenMemory) -> None:
    other = open_memory("other.db")
    other.remember([Episode(VISITORS, "visitors"), Episode(HANDBOOK, "manual")])
    lines = export(other)
    memory.remember(HANDBOOK, id="handbook")
    memory.forget("handbook")
    result = memory.import_(lines)
    assert result.blocked == len(other.chunks("manual"))
    assert get(memory, "visitors").text == VISITORS
    assert memory.get("manual") is None
    assert memory.import_(lines).blocked == result.blocked


@pytest.mark.medium
def test_import_completes_a_text_with_missing_chunks(memory: Memory, open_memory: OpenMemory) -> None:
    other = open_memory("other.db")
    other.remember(VISITORS, id="visitors")
    lines = export(other)
    memory.import_([line for line in lines if "visitors#4" not in line])
    assert get(memory, "visitors").text != VISITORS
    memory.import_(lines)
    assert get(memory, "visitors").text == VISITORS


@pytest.mark.medium
def test_interrupted_import_of_a_restored_text_continues(
    memory: Memory, open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The tombstones of a text that came back are committed with it, and not before."""
    monkeypatch.setattr(jsonl, "NODES_PER_PORTION", 1)
    memory.remember(["The cat sleeps.", Episode("Short.", "handbook")])
    memory.update("handbook", HANDBOOK, mode="replace")
    memory.remember(VISITORS, id="visitors")
    memory.forget("visitors")
    memory.remember(VISITORS, id="guests", restore=True)
    lines = export(memory)

    class InterruptedStore(SQLiteStore):
        def commit(self, scope: str, batch: WriteBatch, /) -> WriteBatch:
            written = super().commit(scope, batch)
            raise KeyboardInterrupt(written)

    with closing(InterruptedStore(tmp_path / "other.db")) as store, pytest.raises(KeyboardInterrupt):
        jsonl.import_scope(lines, store, "default", HashingEmbedder(64))
    other = open_memory("other.db")
    assert len(other) == 1
    assert other.import_(lines).blocked == 0
    assert (get(other, "handbook").text, get(other, "guests").text) == (HANDBOOK, VISITORS)
    assert export(other)[1:] == lines[1:]


# ---- replaced texts


@pytest.mark.parametrize(
    ("first", "text"),
    [("My PIN is 1111.", "My PIN is 4711."), ("My PIN is 1111.", HANDBOOK), (HANDBOOK, "My PIN is 4711.")],
)
def test_replaced_memory_without_a_date_stays_forgotten(first: str, text: str, memory: Memory) -> None:
    id_ = memory.remember(first).id
    memory.update(id_, text, mode="replace")
    memory.forget(id_)
    assert memory.remember(text, id="again").blocked == ("again",)
    assert memory.remember(first).blocked == (id_,)


def test_each_text_of_a_memory_that_is_replaced_twice_stays_forgotten(memory: Memory) -> None:
    id_ = memory.remember("one").id
    for text in ("two", "three"):
        memory.update(id_, text, mode="replace")
    assert memory.remember([Episode(text, text) for text in ("one", "two", "three")]).blocked == ("one", "two")


def test_forgetting_a_dated_memory_blocks_none_of_another_time(memory: Memory) -> None:
    memory.remember("We had lunch.", id="a", happened_at="2026-01-01")
    memory.forget("a")
    assert memory.remember("We had lunch.", id="b").created == ("b",)


@pytest.mark.parametrize("happened_at", [None, "2026-01-01"])
def test_forgotten_text_does_not_come_back_by_replacing(happened_at: str | None, memory: Memory) -> None:
    memory.remember([Episode(text, text, happened_at=happened_at) for text in ("secret", "other", "public")])
    memory.forget("secret")
    revision = memory.graph().revision
    result = memory.update("public", "secret", mode="replace")
    assert (result.ids, result.created, result.blocked) == (("public",), (), ("public",))
    assert (get(memory, "public").text, memory.graph().revision) == ("public", revision)
    tool_call = {"id": "public", "text": "secret", "mode": "replace", "happened_at": None}
    assert (
        memory.tools().call("update", tool_call)
        == "Nothing changed: a memory with this text was forgotten or replaced before."
    )
    memory.update("public", "draft", mode="replace")
    assert memory.update("public", "secret", mode="replace").blocked == ("public",)  # whether it has a date or not
    assert memory.update("public", "public", mode="replace").blocked == ("public",)
    assert memory.update("public", "another", mode="replace").created == ("public",)


# ---- what an import brings along


@pytest.fixture
def moves(memory: Memory) -> Memory:
    memory.remember("Ana lives in Porto.", id="old", happened_at=JANUARY)
    memory.remember("Ana lives in Faro.", id="new", happened_at=MARCH, supersedes="old")
    return memory


@pytest.mark.medium
def test_import_ends_nothing_by_a_memory_that_is_gone(moves: Memory, open_memory: OpenMemory) -> None:
    lines = export(moves)
    moves.forget("new")
    assert moves.import_(lines).validity_ends == 0
    assert get(moves, "old").valid_to is None
    other = open_memory("other.db")
    other.remember("Ana lives in Faro.", happened_at=MARCH)
    other.forget(everything=True)
    other.import_(lines)
    assert (get(other, "old").valid_to, other.get("new")) == (None, None)
    other.import_(lines, restore=True)
    assert get(other, "old").valid_to == MARCH


@pytest.mark.parametrize("is_newest_forgotten", [False, True])
def test_import_ends_what_another_memory_superseded_too(
    moves: Memory, open_memory: OpenMemory, *, is_newest_forgotten: bool
) -> None:
    moves.remember("Ana lives in Braga.", id="newest", happened_at=APRIL, supersedes="old")
    lines = export(moves)
    gone, end = ("newest", MARCH) if is_newest_forgotten else ("new", APRIL)
    text = get(moves, gone).text
    moves.forget(gone)
    moves.import_(lines)
    other = open_memory("other.db")
    other.remember(text, id=gone)
    other.forget(gone)
    other.import_(lines)
    assert get(moves, "old").valid_to == get(other, "old").valid_to == end
    assert export(moves)[1:] != lines[1:]


@pytest.mark.medium
def test_import_ends_a_replaced_text_by_what_is_left(moves: Memory, open_memory: OpenMemory) -> None:
    """A replaced text has kept the last of its ends alone."""
    moves.remember("Ana lives in Braga.", id="newest", happened_at=APRIL, supersedes="old")
    moves.update("old", "Ana lived in Porto.", mode="replace")
    other = open_memory("other.db")
    other.remember("Ana lives in Braga.", id="newest")
    other.forget("newest")
    other.import_(export(moves))
    moves.forget("newest")
    assert get(moves, "old").valid_to == get(other, "old").valid_to == MARCH


def test_import_keeps_ends_that_no_memory_set(memory: Memory, open_memory: OpenMemory) -> None:
    nodes = sample_node("a"), sample_node("b"), sample_node("claim:a", kind=Kind.CLAIM)
    memory._store.commit(
        "default",
        WriteBatch(
            nodes=nodes,
            edges=(Edge("claim:a", "a", Link.CLAIMED_IN), Edge("b", "claim:a", Link.SUPERSEDES)),
            validity_ends=(ValidityEnd("a", MARCH, MARCH), ValidityEnd("claim:a", APRIL, APRIL)),
        ),
    )
    other = open_memory("other.db")
    other.remember("b", id="b")
    other.forget("b")
    assert other.import_(export(memory)).blocked == 1
    assert (get(other, "a").valid_to, get(other, "claim:a").valid_to) == (MARCH, APRIL)


@pytest.mark.medium
def test_import_restores_no_spelling_or_time_of_a_forgotten_mention(memory: Memory, open_memory: OpenMemory) -> None:
    memory.remember("I saw ZORRO-MARIE in Paris.", id="gone", happened_at="1999-01-01")
    memory.remember("I met Zorro-Marie in Rome.", id="kept", happened_at=MARCH)
    memory.remember("I met Zorro-Marie in Faro.", id="later", happened_at=APRIL)
    lines = export(memory)
    memory.forget("gone")
    other = open_memory("other.db")
    other.remember("I saw ZORRO-MARIE in Paris.", id="gone")
    other.forget("gone")
    other.import_(lines)
    for id_ in ("entity:zorro marie", "entity:rome"):
        expected = get(memory, id_)
        assert (get(other, id_).text, get(other, id_).happened_at) == (expected.text, expected.happened_at)
        assert get(other, id_).recorded_at == expected.recorded_at
    assert (get(other, "entity:zorro marie").text, get(other, "entity:rome").happened_at) == ("Zorro-Marie", MARCH)
    assert not any("1999" in line or "ZORRO" in line for line in export(other))
