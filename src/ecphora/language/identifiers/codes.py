"""Reads codes and names: keys with digits, hashes, versions, names in programs; None for ordinary words."""

import re

from ...model.lazy import lazy_pattern
from .labels import Label, is_label, label_before
from .numbers import is_followed_by_plural, without_zeros
from .quantities import CURRENCY_SIGNS, is_currency, unit_after
from .shapes import LETTERS
from .values import Identifier, IdentifierKind, Place, distinct

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
