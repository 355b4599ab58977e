"""The question that a running conversation asks, and its recall."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ecphora import Filter, Memory, RecallOptions
from ecphora.errors import InvalidInput
from ecphora.language.terms import estimate_tokens
from ecphora.model.validation import MAX_QUESTION_CHARS
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.remember.messages import MAX_CONTEXT_TOKENS, question_from_messages
from ecphora.testing import FakeClock


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(64), update_scorer=None, clock=FakeClock()) as opened:
        yield opened


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def bot(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["How is the weather in Porto today?", "Where does Ana work?"], "Where does Ana work?"),
        (
            ["Where is it?", "What did we decide about the ferry tickets?"],
            "What did we decide about the ferry tickets?",
        ),
        (["Where does Ana work?", "why?"], "Where does Ana work?\nwhy?"),
        (["How much did we spend in April?", "and in May?"], "How much did we spend in April?\nand in May?"),
        (["Does Ana play the violin?", "does she still?"], "Does Ana play the violin?\ndoes she still?"),
        (["Where does Ana work?", "And Ben?", "why?"], "Where does Ana work?\nAnd Ben?\nwhy?"),
        (["Where does Ben live?", "Where does Ana work?", "why?"], "Where does Ana work?\nwhy?"),
        (["她为什么搬到波尔图去住呢？", "为什么？"], "她为什么搬到波尔图去住呢？\n为什么？"),
        (["why?"], "why?"),
    ],
)
def test_question_has_context_if_it_is_an_allusion(texts: list[str], question: str) -> None:
    conversation = [message for text in texts for message in (user(text), bot("A long reply about the ferry."))]
    assert question_from_messages(conversation) == question


def test_context_of_a_question_is_bounded() -> None:
    question = question_from_messages([user(f"{'word ' * 500}the end of it"), user("why?")])
    assert question.endswith("the end of it\nwhy?")
    assert estimate_tokens(question) <= MAX_CONTEXT_TOKENS + 2
    many = question_from_messages([user(f"And {number}?") for number in range(500)])
    assert many.endswith("And 498?\nAnd 499?")
    assert estimate_tokens(many) <= MAX_CONTEXT_TOKENS + 2
    assert estimate_tokens(question_from_messages([user("猫" * 500), user("why?")])) <= MAX_CONTEXT_TOKENS + 2
    assert question_from_messages([user("x" * 30_000)]) == "x" * MAX_QUESTION_CHARS


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([], "no user message with text"),
        ([bot("Hi.")], "no user message with text"),
        (["Where?"], r"question\[0\] is 'Where\?'; give a chat message"),
        (5, "question is 5; give a text, or a list of chat messages"),
        ([user("Hi."), {"role": "usr"}], r"messages\[1\] has the role 'usr'"),
    ],
)
def test_conversation_without_a_question_raises(messages: Any, error: str, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=error):
        memory.recall(messages)


def test_recall_for_a_conversation_passes_its_options_on(memory: Memory) -> None:
    memory.remember([user("Ana works at a bakery."), bot("Ana works in Porto.")], happened_at="2026-05-03")
    conversation = [user("Where does Ana work?"), bot("At a bakery."), user("why?")]
    found = memory.recall(
        conversation, limit=1, where=Filter(speakers="assistant"), options=RecallOptions(log_access=False)
    )
    assert [hit.text for hit in found] == ["Ana works in Porto."]
    assert found.query.text == "Where does Ana work?\nwhy?"
    assert len(memory.recall(conversation, as_of="2026-05-02")) == 0
