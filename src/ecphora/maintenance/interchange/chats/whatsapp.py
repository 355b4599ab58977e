"""Imports a chat that WhatsApp has exported as text: a .txt of Android or iOS, its ZIP, or its folder.

The lines are written for people, in the language and with the dates of the phone. Whether the day or the month comes
first follows from all dates of the file, so the file is read twice. The times have no zone: they are local time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import IO

from ....errors import InvalidInput
from ....model.ids import content_id
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.export_files import HEAD_BYTES, ExportFiles, base_name
from ..files.progress import ProgressMeter
from .json_values import as_name, as_text

NAME = "whatsapp"
PATTERNS = ("*.txt",)
ENCODING = "utf-8-sig"
MEDIA, SYSTEM, DELETED = "a picture, sound, video or file", "a message of the program", "a deleted message"
_MARKS = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_GAP = "[ \u00a0\u202f\u2009]"
_HALF = (
    rf"(?P<half>[aApP]{_GAP}?\.?{_GAP}?[mM]\.?|[ap]\.{_GAP}?m\.?|上午|下午|午前|午後|오전|오후|ص|م|πμ|μμ|π\.μ\.|μ\.μ\.)"
)
_DATE = (
    rf"(?P<a>\d{{1,4}})[{_MARKS}]?(?P<separator>[./-]){_GAP}?(?P<b>\d{{1,2}})[{_MARKS}]?[./-]{_GAP}?(?P<c>\d{{1,4}})\.?"
)
_CLOCK = (
    rf"{_HALF.replace('half', 'half_before')}?{_GAP}?"
    rf"(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<second>\d{{2}}))?(?:{_GAP}*{_HALF})?"
)
_COMMA = rf"[,،]?[{_MARKS}]?"
_HEADERS = [
    re.compile(rf"[{_MARKS}]*(?P<bracket>\[)?[{_MARKS}]*{moment}(?P<close>\])?(?P<dash>{_GAP}[-–]{_GAP}|{_GAP})")
    for moment in (
        rf"{_DATE}{_COMMA}(?:{_GAP}(?:à|às|a las?|at|klo|kl|um|om|pukul|ob))?{_GAP}+{_CLOCK}",
        rf"{_CLOCK}{_COMMA}{_GAP}+{_DATE}",
    )
]
"""What a message begins with: the date and the time, or as in WhatsApp Web and Vietnamese the time and the date."""
_NAME = re.compile(rf"[{_MARKS}]*(?P<name>[^:\n\"“”«»]{{1,60}}?):(?:{_GAP}|$)", re.DOTALL)
_BUDDHIST_YEARS, _LAST_YEAR = 543, 2400
"""What years of Thailand are ahead, and a year that comes only with them."""
_AFTERNOON = frozenset({"下午", "午後", "오후", "م", "μμ", "μ.μ."})
_ATTACHED = re.compile(
    rf"(?:(?:^|\u200e)[{_MARKS}]*<[^<>\n:]{{3,30}}:{_GAP}?[^<>\n]+\.\w{{2,5}}>"
    rf"|^[{_MARKS}]*[^\n]*\.\w{{2,5}}{_GAP}\((?:[^()\n]*(?:attach|angehängt|adjunt|joint|allegat|anexad|bijgevoegd|załącz|прикреп"
    rf"|ekli|添付|附件)[^()\n]*)\))[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""The name of a file that belongs to a message: ``<attached: 1.jpg>`` on iOS, ``1.jpg (file attached)`` on Android."""
_LEFT_OUT = re.compile(r"<[^<>\n\d]{4,60}>\Z|<(?=\S+ )[^<>\n\d]{4,60}>\n(?:[^\n]+\.\w{2,5}\Z)?")
"""What Android writes for media that were not exported: ``<Media omitted>`` in its language, and a file's name."""
_LEFT_OUT_WORDS = (
    "omitted", "weggelassen", "ausgeschlossen", "omitido", "omitida", "omitidos", "absent", "absente", "omis", "omise",
    "omesso", "omessa", "omessi", "ocultado", "ocultada", "oculto", "oculta", "weggelaten", "pominięto", "utelämnad",
)  # fmt: skip
"""The last word of what iOS writes for media that were not exported."""
_EDITED = re.compile(
    r"<[^<>\n]{0,60}(?:edit|bearbeit|modifi|bewerk|redig|измен|редаг|düzen"
    r"|zmien|edytow|uprav|szerkeszt|diedit|chỉnh sửa|تعديل|संपादित|編集|编辑|편집|muokat)[^<>\n]{0,60}>"
    rf"[{_MARKS}]*\Z",
    re.IGNORECASE,
)
"""What the program adds to an edited message."""
_DELETED = frozenset(
    {
        "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht",
        "du hast diese nachricht gelöscht", "se eliminó este mensaje", "este mensaje fue eliminado",
        "eliminaste este mensaje", "ce message a été supprimé", "vous avez supprimé ce message",
        "questo messaggio è stato eliminato", "hai eliminato questo messaggio", "mensagem apagada",
        "esta mensagem foi apagada", "essa mensagem foi apagada", "você apagou esta mensagem",
        "apagou esta mensagem", "dit bericht is verwijderd", "je hebt dit bericht verwijderd",
        "данное сообщение удалено", "вы удалили данное сообщение", "bu mesaj silindi", "bu mesajı sildiniz",
        "ta wiadomość została usunięta", "usunięto tę wiadomość", "null", "это сообщение удалено",
        "вы удалили это сообщение", "det här meddelandet togs bort", "du tog bort det här meddelandet",
        "此消息已删除", "你删除了此消息", "此訊息已刪除", "你已刪除此訊息", "このメッセージは削除されました",
        "このメッセージを削除しました", "삭제된 메시지입니다", "이 메시지는 삭제되었습니다", "यह मैसेज मिटाया गया",
        "आपने यह मैसेज मिटाया", "pesan ini telah dihapus", "anda menghapus pesan ini", "تم حذف هذه الرسالة",
        "لقد حذفت هذه الرسالة", "tämä viesti poistettiin", "poistit tämän viestin",
        "הודעה זו נמחקה", "מחקת הודעה זו", "pesan ini dihapus", "denne besked blev slettet", "du slettede denne besked",
        "denne meldingen ble slettet", "tato zpráva byla odstraněna", "zprávu jste odstranili",
        "tin nhắn này đã bị xóa", "bạn đã xóa tin nhắn này",
        "ezt az üzenetet törölték", "acest mesaj a fost șters", "αυτό το μήνυμα διαγράφηκε",
        "ข้อความนี้ถูกลบแล้ว", "це повідомлення видалено", "ви видалили це повідомлення",
    }
)  # fmt: skip
"""The texts of deleted messages, in lower case and without a full stop."""
_SHARED = frozenset(
    {
        "live location shared", "live-standort wird geteilt", "missed voice call", "missed video call",
        "missed group voice call", "missed group video call", "verpasster sprachanruf", "verpasster videoanruf",
        "llamada perdida", "videollamada perdida", "appel vocal manqué", "appel vidéo manqué", "chamada de voz perdida",
        "chamada de vídeo perdida", "waiting for this message", "waiting for this message. this may take a while",
    }
)  # fmt: skip
"""What Android writes after a name for calls and the like, in lower case and without a full stop."""
_KEPT_AFTER_MARK = re.compile(
    r"(?:poll|umfrage|encuesta|sondage|sondaggio|enquete|location|standort)\b|[^\n:<>]{3,20}: https?://", re.IGNORECASE
)
"""How a text may begin that the program has marked, though the user has written it: a poll, or a place."""
_CHAT_NAME = re.compile(r"^.*?whatsapp.*?(?:\s-\s|\s(?:with|mit|con|avec|com|met|med|z)\s)(?P<name>.+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _DateOrder:
    """Where year, month and day stand in the dates of a file."""

    year: int
    month: int
    day: int


YEAR_FIRST, DAY_FIRST, MONTH_FIRST = _DateOrder(0, 1, 2), _DateOrder(2, 1, 0), _DateOrder(2, 0, 1)


@dataclass(slots=True)
class _Message:
    """A message as it is being read: its header, its text so far, and the number of its first line."""

    header: re.Match[str]
    lines: list[str]
    number: int


class WhatsAppImporter:
    """Reads a chat that WhatsApp has exported."""

    name = NAME
    title = "WhatsApp, an exported chat: the .txt, its ZIP or folder"
    fields: Mapping[str, str] = {
        "speaker": "the name before the colon",
        "happened_at": "date and time of the message, local time of --zone",
        "session": "the name of the chat, from the name of the file",
    }

    def matches(self, path: str, /) -> bool:
        """Whether one of the first lines begins with a date and a time, as messages do."""
        try:
            with ExportFiles(path) as files:
                names = [name for name in files.find(*PATTERNS) if name.lower().endswith(".txt")]
                return any(_begins_as_chat(files.head(name)) for name in names[:3])
        except (InvalidInput, OSError, ValueError):
            return False

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the messages in the order of the file."""
        with ExportFiles(path) as files:
            names = files.find(*PATTERNS)
            meter, found = ProgressMeter(progress, 2 * files.size(names)), False
            for name in names:
                with files.open(name) as file:
                    order = _find_order(_lines(meter, file, name))
                if order is None:
                    yield Omission("a file that is no chat", name)
                    continue
                found = True
                chat = _chat_name(files, name)
                with files.open(name) as file:
                    yield from _episodes(_messages(_lines(meter, file, name)), order, chat, name)
            if not found:
                raise InvalidInput(f"{show(path)} holds no chat of WhatsApp")
            meter.finish()


def _begins_as_chat(head: bytes) -> bool:
    text = head[:HEAD_BYTES].decode(ENCODING, "ignore")
    headers = [found for line in text.splitlines()[:20] if (found := _header(line))]
    return any(_NAME.match(found.string, found.end()) for found in headers) or len(headers) > 1


def _lines(meter: ProgressMeter, file: IO[bytes], name: str) -> Iterator[str]:
    """The lines of a file, without their ends; raises ``InvalidInput`` if it is not UTF-8."""
    for number, line in enumerate(meter.wrap(file), 1):
        try:
            yield line.decode(ENCODING if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{name} is not UTF-8 in line {number}") from error


def _header(line: str) -> re.Match[str] | None:
    """The header of a line that begins a message."""
    found = _HEADERS[0].match(line) or _HEADERS[1].match(line)
    if found is None:
        return None
    is_ios = bool(found["bracket"]) and bool(found["close"])
    is_android = not found["bracket"] and not found["close"] and found["dash"].strip() in {"-", "–"}
    return found if is_ios or is_android else None


def _find_order(lines: Iterable[str]) -> _DateOrder | None:
    """Where the day and the month stand in the dates of a file, from all of them; None if there is no date.

    A number above 12 is a day. Without one, the order counts in which the messages go back in time less often.
    """
    largest, backward, last = [0, 0, 0], Counter[_DateOrder](), dict[_DateOrder, tuple[int, ...]]()
    separator, has_english_half = "", False
    for line in lines:
        if (found := _header(line)) is None:
            continue
        values = (int(found["a"]), int(found["b"]), int(found["c"]))
        largest = list(map(max, largest, values))
        separator, has_english_half = found["separator"], has_english_half or found["half"] in {"AM", "PM"}
        for order in (DAY_FIRST, MONTH_FIRST):
            date = (values[order.year], values[order.month], values[order.day])
            backward[order] += date < last.get(order, date)
            last[order] = date
    if not last:
        return None
    if largest[0] > 31:
        return YEAR_FIRST
    if (largest[0] > 12) != (largest[1] > 12):
        return DAY_FIRST if largest[0] > 12 else MONTH_FIRST
    if backward[DAY_FIRST] != backward[MONTH_FIRST]:
        return min((DAY_FIRST, MONTH_FIRST), key=lambda order: backward[order])
    return MONTH_FIRST if separator == "/" and has_english_half else DAY_FIRST


def _messages(lines: Iterable[str]) -> Iterator[_Message | Omission]:
    """The messages with all their lines."""
    current: _Message | None = None
    for number, line in enumerate(lines, 1):
        if (header := _header(line)) is not None:
            if current is not None:
                yield current
            current = _Message(header, [line[header.end() :]], number)
        elif current is not None:
            current.lines.append(line)
        elif line.strip():
            yield Omission("a line before the first message", f"line {number}")
    if current is not None:
        yield current


def _episodes(
    messages: Iterable[_Message | Omission], order: _DateOrder, chat: str, file: str
) -> Iterator[Episode | Omission]:
    repeats: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, Omission):
            yield message
            continue
        place = f"{base_name(file)}, line {message.number}"
        time, body = _time(message.header, order), "\n".join(message.lines)
        said = _NAME.match(body)
        speaker = None if said is None else as_name(said["name"])
        if said is None or speaker is None:
            yield Omission(SYSTEM, place)
            continue
        if time is None:
            yield Omission("a message with a date that does not exist", place)
            continue
        text, reasons = _text(body[said.end() :])
        for reason in reasons:
            yield Omission(reason, place)
        if not text:
            continue
        id_ = content_id(chat, time.isoformat(), speaker, text)
        repeats[id_] += 1
        if repeats[id_] > 1:
            id_ = content_id(id_, str(repeats[id_]))
        yield Episode(
            text,
            f"{NAME}:{id_}",
            speaker=speaker.removeprefix("~").strip() or speaker,
            session=f"{NAME}:{chat}",
            happened_at=time,
            source=NAME,
            metadata={"conversation": chat},
        )


def _text(body: str) -> tuple[str, list[str]]:
    """The text of a message, and what is left out of it; empty if all is."""
    reasons = [MEDIA] * len(_ATTACHED.findall(body))
    body = _EDITED.sub("", _ATTACHED.sub("", body))
    text = as_text(re.sub(f"[{_MARKS}]", "", body).rstrip())
    if not text:
        return "", reasons or ["a message without text"]
    if left_out := _LEFT_OUT.match(text):
        return text[left_out.end() :].strip(), [*reasons, MEDIA]
    reason = _reason_to_omit(text, body, has_file=bool(reasons))
    return ("", [*reasons, reason]) if reason else (text, reasons)


def _reason_to_omit(text: str, body: str, *, has_file: bool) -> str | None:
    """Why a text is left out that the user has not written; ``body`` is the text with the marks of the program."""
    words = text.casefold().rstrip(".")
    if words in _DELETED or words.startswith("this message was deleted by admin"):
        return DELETED
    if "\u200e" in body and words.rpartition(" ")[2] in _LEFT_OUT_WORDS and "\n" not in text:
        return MEDIA
    is_marked = body.lstrip(" ").startswith("\u200e") and not has_file and not _KEPT_AFTER_MARK.match(text)
    return SYSTEM if is_marked or words in _SHARED else None


def _time(header: re.Match[str], order: _DateOrder) -> datetime | None:
    """The local time of a message."""
    values = (int(header["a"]), int(header["b"]), int(header["c"]))
    year, hour = values[order.year], int(header["hour"])
    half = (header["half"] or header["half_before"] or "").lower()
    if half:
        is_afternoon = half.startswith("p") or half in _AFTERNOON
        hour = hour % 12 + 12 * is_afternoon
    try:
        return datetime(  # noqa: DTZ001  # local time of the phone
            year + 2000 if year < 100 else year - _BUDDHIST_YEARS if year > _LAST_YEAR else year,
            values[order.month],
            values[order.day],
            hour,
            int(header["minute"]),
            int(header["second"] or 0),
        )
    except ValueError:
        return None


def _chat_name(files: ExportFiles, name: str) -> str:
    """The name of the chat, from the name of its file, or of the ZIP or folder that it is in."""
    for one in (base_name(name), files.path.name, files.path.absolute().parent.name):
        if found := _CHAT_NAME.match(one.removesuffix(".txt").removesuffix(".zip")):
            return as_name(found["name"]) or NAME
    stem = base_name(name).removesuffix(".txt")
    return as_name(stem if stem != "_chat" else files.path.name.removesuffix(".zip").removesuffix(".txt")) or NAME
