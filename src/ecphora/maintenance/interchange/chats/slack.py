"""Imports an export of Slack: a ZIP or its folder, with a folder for each channel and a file for each day."""

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Metadata, Omission
from ..files.export_files import ExportFiles
from ..files.json_stream import BrokenJson, read_values
from ..files.progress import ProgressMeter
from .json_values import as_epoch, as_id, as_list, as_mapping, as_name, as_text

NAME = "slack"
USER_FILES = ("users.json", "org_users.json")
CHANNEL_FILES = ("channels.json", "groups.json", "dms.json", "mpims.json")
"""The lists of an export: people, and public, private, direct and group conversations."""
KEPT_SUBTYPES = frozenset({"thread_broadcast", "me_message", "file_share"})
"""The subtypes of messages that people write; all other subtypes are of the program, or of bots."""
SLACKBOT = "USLACKBOT"
_DAY_FILE = re.compile(r"(?:^|/)(?P<channel>[^/]+)/\d{4}-\d\d-\d\d\.json\Z")
_LINK = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|\n]+)(?:\|(?P<label>[^<>\n]*))?>")


@dataclass(frozen=True, slots=True)
class _Channel:
    """A conversation: its id, and its name for people."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class _Workspace:
    """The names of people by their ids, and the conversations by their folders and ids."""

    people: Mapping[str, str]
    channels: Mapping[str, _Channel]


class SlackImporter:
    """Reads an export of a workspace or of an Enterprise Grid."""

    name = NAME
    title = "Slack, an export: the ZIP or its folder"
    fields: Mapping[str, str] = {
        "speaker": "the display name of user, from users.json",
        "happened_at": "ts of the message",
        "session": "the channel; of a thread, the channel and thread_ts",
        "title": "the name of the channel",
    }

    def matches(self, path: str, /) -> bool:
        """Whether there is a list of people or of conversations, and a file of a day."""
        try:
            with ExportFiles(path) as files:
                has_list = not files.is_one_file and bool(files.find(*USER_FILES, *CHANNEL_FILES))
                return has_list and any(_DAY_FILE.search(name) for name in files.names)
        except (InvalidInput, OSError, ValueError):
            return False

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages, channel by channel and day by day."""
        with ExportFiles(path) as files:
            names = [name for name in files.names if _DAY_FILE.search(name)]
            lists = [] if files.is_one_file else files.find(*USER_FILES, *CHANNEL_FILES)
            if not names or not lists:
                raise InvalidInput(f"{show(path)} is no export of Slack: it needs users.json and a folder of a channel")
            meter, found = ProgressMeter(progress, files.size(names)), False
            omissions: list[Omission] = []
            workspace = _read_workspace(files, omissions)
            yield from omissions
            for name in names:
                day = _DAY_FILE.search(name)
                folder = day["channel"] if day else ""
                channel = workspace.channels.get(folder) or _Channel(as_id(folder) or NAME, f"#{folder}")
                with files.open(name) as file:
                    try:
                        for place, value in read_values(meter.wrap(file), name, (("*",),)):
                            message = as_mapping(value)
                            found = found or "ts" in message
                            yield from _message(message, channel, workspace, f"{name}, {place[-1]}")
                    except BrokenJson as error:
                        yield Omission("a file, or the rest of it, that is not JSON", str(error))
            if not found:
                raise InvalidInput(f"{show(path)} holds no message of Slack")
            meter.finish()


def _read_workspace(files: ExportFiles, omissions: list[Omission]) -> _Workspace:
    """Read the lists of an export; one that cannot be read is an omission."""
    people: dict[str, str] = {}
    handles: dict[str, str] = {}
    for user in _records(files, USER_FILES, omissions):
        profile, id_ = as_mapping(user.get("profile")), as_id(user.get("id"))
        names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
        name = next(filter(None, map(as_name, names)), None)
        if id_ and name:
            people[id_] = name
            handles[id_] = as_name(user.get("name")) or id_
    counts = Counter(people.values())
    people = {id_: name if counts[name] == 1 else f"{name} ({handles[id_]})" for id_, name in people.items()}
    channels: dict[str, _Channel] = {}
    for record in _records(files, CHANNEL_FILES, omissions):
        id_, name = as_id(record.get("id")), as_name(record.get("name"))
        members = [people.get(one, one) for one in as_list(record.get("members")) if isinstance(one, str)]
        if id_ is None:
            continue
        is_direct = name is None or name.startswith("mpdm-")
        shown = as_name(", ".join(members)) or name or id_
        channel = _Channel(id_, shown if is_direct else f"#{name}")
        channels[id_] = channel
        if name is not None:
            channels[name] = channel
    return _Workspace(people, channels)


def _records(files: ExportFiles, patterns: tuple[str, ...], omissions: list[Omission]) -> Iterator[Mapping[str, Any]]:
    """The objects of the lists with some names."""
    for name in files.find(*patterns):
        with files.open(name) as file:
            try:
                for _, value in read_values(file, name, (("*",),)):
                    yield as_mapping(value)
            except BrokenJson as error:
                omissions.append(Omission("a list of people or channels that is not JSON", str(error)))


def _message(
    message: Mapping[str, Any], channel: _Channel, workspace: _Workspace, place: str
) -> Iterator[Episode | Omission]:
    subtype = message.get("subtype")
    text = as_text(message.get("text")) or as_text("\n".join(_block_lines(message.get("blocks"))))
    if message.get("type", "message") != "message":
        yield Omission("what is no message", place)
        return
    if message.get("bot_id") or subtype == "bot_message" or message.get("user") == SLACKBOT:
        yield Omission("a message of a bot or an app", place)
        return
    if subtype is not None and (not isinstance(subtype, str) or subtype not in KEPT_SUBTYPES):
        yield Omission("a message of the program", place)
        return
    for _ in as_list(message.get("files")):
        yield Omission("an attached file", place)
    time, stamp = as_epoch(message.get("ts")), as_id(message.get("ts"))
    if not text or time is None or stamp is None:
        yield Omission("a message without text" if not text else "a message without a time", place)
        return
    id_ = f"{channel.id}/{stamp}"
    thread = as_id(message.get("thread_ts"))
    session = f"{NAME}:{channel.id}" if thread is None else f"{NAME}:{channel.id}/{thread}"
    metadata: Metadata = {"origin": id_, **({} if thread is None else {"thread": thread})}
    yield Episode(
        as_text(_plain_text(text, workspace)) or text,
        f"{NAME}:{id_}",
        speaker=_speaker(message, workspace),
        session=session,
        happened_at=time,
        title=channel.name,
        source=NAME,
        metadata=metadata,
    )


def _block_lines(blocks: object) -> Iterator[str]:
    """The texts of a message that has them in its blocks alone, a line for each section."""
    for block in map(as_mapping, as_list(blocks)):
        parts = [as_mapping(one) for one in as_list(block.get("elements"))]
        if any("elements" in part for part in parts):
            yield from _block_lines(parts)
        else:
            yield "".join(str(part.get("text") or part.get("url") or "") for part in parts)


def _speaker(message: Mapping[str, Any], workspace: _Workspace) -> str | None:
    id_, profile = as_id(message.get("user")), as_mapping(message.get("user_profile"))
    if id_ is not None and id_ in workspace.people:
        return workspace.people[id_]
    names = (profile.get("display_name"), profile.get("real_name"), message.get("username"))
    return next(filter(None, map(as_name, names)), id_)


def _plain_text(text: str, workspace: _Workspace) -> str:
    """A text with names in place of the ids of people and channels, and without the marks of links."""

    def replace_link(found: re.Match[str]) -> str:
        sign, target, label = found["sign"], found["target"], found["label"] or ""
        if sign == "@":
            return f"@{workspace.people.get(target) or label or target}"
        if sign == "#":
            channel = workspace.channels.get(target)
            return channel.name if channel is not None and not label else f"#{label or target}"
        if sign == "!":
            return label or f"@{target.partition('^')[0]}"
        address = target.removeprefix("mailto:")
        return address if label in {"", address, target} else f"{label} ({address})"

    return html.unescape(_LINK.sub(replace_link, text))
