"""Imports an export of Telegram Desktop in JSON: result.json, its folder or a ZIP of it; of one chat or of all."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ....errors import InvalidInput
from ....model.ids import content_id
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Metadata, Omission
from ..files.export_files import ExportFiles, looks_like
from ..files.json_stream import BrokenJson, Place, read_values
from ..files.progress import ProgressMeter
from .json_values import as_epoch, as_id, as_list, as_mapping, as_name, as_text, as_time

NAME = "telegram"
PATTERNS = ("result.json", "result-*.json")
_CHAT_FIELDS = ("name", "type", "id")
_CHATS = ((), ("chats", "list", "*"), ("left_chats", "list", "*"))
"""Where chats are: the file itself, or lists in it."""
WANTED: tuple[Place, ...] = tuple(
    (*place, *rest) for place in _CHATS for rest in (*((name,) for name in _CHAT_FIELDS), ("messages", "*"))
)
PERSONAL = frozenset({"personal_chat", "bot_chat", "saved_messages"})
"""The types of chats whose name is the name of a person."""
SIGNS = (
    (b'"messages"', b'"date_unixtime"'),
    (b'"messages"', b'"from_id"'),
    (b'"messages"', b'"actor_id"'),
    (b'"about"', b'"personal_information"', b'"user_id"'),
)
"""What the first bytes of a file hold: of one chat, or of all, where long lists of contacts come first."""
MEDIA = ("photo", "file", "location_information", "contact_information", "game_title", "invoice_information")
"""The fields of a message that stand for something that is no text."""


class TelegramImporter:
    """Reads an export of Telegram Desktop."""

    name = NAME
    title = "Telegram Desktop, an export in JSON: result.json, its folder or ZIP"
    fields: Mapping[str, str] = {
        "speaker": "from, or forwarded_from",
        "happened_at": "date_unixtime, or date as local time of --zone",
        "session": "the id of the chat",
        "title": "the name of the group or channel",
    }

    def matches(self, path: str, /) -> bool:
        """Whether the file begins with the chats or messages of Telegram."""
        return any(looks_like(path, PATTERNS, *signs) for signs in SIGNS)

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, chat by chat."""
        with ExportFiles(path) as files:
            names = files.find(*PATTERNS)
            meter, found = ProgressMeter(progress, files.size(names)), False
            for name in names:
                chat, last = dict[str, Any](), None
                with files.open(name) as file:
                    try:
                        for place, value in read_values(meter.wrap(file), name, WANTED):
                            key = place[-1]
                            here = place[:-1] if isinstance(key, str) else place[:-2]
                            if here != last:
                                chat, last = {}, here
                            if isinstance(key, str):
                                chat[key] = value
                                continue
                            message = as_mapping(value)
                            if not _is_message(message):
                                yield Omission("what is no message", f"{name}, {_describe(chat)}, {key}")
                                continue
                            found = True
                            yield from _message(message, chat, f"{_describe(chat)}, message {key}")
                    except BrokenJson as error:
                        if not found:
                            raise
                        yield Omission("the rest of a broken file", str(error))
            if not found:
                raise InvalidInput(f"{show(path)} holds no message of Telegram")
            meter.finish()


def _is_message(message: Mapping[str, Any]) -> bool:
    return message.get("type") in ("message", "service", "unsupported") and "date" in message


def _describe(chat: Mapping[str, Any]) -> str:
    return f"chat {show(as_name(chat.get('name')) or chat.get('id') or 'without a name')}"


def _message(message: Mapping[str, Any], chat: Mapping[str, Any], place: str) -> Iterator[Episode | Omission]:
    if message["type"] != "message":
        yield Omission("a message of the program", place)
        return
    if chat.get("type") == "bot_chat" and message.get("from_id") == f"user{chat.get('id')}":
        yield Omission("a message of a bot or an app", place)
        return
    entities = [as_mapping(one).get("type") for one in as_list(message.get("text_entities"))]
    if entities and set(entities) == {"bot_command"}:
        yield Omission("a command to a bot", place)
        return
    text = as_text(_text(message.get("text"))) or as_text(_text(message.get("text_entities")))
    text = text or _poll(as_mapping(message.get("poll")))
    has_media = any(message.get(name) for name in MEDIA)
    if has_media:
        yield Omission("a picture, sound, video, place or file", place)
    if not text:
        if not has_media:
            yield Omission("a message without text", place)
        return
    chat_id, chat_name = as_id(chat.get("id")), as_name(chat.get("name"))
    chat_id = chat_id or content_id(str(chat_name))
    sender = as_name(message.get("from")) or as_name(message.get("from_id"))
    author = as_name(message.get("forwarded_from"))
    is_forwarded = "forwarded_from" in message  # null is a deleted account
    time = _time(message)
    id_ = as_id(message.get("id")) or content_id(str(time), text)
    is_personal = chat.get("type") in tuple(PERSONAL)
    metadata: Metadata = {
        "origin": f"{chat_id}/{id_}",
        **({} if chat_name is None else {"conversation": chat_name}),
        **({"forwarded_by": sender} if is_forwarded and sender is not None else {}),
    }
    yield Episode(
        text,
        f"{NAME}:{chat_id}/{id_}",
        speaker=author if is_forwarded else sender,
        session=f"{NAME}:{chat_id}",
        happened_at=time,
        title=None if is_personal else chat_name,
        source=NAME,
        metadata=metadata,
    )


def _time(message: Mapping[str, Any]) -> datetime | None:
    return as_epoch(message.get("date_unixtime")) or as_time(message.get("date"))


def _text(value: object) -> str:
    """The text of a message: a text, or a list of texts and of objects with a text, and the address of a link."""
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else _entity(as_mapping(part)) for part in as_list(value))


def _entity(entity: Mapping[str, Any]) -> str:
    text, address = entity.get("text"), entity.get("href")
    if not isinstance(text, str):
        return ""
    return f"{text} ({address})" if isinstance(address, str) and address not in {"", text} else text


def _poll(poll: Mapping[str, Any]) -> str:
    """The question of a poll, with its answers."""
    question = as_text(_text(poll.get("question")))
    answers = [as_text(_text(as_mapping(one).get("text"))) for one in as_list(poll.get("answers"))]
    return "\n".join([question, *(f"- {answer}" for answer in answers if answer)]) if question else ""
