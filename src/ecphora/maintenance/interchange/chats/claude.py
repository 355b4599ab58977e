"""Imports Claude's export of one's data: a ZIP, its folder, conversations.json or projects.json."""

from collections.abc import Iterator, Mapping
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
from ..files.json_stream import BrokenJson, read_values
from ..files.progress import ProgressMeter
from .json_values import as_id, as_list, as_mapping, as_name, as_text, as_time, in_utc

NAME = "claude"
CONVERSATIONS = ("conversations.json", "conversations-*.json")
PROJECTS = ("projects.json", "projects-*.json")
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
    title = "Claude, an export: the ZIP, its folder, conversations.json or projects.json"
    fields: Mapping[str, str] = {
        "speaker": "user or assistant, from sender",
        "happened_at": "created_at of the message",
        "session": "the id of the conversation or project",
        "title": "the name of the conversation, or of a file",
    }

    def matches(self, path: str, /) -> bool:
        """Whether the conversations have chat messages, or the projects documents."""
        has_messages = looks_like(path, CONVERSATIONS, b'"chat_messages"')
        return has_messages or looks_like(path, PROJECTS, b'"docs"', b'"prompt_template"')

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, conversation by conversation, and then the documents of projects."""
        with ExportFiles(path) as files:
            names = list(dict.fromkeys([*files.find(*CONVERSATIONS), *files.find(*PROJECTS)]))
            meter, found = ProgressMeter(progress, files.size(names)), 0
            for name in names:
                with files.open(name) as file:
                    try:
                        for place, value in read_values(meter.wrap(file), name, (("*",), ("conversations", "*"))):
                            record = as_mapping(value)
                            if isinstance(record.get("chat_messages"), list):
                                found += 1
                                yield from _conversation(record)
                            elif isinstance(record.get("docs"), list):
                                found += 1
                                yield from _project(record)
                            else:
                                yield Omission("what is no conversation", f"{name}, {place[-1]}")
                    except BrokenJson as error:
                        if not found:
                            raise
                        yield Omission("the rest of a broken file", str(error))
            if not found:
                raise InvalidInput(f"{show(path)} holds no conversation of Claude")
            meter.finish()


def _conversation(conversation: Mapping[str, Any]) -> Iterator[Episode | Omission]:
    title, time = as_name(conversation.get("name")), in_utc(as_time(conversation.get("created_at")))
    id_ = as_id(conversation.get("uuid")) or content_id(str(title), str(time))
    for number, value in enumerate(conversation["chat_messages"], 1):
        place = f"conversation {show(title or id_)}, message {number}"
        message = as_mapping(value)
        time = in_utc(as_time(message.get("created_at"))) or time
        speaker = SPEAKERS.get(sender) if isinstance(sender := message.get("sender"), str) else None
        if speaker is None:
            yield Omission("a message of an unknown sender", place)
            continue
        yield from _message(message, _Heading(id_, title), speaker, time, place)


def _message(
    message: Mapping[str, Any], heading: _Heading, speaker: str, time: datetime | None, place: str
) -> Iterator[Episode | Omission]:
    texts: list[str] = []
    for block in map(as_mapping, as_list(message.get("content"))):
        kind, text = block.get("type"), as_text(block.get("text"))
        if kind == "text" or (kind is None and text):
            texts += [text] if text else []
        else:
            reason = _OMITTED_BLOCKS.get(kind) if isinstance(kind, str) else None
            yield Omission(reason or "a part of an unknown type", place)
    text = "\n\n".join(texts)
    if not text and not as_list(message.get("content")):
        text = as_text(message.get("text"))
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
