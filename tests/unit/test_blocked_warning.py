"""A text that was forgotten before is not remembered, and remember says so."""

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from ecphora import AsyncMemory, BlockedWarning
from ecphora.memory import Memory
from ecphora.models.embedders.hashing import HashingEmbedder

TEXTS = ["The locker has number 12.", "The code of the gate is 4711.", "It rains."]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64)) as opened:
        opened.forget(opened.remember(TEXTS[:2]).ids)
        yield opened


def warned(memory: Memory, **arguments: bool) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        memory.remember(TEXTS, **arguments)  # type: ignore[arg-type]  # flags
    return found


def test_blocked_texts_are_warned_of_once_a_call(memory: Memory) -> None:
    for _ in range(2):
        (warning,) = warned(memory)
        assert warning.category is BlockedWarning
        assert warning.filename == __file__
        assert "and 1 more not remembered" in str(warning.message)
        assert "restore=True" in str(warning.message)


@pytest.mark.parametrize("arguments", [{"restore": True}, {"dry_run": True}])
def test_restore_and_dry_run_warn_of_nothing(memory: Memory, arguments: dict[str, bool]) -> None:
    assert warned(memory, **arguments) == []


def test_tools_say_it_in_their_reply_alone(memory: Memory) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "Not stored" in memory.tools().call("remember", {"texts": TEXTS[:1]})


def test_blocked_texts_are_warned_of_in_asyncio(memory: Memory) -> None:
    with pytest.warns(BlockedWarning, match="restore=True"):
        asyncio.run(AsyncMemory.wrap(memory).remember(TEXTS[0]))


def test_repr_of_the_result_shows_what_was_blocked(memory: Memory) -> None:
    with pytest.warns(BlockedWarning):
        result = memory.remember(TEXTS[0])
    assert repr(result) == f"RememberResult(ids=['{result.id}'], blocked=['{result.id}'])"


# ---- tools


def test_tool_offers_to_restore_what_was_forgotten(memory: Memory) -> None:
    tools = memory.tools()
    refusal = tools.call("remember", {"texts": TEXTS[:1]})
    assert refusal.startswith("Not stored, because it was forgotten on purpose: ")
    assert refusal.endswith("If the user wants it stored again, call remember again with restore true.")
    assert tools.call("remember", {"texts": TEXTS[:1], "restore": True}).startswith("Remembered: ")
    assert [node.text for node in memory.find()] == TEXTS[:1]


def test_tool_restores_no_answer(memory: Memory) -> None:
    reply = memory.tools().call("remember", {"texts": ["12"], "question": "Which number?", "restore": True})
    assert reply == "Error: restore is for facts; leave it out with question"
