"""Imports Claude's export of one's data: a ZIP, its folder, conversations.json, projects.json or memories.json."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ....errors import InvalidInput
from ....language.chat_roles import Role
from ....model.ids import content_id
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.export_files import ExportFiles, looks_like
from ..files.json_stream import BrokenJson, ByteReader, Place, read_values
from ..files.progress import ProgressMeter
from .json_values import as_id, as_list, as_mapping, as_name, as_text, as_time, in_utc

NAME = "claude"
PARENT = "parent_message_uuid"
CONVERSATIONS = ("conversations.json", "conversations-*.json")
OTHERS = ("projects.json", "projects-*.json", "memories.json")
_SINGLE = re.compile(r"(?:^|/)(?:projects|memories|design_chats)/[^/]+\.json\Z")
"""The files of newer exports that hold one object each."""
_FILLER = re.compile(r"```\s{0,3}This block is not supported on your current device yet\.\s{0,3}```")
"""What older exports write in place of a call of a tool."""
_ARTIFACT = re.compile(r"<antThinking>(?:(?!<antThinking>).)*?</antThinking>|</?antArtifact\b[^<>]*>", re.DOTALL)
"""What older exports write around an artifact, and thoughts."""
SPEAKERS: Mapping[object, str] = {"human": Role.USER.value, "assistant": Role.ASSISTANT.value}
_OMITTED_BLOCKS = {
    "thinking": "thoughts of the model",
    "redacted_thinking": "thoughts of the model",
    "tool_use": "a call or an output of a tool",
    "tool_result": "a call or an output of a tool",
    "token_budget": "settings",
    "flag": "settings",
}


@dataclass(frozen=True, slots=True)
class _Heading:
    """Which conversation it is."""

    id: str
    title: str | None


class ClaudeImporter:
    """Reads an export of Claude."""

    name = NAME
    title = "Claude, an export: the ZIP, its folder, conversations.json, projects.json or memories.json"
    fields: Mapping[str, str] = {
        "speaker": "user or assistant, from sender",
        "happened_at": "created_at of the message",
        "session": "the id of the conversation or project",
        "title": "the name of the conversation, or of a file",
    }

    def matches(self, path: str, /) -> bool:
        """Whether conversations have chat messages, or projects documents, or there is what Claude remembers."""
        has_messages = looks_like(path, CONVERSATIONS, b'"chat_messages"')
        signs = ((b'"docs"', b'"prompt_template"'), (b'"conversations_memory"', b'"project_memories"'))
        return has_messages or any(looks_like(path, ("*.json",), *one) for one in signs)

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, conversation by conversation, and then the documents of projects."""
        with ExportFiles(path) as files:
            single = [name for name in files.names if _SINGLE.search(name)]
            names = list(dict.fromkeys([*files.find(*CONVERSATIONS), *files.find(*OTHERS), *single]))
            meter, found = ProgressMeter(progress, files.size(names)), 0
            for name in names:
                with files.open(name) as file:
                    try:
                        for place, value in _read_records(meter.wrap(file), name):
                            record = as_mapping(value)
                            if isinstance(record.get("chat_messages"), list):
                                found += 1
                                yield from _conversation(record)
                            elif isinstance(record.get("docs"), list):
                                found += 1
                                yield from _project(record)
                            elif "conversations_memory" in record or "memory_files" in record:
                                found += 1
                                yield from _memories(record)
                            elif "design_chats/" in name:
                                found += 1
                                yield Omission("a chat about a design", name)
                            else:
                                yield Omission("what is no conversation", f"{name}, {place[-1] if place else 0}")
                    except BrokenJson as error:
                        if not found:
                            raise
                        yield Omission("the rest of a broken file", str(error))
            if not found:
                raise InvalidInput(f"{show(path)} holds no conversation of Claude")
            meter.finish()


def _read_records(file: ByteReader, name: str) -> Iterator[tuple[Place, Any]]:
    return read_values(file, name, ((),) if _SINGLE.search(name) else (("*",), ("conversations", "*")))


def _conversation(conversation: Mapping[str, Any]) -> Iterator[Episode | Omission]:
    title, time = as_name(conversation.get("name")), in_utc(as_time(conversation.get("created_at")))
    id_ = as_id(conversation.get("uuid")) or content_id(str(title), str(time))
    messages = list(map(as_mapping, conversation["chat_messages"]))
    stale = _stale_messages(messages)
    for number, message in enumerate(messages, 1):
        place = f"conversation {show(title or id_)}, message {number}"
        if as_id(message.get("uuid")) in stale:
            yield Omission("a message of another branch, edited or made again later", place)
            continue
        time = in_utc(as_time(message.get("created_at"))) or time
        speaker = SPEAKERS.get(sender) if isinstance(sender := message.get("sender"), str) else None
        if speaker is None:
            yield Omission("a message of an unknown sender", place)
            continue
        yield from _message(message, _Heading(id_, title), speaker, time, place)


def _stale_messages(messages: Sequence[Mapping[str, Any]]) -> set[str | None]:
    """The ids of messages that were edited or made again, and of what was said after them.

    Of several messages of one sender to the same message, the last stays.
    """
    last: dict[tuple[str, str], str | None] = {}
    keys = [(as_id(one.get("uuid")), as_id(one.get(PARENT)), str(one.get("sender"))) for one in messages]
    for id_, parent, sender in keys:
        if id_ and parent:
            last[parent, sender] = id_
    stale = set[str | None]()
    for id_, parent, sender in keys:
        if id_ and parent and (parent in stale or last[parent, sender] != id_):
            stale.add(id_)
    return stale


def _message(
    message: Mapping[str, Any], heading: _Heading, speaker: str, time: datetime | None, place: str
) -> Iterator[Episode | Omission]:
    texts: list[str] = []
    for block in map(as_mapping, as_list(message.get("content"))):
        kind, text = block.get("type"), as_text(block.get("text"))
        if kind in ("text", "voice_note") or (kind is None and text):
            texts += [text] if text else []
        else:
            reason = _OMITTED_BLOCKS.get(kind) if isinstance(kind, str) else None
            yield Omission(reason or "a part of an unknown type", place)
    text = "\n\n".join(texts)
    if not text and not as_list(message.get("content")):
        text = as_text(_FILLER.sub("", as_text(message.get("text"))))
    text = as_text(_ARTIFACT.sub("", text))
    id_ = as_id(message.get("uuid")) or content_id(heading.id, speaker, str(time), text)

    def episode(text: str, id_: str, title: str | None) -> Episode:
        return Episode(
            text,
            f"{NAME}:{id_}",
            speaker=speaker,
            session=f"{NAME}:{heading.id}",
            happened_at=time,
            title=title,
            source=NAME,
            metadata={"origin": f"{heading.id}/{id_}"},
        )

    attachments = [as_mapping(one) for one in as_list(message.get("attachments"))]
    if text:
        yield episode(text, id_, heading.title)
    elif not any(as_text(one.get("extracted_content")) for one in attachments):
        yield Omission("a message without text", place)
    for number, attachment in enumerate(attachments, 1):
        if content := as_text(attachment.get("extracted_content")):
            yield episode(content, f"{id_}/attachment-{number}", as_name(attachment.get("file_name")) or heading.title)
        else:
            yield Omission("an attached file", place)
    for _ in as_list(message.get("files")):
        yield Omission("an attached file", place)


def _memories(record: Mapping[str, Any]) -> Iterator[Episode | Omission]:
    """What Claude remembers of the user: of all conversations, of each project, and its files."""
    projects = as_mapping(record.get("project_memories"))
    files = [as_mapping(one) for one in as_list(record.get("memory_files"))]
    found = [
        (record.get("conversations_memory"), None, "Memory of Claude", None),
        *((text, as_id(key), "Memory of Claude", None) for key, text in projects.items()),
        *((one.get("content"), None, as_name(one.get("path")), one.get("updated_at")) for one in files),
    ]
    for value, session, title, time in found:
        if not (text := as_text(value)):
            continue
        id_ = content_id(str(session), str(title), text)
        yield Episode(
            text,
            f"{NAME}:{id_}",
            session=None if session is None else f"{NAME}:{session}",
            happened_at=in_utc(as_time(time)),
            title=title,
            source=NAME,
            metadata={"origin": f"memories/{id_}"},
        )


def _project(project: Mapping[str, Any]) -> Iterator[Episode | Omission]:
    name, time = as_name(project.get("name")), in_utc(as_time(project.get("created_at")))
    id_ = as_id(project.get("uuid")) or content_id(str(name), str(time))
    place = f"project {show(name or id_)}"
    if as_text(project.get("prompt_template")):
        yield Omission("instructions or settings", place)
    if project.get("is_starter_project") is True:
        yield Omission("a project of examples", place)
        return
    for number, value in enumerate(project["docs"], 1):
        document = as_mapping(value)
        text = as_text(document.get("content"))
        if not text:
            yield Omission("a document without text", f"{place}, document {number}")
            continue
        title = as_name(document.get("filename"))
        document_id = as_id(document.get("uuid")) or content_id(id_, str(title), text)
        yield Episode(
            text,
            f"{NAME}:{document_id}",
            session=f"{NAME}:{id_}",
            happened_at=in_utc(as_time(document.get("created_at"))) or time,
            title=title or name,
            source=NAME,
            metadata={"origin": f"{id_}/{document_id}"},
        )
