"""Reads mail: an mbox file, a message in a file of its own (.eml), or a folder of these, such as a Maildir."""

import email
import email.message
import email.utils
import re
from collections.abc import Callable, Iterator
from datetime import UTC
from email.header import decode_header
from email.message import Message
from pathlib import Path

from ....errors import InvalidInput
from ....model.ids import content_id
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import SourceFile, existing_path, first_bytes, list_files, show_path
from ..files.progress import ProgressMeter
from ..imported_episodes import Entry, build_episode
from .html_text import html_to_text

NAME = "mbox"
QUOTES_KEPT = "a quoted message, which stays in the text: pip install 'ecphora[import]' cuts it off"
ATTACHMENT = "an attachment"
AUTOMATIC = "an automatic reply, or a report of a mail server"
UNWANTED = "a message that lies in the spam or trash"
NO_TEXT = "a message without a text"
UNREADABLE = "a message that cannot be read"
LARGE = "a message of more than 64 MB"
MAX_MESSAGE_BYTES = 64_000_000
MAX_CUT_CHARS = 10_000
"""Characters in which a quoted message must begin to be cut off; the patterns of the library take long for more."""
_QUOTE = re.compile(r"^\s*>", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n\s*\n\s*\n")
_SIGNATURE = "\n-- \n"
"""The line that all programs put before a signature."""
_UNWANTED = re.compile(r"(?:\A|,)\s*(?:spam|trash|bin|junk)\s*(?:,|\Z)", re.IGNORECASE)
"""The labels of Google Takeout for mail that the user has thrown away."""
_MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
_HEADER = re.compile(
    rb"\A(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?(?:from|date|message-id|received|subject):", re.IGNORECASE
)
_SUFFIXES = (".mbox", ".eml", "mbox")
_MAILDIR = ("cur", "new", "tmp")


class MboxImporter:
    """Mail as memories; a thread is a session, and quoted replies are cut off if mail-parser-reply is installed."""

    name = NAME
    title = "Mail: an mbox file, an .eml file, or a folder of these (Maildir)"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "speaker": "From", "happened_at": "Date", "session": "the first of References, In-Reply-To or Message-ID",
        "title": "Subject",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether a file begins as mail does, or a folder holds such files."""
        try:
            if Path(path).is_dir():
                return any(isinstance(one, SourceFile) for one in _mail_files(Path(path)))
            start = first_bytes(path)
            return _is_mbox(start) or (path.lower().endswith(".eml") and bool(_HEADER.match(start)))
        except (OSError, ValueError):
            return False

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages in the order of the file."""
        root = existing_path(path)
        if root.is_dir():
            found = list(_mail_files(root))
        else:
            found = [SourceFile(root, show_path(root.name), root.stat().st_size)]
        files = [one for one in found if isinstance(one, SourceFile)]
        meter = ProgressMeter(progress, sum(file.size for file in files))
        reader, cut_quotes = _ThreadReader(), _quote_cutter()
        count = 0
        yield from (one for one in found if isinstance(one, Omission))
        for file in files:
            for place, data in _messages(file, meter):
                count += data != b""
                if data is None:
                    yield Omission(LARGE, place)
                else:
                    yield from reader.read(data, place, cut_quotes)
        if not count:
            raise InvalidInput(f"{show(path)} holds no mail: give an mbox file, an .eml file or a folder of them")
        meter.finish()


def _mail_files(root: Path) -> Iterator[SourceFile | Omission]:
    """The files with mail below a folder."""
    for one in list_files(root, ("",)):
        name = one.place if isinstance(one, Omission) else one.path.name.lower()
        in_maildir = isinstance(one, SourceFile) and _is_in_maildir(one.path)
        if name.endswith(_SUFFIXES) or in_maildir:
            yield one


def _is_in_maildir(file: Path) -> bool:
    folder = file.parent
    return folder.name in {"cur", "new"} and all((folder.parent / name).is_dir() for name in _MAILDIR)


def _is_mbox(start: bytes) -> bool:
    line, _, rest = start.partition(b"\n")
    return line.startswith(b"From ") and bool(_HEADER.match(rest.replace(b"\r\n", b"\n") + b"\n"))


def _messages(file: SourceFile, meter: ProgressMeter) -> Iterator[tuple[str, bytes | None]]:
    """The messages of a file with their places; None for a message that is too long."""
    start = first_bytes(file.path)
    if not _is_mbox(start):
        if _HEADER.match(start.replace(b"\r\n", b"\n")):
            meter.advance(file.size)
            yield file.place, file.path.read_bytes() if file.size <= MAX_MESSAGE_BYTES else None
        return
    with file.path.open("rb") as source:
        lines: list[bytes] = []
        size, number, after_blank = 0, 0, True
        while line := source.readline(1 << 20):
            meter.advance(len(line))
            if after_blank and line.startswith(b"From ") and number:
                yield f"{file.place}, message {number}", b"".join(lines) if size <= MAX_MESSAGE_BYTES else None
                lines, size = [], 0
            if after_blank and line.startswith(b"From "):
                number += 1
            else:
                size += len(line)
                if size <= MAX_MESSAGE_BYTES:
                    lines.append(re.sub(rb"\A>(>*From )", rb"\1", line))
            after_blank = line in {b"\n", b"\r\n"}
        yield f"{file.place}, message {number}", b"".join(lines) if size <= MAX_MESSAGE_BYTES else None


class _ThreadReader:
    """Reads messages, and knows which thread the messages before belong to."""

    def __init__(self) -> None:
        self._threads: dict[str, str] = {}

    def read(self, data: bytes, place: str, cut_quotes: Callable[[str], str] | None) -> Iterator[Episode | Omission]:
        try:
            message = email.message_from_bytes(data)
            text, attachments = _body(message)
            headers = {name: _header(message, name) for name in ("From", "To", "Cc", "Subject", "Date", "Message-ID")}
            labels, kind = _header(message, "X-Gmail-Labels"), message.get_content_type()
            is_automatic = kind == "multipart/report" or _header(message, "Auto-Submitted").startswith("auto-replied")
            references = _MESSAGE_ID.findall(f"{_header(message, 'References')} {_header(message, 'In-Reply-To')}")
        except Exception:  # noqa: BLE001  # the parser of the standard library raises anything for malformed mail
            yield Omission(UNREADABLE, place)
            return
        if is_automatic or _UNWANTED.search(labels):
            yield Omission(AUTOMATIC if is_automatic else UNWANTED, place)
            return
        yield from (Omission(ATTACHMENT, f"{place}, {name}") for name in attachments)
        if not text.strip():
            yield Omission(NO_TEXT, place)
            return
        has_quote = bool(_QUOTE.search(text))
        if cut_quotes is not None and (has_quote or references):
            text = cut_quotes(text)
        elif has_quote:
            yield Omission(QUOTES_KEPT, place)
        found = _MESSAGE_ID.search(headers["Message-ID"])
        message_id = found[1] if found else content_id(data.decode("utf-8", "replace"))
        thread = next((self._threads[one] for one in references if one in self._threads), None)
        thread = thread or (references[0] if references else message_id)
        self._threads[message_id] = thread
        name, address = email.utils.parseaddr(headers["From"])
        entry = Entry(
            place,
            message_id,
            text,
            speaker=name or address or None,
            session=thread,
            happened_at=_date(headers["Date"]),
            title=headers["Subject"],
            metadata={
                key: value
                for key, value in (
                    ("message_id", message_id), ("address", address), ("to", headers["To"]), ("cc", headers["Cc"]),
                )
                if value
            },
        )  # fmt: skip
        yield from build_episode(NAME, entry)


def _header(message: Message, name: str) -> str:
    """A header, decoded; "" if it is missing."""
    value = message.get(name)
    if value is None:
        return ""
    parts = []
    for part, charset in decode_header(value):
        parts.append(part if isinstance(part, str) else _decode(part, charset))
    return re.sub(r"\s+", " ", "".join(parts)).strip()


def _decode(data: bytes, charset: str | None) -> str:
    try:
        return data.decode(charset or "utf-8", "replace")
    except (LookupError, ValueError):
        return data.decode("utf-8", "replace")


def _date(value: str) -> object:
    """A date of a header: with its offset; without one, or with "-0000", it is in UTC."""
    if not value:
        return None
    try:
        time = email.utils.parsedate_to_datetime(value)
        return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return value


def _body(message: Message) -> tuple[str, list[str]]:
    """The text of a message, the plain one if it has one, and the names of its attachments."""
    plain, html, attachments = list[str](), list[str](), list[str]()
    stack = [message]
    while stack:
        part = stack.pop()
        kind = part.get_content_type()
        if part.get_content_disposition() == "attachment" or part.get_filename():
            attachments.append(_printable(part.get_filename() or kind))
        elif part.is_multipart() and part.get_content_maintype() == "multipart":
            stack += reversed([one for one in part.get_payload() if isinstance(one, Message)])
        elif kind in {"text/plain", "text/html"}:
            data = part.get_payload(decode=True)
            text = _decode(data, part.get_content_charset()) if isinstance(data, bytes) else ""
            (plain if kind == "text/plain" else html).append(text.replace("\r\n", "\n").strip("\n"))
        else:
            attachments.append(kind)
    if any(text.strip() for text in plain):
        return "\n\n".join(map(_without_signature, filter(str.strip, plain))), attachments
    return "\n\n".join(html_to_text(text) for text in html), attachments


def _without_signature(text: str) -> str:
    said, mark, rest = text.rpartition(_SIGNATURE)
    return said if mark and not _QUOTE.search(rest) else text


def _printable(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def _quote_cutter() -> Callable[[str], str] | None:
    """A function that cuts off what a mail quotes, None if mail-parser-reply is not installed."""
    try:
        from mailparser_reply import EmailReplyParser  # noqa: PLC0415  # of the extra
        from mailparser_reply.constants import MAIL_LANGUAGES  # noqa: PLC0415
    except ImportError:
        return None
    parser = EmailReplyParser(languages=sorted(MAIL_LANGUAGES))

    def cut(text: str) -> str:
        start = _BLANK_LINES.sub("\n\n", text[:MAX_CUT_CHARS])
        replies = parser.read(start).replies
        if len(replies) == 1 and (len(text) > MAX_CUT_CHARS or not _QUOTE.search(text)):
            return text
        newest = "\n".join(line for line in replies[0].content.splitlines() if not line.startswith(">")).strip()
        return newest or text

    return cut
