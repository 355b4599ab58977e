"""Reads codes and names: keys with digits, hashes, versions, names in programs; None for ordinary words.

The shapes of identifiers as patterns, matched where a word may begin. All repeats are bounded: time is linear.

Reads identifiers of places: paths, files, addresses of the web, of mail and of machines; None for what is none.
"""

import re
from collections.abc import Sequence

from ...model.lazy import lazy_pattern
from ..terms import UNSPACED_CHARS
from .numbers import (
    CURRENCY_SIGNS,
    PHONE,
    Label,
    is_currency,
    is_followed_by_plural,
    is_label,
    label_before,
    unit_after,
    without_zeros,
)
from .values import Identifier, IdentifierKind, Place, distinct

LETTERS = r"A-Za-z\u00aa-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u052f"
"""Latin, Greek and Cyrillic letters, as in a character class."""
_W = rf"{LETTERS}0-9_"
_END = rf"(?![{_W}])"
_TOKEN = rf"[{_W}]{{1,80}}+(?:-[{_W}]{{1,80}}+){{0,12}}"
_URL_CHAR = rf"[^\s\"'<>`{{}}|\\^{UNSPACED_CHARS}\u3000-\u303f\u2018-\u201f]"
_FILE = rf"[{_W}.][{_W}.+@%~=-]{{0,120}}"
_FILE_SPACED = rf"{_FILE}(?: [{_W}.+@%~=()-]{{1,60}}){{0,3}}"
_LINES = r"(?::\d{1,7}(?::\d{1,7})?|\(\d{1,7}(?:,\d{1,7})?\)|#L\d{1,7})?"
_HEX4 = "[0-9A-Fa-f]{1,4}"
_SUFFIX = (
    r"(?:[-.+]?(?i:rc|alpha|beta|dev|post|pre|preview|snapshot|final|b|a)[-.]?\d{0,6}(?:\.\d{1,6})?)?(?:\+[\w.]{1,40})?"
)

RUN = lazy_pattern(rf"[^\s{UNSPACED_CHARS}]+")
"""What stands between spaces or characters of a script without spaces."""
PLAIN_RUN = lazy_pattern(
    rf"[^{_W}#@$/~\\%-]*+(?:[{LETTERS}]?[a-z\u00df-\u00f6\u00f8-\u00ff]*+|[A-Z]{4, 60}+)"
    rf"(?:(?<=[{LETTERS}])[-'’][{LETTERS}]?[a-z\u00df-\u00f6\u00f8-\u00ff]*+)*+[^{_W}#@$/~\\(\[.-]*+[.)]*+"
)
"""A word, with punctuation around it: no identifier begins here."""
WORD = lazy_pattern(rf"[{_W}]+")

_SHAPES = {
    "moment": r"\d{4}-\d\d-\d\d[T_]\d\d(?::?\d\d){0,2}(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?",
    "url": rf"(?:[A-Za-z][A-Za-z0-9+.-]{{1,15}}://|www\.){_URL_CHAR}{{2,2000}}",
    "email": r"[A-Za-z0-9_][A-Za-z0-9_.+%-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,5}"
    r"\.[A-Za-z][A-Za-z0-9-]{1,62}",
    "uuid": rf"[0-9A-Fa-f]{{8}}(?:-[0-9A-Fa-f]{{4}}){{3}}-[0-9A-Fa-f]{{12}}{_END}",
    "address": rf"(?:[0-9A-Fa-f]{{2}}[:-]){{5}}[0-9A-Fa-f]{{2}}{_END}(?![:-][0-9A-Fa-f])"
    rf"|(?:{_HEX4}:){{7}}{_HEX4}{_END}|{_HEX4}(?::{_HEX4}){{0,6}}::(?:{_HEX4}(?::{_HEX4}){{0,6}})?{_END}(?!:)"
    rf"|\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!\.?\d)(?:/\d{{1,2}}|:\d{{1,5}})?{_END}",
    "windows": rf"(?:[A-Za-z]:|\\\\[{_W}.-]{{1,60}}|%[A-Z_]{{2,30}}%|\.{{1,2}}|[{_W}.-]{{1,60}})"
    rf"(?:\\\\?{_FILE_SPACED}(?=\\)){{0,30}}\\\\?{_FILE}{_LINES}",
    "path": rf"(?:~|\.{{1,2}}|\$\{{?[A-Z_]{{2,40}}\}}?|[{_W}@.-][{_W}.+@%~=-]{{0,80}})?(?:/{_FILE}){{1,40}}/?{_LINES}"
    rf"|[{_W}][{_W}.+-]{{0,80}}\.[A-Za-z][A-Za-z0-9]{{0,7}}(?::\d{{1,7}}(?::\d{{1,7}})?|\(\d{{1,7}},\d{{1,7}}\)|#L\d{{1,7}})",
    "flag": rf"--[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+){{0,8}}{_END}",
    "variable": rf"\$\{{?[A-Za-z_][A-Za-z0-9_]{{1,60}}\}}?{_END}|%[A-Z_][A-Z0-9_]{{1,60}}%",
    "scope": r"[A-Za-z_][A-Za-z0-9_]{0,60}(?:(?:::|->)[A-Za-z_~][A-Za-z0-9_]{0,60}){1,8}(?:\(\))?"
    r"|[A-Za-z_][A-Za-z0-9_]{0,60}(?:\.[A-Za-z_][A-Za-z0-9_]{0,60}){0,8}\(\)",
    "tag": rf"[#@](?:[{LETTERS}]|[{UNSPACED_CHARS}])(?:[{_W}{UNSPACED_CHARS}-]){{0,60}}",
    "iban": rf"[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?{_END}",
    "card": r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?!\d)",
    "phone": rf"(?:{PHONE})(?!\d|[.,/-]\d){_END}",
    "version": rf"[vV]\d{{1,5}}(?:\.\d{{1,8}}){{0,4}}{_SUFFIX}{_END}(?!\.\d)"
    rf"|\d{{1,5}}(?:\.\d{{1,8}}){{2,3}}{_SUFFIX}{_END}(?!\.\d)",
    "spaced": rf"[A-Z]{{2,3}} \d{{2,5}}{_END}(?![.,:/-]\d)",
    "dotted": rf"[{_W}]{{1,60}}(?:-[{_W}]{{1,60}}){{0,6}}(?:\.[{_W}]{{1,60}}(?:-[{_W}]{{1,60}}){{0,6}}){{1,12}}",
    "numeric": rf"#?\d{{1,40}}(?:[.,:'’/\u2013-]\d{{1,40}}){{0,12}}{_END}(?!-[{LETTERS}])",
    "token": rf"#?{_TOKEN}",
}


def _compound(names: tuple[str, ...]) -> str:
    return rf"(?<![{_W}])(?:{'|'.join(f'(?P<{name}>{_SHAPES[name]})' for name in names)})"


SCAN = lazy_pattern(_compound(tuple(_SHAPES)))
"""Every shape, the more special first; the last group is named after the shape."""
CODE_LIKE = lazy_pattern(_compound(("numeric", "token")))
"""What a compound begins with that turned out to be none, such as the first number of a date."""


HASH_PREFIXES = (7, 8, 10, 12)
"""The lengths to which a commit hash is shortened."""
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
_DATE_TRIPLE = lazy_pattern(
    r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:(?:19|20)\d\d|\d\d)\Z|(?:19|20)\d\d\.\d\d?\.\d\d?\Z"
)
_NOT_A_PREFIX = frozenset(
    """
    mid pre post top under over plus sub early late circa ca u age aged around about pro anti non ex since until
    till before after ab bis seit um world mitte ende anfang grade day week year season episode part number last
    next class covers score nach von vor bc ad ce bce am pm gen
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
_NO_UPPERCASE_CODE = frozenset(
    """
    JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC TOP AGE THE AND FOR ALL ARE WAS HAS HAD NOT BUT AD BC CE BCE
    AM PM IN ON AT TO OF BY OR IF AS IS IT MY NO UP ME WE HE AN
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)


def read_uuid(place: Place) -> Identifier:
    """The identifier of a UUID, without hyphens."""
    return Identifier(IdentifierKind.HEX, place.part, place.part.replace("-", "").casefold())


def read_name(place: Place) -> Identifier:
    """The identifier of a name in code that its punctuation shows: a flag, a variable, a scope, a call."""
    text = place.part
    value = re.sub(r"->", "::", text.strip("${}%").removesuffix("()")).casefold()
    parts = re.split(r"::|\.", value)
    if len(parts) == 1:
        return Identifier(IdentifierKind.NAME, text, value)
    return Identifier(
        IdentifierKind.NAME, text, ".".join(parts), parts=distinct((parts[-1], ".".join(parts[-2:]), parts[0]), value)
    )


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
    if not has_label and (
        re.fullmatch(r"(?:19|20)\d\d", digits) or is_followed_by_plural(place) or unit_after(place.text, place.end)
    ):
        return None
    return Identifier(
        IdentifierKind.CODE, place.part, f"{letters}{digits}".casefold(), parts=(digits,) if len(digits) > 2 else ()
    )


def read_token(place: Place) -> Identifier | None:
    """The identifier of a word that has digits, underscores or inner capitals."""
    text = place.part.removeprefix("#").strip("-")
    inner = text.strip("_")
    folded, has_digit = inner.casefold(), re.search(r"\d", inner) is not None
    if not re.search(rf"[{LETTERS}]", inner) or not (inner.isascii() or has_digit):
        return None
    if has_digit and (found := _read_hex(text, inner)):
        return found
    if "_" in inner or _CAMEL.match(inner) or (text.startswith("__") and text.endswith("__")):
        return Identifier(IdentifierKind.NAME, text, folded)
    if _PASCAL.match(inner):
        return Identifier(IdentifierKind.NAME, text, folded, is_certain=_CODE_NOUN.search(inner) is not None)
    return _read_code(place, text, folded) if has_digit else None


def _read_hex(text: str, inner: str) -> Identifier | None:
    """The identifier of a hexadecimal number; one of a commit may be shortened."""
    folded = inner.casefold()
    if re.fullmatch(r"0x[0-9a-f]{2,64}", folded):
        return Identifier(IdentifierKind.HEX, text, folded, (folded[2:],))
    if not re.fullmatch(r"[0-9a-f]{7,64}|[0-9A-F]{7,64}", inner) or re.fullmatch(r"\d+[a-z]{1,2}", folded):
        return None
    prefixes = tuple(folded[:length] for length in HASH_PREFIXES if length < len(folded))
    return Identifier(IdentifierKind.HEX, text, folded, parts=prefixes, short_forms=prefixes)


def _read_code(place: Place, text: str, folded: str) -> Identifier | None:
    """The identifier of a word of letters and digits, such as PAY-1482, tulip-9431 or 12b after a label."""
    label = label_before(place.text, place.start)
    start = place.start + place.part.index(text)
    head, _, tail = folded.partition("-")
    if tail.isdigit() and is_label(head):  # order-88123
        return Identifier(IdentifierKind.NUMBER, text, tail, without_zeros(tail))
    if label is Label.AMOUNT or (place.text[max(0, start - 1) : start] in CURRENCY_SIGNS + "." and start):
        return None
    if label not in {Label.THING, Label.PHONE} and not _is_code(folded):
        return None
    value = folded
    while (shorter := _BETWEEN.sub("", value)) != value:
        value = shorter
    digits = re.search(r"(?<!\d)\d{3,}\Z", folded)
    return Identifier(IdentifierKind.CODE, text, value, parts=(digits[0],) if digits else ())


def _is_code(folded: str) -> bool:
    """Whether a word of letters and digits is a code without a label; 1990s, 21st, 5kg, 20-year-old and A4 are none."""
    head, _, tail = folded.partition("-")
    digits = len(folded) - len(folded.lstrip("0123456789"))
    is_amount = digits and (
        unit_after(folded, digits) or (digits < 3 and re.fullmatch(r"\d+[^\W\d_]{1,3}(?:-.*)?", folded))
    )
    is_ordinary = _MEASURED.match(folded) or re.match(r"\d+e\d+\Z|\d+-[^\W\d]{2,}(?:-|\Z)", folded)
    is_decade = tail.endswith(("s", "er")) and tail.rstrip("ser").isdigit()
    is_short = len(folded) < (4 if sum(map(str.isdigit, folded)) < 2 else 3)
    return not (is_amount or is_ordinary or is_decade or is_short or (tail and head in _NOT_A_PREFIX))


MAX_PARTS = 8
"""The most parts of a path by which it may be asked for."""
_TRAILING = ".,;:!?'\"*_~"
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_ESCAPES = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")
_LINE = lazy_pattern(r"(?::\d+){1,2}\Z|\(\d+(?:,\d+)?\)\Z|#L\d+\Z")
_SIGNS_OF_CODE = lazy_pattern(r"\d|_|[a-z][A-Z]")
_EXTENSION = lazy_pattern(rf"[{LETTERS}0-9_)-]{{2,}}\.[A-Za-z][A-Za-z0-9]{{0,7}}\Z|\.[a-z]\w{{2,30}}\Z")


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
        IdentifierKind.URL, text, value, parts=distinct((base, host, host.split(":")[0], *last), value),
        short_forms=short_forms,
    )  # fmt: skip


def read_email(place: Place) -> Identifier:
    """The identifier of an e-mail address; its domain may be asked for alone."""
    text = _without_trailing(place.part)
    value = text.casefold()
    return Identifier(IdentifierKind.EMAIL, text, value, parts=(value.rpartition("@")[2],))


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
    names = distinct((*tails, value.lstrip("/")), "")
    if line is None:
        return Identifier(IdentifierKind.PATH, text, value, parts=distinct(names, value), short_forms=tuple(tails[-1:]))
    with_line = value + ":" + ":".join(re.findall(r"\d+", line[0]))
    parts = distinct((value, f"{value}:{re.findall(r'[0-9]+', line[0])[0]}", *names), with_line)
    return Identifier(IdentifierKind.PATH, text, with_line, parts=parts, short_forms=distinct((value, *tails[-1:]), ""))


def read_dotted(place: Place) -> Identifier | None:
    """The identifier of a file name, a host or a dotted name; None for two sentences without a space between them."""
    text = place.part
    parts = text.split(".")
    if parts[0].isdigit() and all(part.isdigit() for part in parts):
        return None
    letters = [part for part in parts if not part.isdigit()]
    if (
        all(len(part) == 1 for part in letters)
        or len(parts[0]) == 1
        or (len(parts) == 2 and len(parts[0]) < 3 > len(parts[1]))
    ):
        return None  # U.S.A, p.m
    if len(parts) == 2 and parts[1].isdigit():
        return None  # op.370
    if len(parts) == 2 and parts[1][:1].isupper() and not parts[1].isupper() and not _SIGNS_OF_CODE.search(text):
        return None
    if re.fullmatch(r"\d+[-.\d]*[a-zA-Z]{1,4}", text) or parts[0].casefold() in {
        "no",
        "nr",
        "vol",
        "pp",
        "fig",
        "sec",
        "ch",
    }:
        return None
    value = text.casefold()
    is_file = re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,4}", parts[-1]) is not None and len(parts) == 2
    kind = IdentifierKind.PATH if is_file else IdentifierKind.NAME
    return Identifier(
        kind,
        text,
        value,
        parts=distinct((parts[-1].casefold(), ".".join(parts[-2:]).casefold()), value) if not is_file else (),
    )


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
    while text and (
        text[-1] in _TRAILING or (text[-1] in _BRACKETS and text.count(text[-1]) > text.count(_BRACKETS[text[-1]]))
    ):
        text = text[:-1]
    return text
