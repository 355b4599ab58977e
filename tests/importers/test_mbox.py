"""Mail: mbox files, single messages and folders, threads, dates, HTML, quoted replies and what is left out."""

import email
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from ecphora.errors import InvalidInput
from ecphora.maintenance.interchange.documents import mbox
from ecphora.maintenance.interchange.documents.html_text import html_to_text
from ecphora.maintenance.interchange.documents.mbox import MboxImporter
from ecphora.model.ports import FormatImporter
from ecphora.model.types import Episode, Omission
from ecphora.testing import ImporterContract

FIRST = """From ana@example.org Sun Jan 11 09:00:00 2026
From: =?utf-8?q?Ana_S=C3=A1?= <ana@example.org>
To: ben@example.org
Subject: Moving to
 Porto
Date: Sun, 11 Jan 2026 10:00:00 +0100
Message-ID: <one@example.org>

I am moving to Porto in May.
>From here on I count the days.

"""
REPLY = """From ben@example.org Sun Jan 11 10:00:00 2026
From: ben@example.org
Subject: Re: Moving to Porto
Date: Sun, 11 Jan 2026 11:00:00 +0000
Message-ID: <two@example.org>
In-Reply-To: <one@example.org>

Great news!

On Sun, 11 Jan 2026 at 10:00, Ana wrote:
> I am moving to Porto in May.

"""
SECOND_REPLY = """From ana@example.org Sun Jan 11 11:00:00 2026
From: Ana <ana@example.org>
Date: Sun, 11 Jan 2026 12:30:00 +0000
Message-ID: <three@example.org>
In-Reply-To: <two@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="B"

--B
Content-Type: multipart/alternative; boundary="A"

--A
Content-Type: text/html; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

<html><head><style>p {}</style></head><body><p>The flat has a caf=E9 <b>below</b>.</p></body></html>
--A--
--B
Content-Type: image/png
Content-Disposition: attachment; filename="flat.png"
Content-Transfer-Encoding: base64

AAAA
--B--

"""


def write(folder: Path, *messages: str, name: str = "inbox.mbox", line_end: str = "\n") -> str:
    path = folder / name
    path.write_bytes("".join(messages).replace("\n", line_end).encode())
    return str(path)


def read(path: str) -> tuple[list[Episode], list[Omission]]:
    found = list(MboxImporter().read(path))
    return (
        [one for one in found if isinstance(one, Episode)],
        [one for one in found if isinstance(one, Omission)],
    )


@pytest.fixture
def no_quote_cutter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mailparser_reply", None)


class TestContract(ImporterContract):
    @pytest.fixture
    def importer(self) -> MboxImporter:
        return MboxImporter()

    @pytest.fixture(params=["\n", "\r\n"])
    def sample(self, tmp_path: Path, request: pytest.FixtureRequest) -> str:
        return write(tmp_path, FIRST, REPLY, SECOND_REPLY, line_end=request.param)


def test_it_recognizes_its_format(tmp_path: Path) -> None:
    importer: FormatImporter = MboxImporter()
    assert isinstance(importer, FormatImporter)
    assert importer.matches(write(tmp_path, FIRST, name="Inbox"))
    assert importer.matches(write(tmp_path, FIRST.partition("\n")[2], name="one.eml"))
    assert not importer.matches(write(tmp_path, "From here on, this is a letter.\n", name="letter.txt"))
    assert not importer.matches(str(tmp_path / "missing"))


@pytest.mark.usefixtures("no_quote_cutter")
def test_headers_become_fields(tmp_path: Path) -> None:
    (first, reply, second), omissions = read(write(tmp_path, FIRST, REPLY, SECOND_REPLY))
    assert first.text.strip() == "I am moving to Porto in May.\nFrom here on I count the days."
    assert (first.speaker, first.title, first.source) == ("Ana Sá", "Moving to Porto", "mbox")
    assert str(first.happened_at) == "2026-01-11 10:00:00+01:00"
    assert first.metadata == {
        "message_id": "one@example.org", "address": "ana@example.org", "to": "ben@example.org",
        "origin": "inbox.mbox, message 1",
    }  # fmt: skip
    assert reply.speaker == "ben@example.org"
    assert {one.session for one in (first, reply, second)} == {"one@example.org"}
    assert second.text == "The flat has a café below."
    assert Omission(mbox.ATTACHMENT, "inbox.mbox, message 3, flat.png") in omissions


@pytest.mark.usefixtures("no_quote_cutter")
def test_without_the_library_quotes_stay_and_are_reported(tmp_path: Path) -> None:
    episodes, omissions = read(write(tmp_path, FIRST, REPLY))
    assert "> I am moving" in episodes[1].text
    assert omissions == [Omission(mbox.QUOTES_KEPT, "inbox.mbox, message 2")]


def test_the_library_cuts_quotes_off(tmp_path: Path) -> None:
    pytest.importorskip("mailparser_reply")
    indented = FIRST.replace("I am moving", "    I am moving")
    episodes, omissions = read(write(tmp_path, indented, REPLY))
    assert [one.text.strip() for one in episodes][1] == "Great news!"
    assert episodes[0].text.startswith("    I am moving")  # nothing was cut, so that nothing was changed
    assert omissions == []


def test_text_that_is_all_quote_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_parser(monkeypatch, lambda text: ["" if text.startswith(">") else text.partition("\nOn ")[0], "rest"])
    forwarded = REPLY.replace("Great news!\n\nOn Sun, 11 Jan 2026 at 10:00, Ana wrote:\n", "")
    episodes, _ = read(write(tmp_path, REPLY, forwarded.replace("two@", "four@")))
    assert [one.text.strip() for one in episodes] == ["Great news!", "> I am moving to Porto in May."]


def test_only_the_start_of_a_long_text_is_searched_for_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def split(text: str) -> list[str]:
        given.append(len(text))
        return text.split("On Sunday, Ana wrote:")

    install_parser(monkeypatch, split)
    words = "word " * mbox.MAX_CUT_CHARS
    header = REPLY.partition("\n\n")[0]
    late, early = f"{words}\nOn Sunday, Ana wrote:\n> Hi", f"Short.\nOn Sunday, Ana wrote:\n{words}"
    (first,), _ = read(write(tmp_path, header, "\n\n", late))
    (second,), _ = read(write(tmp_path, header, "\n\n", early))
    assert (first.text, second.text) == (late, "Short.")
    assert max(given) <= mbox.MAX_CUT_CHARS


def install_parser(monkeypatch: pytest.MonkeyPatch, split: Callable[[str], list[str]]) -> None:
    """Stand in for mail-parser-reply."""
    module, constants = ModuleType("mailparser_reply"), ModuleType("mailparser_reply.constants")

    class Parser:
        def __init__(self, languages: list[str]) -> None:
            assert languages == ["en"]

        def read(self, text: str) -> object:
            replies = [type("Reply", (), {"content": part})() for part in split(text)]
            return type("Mail", (), {"replies": replies})()

    module.EmailReplyParser = Parser  # type: ignore[attr-defined]
    constants.MAIL_LANGUAGES = {"en": {}}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mailparser_reply", module)
    monkeypatch.setitem(sys.modules, "mailparser_reply.constants", constants)


def test_references_name_the_thread(tmp_path: Path) -> None:
    alone = REPLY.replace("In-Reply-To: <one@example.org>", "References: <zero@x> <half@x>")
    (episode,), _ = read(write(tmp_path, alone))
    assert episode.session == "zero@x"


def test_malformed_mail_is_left_out_with_its_place(tmp_path: Path) -> None:
    no_text = "From x Sun\nFrom: x@y\nMessage-ID: <e@x>\n\n\n"
    bad_date = "From x Sun\nFrom: x@y\nDate: yesterday\nMessage-ID: <f@x>\n\nHello\n\n"
    episodes, omissions = read(write(tmp_path, FIRST, no_text, bad_date))
    assert [one.text.strip() for one in episodes][1:] == ["Hello"]
    assert episodes[1].happened_at is None
    assert [one.place for one in omissions] == ["inbox.mbox, message 2", "inbox.mbox, message 3"]
    assert omissions[0].reason == mbox.NO_TEXT


def test_error_of_the_parser_leaves_one_message_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = email.message_from_bytes

    def fail(data: bytes) -> object:
        if b"two@" in data:
            raise AttributeError("a defect")
        return parse(data)

    monkeypatch.setattr(email, "message_from_bytes", fail)
    episodes, omissions = read(write(tmp_path, FIRST, REPLY))
    assert len(episodes) == 1
    assert omissions == [Omission(mbox.UNREADABLE, "inbox.mbox, message 2")]


def test_a_message_that_is_too_long_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mbox, "MAX_MESSAGE_BYTES", 400)
    episodes, omissions = read(write(tmp_path, FIRST, REPLY + "x" * 500 + "\n\n", FIRST))
    assert len(episodes) == 2
    assert omissions == [Omission(mbox.LARGE, "inbox.mbox, message 2")]


def test_folder_of_messages_and_a_maildir(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp", "channel", "channel/new"):
        (tmp_path / name).mkdir()
    write(tmp_path / "channel/new", FIRST.partition("\n")[2], name="no-mail")
    write(tmp_path / "cur", FIRST.partition("\n")[2], name="1768125600.M1P2.host:2,S")
    write(tmp_path, REPLY.partition("\n")[2], name="b.eml")
    (tmp_path / "outside.eml").symlink_to("/etc/passwd")
    episodes, omissions = read(str(tmp_path))
    assert sorted(str(one.metadata["origin"]) for one in episodes) == ["b.eml", "cur/1768125600.M1P2.host:2,S"]
    assert "outside.eml" in [one.place for one in omissions]
    assert MboxImporter().matches(str(tmp_path))


def test_unknown_charsets_and_broken_encodings_give_text(tmp_path: Path) -> None:
    odd = (
        "From x Sun\nFrom: =?x-none?b?w6Q=?= <a@x>\nMessage-ID: <g@x>\nContent-Type: text/plain; charset=x-none\n"
        "Content-Transfer-Encoding: base64\n\nSGVsbG8=\n\n"
    )
    (episode,), _ = read(write(tmp_path, odd))
    assert (episode.text, episode.speaker) == ("Hello", "ä")


def test_file_without_mail_is_invalid(tmp_path: Path) -> None:
    for content in ("", "Dear Ana,\n\nhello.\n"):
        with pytest.raises(InvalidInput, match="holds no mail"):
            read(write(tmp_path, content, name="letter.txt"))
    with pytest.raises(InvalidInput, match="there is no file"):
        read(str(tmp_path / "missing.mbox"))


def test_html_is_read_as_text() -> None:
    html = "<title>x</title><h1>A</h1><script>b()</script><ul><li>c<li>d &amp; e</ul>f<br>g<p>h<p></div>"
    assert html_to_text(html) == "A\n\n- c\n- d & e\nf\ng\nh"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<div style="display: none">a<div>b</div><br>c</div>d', "d"),
        ('<img style="display:none"><p>a</p>', "a"),
        ("<head><title>a</title><body>b", "b"),
        ('<span style="visibility:hidden">' * 3 + "a" + "</span>" * 3 + "b", "b"),
    ],
)
def test_hidden_html_is_left_out(html: str, text: str) -> None:
    assert html_to_text(html) == text
