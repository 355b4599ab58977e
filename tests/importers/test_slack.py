"""Slack's export: names for ids, threads as sessions, and messages of people alone."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats import slack
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]
USERS = [
    {"id": "U1", "name": "ana", "profile": {"display_name": "Ana", "real_name": "Ana Lima"}},
    {"id": "U2", "name": "bo", "real_name": "Bo Berg", "profile": {"display_name": "", "real_name": "Bo Berg"}},
]
CHANNELS = [{"id": "C1", "name": "general", "members": ["U1", "U2"]}]
DAY = "general/2026-01-10.json"


def said(text: str, user: str = "U1", ts: str = "1767258000.000100", **more: Any) -> Any:
    return {"type": "message", "user": user, "text": text, "ts": ts, "client_msg_id": "x"} | more


def export(*messages: Any, **files: Any) -> Any:
    return {"users.json": USERS, "channels.json": CHANNELS, DAY: list(messages)} | files


def read(path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(slack.SlackImporter().read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> slack.SlackImporter:
        return slack.SlackImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write("export.zip", export(said("I moved to Porto."), said("ok", "U2", "1767258001.5")))


@pytest.mark.parametrize(("name", "prefix"), [("slack.zip", ""), ("slack", ""), ("grid.zip", "teams/one/")])
def test_message_has_its_speaker_time_channel_and_origin(name: str, prefix: str, write: Writer) -> None:
    path = write(name, {f"{prefix}{inner}": one for inner, one in export(said("Hi <@U2>")).items()})
    (one,), omitted = read(path)
    assert one == Episode(
        "Hi @Bo Berg",
        "slack:C1/1767258000.000100",
        speaker="Ana",
        session="slack:C1",
        happened_at=datetime(2026, 1, 1, 9, 0, 0, 100, UTC),
        title="#general",
        source="slack",
        metadata={"origin": "C1/1767258000.000100"},
    )
    assert (omitted, find_format(path).name) == ({}, "slack")


def test_thread_is_a_session(write: Writer) -> None:
    start = "1767258000.000100"
    messages = [said("Where?", thread_ts=start), said("Lunch?", ts="1767258005.1")]
    messages.append(said("Porto", "U2", "1767258010.2", thread_ts=start))
    found, _ = read(write("e.zip", export(*messages)))
    assert [(one.text, one.session) for one in found] == [
        ("Where?", f"slack:C1/{start}"),
        ("Lunch?", "slack:C1"),
        ("Porto", f"slack:C1/{start}"),
    ]
    assert found[2].metadata["thread"] == start


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("<@U9> &amp; <@U9|cy> &lt;3", "@U9 & @cy <3"),
        ("in <#C1|general>, <#C1>, <#C9>", "in #general, #general, #C9"),
        ("<!here> <!subteam^S1|@team> <!date^1^{date}|today>", "@here @team today"),
        ("<https://a.b/c> <https://a.b|our page>", "https://a.b/c our page (https://a.b)"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
    ],
)
def test_marks_become_words(written: str, text: str, write: Writer) -> None:
    assert read(write("e.zip", export(said(written))))[0][0].text == text


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (said("joined", subtype="channel_join"), "a message of the program"),
        (said("topic", subtype="channel_topic"), "a message of the program"),
        (said("x", subtype=5), "a message of the program"),
        (said("built", subtype="bot_message"), "a message of a bot or an app"),
        (said("built", bot_id="B1"), "a message of a bot or an app"),
        (said(""), "a message without text"),
        (said("x", ts="never"), "a message without a time"),
        (said("x", type="file"), "what is no message"),
    ],
)
def test_message_is_left_out_with_its_reason(left_out: Any, reason: str, write: Writer) -> None:
    found, omitted = read(write("e.zip", export(said("Kept"), left_out)))
    assert ([one.text for one in found], omitted) == (["Kept"], {reason: 1})


def test_files_are_left_out_and_their_text_is_kept(write: Writer) -> None:
    (one,), omitted = read(write("e.zip", export(said("See", files=[{"name": "a"}], subtype="file_share"))))
    assert (one.text, omitted) == ("See", {"an attached file": 1})


def test_people_of_one_name_and_of_a_grid_are_told_apart(write: Writer) -> None:
    other = {"id": "W3", "name": "ana2", "profile": {"display_name": "Ana"}}
    content = export(said("A"), said("B", "W3"), said("C", "W9", user_profile={"real_name": "Cy"}), said("D", "W8"))
    found, _ = read(write("e.zip", content | {"org_users.json": [other]}))
    assert [one.speaker for one in found] == ["Ana (ana)", "Ana (ana2)", "Cy", "W8"]


def test_direct_conversations_have_the_names_of_their_members(write: Writer) -> None:
    content = export() | {"dms.json": [{"id": "D1", "members": ["U1", "U2"]}], "D1/2026-01-10.json": [said("Hi")]}
    (one,), _ = read(write("e.zip", content))
    assert (one.title, one.session) == ("Ana, Bo Berg", "slack:D1")


def test_malformed_parts_are_left_out(write: Writer) -> None:
    content = export(5, said("Kept")) | {"users.json": "[{]", "general/2026-01-11.json": "[{"}
    found, omitted = read(write("e.zip", content))
    assert [(one.text, one.speaker) for one in found] == [("Kept", "U1")]
    assert omitted == {
        "a list of people or channels that is not JSON": 1,
        "a file, or the rest of it, that is not JSON": 1,
        "a message without text": 1,
    }


@pytest.mark.parametrize("content", [{"users.json": []}, {DAY: []}, {"users.json": [], DAY: []}, {"a.txt": "x"}])
def test_folder_of_another_format_is_invalid(content: Any, write: Writer) -> None:
    with pytest.raises(InvalidInput):
        read(write("folder", content))
    assert not slack.SlackImporter().matches(write("one.json", "[]"))
