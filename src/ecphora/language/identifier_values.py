"""The value of an identifier, read from its shape and its surroundings; None for what only looks like one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..lazy_pattern import lazy_pattern
from .identifier_labels import Label, has_label_after, is_label, label_before
from .identifier_shapes import LETTERS
from .phone_numbers import parse_phone_number
from .quantities import CURRENCY_SIGNS, is_currency, unit_after
from .scripts import UNSPACED_CHARS


class IdentifierKind(StrEnum):
    """What an identifier is by its shape; two of one kind are look-alikes."""

    NUMBER = "number"
    CODE = "code"
    HEX = "hex"
    PATH = "path"
    NAME = "name"
    EMAIL = "email"
    URL = "url"
    PHONE = "phone"
    VERSION = "version"
    ADDRESS = "address"
    TAG = "tag"


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier of a text: ``text`` as it is written, ``value`` in its normal form.

    ``variants`` are values that name the same thing. ``parts`` are values by which it may be asked for, such as the file
    name of a path; ``short_forms`` are those by which another text may name the same thing. ``is_certain`` is False for a
    number without a label that may be a count.
    """

    kind: IdentifierKind
    text: str
    value: str
    variants: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    short_forms: tuple[str, ...] = ()
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a text, from ``start`` to ``end``."""

    text: str
    start: int
    end: int

    @property
    def part(self) -> str:
        """The part."""
        return self.text[self.start : self.end]


MAX_PARTS = 8
"""The most parts of a path by which it may be asked for."""
HASH_PREFIXES = (7, 8, 10, 12)
"""The lengths to which a commit hash is shortened."""
_TRAILING = ".,;:!?'\"*_~"
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_ESCAPES = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")
_LINE = lazy_pattern(r"(?::\d+){1,2}\Z|\(\d+(?:,\d+)?\)\Z|#L\d+\Z")
_SIGNS_OF_CODE = lazy_pattern(r"\d|_|[a-z][A-Z]")
_EXTENSION = lazy_pattern(rf"[{LETTERS}0-9_)-]{{2,}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\Z|\.[a-z]\w{{2,30}}\Z")
_CAMEL = lazy_pattern(r"[a-z]{2,}[0-9]*(?:[A-Z][a-z0-9]+)+[A-Z]?\Z")
_PASCAL = lazy_pattern(r"(?:[A-Z][a-z]{3,}[0-9]*){2}\Z|(?:[A-Z][a-z0-9]+){3,}\Z")
_CODE_NOUN = lazy_pattern(
    r"(?:Service|List|Table|View|Model|Controller|Manager|Error|Exception|Handler|Factory|Client|Server|Test|Tests|Form|"
    r"Repository|Store|Adapter|Builder|Parser|Provider|Reader|Writer|Worker|Queue|Cache|Config|Context|Component|Button|"
    r"Dialog|Modal|Page|Panel|Item|Type|Event|Listener|Util|Utils|Helper|Module|Plugin|Request|Response|Router|Schema|"
    r"Entity|Mapper|Node|Object|Class|Interface|Impl|Job|Task|Validator|Middleware|Hook|State|Action|Reducer|Engine|"
    r"Loader|Encoder|Decoder|Buffer|Stream|Session|Token|Key|Id|Data|Value|Index|Map|Set|Tree|Graph)\Z"
)
"""Last parts of class names; other words of two parts are as often names of people and firms."""
_MEASURED = lazy_pattern(r"\d+(?:st|nd|rd|th|s|er|e|ers|x|k|m|g|d|b|p|am|pm|bn|mio|fold)\Z", re.IGNORECASE)
_BETWEEN = lazy_pattern(r"(?<=[a-z])-(?=\d)|(?<=\d)-(?=[a-z])")
_DATE_TRIPLE = lazy_pattern(r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:(?:19|20)\d\d|\d\d)\Z|(?:19|20)\d\d\.\d\d?\.\d\d?\Z")
_DATE_START = lazy_pattern(r"(?:0?[1-9]|[12]\d|3[01])[./-](?:0?[1-9]|1[0-2])[./-](?:(?:19|20)\d\d|\d\d)(?![\d./-])")
_DATE_DIGITS = lazy_pattern(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\Z")
_NEXT_WORD = lazy_pattern(rf"[ \u00a0]([^\W\d_{UNSPACED_CHARS}]+)")
_COUNTER = frozenset("个個人名位次年月日歳岁本枚分秒元円块塊只台件页頁点點时時回度倍万萬千百億亿天周週円개명년월일시분초원번살권장대층회만천백억")
_NOT_A_PREFIX = frozenset(
    "mid pre post top under over plus sub early late circa ca u age aged around about pro anti non ex since until till "
    "before after ab bis seit um world mitte ende anfang grade day week year season episode part number last next "
    "class covers score nach von vor bc ad ce bce am pm gen".split()  # noqa: SIM905
)
_FUNCTION_WORDS = frozenset(
    "is was are were be has had have does did do can will and or but for in on at to of from with by the a an as if when "
    "after before since until not used again still now mean means belong belongs open free ist war hat sind von für mit "
    "auf und oder in im zu bei nicht noch wird ein eine der die das est a et ou de du la le les des pour avec dans sur "
    "es y o en el los del por para con era ha e di da che il un uma um no na foi в и или на из с для от это".split()  # noqa: SIM905
)
_APPROXIMATE = lazy_pattern(
    r"(?:about|around|over|nearly|almost|than|least|most|only|another|approximately|roughly|etwa|rund|fast|über|mehr als|"
    r"environ|presque|casi|unos|unas|circa|quasi|около|почти|约|約|およそ)\s*\Z",
    re.IGNORECASE,
)
_NO_UPPERCASE_CODE = frozenset(
    "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC TOP AGE THE AND FOR ALL ARE WAS HAS HAD NOT BUT AD BC CE BCE AM PM "
    "IN ON AT TO OF BY OR IF AS IS IT MY NO UP ME WE HE AN".split()  # noqa: SIM905
)


def read_url(place: Place) -> Identifier | None:
    """The identifier of an address of the web; its host and the last part of its path may be asked for alone."""
    text = _without_trailing(place.part)
    scheme, mark, rest = text.rpartition("://") if text.count("://") == 1 else ("", "", text.split("://", 1)[-1])
    value = _unescape(rest).casefold().removeprefix("www.")
    value = re.sub(r":(?:80|443)(?=[/?#]|\Z)", "", value).rstrip("/")
    host, _, path = value.partition("/")
    if "." not in host and ":" not in host and (scheme or not mark) and not re.match(r"[a-z0-9.-]+\Z", host):
        return None
    base = re.split(r"[?#]", value, maxsplit=1)[0].rstrip("/")
    segments = [part for part in re.split(r"[?#]", path)[0].split("/") if part]
    last = [part for part in segments[-1:] if len(part) >= 3]
    short_forms = (base,) if base != value else ()
    return Identifier(
        IdentifierKind.URL, text, value, parts=_distinct((base, host, host.split(":")[0], *last), value),
        short_forms=short_forms,
    )  # fmt: skip


def read_email(place: Place) -> Identifier:
    """The identifier of an e-mail address; its domain may be asked for alone."""
    text = _without_trailing(place.part)
    value = text.casefold()
    return Identifier(IdentifierKind.EMAIL, text, value, parts=(value.rpartition("@")[2],))


def read_uuid(place: Place) -> Identifier:
    """The identifier of a UUID, without hyphens."""
    return Identifier(IdentifierKind.HEX, place.part, place.part.replace("-", "").casefold())


def read_address(place: Place) -> Identifier | None:
    """The identifier of an IP or MAC address; without its port or its mask it may be asked for."""
    text = place.part
    value = text.casefold()
    if "." not in value:
        is_mac = len(value) == 17 and value.count(":") + value.count("-") == 5
        if is_mac:
            return Identifier(IdentifierKind.ADDRESS, text, value.replace("-", ":"))
        has_digit = re.search(r"\d", value) is not None
        groups = [group.lstrip("0") or "0" for group in value.split(":")]
        return Identifier(IdentifierKind.ADDRESS, text, ":".join(groups)) if has_digit else None
    host, port = re.match(r"([\d.]+)(.*)\Z", value).groups()  # type: ignore[union-attr]  # it has digits and dots
    if any(int(part) > 255 for part in host.split(".")):
        return None
    parts = (host, port[1:])[: 2 if port.startswith(":") else 1] if port else ()
    return Identifier(IdentifierKind.ADDRESS, text, value, parts=parts)


def read_path(place: Place) -> Identifier | None:
    """The identifier of a path with slashes or backslashes; its file name and its last folders may be asked for."""
    text = _without_trailing(place.part)
    line = _LINE.search(text)
    value = _unescape(re.sub(r"\\+", "/", text[: line.start()] if line else text)).casefold()
    value = re.sub(r"\A(?:\./)+", "", value).rstrip("/")
    pieces = [piece for piece in value.split("/") if piece]
    if not pieces or not _is_path(text[: line.start()] if line else text, pieces):
        return None
    tails = ["/".join(pieces[place:]) for place in range(max(1, len(pieces) - MAX_PARTS), len(pieces))]
    names = _distinct((*tails, value.lstrip("/")), "")
    if line is None:
        return Identifier(IdentifierKind.PATH, text, value, parts=_distinct(names, value), short_forms=tuple(tails[-1:]))
    with_line = value + ":" + ":".join(re.findall(r"\d+", line[0]))
    parts = _distinct((value, f"{value}:{re.findall(r'[0-9]+', line[0])[0]}", *names), with_line)
    return Identifier(IdentifierKind.PATH, text, with_line, parts=parts, short_forms=_distinct((value, *tails[-1:]), ""))


def read_name(place: Place) -> Identifier:
    """The identifier of a name in code that its punctuation shows: a flag, a variable, a scope, a call."""
    text = place.part
    value = re.sub(r"->", "::", text.strip("${}%").removesuffix("()")).casefold()
    parts = re.split(r"::|\.", value)
    if len(parts) == 1:
        return Identifier(IdentifierKind.NAME, text, value)
    return Identifier(IdentifierKind.NAME, text, ".".join(parts), parts=_distinct((parts[-1], ".".join(parts[-2:]), parts[0]), value))


def read_tag(place: Place) -> Identifier | None:
    """The identifier of a hashtag or of a handle."""
    text = place.part.rstrip("-_")
    value = text.casefold()
    if re.fullmatch(r"#[0-9a-f]{3}(?:[0-9a-f]{3}){0,1}", value) and re.search(r"\d", value):
        return Identifier(IdentifierKind.HEX, text, value[1:])
    return Identifier(IdentifierKind.TAG, text, value, parts=(value[1:],)) if len(value) > 2 else None


def read_iban(place: Place) -> Identifier | None:
    """The identifier of a bank account in the notation of an IBAN."""
    value = place.part.replace(" ", "").casefold()
    if sum(map(str.isdigit, value)) < 8 or not 12 <= len(value) <= 34:
        return None
    return Identifier(IdentifierKind.CODE, place.part, value)


def read_card(place: Place) -> Identifier:
    """The identifier of a number in four groups of four digits."""
    return Identifier(IdentifierKind.NUMBER, place.part, re.sub(r"\D", "", place.part))


def read_phone(place: Place) -> Identifier | None:
    """The identifier of a telephone number."""
    text = place.part
    if _DATE_START.match(text):
        return None
    if re.fullmatch(r"\d{3}-\d{4}", text) and (text.endswith("00") or label_before(place.text, place.start) is Label.AMOUNT):
        return None  # a range of counts
    if _has_amount_around(place):
        return None
    number = parse_phone_number(text)
    if number is None:
        return None
    digits = re.sub(r"\D", "", text)
    short_forms = (number.national,) if number.national != number.value else ()
    return Identifier(IdentifierKind.PHONE, text, number.value, (digits,), short_forms, short_forms)


def read_version(place: Place) -> Identifier | None:
    """The identifier of a version; a leading v does not count."""
    text = place.part
    if _DATE_TRIPLE.match(text) or re.fullmatch(r"V\d+", text):
        return None
    value = text.casefold().removeprefix("v")
    return Identifier(IdentifierKind.VERSION, text, value)


def read_spaced_code(place: Place) -> Identifier | None:
    """The identifier of capital letters and a number with a space between them, such as the flight LH 123."""
    letters, digits = place.part.split(" ")
    has_label = label_before(place.text, place.start) is Label.THING
    if letters in _NO_UPPERCASE_CODE or is_currency(letters) or is_label(letters) or unit_after(f"1 {letters}", 1):
        return None
    if not has_label and (re.fullmatch(r"(?:19|20)\d\d", digits) or _followed_by_count(place, is_strict=True) or unit_after(place.text, place.end)):
        return None
    return Identifier(IdentifierKind.CODE, place.part, f"{letters}{digits}".casefold(), parts=(digits,) if len(digits) > 2 else ())


def read_dotted(place: Place) -> Identifier | None:
    """The identifier of a file name, a host or a dotted name; not that of two sentences without a space between."""
    text = place.part
    parts = text.split(".")
    if parts[0].isdigit() and all(part.isdigit() for part in parts):
        return None
    letters = [part for part in parts if not part.isdigit()]
    if all(len(part) == 1 for part in letters) or len(parts[0]) == 1 or (len(parts) == 2 and len(parts[0]) < 3 > len(parts[1])):
        return None  # U.S.A, p.m
    if len(parts) == 2 and parts[1].isdigit():
        return None  # op.370
    if len(parts) == 2 and parts[1][:1].isupper() and not parts[1].isupper() and not _SIGNS_OF_CODE.search(text):
        return None
    if re.fullmatch(r"\d+[-.\d]*[a-zA-Z]{1,4}", text) or parts[0].casefold() in {"no", "nr", "vol", "pp", "fig", "sec", "ch"}:
        return None
    value = text.casefold()
    is_file = re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,4}", parts[-1]) is not None and len(parts) == 2
    kind = IdentifierKind.PATH if is_file else IdentifierKind.NAME
    return Identifier(kind, text, value, parts=_distinct((parts[-1].casefold(), ".".join(parts[-2:]).casefold()), value) if not is_file else ())


def read_token(place: Place) -> Identifier | None:
    """The identifier of a word that has digits, underscores or inner capitals."""
    text = place.part.removeprefix("#").strip("-")
    inner = text.strip("_")
    if not inner or not inner.isascii() and not re.search(r"[0-9]", inner):
        return None
    folded = inner.casefold()
    if re.fullmatch(r"0x[0-9a-f]{2,64}", folded):
        return Identifier(IdentifierKind.HEX, text, folded, (folded[2:],))
    has_digit, has_letter = re.search(r"\d", folded) is not None, re.search(rf"[{LETTERS}]", folded) is not None
    if not has_letter:
        return None
    is_hex = has_digit and re.fullmatch(r"[0-9a-f]{7,64}", inner) or re.fullmatch(r"[0-9A-F]{7,64}", inner)
    if is_hex and has_digit and not re.fullmatch(r"\d+[a-z]{1,2}", folded):
        prefixes = tuple(folded[:length] for length in HASH_PREFIXES if length < len(folded))
        return Identifier(IdentifierKind.HEX, text, folded, parts=prefixes, short_forms=prefixes)
    if "_" in inner or _CAMEL.match(inner) or (text.startswith("__") and text.endswith("__")):
        return Identifier(IdentifierKind.NAME, text, folded)
    if _PASCAL.match(inner):
        return Identifier(IdentifierKind.NAME, text, folded, is_certain=_CODE_NOUN.search(inner) is not None)
    return _read_code(place, text, folded) if has_digit else None


def _read_code(place: Place, text: str, folded: str) -> Identifier | None:
    """The identifier of a word of letters and digits, such as PAY-1482, tulip-9431 or 12b after a label."""
    label = label_before(place.text, place.start)
    start = place.start + place.part.index(text)
    head, _, tail = folded.partition("-")
    if tail.isdigit() and is_label(head):  # order-88123
        return Identifier(IdentifierKind.NUMBER, text, tail, _without_zeros(tail))
    if label is Label.AMOUNT or place.text[max(0, start - 1) : start] in CURRENCY_SIGNS + "." and start:
        return None
    is_labeled = label is Label.THING
    if unit_after(f"{folded}", len(re.match(r"\d*", folded)[0])) and folded[0].isdigit() and not is_labeled:  # type: ignore[index]
        return None
    if not is_labeled and (_MEASURED.match(folded) or re.match(r"\d+-[^\W\d]{2,}(?:-|\Z)", folded)):
        return None  # 1990s, 21st, 20-year-old
    if not is_labeled and re.fullmatch(r"\d+[^\W\d_]{1,3}(?:-.*)?", folded) and len(re.match(r"\d+", folded)[0]) < 3:  # type: ignore[index]
        return None
    if not is_labeled and tail and (head in _NOT_A_PREFIX or tail.endswith(("s", "er")) and tail[:-1].isdigit()):
        return None
    if not is_labeled and len(folded) < (4 if sum(map(str.isdigit, folded)) < 2 else 3):
        return None  # A4, U2, MP3
    value = folded
    while (shorter := _BETWEEN.sub("", value)) != value:
        value = shorter
    digits = re.search(r"(?<!\d)\d{3,}\Z", folded)
    return Identifier(IdentifierKind.CODE, text, value, parts=(digits[0],) if digits else ())


def read_number(place: Place) -> Identifier | None:
    """The identifier of a number with a label, or of a long one that is no count, year, date or amount."""
    text = place.part
    number = text.removeprefix("#")
    if _has_amount_around(place) or place.text.startswith(("'s", "’s"), place.end):
        return None
    label = label_before(place.text, place.start + len(text) - len(number))
    if label is None and has_label_after(place.text, place.end):
        label = Label.THING
    if label is Label.AMOUNT:
        return None
    if not number.isdigit():
        return _read_groups(place, number, label)
    variants = (*_without_zeros(number), *_as_phone(number))
    if label is Label.THING and not (len(number) < 4 and _followed_by_plural(place)):
        return Identifier(IdentifierKind.NUMBER, text, number, variants)
    if (text.startswith("#") or label is Label.MARK) and len(number) >= 3:
        return Identifier(IdentifierKind.NUMBER, text, number, variants)
    if _is_year(number) or _DATE_DIGITS.match(number) or len(number) < 2 or _followed_by_count(place):
        return None
    if _APPROXIMATE.search(place.text[max(0, place.start - 20) : place.start]):
        return None
    is_round = int(number[-18:]) % (1000 if len(number) > 4 else 100) == 0
    return Identifier(IdentifierKind.NUMBER, text, number, variants, is_certain=len(number) >= 4 and not is_round)


def _read_groups(place: Place, number: str, label: Label | None) -> Identifier | None:
    """The identifier of groups of digits: a number of three groups and nine digits, or one with a label."""
    digits, groups = re.sub(r"\D", "", number), re.split(r"\D", number)
    if re.fullmatch(r"[\d-]+", number) and len(groups) >= 3 and len(digits) >= 9:
        return Identifier(IdentifierKind.NUMBER, place.part, digits)
    if label is not Label.THING:
        return None
    if re.fullmatch(r"\d{1,4}\.\d{1,8}", number):
        return Identifier(IdentifierKind.VERSION, place.part, number)
    if re.fullmatch(r"[\d/-]+", number) and not re.fullmatch(r"\d{4}-\d\d-\d\d", number):
        return Identifier(IdentifierKind.NUMBER, place.part, number, (digits,) if len(digits) >= 6 else ())
    return None


def _has_amount_around(place: Place) -> bool:
    """Whether a currency stands before a number, or a unit or a percent sign after it."""
    before = place.text[max(0, place.start - 5) : place.start].rstrip()
    word = re.search(r"[A-Za-z]+\Z", before)
    if before[-1:] in CURRENCY_SIGNS and before or (word is not None and is_currency(word[0])):
        return True
    return unit_after(place.text, place.end) is not None


def _followed_by_count(place: Place, *, is_strict: bool = False) -> bool:
    """Whether the word after a number may be what is counted; ``is_strict``: only a word in the plural."""
    after = place.text[place.end : place.end + 1]
    if after in _COUNTER and after:
        return True
    if is_strict:
        return _followed_by_plural(place)
    word = _NEXT_WORD.match(place.text, place.end)
    return word is not None and word[1].casefold() not in _FUNCTION_WORDS


def _followed_by_plural(place: Place) -> bool:
    word = _NEXT_WORD.match(place.text, place.end)
    if word is None:
        return False
    folded = word[1].casefold()
    return len(folded) > 3 and folded.endswith("s") and folded not in _FUNCTION_WORDS and not folded.endswith("ss")


def _is_year(number: str) -> bool:
    return len(number) == 4 and "1000" <= number <= "2199"


def _is_path(text: str, pieces: Sequence[str]) -> bool:
    """Whether a text with slashes is a path, and not "and/or" or "km/h"."""
    if text.startswith(("/", "~", "./", "../", "$", "%", "\\")) or re.match(r"[A-Za-z]:\\", text):
        return any(re.search(rf"[{LETTERS}]", piece) for piece in pieces) and len(text) > 2
    if not any(re.search(rf"[{LETTERS}]{{2}}", piece) for piece in pieces):
        return False
    if "\\" in text:
        return len(pieces) > 1
    last = text.rstrip("/").rpartition("/")[2]
    return _EXTENSION.search(last) is not None or (len(pieces) > 2 and "_" in text)


def _unescape(text: str) -> str:
    """A text without percent escapes."""
    return _ESCAPES.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), text)


def _without_trailing(text: str) -> str:
    """A text without the punctuation that follows it in a sentence."""
    while text and (text[-1] in _TRAILING or (text[-1] in _BRACKETS and text.count(text[-1]) > text.count(_BRACKETS[text[-1]]))):
        text = text[:-1]
    return text


def _without_zeros(number: str) -> tuple[str, ...]:
    shorter = number.lstrip("0")
    return (shorter,) if shorter != number and shorter else ()


def _as_phone(number: str) -> tuple[str, ...]:
    phone = parse_phone_number(number) if len(number) >= 9 else None
    return () if phone is None else (phone.national,)


def _distinct(parts: Sequence[str], whole: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for part in parts if part and part != whole))
