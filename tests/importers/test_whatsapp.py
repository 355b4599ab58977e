"""WhatsApp's chats: the lines of phones of many languages, and dates whose order only the whole file tells."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.chats import whatsapp
from ecphora.maintenance.interchange.formats import find_format
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

Writer = Callable[..., str]
ANDROID = """31/12/25, 23:58 - Messages and calls are end-to-end encrypted. Tap to learn more.
31/12/25, 23:59 - Ana: I moved to Porto.
It rains here.

1/1/26, 00:05 - Bo: Happy new year!
1/1/26, 00:05 - Ana left
"""


def read(path: str) -> tuple[list[Episode], Counter[str]]:
    found = list(whatsapp.WhatsAppImporter().read(path))
    omitted = Counter(one.reason for one in found if isinstance(one, Omission))
    return [one for one in found if isinstance(one, Episode)], omitted


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> whatsapp.WhatsAppImporter:
        return whatsapp.WhatsAppImporter()

    @pytest.fixture
    def sample(self, write: Writer) -> str:
        return write("WhatsApp Chat with Ana.txt", ANDROID)


def test_message_has_its_speaker_local_time_and_chat(write: Writer) -> None:
    path = write("WhatsApp Chat with Ana.txt", ANDROID)
    (first, second), omitted = read(path)
    assert (first.text, first.speaker, first.session) == ("I moved to Porto.\nIt rains here.", "Ana", "whatsapp:Ana")
    assert first.happened_at == datetime(2025, 12, 31, 23, 59)  # noqa: DTZ001  # local time
    assert (second.text, second.speaker) == ("Happy new year!", "Bo")
    assert omitted == {"a message of the program": 2}
    assert find_format(path).name == "whatsapp"


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("[31/12/25, 23:59:07] Ana: Hi", (2025, 12, 31, 23, 59, 7)),
        ("\u200e[31.12.25, 23:59:07] Ana: Hi", (2025, 12, 31, 23, 59, 7)),
        ("[12/31/25, 11:59:07\u202fPM] Ana: Hi", (2025, 12, 31, 23, 59, 7)),
        ("12/31/25, 11:59 PM - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("31/12/2025, 12:05 am - Ana: Hi", (2025, 12, 31, 0, 5)),
        ("31/12/2025, 12:05\u202fpm - Ana: Hi", (2025, 12, 31, 12, 5)),
        ("31/12/25, 11:59 p. m. - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("31/12/25, 11:59\u00a0p.\u00a0m. - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("31/12/25 11:59 a.m. - Ana: Hi", (2025, 12, 31, 11, 59)),
        ("31.12.25, 23:59 - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("31-12-2025 23:59 - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("2025-12-31, 23.59 - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("2025/12/31 下午11:59 - Ana: Hi", (2025, 12, 31, 23, 59)),
        ("2025. 12. 31. 23:59 - Ana: Hi", (2025, 12, 31, 23, 59)),
    ],
)
def test_header_of_any_phone_is_read(line: str, time: tuple[int, ...], write: Writer) -> None:
    path = write("chat.txt", line)
    (one,), _ = read(path)
    assert (one.happened_at, one.speaker, one.text) == (datetime(*time), "Ana", "Hi")  # type: ignore[arg-type]  # noqa: DTZ001
    assert whatsapp.WhatsAppImporter().matches(path)


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        (["01/02/25", "03/04/25", "13/04/25"], (2025, 2, 1)),
        (["01/02/25", "03/04/25", "04/13/25"], (2025, 1, 2)),
        (["10/01/25", "11/01/25", "01/02/25"], (2025, 1, 10)),
        (["01/10/25", "01/11/25", "02/01/25"], (2025, 1, 10)),
        (["01/02/25"], (2025, 2, 1)),
        (["01.02.25"], (2025, 2, 1)),
    ],
)
def test_order_of_day_and_month_follows_from_the_whole_file(
    dates: list[str], first: tuple[int, ...], write: Writer
) -> None:
    """By a number above 12, or else by the order in which the messages go forward in time."""
    text = "\n".join(f"{date}, 10:00 - Ana: Message {number}" for number, date in enumerate(dates))
    found, _ = read(write("chat.txt", text))
    assert found[0].happened_at == datetime(*first, 10)  # type: ignore[call-arg, arg-type]  # noqa: DTZ001
    assert len(found) == len(dates)


def test_american_clock_alone_means_the_month_first(write: Writer) -> None:
    (one,), _ = read(write("chat.txt", "1/2/25, 10:00 AM - Ana: Hi"))
    assert one.happened_at == datetime(2025, 1, 2, 10)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<Media omitted>", whatsapp.MEDIA),
        ("<Medien ausgeschlossen>", whatsapp.MEDIA),
        ("<Multimedia omitido>", whatsapp.MEDIA),
        ("\u200eimage omitted", whatsapp.MEDIA),
        ("\u200eBild weggelassen", whatsapp.MEDIA),
        ("Plan.pdf • \u200e3 pages \u200edocument omitted", whatsapp.MEDIA),
        ("IMG-20251231-WA0001.jpg (file attached)", whatsapp.MEDIA),
        ("\u200eIMG-1.jpg (Datei angehängt)", whatsapp.MEDIA),
        ("\u200e<attached: 00000012-PHOTO-2025.jpg>", whatsapp.MEDIA),
        ("This message was deleted", whatsapp.DELETED),
        ("\u200eThis message was deleted.", whatsapp.DELETED),
        ("Diese Nachricht wurde gelöscht.", whatsapp.DELETED),
        ("Eliminaste este mensaje.", whatsapp.DELETED),
        ("\u200eMessages and calls are end-to-end encrypted.", whatsapp.SYSTEM),
        ("\u200e", "a message without text"),
    ],
)
def test_text_that_nobody_wrote_is_left_out(text: str, reason: str, write: Writer) -> None:
    found, omitted = read(write("chat.txt", f"[31/12/25, 23:59:07] Ana: {text}\n[31/12/25, 23:59:08] Bo: Kept"))
    assert ([one.text for one in found], omitted) == (["Kept"], {reason: 1})


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("At 9 \u200e<This message was edited>", "At 9"),
        ("Um 9 <Diese Nachricht wurde bearbeitet.>", "Um 9"),
        ("A las 9 <Se editó este mensaje.>", "A las 9"),
        ("\u200eIMG-1.jpg (file attached)\nOur house", "Our house"),
        ("I omitted it", "I omitted it"),
        ("Look: \u2068@Bo\u2069 is here", "Look: @Bo is here"),
        ("\u200ePOLL:\nPizza?", "POLL:\nPizza?"),
        ("Open main.py (the large one)", "Open main.py (the large one)"),
        ("31/12 at 10:00 - ok?", "31/12 at 10:00 - ok?"),
    ],
)
def test_text_is_kept_as_it_was_written(written: str, text: str, write: Writer) -> None:
    (one,), _ = read(write("chat.txt", f"[31/12/25, 23:59:07] ~\u202fAna: {written}"))
    assert (one.text, one.speaker) == (text, "Ana")


def test_same_text_twice_in_a_minute_is_two_memories(write: Writer) -> None:
    found, _ = read(write("chat.txt", "31/12/25, 23:59 - Ana: ok\n31/12/25, 23:59 - Ana: ok"))
    assert len({one.id for one in found}) == 2


def test_change_of_the_subject_has_no_speaker(write: Writer) -> None:
    line = '31/12/25, 23:59 - Ana changed the subject from "Trip: Rome" to "Trip: Porto"'
    found, omitted = read(write("chat.txt", f"{line}\n31/12/25, 23:59 - Ana: Hi"))
    assert ([one.text for one in found], omitted) == (["Hi"], {whatsapp.SYSTEM: 1})


@pytest.mark.parametrize(
    ("name", "content", "session"),
    [
        ("WhatsApp Chat - Ana & Bo.zip", {"_chat.txt": ANDROID, "IMG-1.jpg": b"\xff"}, "whatsapp:Ana & Bo"),
        ("WhatsApp-Chat mit Ana.txt", ANDROID, "whatsapp:Ana"),
        ("Chat de WhatsApp con Ana", {"_chat.txt": ANDROID}, "whatsapp:Ana"),
        ("Trip.txt", ANDROID, "whatsapp:Trip"),
    ],
)
def test_chat_has_the_name_of_its_file(name: str, content: Any, session: str, write: Writer) -> None:
    path = write(name, content)
    assert {one.session for one in read(path)[0]} == {session}
    assert find_format(path).name == "whatsapp"


def test_date_that_does_not_exist_is_left_out_with_its_line(write: Writer) -> None:
    found = list(
        whatsapp.WhatsAppImporter().read(write("c.txt", "x\n31/02/25, 10:00 - Ana: A\n13/01/25, 10:00 - Ana: B"))
    )
    assert [(one.reason, one.place) for one in found if isinstance(one, Omission)] == [
        ("a line before the first message", "line 1"),
        ("a message with a date that does not exist", "c.txt, line 2"),
    ]


@pytest.mark.parametrize("content", ["", "Dear diary,\ntoday", b"\xff\xfe", "31/12/25 is a date", "10:00 - x: y"])
def test_file_of_another_format_is_invalid(content: Any, write: Writer) -> None:
    path = write("c.txt", content)
    assert not whatsapp.WhatsAppImporter().matches(path)
    with pytest.raises(InvalidInput):
        read(path)


def test_long_runs_take_no_longer_than_other_text(write: Writer) -> None:
    """With a pattern that begins with a repetition, these would take minutes."""
    said = [f"a{' ' * 200_000}b", f"a{'<' * 200_000}", "<edit" * 40_000]
    lines = "".join(f"31/12/25, 23:59 - Ana: {text}\n" for text in said)
    assert [episode.text for episode in read(write("chat.txt", lines))[0]] == said
