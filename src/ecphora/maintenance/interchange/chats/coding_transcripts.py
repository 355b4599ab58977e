"""Imports the transcripts of coding agents: of Claude Code (~/.claude/projects) and of Codex (~/.codex/sessions).

A transcript is a file of JSON Lines. What the user and the agent said to each other is imported; thoughts, calls of
tools and their results are left out, as is what the program puts into a message by itself.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....errors import InvalidInput
from ....language.chat_roles import Role
from ....model.ids import content_id
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.export_files import ExportFiles, base_name, looks_like
from ..files.progress import ProgressMeter
from .json_values import as_id, as_list, as_mapping, as_name, as_text, as_time, in_utc

PATTERNS = ("*.jsonl",)
TOOL, THOUGHTS = "a call or an output of a tool", "thoughts of the model"
BETWEEN_AGENTS = "a message between agents"
_CLAUDE_CODE_KINDS = frozenset(
    {"user", "assistant", "summary", "system", "file-history-snapshot", "queue-operation", "progress", "attachment"}
)
"""The types of lines of Claude Code; messages are of the first two."""
_ADDED = re.compile(r"<(system-reminder|ide_[a-z_]+|user-prompt-submit-hook)>(?:(?!<\1>).)*?</\1>", re.DOTALL)
"""What Claude Code adds to a message of the user."""
_COMMAND = re.compile(
    r"<(command-(name|message|args)|local-command-(stdout|stderr|caveat)|bash-(input|stdout|stderr)|task-notification)>"
)
_EMPTY = "(no content)"
"""What Claude Code writes for a message without text."""
_SYNTHETIC = "<synthetic>"
"""The model of messages of the agent that Claude Code writes itself."""
_OF_PROGRAM = (
    "[Request interrupted by user",
    "This session is being continued from a previous conversation",
    "<teammate-message",
)
"""How messages begin that older versions of Claude Code do not mark as its own."""
_BARE_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "local_shell_call"})
"""The types of lines of the first versions of Codex."""
_CODEX_SPEAKERS = (Role.USER.value, Role.ASSISTANT.value)
_CODEX_CONTEXT = re.compile(r"\s*(?:<([a-z_]+)[ >].*</\1>\s*\Z|# AGENTS\.md instructions)", re.DOTALL | re.IGNORECASE)
"""What Codex tells the model in the name of the user."""
_IDE_HEADING = "## My request for Codex:"
"""What stands between the context that an editor adds and the message of the user."""


@dataclass(slots=True)
class _Transcript:
    """The state of reading a file: its name, its session, and how often each message came."""

    name: str
    session: str
    folder: str | None = None
    time: object = None
    repeats: Counter[str] = field(default_factory=Counter)
    is_of_agent: bool = False
    has_events: bool = False
    """Whether there are events of Codex; then its items repeat them."""
    items: list[Episode | Omission] = field(default_factory=list)


class _TranscriptImporter:
    """Reads the files of JSON Lines of a folder, a ZIP or one file, line by line."""

    name: str
    title: str
    fields: Mapping[str, str] = {
        "speaker": "user or assistant",
        "happened_at": "timestamp of the line",
        "session": "the id of the session",
    }

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, file by file."""
        with ExportFiles(path) as files:
            names = files.find(*PATTERNS)
            meter, found = ProgressMeter(progress, files.size(names)), False
            for name in names:
                transcript = _Transcript(name, base_name(name).removesuffix(".jsonl")[:128])
                with files.open(name) as file:
                    for number, line in enumerate(meter.wrap(file), 1):
                        place = f"{name}, line {number}"
                        try:
                            record = json.loads(line)
                        except (ValueError, RecursionError):
                            if line.strip():
                                yield Omission("a line that is not JSON", place)
                            continue
                        if not isinstance(record, dict) or not self.is_line(record):
                            yield Omission("a line of another format", place)
                            continue
                        found = True
                        yield from self.read_line(record, transcript, place)
                yield from transcript.items
            if not found:
                raise InvalidInput(f"{show(path)} holds no transcript of {self.name}")
            meter.finish()

    def is_line(self, record: Mapping[str, Any]) -> bool:
        """Whether a line has the format."""
        raise NotImplementedError

    def read_line(self, record: Mapping[str, Any], transcript: _Transcript, place: str) -> Iterator[Episode | Omission]:
        """Yield the messages of a line."""
        raise NotImplementedError

    def episode(self, text: str, transcript: _Transcript, id_: str, speaker: str, record: Mapping[str, Any]) -> Episode:
        """A message as a memory."""
        folder = {} if transcript.folder is None else {"folder": transcript.folder}
        return Episode(
            text,
            f"{self.name}:{id_}",
            speaker=speaker,
            session=f"{self.name}:{transcript.session}",
            happened_at=in_utc(as_time(record.get("timestamp"))),
            source=self.name,
            metadata={"origin": f"{transcript.session}/{id_}", **folder},
        )


class ClaudeCodeImporter(_TranscriptImporter):
    """Reads transcripts of Claude Code."""

    name = "claude-code"
    title = "Claude Code, transcripts: a .jsonl or a folder such as ~/.claude/projects"

    def matches(self, path: str, /) -> bool:
        """Whether a file of JSON Lines names sessions as Claude Code does."""
        return looks_like(path, PATTERNS, b'"sessionId"', b'"uuid"')

    def is_line(self, record: Mapping[str, Any]) -> bool:
        kind = record.get("type")
        if not isinstance(kind, str):
            return False
        if kind in {"user", "assistant"}:
            return "message" in record and "sessionId" in record
        return kind in _CLAUDE_CODE_KINDS or "sessionId" in record

    def read_line(self, record: Mapping[str, Any], transcript: _Transcript, place: str) -> Iterator[Episode | Omission]:
        kind = record["type"]
        if kind not in {"user", "assistant"}:
            return
        if record.get("isSidechain") is True:
            yield Omission(BETWEEN_AGENTS, place)
            return
        is_synthetic = as_mapping(record["message"]).get("model") == _SYNTHETIC
        is_synthetic = is_synthetic or "kind" in as_mapping(record.get("origin"))
        if is_synthetic or any(
            record.get(flag) is True for flag in ("isMeta", "isCompactSummary", "isApiErrorMessage")
        ):
            yield Omission("a message of the program", place)
            return
        transcript.session = as_id(record.get("sessionId")) or transcript.session
        transcript.folder = as_name(record.get("cwd")) or transcript.folder
        content = as_mapping(record["message"]).get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)
        texts: list[str] = []
        for block in map(as_mapping, blocks):
            if block.get("type") == "text":
                texts.append(as_text(block.get("text")))
            else:
                yield Omission(_block_reason(block.get("type")), place)
        text = as_text(_ADDED.sub("", "\n\n".join(filter(None, texts))))
        text = "" if text == _EMPTY else text
        if not text:
            if any(texts) or not blocks:
                yield Omission("a message without text", place)
        elif kind == "user" and (_COMMAND.match(text) or text.startswith(_OF_PROGRAM)):
            yield Omission("a message of the program", place)
        else:
            id_ = as_id(record.get("uuid")) or content_id(
                transcript.session, kind, str(record.get("timestamp")).encode("utf-8", "replace").decode(), text
            )
            yield self.episode(text, transcript, id_, kind, record)


class CodexImporter(_TranscriptImporter):
    """Reads transcripts of Codex."""

    name = "codex"
    title = "Codex, transcripts: a rollout-….jsonl or a folder such as ~/.codex/sessions"

    def matches(self, path: str, /) -> bool:
        """Whether a file of JSON Lines has events with a payload, or the items of the first versions."""
        signs = ((b'"payload"', b'"session_meta"'), (b'"instructions"', b'"input_text"', b'"role"'))
        return any(looks_like(path, PATTERNS, *one) for one in signs)

    def is_line(self, record: Mapping[str, Any]) -> bool:
        kind = record.get("type")
        if isinstance(kind, str):
            return isinstance(record.get("payload"), dict) or "role" in record or kind in _BARE_ITEMS
        return "record_type" in record or ("id" in record and "timestamp" in record)

    def read_line(self, record: Mapping[str, Any], transcript: _Transcript, place: str) -> Iterator[Episode | Omission]:
        if "payload" not in record:  # of the first versions: items alone, with one time for all
            is_item = "type" in record
            record = {"type": "response_item" if is_item else "session_meta", "payload": record}
        line_kind, payload = record["type"], record["payload"]
        kind = payload.get("type")
        if line_kind == "session_meta":
            transcript.session = as_id(payload.get("id")) or transcript.session
            transcript.folder = as_name(payload.get("cwd")) or transcript.folder
            transcript.time = payload.get("timestamp") or transcript.time
            transcript.is_of_agent = "subagent" in as_mapping(payload.get("source"))
        if line_kind == "response_item" and isinstance(kind, str) and "call" in kind:
            yield Omission(TOOL, place)
        if line_kind == "response_item" and kind == "message" and not transcript.has_events:
            transcript.items += self._read_item(payload, record, transcript, place)
        if line_kind != "event_msg":
            return
        if isinstance(kind, str) and kind.startswith("agent_reasoning"):
            yield Omission(THOUGHTS, place)
        if kind not in ("user_message", "agent_message"):
            return
        transcript.has_events = True
        transcript.items.clear()
        for _ in as_list(payload.get("images")) + as_list(payload.get("local_images")):
            yield Omission("a picture", place)
        speaker = Role.USER.value if kind == "user_message" else Role.ASSISTANT.value
        yield from self._message(as_text(payload.get("message")), speaker, record, transcript, place)

    def _read_item(
        self, item: Mapping[str, Any], record: Mapping[str, Any], transcript: _Transcript, place: str
    ) -> Iterator[Episode | Omission]:
        """A message that stands among the items, for files without events."""
        texts = [as_text(as_mapping(block).get("text")) for block in as_list(item.get("content"))]
        text = "\n\n".join(filter(None, texts))
        if item.get("role") not in _CODEX_SPEAKERS or _CODEX_CONTEXT.match(text):
            yield Omission("a message of the program", place)
        else:
            yield from self._message(text, item["role"], record, transcript, place)

    def _message(
        self, text: str, speaker: str, record: Mapping[str, Any], transcript: _Transcript, place: str
    ) -> Iterator[Episode | Omission]:
        text = as_text(text.rpartition(_IDE_HEADING)[2])
        if not text:
            yield Omission("a message without text", place)
            return
        if transcript.is_of_agent:
            yield Omission(BETWEEN_AGENTS, place)
            return
        dated = {"timestamp": record.get("timestamp") or transcript.time}
        time = in_utc(as_time(dated["timestamp"]))
        id_ = content_id(transcript.session, speaker, str(time), text)
        transcript.repeats[id_] += 1
        if transcript.repeats[id_] > 1:
            id_ = content_id(id_, str(transcript.repeats[id_]))
        yield self.episode(text, transcript, id_, speaker, dated)


def _block_reason(kind: object) -> str:
    """Why a block of a message is left out."""
    if kind in ("thinking", "redacted_thinking"):
        return THOUGHTS
    if kind in ("tool_use", "tool_result", "server_tool_use", "web_search_tool_result"):
        return TOOL
    return "a picture" if kind == "image" else "a part of an unknown type"
