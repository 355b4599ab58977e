"""Transcripts of Claude Code and Codex: what people and agents said, and nothing that programs added."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats.coding_transcripts import ClaudeCodeImporter, CodexImporter
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]
AT = "2026-01-10T09:30:00.000Z"


def lines(*records: Any) -> str:
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records)


def said(id_: str, kind: str, content: Any, **more: Any) -> Any:
    return {
        "type": kind,
        "message": {"role": kind, "content": content},
        "uuid": id_,
        "parentUuid": None,
        "sessionId": "s1",
        "cwd": "/home/ana/app",
        "timestamp": AT,
        "isSidechain": False,
    } | more


def event(kind: str, message: str = "", line_type: str = "event_msg", **more: Any) -> Any:
    return {"timestamp": AT, "type": line_type, "payload": {"type": kind, "message": message} | more}


META = {"timestamp": AT, "type": "session_meta", "payload": {"id": "x1", "cwd": "/home/ana/app", "timestamp": AT}}
CLAUDE_CODE = lines(
    {"type": "file-history-snapshot", "messageId": "1", "snapshot": {}},
    said("a", "user", "Use tabs."),
    said("b", "assistant", [{"type": "text", "text": "Done."}]),
)
CODEX = lines(META, event("user_message", "Use tabs."), event("agent_message", "Done."))


def read(importer: Any, path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(importer.read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


class TestClaudeCode(ImporterContract):
    @pytest.fixture
    def importer(self) -> ClaudeCodeImporter:
        return ClaudeCodeImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write("projects", {"-home-ana-app/s1.jsonl": CLAUDE_CODE, "-home-ana-app/notes.txt": "x"})


class TestCodex(ImporterContract):
    @pytest.fixture
    def importer(self) -> CodexImporter:
        return CodexImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write("sessions", {"2026/01/10/rollout-2026-01-10.jsonl": CODEX})


@pytest.mark.parametrize(
    ("name", "content", "source", "session"),
    [("s.jsonl", CLAUDE_CODE, "claude-code", "claude-code:s1"), ("r.jsonl", CODEX, "codex", "codex:x1")],
)
def test_message_has_its_speaker_time_and_session(
    name: str, content: str, source: str, session: str, write: Writer
) -> None:
    path = write(name, content)
    found = find_format(path)
    (first, second), omitted = read(found.importer, path)
    assert (first.text, first.speaker, first.session, first.source) == ("Use tabs.", "user", session, source)
    assert first.happened_at == datetime(2026, 1, 10, 9, 30, tzinfo=UTC)
    assert first.metadata["folder"] == "/home/ana/app"
    assert (second.text, second.speaker, omitted) == ("Done.", "assistant", {})


def test_claude_code_without_thoughts_tools_and_messages_of_the_program(write: Writer) -> None:
    content = lines(
        said("a", "assistant", [{"type": "thinking", "thinking": "hm"}]),
        said("b", "assistant", [{"type": "tool_use", "name": "Bash"}]),
        said("c", "user", [{"type": "tool_result", "content": "file"}]),
        said("d", "user", "Caveat", isMeta=True),
        said("e", "user", "This session is being continued", isCompactSummary=True),
        said("f", "user", "Do this, agent", isSidechain=True),
        said("g", "user", "<command-name>/clear</command-name>"),
        said("h", "user", "[Request interrupted by user]"),
        said("i", "user", "Real <system-reminder>be good\nnow</system-reminder>words"),
        said("j", "user", "<system-reminder>only</system-reminder>"),
        {"type": "summary", "summary": "Tabs", "leafUuid": "a"},
        {"type": "system", "sessionId": "s1", "content": "x"},
    )
    (one,), omitted = read(ClaudeCodeImporter(), write("s.jsonl", content))
    assert one.text == "Real words"
    assert omitted == {
        "thoughts of the model": 1,
        "a call or an output of a tool": 2,
        "a message of the program": 4,
        "a message between agents": 1,
        "a message without text": 1,
    }


def test_codex_has_the_events_alone(write: Writer) -> None:
    content = lines(
        META,
        event("message", line_type="response_item", role="user", content=[{"type": "input_text", "text": "dup"}]),
        event("function_call", line_type="response_item"),
        event("agent_reasoning", text="hm"),
        event("token_count"),
        event("user_message", "# Context from my IDE setup:\n\n## My request for Codex:\nUse tabs.\n", images=["x"]),
        event("user_message", "yes"),
        event("user_message", "yes"),
    )
    found, omitted = read(CodexImporter(), write("r.jsonl", content))
    assert [one.text for one in found] == ["Use tabs.", "yes", "yes"]
    assert len({one.id for one in found}) == 3
    assert omitted == {"a call or an output of a tool": 1, "thoughts of the model": 1, "a picture": 1}


def test_broken_lines_are_left_out_with_their_place(write: Writer) -> None:
    path = write("s.jsonl", '{"type": "us\n5\n\n{"type": 5}\n' + CLAUDE_CODE)
    found = [one for one in ClaudeCodeImporter().read(path) if isinstance(one, Omission)]
    assert [(one.reason, one.place) for one in found] == [
        ("a line that is not JSON", "s.jsonl, line 1"),
        ("a line of another format", "s.jsonl, line 2"),
        ("a line of another format", "s.jsonl, line 4"),
    ]


def test_session_that_was_resumed_has_each_message_once(write: Writer) -> None:
    """A resumed session is a new file, which repeats the lines of the old one."""
    found, _ = read(ClaudeCodeImporter(), write("p", {"a.jsonl": CLAUDE_CODE, "b.jsonl": CLAUDE_CODE}))
    assert [one.id for one in found] == ["claude-code:a", "claude-code:b"] * 2


@pytest.mark.parametrize("importer", [ClaudeCodeImporter(), CodexImporter()])
@pytest.mark.parametrize("content", ["", "x\n", "[]\n", '{"ecphora": 2}\n', '{"type": "entity", "name": "x"}\n'])
def test_file_of_another_format_is_invalid(importer: Any, content: str, write: Writer) -> None:
    path = write("s.jsonl", content)
    assert not importer.matches(path)
    with pytest.raises(InvalidInput):
        list(importer.read(path))
