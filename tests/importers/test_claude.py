"""Claude's export: messages with blocks or a text, attachments, documents of projects."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats import claude
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]


def message(id_: str, sender: str, text: str = "", content: Any = (), **more: Any) -> Any:
    return {
        "uuid": id_,
        "text": text,
        "content": list(content),
        "sender": sender,
        "created_at": "2026-01-10T09:30:00.123456Z",
        "attachments": [],
        "files": [],
    } | more


def text(value: str) -> Any:
    return {"type": "text", "text": value, "citations": []}


def conversation(*messages: Any) -> Any:
    return {"uuid": "c1", "name": "Porto", "created_at": "2026-01-10T09:00:00Z", "chat_messages": list(messages)}


PROJECT = {
    "uuid": "p1",
    "name": "Moving",
    "prompt_template": "Be brief.",
    "created_at": "2026-01-01T00:00:00+00:00",
    "docs": [{"uuid": "d1", "filename": "plan.md", "content": "# Plan", "created_at": "2026-01-02T00:00:00+00:00"}],
}


def read(path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(claude.ClaudeImporter().read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> claude.ClaudeImporter:
        return claude.ClaudeImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        talk = conversation(message("m1", "human", "I moved to Porto."), message("m2", "assistant", "", [text("Nice")]))
        return write("data.zip", {"conversations.json": [talk], "projects.json": [PROJECT], "users.json": [{}]})


def test_message_has_its_speaker_time_and_conversation(write: Writer) -> None:
    path = write("conversations.json", [conversation(message("m1", "human", "Hi"), message("m2", "assistant", "Yes"))])
    (first, second), omitted = read(path)
    assert first == Episode(
        "Hi",
        "claude:m1",
        speaker="user",
        session="claude:c1",
        happened_at=datetime(2026, 1, 10, 9, 30, 0, 123456, UTC),
        title="Porto",
        source="claude",
        metadata={"origin": "c1/m1"},
    )
    assert (second.speaker, omitted) == ("assistant", {})
    assert find_format(path).name == "claude"


def test_blocks_come_before_the_text_of_a_message(write: Writer) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        text("One."),
        {"type": "tool_use", "name": "search"},
        {"type": "tool_result", "content": [text("page")]},
        text("Two."),
        {"type": "novel"},
        5,
    ]
    (one,), omitted = read(write("c.json", [conversation(message("m", "assistant", "placeholder", blocks))]))
    assert one.text == "One.\n\nTwo."
    assert omitted == {
        "thoughts of the model": 1,
        "a call or an output of a tool": 2,
        "a part of an unknown type": 2,
    }


def test_message_of_tools_alone_has_no_text(write: Writer) -> None:
    """The text of such a message says that the program cannot show it."""
    said = message("m", "assistant", "This block is not supported.", [{"type": "tool_use"}])
    assert read(write("c.json", [conversation(said, message("n", "human", "Hi"))]))[0][0].text == "Hi"


def test_attachments_with_text_are_memories(write: Writer) -> None:
    attachments = [{"file_name": "notes.txt", "extracted_content": "Buy milk"}, {"file_name": "a.bin"}]
    said = message("m", "human", "See this", attachments=attachments, files=[{"file_name": "p.png"}])
    (first, second), omitted = read(write("c.json", [conversation(said)]))
    assert (first.text, first.title) == ("See this", "Porto")
    assert (second.text, second.title, second.id) == ("Buy milk", "notes.txt", "claude:m/attachment-1")
    assert omitted == {"an attached file": 2}


def test_documents_of_projects_are_memories(write: Writer) -> None:
    path = write("export", {"projects.json": [PROJECT, PROJECT | {"is_starter_project": True}]})
    (one,), omitted = read(path)
    assert (one.text, one.title, one.session, one.speaker) == ("# Plan", "plan.md", "claude:p1", None)
    assert one.happened_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert omitted == {"instructions or settings": 2, "a project of examples": 1}
    assert find_format(path).name == "claude"


def test_malformed_parts_are_left_out(write: Writer) -> None:
    talk = conversation(
        5, message("a", "robot", "x"), message("b", "human"), message("c", "human", "Hi", created_at="?")
    )
    (one,), omitted = read(write("c.json", [talk, "x"]))
    assert one.happened_at == datetime(2026, 1, 10, 9, 30, 0, 123456, UTC), "the time of the message before"
    assert omitted == {"a message of an unknown sender": 2, "a message without text": 1, "what is no conversation": 1}


@pytest.mark.parametrize("content", [[], {}, [{"mapping": {}}], "[", [5]])
def test_file_of_another_format_is_invalid(content: Any, write: Writer) -> None:
    path = write("c.json", content)
    assert not claude.ClaudeImporter().matches(path)
    with pytest.raises(InvalidInput):
        read(path)


def test_long_runs_take_no_longer_than_other_text(write: Writer) -> None:
    """With a pattern that begins with a repetition, these would take minutes."""
    said = [f"a{' ' * 200_000}b", "<antThinking>" * 20_000, "```" * 60_000]
    messages = [message(str(n), "human", text) for n, text in enumerate(said)]
    assert [episode.text for episode in read(write("conversations.json", [conversation(*messages)]))[0]] == said
