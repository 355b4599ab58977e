"""Telegram's export: one chat or all, texts in parts, old exports without zones, forwarded messages."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats import telegram
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]


def said(id_: int, text: Any, **more: Any) -> Any:
    return {
        "id": id_,
        "type": "message",
        "date": "2026-01-01T10:00:00",
        "date_unixtime": "1767258000",
        "from": "Ana",
        "from_id": "user1",
        "text": text,
    } | more


def chat(*messages: Any, **more: Any) -> Any:
    return {"name": "Ana", "type": "personal_chat", "id": 42, "messages": list(messages)} | more


def read(path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(telegram.TelegramImporter().read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> telegram.TelegramImporter:
        return telegram.TelegramImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write(
            "export", {"result.json": chat(said(1, "I moved to Porto."), said(2, "Yes")), "photos/a.jpg": b"x"}
        )


def test_message_has_its_speaker_time_chat_and_origin(write: Writer) -> None:
    path = write("result.json", chat(said(1, ["I moved to ", {"type": "bold", "text": "Porto"}, 5, "."])))
    (one,), omitted = read(path)
    assert one == Episode(
        "I moved to Porto.",
        "telegram:42/1",
        speaker="Ana",
        session="telegram:42",
        happened_at=datetime(2026, 1, 1, 9, tzinfo=UTC),
        source="telegram",
        metadata={"origin": "42/1", "conversation": "Ana"},
    )
    assert (omitted, find_format(path).name) == ({}, "telegram")


def test_export_of_all_chats_has_each_by_its_id(write: Writer) -> None:
    group = chat(said(1, "Hi all"), name="Trip", type="private_group", id=43)
    content = {
        "about": "x",
        "personal_information": {"user_id": 1, "first_name": "Ana"},
        "contacts": {"about": "x", "list": [{"user_id": n, "phone_number": "1" * 100} for n in range(3000)]},
        "chats": {"about": "x", "list": [chat(said(1, "Hi")), group]},
        "left_chats": {"list": [chat(said(9, "Bye"), id=44, name=None)]},
    }
    path = write("e.zip", {"e/result.json": content})
    assert find_format(path).name == "telegram"
    found, _ = read(path)
    assert [(one.text, one.session, one.title) for one in found] == [
        ("Hi", "telegram:42", None),
        ("Hi all", "telegram:43", "Trip"),
        ("Bye", "telegram:44", None),
    ]


def test_old_export_has_local_times(write: Writer) -> None:
    message = said(1, "Hi")
    del message["date_unixtime"]
    assert read(write("result.json", chat(message)))[0][0].happened_at == datetime(2026, 1, 1, 10)  # noqa: DTZ001


def test_forwarded_message_is_said_by_its_author(write: Writer) -> None:
    (one,), _ = read(write("result.json", chat(said(1, "It rains", forwarded_from="Cy"))))
    assert (one.speaker, one.metadata["forwarded_by"]) == ("Cy", "Ana")


def test_deleted_account_has_its_id_as_a_name(write: Writer) -> None:
    assert read(write("result.json", chat(said(1, "Hi", **{"from": None}))))[0][0].speaker == "user1"


def test_poll_is_a_text(write: Writer) -> None:
    poll = {"question": "Pizza?", "answers": [{"text": "Yes", "voters": 1}, {"text": "No"}]}
    assert read(write("result.json", chat(said(1, "", poll=poll))))[0][0].text == "Pizza?\n- Yes\n- No"


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        (said(9, "", photo="photos/a.jpg"), "a picture, sound, video, place or file"),
        (said(9, "", file="(File not included)", media_type="sticker"), "a picture, sound, video, place or file"),
        (said(9, ""), "a message without text"),
        ({"id": 9, "type": "service", "date": "x", "action": "phone_call"}, "a message of the program"),
        ({"id": 9}, "what is no message"),
        ([], "what is no message"),
    ],
)
def test_message_is_left_out_with_its_reason(left_out: Any, reason: str, write: Writer) -> None:
    found, omitted = read(write("result.json", chat(said(1, "Kept"), left_out)))
    assert ([one.text for one in found], omitted) == (["Kept"], {reason: 1})


def test_picture_is_left_out_and_its_text_is_kept(write: Writer) -> None:
    (one,), omitted = read(write("result.json", chat(said(1, "Our house", photo="a.jpg"))))
    assert (one.text, omitted) == ("Our house", {"a picture, sound, video, place or file": 1})


@pytest.mark.parametrize("content", [[], {}, {"messages": [5]}, {"chats": {"list": []}}, "{"])
def test_file_of_another_format_is_invalid(content: Any, write: Writer) -> None:
    path = write("result.json", content)
    assert not telegram.TelegramImporter().matches(path)
    with pytest.raises(InvalidInput):
        read(path)
