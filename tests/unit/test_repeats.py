"""What is said again after something newer is a new memory; what is only sent again is not."""

import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from ecphora.errors import InvalidInput
from ecphora.memory import Memory
from ecphora.model.types import Episode, Filter, Media
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing import FakeClock

GHENT, PORTO = "I live in Ghent.", "I live in Porto."
LONG = "".join(f"Ana met Mia in Porto on day {day} of her stay. " for day in range(300))


def open_memory(path: Path) -> Memory:
    return Memory(path, embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock())


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "m.db") as opened:
        yield opened


def texts(memory: Memory, session: str | None = None) -> list[str]:
    where = Filter() if session is None else Filter(sessions=session)
    graph = memory.graph()
    return [node.text for node in sorted(memory.find(where=where), key=lambda node: graph.row(node.id) or 0)]


def test_statement_said_again_after_a_newer_one_is_a_new_memory(memory: Memory) -> None:
    told = [memory.remember(text) for text in (GHENT, PORTO, GHENT)]
    assert [len(one.created) for one in told] == [1, 1, 1]
    assert all(one.ids == one.created for one in told)
    assert texts(memory) == [GHENT, PORTO, GHENT]


def test_statement_said_again_at_once_is_stored_once(memory: Memory) -> None:
    first = memory.remember(GHENT)
    assert memory.remember(GHENT).existing == first.ids
    memory.remember(PORTO)
    third = memory.remember(GHENT)
    again = memory.remember(GHENT)
    assert (again.ids, again.existing) == (third.ids, third.ids)


def test_dry_run_shows_what_is_said_again(memory: Memory) -> None:
    memory.remember(GHENT)
    memory.remember(PORTO)
    planned = memory.remember(GHENT, dry_run=True)
    assert memory.remember(GHENT).created == planned.created == planned.ids


@pytest.mark.medium
def test_long_text_said_again_has_chunks_of_its_own(memory: Memory) -> None:
    first = memory.remember(LONG).id
    memory.remember(PORTO)
    second = memory.remember(LONG).id
    assert first != second
    for id_ in (first, second):
        assert (memory.get(id_).text, memory.chunks(id_)[0].document) == (LONG, id_)  # type: ignore[union-attr]


def test_only_the_session_says_whether_a_text_is_repeated(memory: Memory) -> None:
    first = memory.remember("Yes", session="one")
    memory.remember("Yes", session="two")
    assert memory.remember("Yes", session="one").existing == first.ids, "sent again while another session talks"
    memory.remember("Vegetarian meal?", session="one", speaker="assistant")
    assert memory.remember("Yes", session="one").created


@pytest.mark.parametrize(
    "place", [{"id": "a"}, {"happened_at": "2026-05-01"}, {"title": "Home"}, {"source": "notes.md"}]
)
def test_text_that_has_a_place_is_stored_once(place: dict[str, str], memory: Memory) -> None:
    first = memory.remember(Episode(GHENT, **place))  # type: ignore[arg-type]  # all are strings
    memory.remember(PORTO)
    assert memory.remember(Episode(GHENT, **place)).existing == first.ids  # type: ignore[arg-type]


def test_text_about_a_medium_is_stored_once(memory: Memory) -> None:
    shown = Episode(GHENT, media=(Media("ghent.jpg"),))
    first = memory.remember(shown)
    memory.remember(PORTO)
    assert memory.remember(shown).existing == first.ids


# ---- batches


def test_repeats_in_a_batch_are_stored_once_each_however_often_it_is_told(memory: Memory) -> None:
    first = memory.remember([GHENT, PORTO, GHENT, GHENT])
    assert (len(set(first.ids)), first.ids[2]) == (3, first.ids[3])
    memory.remember("It rains.")
    assert memory.remember([GHENT, PORTO, GHENT, GHENT]).existing == tuple(dict.fromkeys(first.ids))
    assert memory.remember([GHENT]).existing == first.ids[:1], "a batch of one is a batch"
    assert len(memory) == 4


def test_growing_conversation_keeps_the_same_short_reply(memory: Memory) -> None:
    talk = [
        {"role": role, "content": text}
        for role, text in (("assistant", "A window seat?"), ("user", "Yes"), ("assistant", "A meal?"), ("user", "Yes"))
    ]
    for message in talk:
        memory.remember(message, session="chat")
    assert texts(memory, "chat") == ["A window seat?", "Yes", "A meal?", "Yes"]
    for end in range(1, len(talk) + 1):
        assert not memory.remember(talk[:end], session="chat").created


def test_ids_of_repeats_are_the_same_in_every_file(memory: Memory, tmp_path: Path) -> None:
    for text in (GHENT, PORTO, GHENT):
        memory.remember(text)
    with open_memory(tmp_path / "other.db") as other:
        other.remember([GHENT, PORTO, GHENT])
        out = StringIO()
        other.export(out)
    out.seek(0)
    assert memory.import_(out).nodes == 0
    assert len(memory) == 3


def test_repeat_of_low_trust_supersedes_nothing(memory: Memory) -> None:
    memory.remember(GHENT)
    porto = memory.remember(PORTO).id
    with pytest.raises(InvalidInput, match="may not supersede"):
        memory.remember(GHENT, supersedes=porto, trust=0.5)
    back = memory.remember(GHENT, supersedes=porto)
    assert back.created == back.ids
    assert memory.get(porto).valid_to is not None  # type: ignore[union-attr]


def test_forgotten_repeat_comes_back_with_restore_alone(memory: Memory) -> None:
    memory.remember(GHENT)
    memory.remember(PORTO)
    third = memory.remember(GHENT)
    memory.forget(third.id)
    assert memory.remember(GHENT).blocked == third.ids
    assert memory.remember(GHENT, restore=True).created == third.ids


@pytest.mark.medium
def test_repeat_told_by_several_at_once_is_one_memory(memory: Memory, tmp_path: Path) -> None:
    memory.remember([GHENT, PORTO])
    results, barrier = [], threading.Barrier(4)

    def tell() -> None:
        with open_memory(tmp_path / "m.db") as other:
            barrier.wait(30)
            results.append(other.remember(GHENT))

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(len(one.created) for one in results) == [0, 0, 0, 1]
    assert texts(memory) == [GHENT, PORTO, GHENT]


# ---- tools


def test_tool_remembers_what_the_model_says_again(memory: Memory) -> None:
    tools = memory.tools()
    for text in (GHENT, PORTO, GHENT):
        assert tools.call("remember", {"texts": [text]}).startswith("Remembered: ")
    assert tools.call("remember", {"texts": [GHENT]}).startswith("Stored already: ")
    assert texts(memory) == [GHENT, PORTO, GHENT]


def test_tool_remembers_what_the_model_says_again_beside_something_new(memory: Memory) -> None:
    tools = memory.tools()
    tools.call("remember", {"texts": [GHENT, PORTO]})
    reply = tools.call("remember", {"texts": [GHENT, "It rains."]})
    assert ("Remembered: " in reply, "Stored already" in reply) == (True, False)
    reply = tools.call("remember", {"texts": [GHENT, "It rains."]})
    assert ("Remembered: " in reply, "Stored already" in reply) == (False, True)
    assert texts(memory) == [GHENT, PORTO, GHENT, "It rains."]
