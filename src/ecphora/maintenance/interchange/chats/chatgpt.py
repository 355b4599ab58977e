"""Imports ChatGPT's export of one's data: a ZIP, its folder, or one of its files of conversations.

A conversation is a tree of messages, because messages may be edited and replies made again. The branch that was shown
last is imported: from ``current_node`` up to the root.
"""

import json
import re
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
from .json_values import as_epoch, as_id, as_list, as_mapping, as_name, as_text, as_time, in_utc

NAME = "chatgpt"
PATTERNS = ("conversations.json", "conversations-*.json", "conversations_*.json")
"""The files that hold conversations; large exports have several."""
TOOL, SETTINGS = "a call or an output of a tool", "instructions or settings"
OMITTED_CONTENT: Mapping[str, str] = {
    **dict.fromkeys(("thoughts", "reasoning_recap"), "thoughts of the model"),
    **dict.fromkeys(("sonic_webpage", "tether_browsing_display", "tether_quote"), "a web page"),
    **dict.fromkeys(("user_editable_context", "model_editable_context"), SETTINGS),
    **dict.fromkeys(("execution_output", "system_error", "computer_output", "code"), TOOL),
}
"""The types of content that are left out, and why."""
OMITTED_ROLES: Mapping[str, str] = {"system": SETTINGS, "tool": TOOL}
"""The roles whose messages are left out, and why."""
SPEAKERS: Mapping[str, str] = {"user": Role.USER.value, "assistant": Role.ASSISTANT.value}
_MARKED = re.compile("\ue200([^\ue200-\ue202]*)(?:\ue202([^\ue200\ue201]*))?(?:\ue202[^\ue200\ue201]*)*\ue201")
"""What the program shows as a link, a picture or a card, between characters for private use."""
_SOURCE = re.compile(r"turn\d+\w+\Z")
_SOURCE_MARK = re.compile(r"【\d+[:†][^】\n]{0,200}】")


@dataclass(frozen=True, slots=True)
class _Heading:
    """Which conversation it is."""

    id: str
    title: str | None


class ChatGPTImporter:
    """Reads an export of ChatGPT."""

    name = NAME
    title = "ChatGPT, an export: the ZIP, its folder or conversations.json"
    fields: Mapping[str, str] = {
        "speaker": "user or assistant",
        "happened_at": "create_time of the message",
        "session": "the id of the conversation",
        "title": "the title of the conversation",
    }

    def matches(self, path: str, /) -> bool:
        """Whether the file of conversations begins with a tree of messages."""
        return looks_like(path, PATTERNS, b'"mapping"', b'"children"')

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, conversation by conversation."""
        with ExportFiles(path) as files:
            names = files.find(*PATTERNS)
            meter, found = ProgressMeter(progress, files.size(names)), 0
            for name in names:
                with files.open(name) as file:
                    try:
                        for place, value in read_values(meter.wrap(file), name, (("*",), ("conversations", "*"))):
                            if not isinstance(as_mapping(value).get("mapping"), dict):
                                yield Omission("what is no conversation", f"{name}, {place[-1]}")
                                continue
                            found += 1
                            yield from _conversation(value)
                    except BrokenJson as error:
                        if not found:
                            raise
                        yield Omission("the rest of a broken file", str(error))
            if not found:
                raise InvalidInput(f"{show(path)} holds no conversation of ChatGPT")
            meter.finish()


def _conversation(conversation: Mapping[str, Any]) -> Iterator[Episode | Omission]:
    title = as_name(conversation.get("title"))
    created = _time(conversation)
    id_ = as_id(conversation.get("conversation_id")) or as_id(conversation.get("id"))
    id_ = id_ or content_id(str(title), str(created))
    place = f"conversation {show(title or id_)}"
    if conversation.get("is_do_not_remember") is True:
        yield Omission("a conversation that is not to be remembered", place)
        return
    nodes = {key: node for key, node in conversation["mapping"].items() if isinstance(node, dict)}
    branch = _branch(nodes, conversation.get("current_node"))
    time = created
    for number, key in enumerate(branch, 1):
        message = as_mapping(nodes[key].get("message"))
        if not message:  # the root
            continue
        time = _time(message) or time
        yield from _message(message, key, _Heading(id_, title), time, f"{place}, message {number}")
    others = nodes.keys() - set(branch)
    for _ in range(sum(_is_said(as_mapping(nodes[key].get("message"))) for key in others)):
        yield Omission("a message of another branch, edited or made again later", place)


def _branch(nodes: Mapping[str, Mapping[str, Any]], current: object) -> list[str]:
    """The keys of the nodes from the root to the current one; without a current one, to the latest end of a branch."""
    key = current if isinstance(current, str) and current in nodes else None
    if key is None:
        parents = {node.get("parent") for node in nodes.values() if isinstance(node.get("parent"), str)}
        ends = [one for one in nodes if one not in parents]
        key = max(ends, key=lambda end: _seconds(nodes[end]), default=None)
    found: dict[str, None] = {}
    while key is not None and key not in found:
        found[key] = None
        parent = nodes[key].get("parent")
        key = parent if isinstance(parent, str) and parent in nodes else None
    return list(found)[::-1]


def _seconds(node: Mapping[str, Any]) -> float:
    time = _time(as_mapping(node.get("message")))
    return 0.0 if time is None else time.timestamp()


def _time(value: Mapping[str, Any]) -> datetime | None:
    """When a message or conversation was made: in seconds, or in some exports as a text."""
    return as_epoch(value.get("create_time")) or in_utc(as_time(value.get("create_time")))


def _role(message: Mapping[str, Any]) -> object:
    return as_mapping(message.get("author")).get("role")


def _is_said(message: Mapping[str, Any]) -> bool:
    """Whether a message is one that would be imported, as far as one sees at once."""
    return _reason_to_omit(message) is None and any(as_text(part) for part in _parts(message))


def _parts(message: Mapping[str, Any]) -> list[Any]:
    content = as_mapping(message.get("content"))
    return as_list(content.get("parts")) or ([content["text"]] if "text" in content else [])


def _reason_to_omit(message: Mapping[str, Any]) -> str | None:
    """Why a whole message is left out."""
    role, kind = _role(message), as_mapping(message.get("content")).get("content_type")
    if as_mapping(message.get("metadata")).get("is_visually_hidden_from_conversation") is True:
        return "a hidden message"
    if not isinstance(kind, str) or not isinstance(role, str):
        return "a message without content or role"
    if reason := OMITTED_CONTENT.get(kind) or OMITTED_ROLES.get(role):
        return reason
    if (message.get("recipient") or "all") != "all":
        return TOOL
    return None if role in SPEAKERS else "a message of an unknown role"


def _message(
    message: Mapping[str, Any], key: str, heading: _Heading, time: datetime | None, place: str
) -> Iterator[Episode | Omission]:
    if reason := _reason_to_omit(message):
        yield Omission(reason, place)
        return
    texts: list[str] = []
    for part in _parts(message):
        kind = as_mapping(part).get("content_type")
        text = as_text(part if isinstance(part, str) else as_mapping(part).get("text"))
        if text:
            texts.append(text)
        elif isinstance(kind, str):
            yield Omission(_medium(kind), place)
    for _ in as_list(as_mapping(message.get("metadata")).get("attachments")):
        yield Omission("an attached file", place)
    text = as_text(_without_marks("\n\n".join(texts)))
    if not text:
        yield Omission("a message without text", place)
        return
    id_ = as_id(message.get("id")) or as_id(key) or content_id(heading.id, text)
    yield Episode(
        text,
        f"{NAME}:{id_}",
        speaker=SPEAKERS[str(_role(message))],
        session=f"{NAME}:{heading.id}",
        happened_at=time,
        title=heading.title,
        source=NAME,
        metadata={"origin": f"{heading.id}/{id_}"},
    )


def _medium(kind: str) -> str:
    """What a part of a message is, by its type."""
    for word, name in (("image", "a picture"), ("video", "a video"), ("audio", "a sound")):
        if word in kind:
            return name
    return "a part of an unknown type"


def _without_marks(text: str) -> str:
    """A text without the marks of sources; of the name of a person or place and of a link, the name is kept."""
    return _SOURCE_MARK.sub("", _MARKED.sub(_replace_mark, text))


def _replace_mark(found: re.Match[str]) -> str:
    kind, value = found[1], found[2] or ""
    if kind == "url":
        label = value.partition("\ue202")[0]
        return "" if _SOURCE.match(label) else as_text(label)
    if kind != "entity":
        return ""
    try:
        names = as_list(json.loads(value))
    except (ValueError, RecursionError):
        return ""
    return as_text(names[1]) if len(names) > 1 else ""
