"""Imports chats of Discord: files of DiscordChatExporter in JSON, or the data package that Discord sends on request.

A file of DiscordChatExporter has all messages of a channel; the data package has one's own messages only.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import IO, Any

from ....errors import InvalidInput
from ....language.chat_roles import Role
from ....model.ids import content_id
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Metadata, Omission
from ..files.export_files import ExportFiles, looks_like
from ..files.json_stream import BrokenJson, read_values
from ..files.progress import MeteredFile, ProgressMeter
from .json_values import as_epoch, as_id, as_list, as_mapping, as_name, as_text, as_time, in_utc

NAME = "discord"
KEPT_TYPES = ("Default", "Reply", "ThreadStarterMessage", "0", "19", "21")
"""The types of messages that people write, as DiscordChatExporter names or numbers them."""
_PACKAGE_FILE = re.compile(
    r"(?P<folder>(?:^|/)(?:messages(?=/\d)|[^/]+(?=/c)))/(?P<channel>c?\d+)/messages\.(?:json|csv)\Z", re.IGNORECASE
)
"""A file of messages in a data package; the folder is called "messages" in the language of the user."""
_MENTION = re.compile(r"<@!?(?P<id>\d+)>")
_EMOJI = re.compile(r"<a?(?P<name>:\w+:)\d+>")
_TIME = re.compile(r"<t:(?P<seconds>-?\d+)(?::\w)?>")
_MAX_FIELD_CHARS = 1 << 24


class DiscordImporter:
    """Reads files of DiscordChatExporter and data packages."""

    name = NAME
    title = "Discord, JSON of DiscordChatExporter (files, folder or ZIP) or one's data package"
    fields: Mapping[str, str] = {
        "speaker": "the nickname or name of author; in a data package, user",
        "happened_at": "timestamp of the message",
        "session": "the id of the channel",
        "title": "the name of the channel",
    }

    def matches(self, path: str, /) -> bool:
        """Whether a JSON file begins with a guild and a channel, or a folder is a data package."""
        try:
            with ExportFiles(path) as files:
                if any(_PACKAGE_FILE.search(name) for name in files.names):
                    return True
        except (InvalidInput, OSError, ValueError):
            return False
        return looks_like(path, ("*.json",), b'"guild"', b'"channel"', b'"messages"')

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, channel by channel."""
        with ExportFiles(path) as files:
            package = [found for found in map(_PACKAGE_FILE.search, files.names) if found]
            names = [one.string for one in package] or files.find("*.json")
            meter, found = ProgressMeter(progress, files.size(names)), False
            channel_names = _read_index(files, {one["folder"] for one in package})
            for name in names:
                with files.open(name) as file:
                    try:
                        items = (
                            _read_package_file(meter.wrap(file), file, name, channel_names)
                            if package
                            else _read_exported_file(meter.wrap(file), name)
                        )
                        for item in items:
                            found = True
                            yield item
                    except BrokenJson as error:
                        if not found and len(names) == 1:
                            raise
                        yield Omission("a file, or the rest of it, that cannot be read", str(error))
            if not found:
                raise InvalidInput(f"{show(path)} holds no message of Discord")
            meter.finish()


# ---- DiscordChatExporter


def _read_exported_file(file: MeteredFile, name: str) -> Iterator[Episode | Omission]:
    channel: Mapping[str, Any] = {}
    for place, value in read_values(file, name, (("channel",), ("messages", "*"))):
        if place == ("channel",):
            channel = as_mapping(value)
            continue
        message = as_mapping(value)
        if "author" in message and "timestamp" in message:
            yield from _message(message, channel, f"{name}, message {place[-1]}")
        elif channel:
            yield Omission("what is no message", f"{name}, {place[-1]}")


def _message(message: Mapping[str, Any], channel: Mapping[str, Any], place: str) -> Iterator[Episode | Omission]:
    author = as_mapping(message.get("author"))
    if author.get("isBot") is True:
        yield Omission("a message of a bot or an app", place)
        return
    if str(message.get("type", "Default")) not in KEPT_TYPES:
        yield Omission("a message of the program", place)
        return
    for _ in as_list(message.get("attachments")):
        yield Omission("an attached file", place)
    people = {
        str(one.get("id")): as_name(one.get("nickname")) or as_name(one.get("name"))
        for one in map(as_mapping, as_list(message.get("mentions")))
    }
    text = as_text(message.get("content"))
    forwarded = "" if text else as_text(as_mapping(message.get("forwardedMessage")).get("content"))
    text = text or forwarded
    text = _MENTION.sub(lambda found: f"@{people.get(found['id']) or found['id']}", text)
    if not text:
        yield Omission("a message without text", place)
        return
    sender = as_name(author.get("nickname")) or as_name(author.get("name"))
    episode = _episode(
        text,
        as_id(message.get("id")),
        None if forwarded else sender,
        in_utc(as_time(message.get("timestamp"))),
        (as_id(channel.get("id")), as_name(channel.get("name"))),
    )
    is_forwarded = forwarded and sender is not None
    yield replace(episode, metadata={**episode.metadata, "forwarded_by": sender}) if is_forwarded else episode


def _episode(
    text: str, id_: str | None, speaker: str | None, time: datetime | None, channel: tuple[str | None, str | None]
) -> Episode:
    channel_id = channel[0] or content_id(str(channel[1]))
    id_ = id_ or content_id(channel_id, str(speaker), str(time), text)
    metadata: Metadata = {"origin": f"{channel_id}/{id_}"}
    return Episode(
        _EMOJI.sub(r"\g<name>", _TIME.sub(_show_time, text)),
        f"{NAME}:{id_}",
        speaker=speaker,
        session=f"{NAME}:{channel_id}",
        happened_at=time,
        title=channel[1],
        source=NAME,
        metadata=metadata,
    )


def _show_time(found: re.Match[str]) -> str:
    time = as_epoch(found["seconds"])
    return found[0] if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


# ---- data package


def _read_index(files: ExportFiles, folders: Collection[str]) -> dict[str, str]:
    """The names of channels by their ids; empty if their list cannot be read."""
    found: dict[str, str] = {}
    for name in {f"{folder}/index.json" for folder in folders} & set(files.names):
        with files.open(name) as file, suppress(BrokenJson):
            for _, value in read_values(file, name, ((),)):
                found.update({key: shown for key, one in as_mapping(value).items() if (shown := as_name(one))})
    return found


def _read_package_file(
    metered: MeteredFile, file: IO[bytes], name: str, channel_names: Mapping[str, str]
) -> Iterator[Episode | Omission]:
    match = _PACKAGE_FILE.search(name)
    id_ = match["channel"].lstrip("cC") if match else NAME
    channel = (as_id(id_), channel_names.get(id_))
    if name.lower().endswith(".csv"):
        records: Iterator[tuple[object, object]] = _read_csv(file, name)
    else:
        records = ((place[-1], value) for place, value in read_values(metered, name, (("*",),)))
    for number, value in records:
        message, place = as_mapping(value), f"{name}, message {number}"
        text, time = as_text(message.get("Contents")), in_utc(as_time(message.get("Timestamp")))
        if "Timestamp" not in message:
            yield Omission("what is no message", place)
            continue
        if as_text(message.get("Attachments")):
            yield Omission("an attached file", place)
        if not text:
            yield Omission("a message without text", place)
            continue
        yield _episode(text, as_id(message.get("ID")), Role.USER.value, time, channel)


def _read_csv(file: IO[bytes], name: str) -> Iterator[tuple[object, object]]:
    """The rows of a file of the older packages, numbered."""
    csv.field_size_limit(_MAX_FIELD_CHARS)
    try:
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield from enumerate(csv.DictReader(text), 1)
    except (csv.Error, UnicodeDecodeError) as error:
        raise BrokenJson(f"{name} cannot be read: {error}") from error
