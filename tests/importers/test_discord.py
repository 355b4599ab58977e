"""Discord: files of DiscordChatExporter, and data packages in JSON and CSV."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats import discord
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]


def said(id_: str, content: str, **more: Any) -> Any:
    return {
        "id": id_,
        "type": "Default",
        "timestamp": "2026-01-10T09:30:00.123+01:00",
        "content": content,
        "author": {"id": "1", "name": "ana", "nickname": "Ana", "isBot": False},
        "attachments": [],
        "mentions": [],
    } | more


def exported(*messages: Any) -> Any:
    channel = {"id": "77", "type": "GuildTextChat", "category": "Text", "name": "general", "topic": None}
    head = {"guild": {"id": "5", "name": "Friends"}, "channel": channel, "dateRange": {}, "exportedAt": "2026-02-01"}
    return head | {"messages": list(messages), "messageCount": len(messages)}


PACKAGE = {
    "README.txt": "x",
    "account/user.json": {"id": "1", "username": "ana"},
    "messages/index.json": {"77": "general in Friends"},
    "messages/c77/messages.json": [
        {"ID": 12, "Timestamp": "2026-01-10 09:30:00", "Contents": "I moved to Porto.", "Attachments": ""}
    ],
    "messages/c78/messages.csv": (
        "ID,Timestamp,Contents,Attachments\n"
        '13,2026-01-11 09:30:00.123000+00:00,"It rains,\nagain",\n14,2026-01-11 09:31:00+00:00,,https://cdn/x.png\n'
    ),
}


def read(path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(discord.DiscordImporter().read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


class TestExporter(ImporterContract):
    @pytest.fixture
    def importer(self) -> discord.DiscordImporter:
        return discord.DiscordImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write("Friends - general [77].json", exported(said("1", "I moved to Porto."), said("2", "Yes")))


class TestPackage(TestExporter):
    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write("package.zip", PACKAGE)


@pytest.mark.parametrize("name", ["a.json", "folder", "a.zip"])
def test_message_has_its_speaker_time_channel_and_origin(name: str, write: Writer) -> None:
    content = exported(said("1", "Hi <@2> <:wave:99>", mentions=[{"id": "2", "name": "bo", "nickname": "Bo"}]))
    path = write(name, content if name == "a.json" else {"a.json": content})
    (one,), omitted = read(path)
    assert one == Episode(
        "Hi @Bo :wave:",
        "discord:1",
        speaker="Ana",
        session="discord:77",
        happened_at=datetime(2026, 1, 10, 9, 30, 0, 123000, timezone(timedelta(hours=1))),
        title="general",
        source="discord",
        metadata={"origin": "77/1"},
    )
    assert (omitted, find_format(path).name) == ({}, "discord")


def test_package_has_the_messages_of_the_user(write: Writer) -> None:
    path = write("package", {name.replace("messages/", "Messages/", 1): one for name, one in PACKAGE.items()})
    (first, second), omitted = read(path)
    assert (first.text, first.speaker, first.title) == ("I moved to Porto.", "user", "general in Friends")
    assert (first.happened_at, first.id) == (datetime(2026, 1, 10, 9, 30, tzinfo=UTC), "discord:12")
    assert (second.text, second.session, second.title) == ("It rains,\nagain", "discord:78", None)
    assert omitted == {"an attached file": 1, "a message without text": 1}
    assert find_format(path).name == "discord"


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (said("x", "pinned", type="ChannelPinnedMessage"), "a message of the program"),
        (said("x", "hi", type=6), "a message of the program"),
        (said("x", "beep", author={"name": "robot", "isBot": True}), "a message of a bot or an app"),
        (said("x", ""), "a message without text"),
        (5, "what is no message"),
    ],
)
def test_message_is_left_out_with_its_reason(left_out: Any, reason: str, write: Writer) -> None:
    found, omitted = read(write("a.json", exported(said("1", "Kept", type="Reply"), left_out)))
    assert ([one.text for one in found], omitted) == (["Kept"], {reason: 1})


def test_attachments_are_left_out_and_their_text_is_kept(write: Writer) -> None:
    (one,), omitted = read(write("a.json", exported(said("1", "See", attachments=[{"url": "x"}]))))
    assert (one.text, omitted) == ("See", {"an attached file": 1})


def test_broken_file_among_others_is_left_out(write: Writer) -> None:
    found, omitted = read(write("f", {"a.json": "[", "b.json": exported(said("1", "Kept")), "c.json": {"x": 1}}))
    assert ([one.text for one in found], omitted) == (
        ["Kept"],
        {"a file, or the rest of it, that cannot be read": 1},
    )


@pytest.mark.parametrize("content", [[], {}, {"messages": [5]}, {"messages": [{"id": 1}]}, "["])
def test_file_of_another_format_is_invalid(content: Any, write: Writer) -> None:
    path = write("a.json", content)
    assert not discord.DiscordImporter().matches(path)
    with pytest.raises(InvalidInput):
        read(path)
