"""Reads numbers of things and of telephones; None for years, dates, counts and amounts.

Telephone numbers in any notation: an international and a national notation of one number share a value.

Plain rules over the digits. The country codes follow ITU-T E.164: one digit for 1 and 7, two for the listed codes, else
three. No number is checked against a plan of numbers.

Words that label a number as an identifier: "port 8080", "Rechnung 4471", "端口8080", ``"order_id": 88123``.

The words are in ``lexicon/identifiers.ini``. Numbers with five digits or more need no label. Short ones do, since
most short numbers in a text are counts.

Quantities: amounts with a unit or a currency, such as 5 kg, 20 euros or $50, in one form for all spellings.

Amounts are compared as they are written: 1 kg and 1000 g are two quantities.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_value, lexicon_words, read_lexicon
from ..terms import UNSPACED_CHARS
from .values import Identifier, IdentifierKind, Place

_TWO_DIGIT_CODES = frozenset(
    """
    20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84
    86 90 91 92 93 94 95 98
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
MIN_DIGITS, MAX_DIGITS = 7, 15
"""How many digits a number has; E.164 allows 15."""
_GAP = r"[ \u00a0\u202f]?[-./()\u2013]?[ \u00a0\u202f]?\(?"
_GROUPS = rf"\d(?:{_GAP}\d){{6,16}}"
PHONE = (
    rf"(?:\+|00(?=[1-9]))[ ]?\(?[1-9](?:{_GAP}\d){{5,17}}"  # international
    rf"|\(0?\d{{2,5}}\)(?:{_GAP}\d){{4,12}}"  # (030) 5550-1847, (555) 123-4567
    rf"|0\d{{1,5}}[ \u00a0/.-](?:{_GAP}\d){{4,12}}"  # 030 5550 1847, 0171/1234567
    r"|0\d{8,11}"
    r"|(?:1[-. ])?\d{3}(?P<gap>[-. ])\d{3}(?P=gap)\d{4}"  # 555-123-4567
    r"|8[- ]\(?\d{3}\)?[- ]\d{3}[- ]\d{2}[- ]\d{2}"  # 8 (495) 123-45-67
    r"|1[3-9]\d[ -]\d{4}[ -]\d{4}"  # 138 1234 5678
    r"|0\d(?: \d{2}){4}"  # 01 23 45 67 89
    r"|\d{3}-\d{4}(?!-)"
)
"""The pattern of numbers that look like telephone numbers without a word that says so, where a number begins."""
GROUPED = lazy_pattern(_GROUPS)
"""Groups of digits that are a telephone number if a word before them says so."""
_TRUNK_IN_BRACKETS = lazy_pattern(r"\(\s*0\s*\)")


@dataclass(frozen=True, slots=True)
class PhoneNumber:
    """The value of a number: ``value`` with the country code if it has one, else ``national``, without a leading 0."""

    value: str
    national: str


def parse_phone_number(text: str) -> PhoneNumber | None:
    """The value of a telephone number as it is written; None if it has too few or too many digits."""
    is_international = text.startswith(("+", "00"))
    digits = re.sub(r"\D", "", _TRUNK_IN_BRACKETS.sub("", text) if is_international else text)
    if text.startswith("00"):
        digits = digits[2:]
    elif not is_international and len(digits) == 11 and digits[0] == "1" and digits[1] in "23456789":
        is_international = re.match(r"1[-. (]", text) is not None  # 1-555-123-4567
    if not MIN_DIGITS <= len(digits) <= MAX_DIGITS:
        return None
    if is_international:
        code = digits[:1] if digits[0] in "17" else digits[:2] if digits[:2] in _TWO_DIGIT_CODES else digits[:3]
        national = digits[len(code) :].lstrip("0")
        return PhoneNumber(f"tel:+{code}{national}", f"tel:{national}")
    if len(digits) == 11 and digits[0] == "8" and re.match(r"8[- (]", text):  # the trunk prefix of Russia
        digits = digits[1:]
    national = f"tel:{digits.lstrip('0')}"
    return PhoneNumber(national, national)


def _words(key: str) -> tuple[str, ...]:
    return tuple(lexicon_value("identifiers", "labels", key).split())


LABELS = frozenset(_words("labels"))
LABEL_STEMS, LABEL_ENDINGS = _words("label stems"), _words("label endings")
UNSPACED_LABELS = _words("unspaced labels")
UNSPACED_LABELS_AFTER = tuple(label.replace("_", " ") for label in _words("unspaced labels after"))
PHONE_LABELS = frozenset(_words("phone labels"))
UNSPACED_PHONE_LABELS = _words("unspaced phone labels")
AMOUNT_KEYS = frozenset(_words("amount keys"))
GENERIC_MARKS = frozenset(_words("generic marks"))
_CONNECTORS = frozenset(_words("connectors"))
_WINDOW = 64
"""How many characters before a number are searched for its label."""
_LAST_WORD = lazy_pattern(r"([^\W\d_][^\W\d]*(?:[-_][^\W\d]+)*|n[°º]|№|#)(\.?)[\s\"'`=:(\[{<*~]*\Z")
_UNSPACED_CONNECTORS = lazy_pattern(r"(?:[\s:=\"'`「『（(#]|是|为|為|は|が|の|는|은|이|가)+\Z")
_HUMP = lazy_pattern(r"(?<=[a-z0-9]{2})(?=[A-Z])")


class Label(Enum):
    """What stands before a number: a word for a thing with numbers, or for a telephone; a mark; a key of an amount."""

    THING = auto()
    PHONE = auto()
    MARK = auto()
    AMOUNT = auto()


def is_label(word: str) -> bool:
    """Whether a word names a thing that has numbers, in the singular or plural."""
    folded = word.casefold()
    if folded in LABELS or folded.startswith(LABEL_STEMS):
        return True
    if folded.endswith(LABEL_ENDINGS) and folded not in GENERIC_MARKS:
        return True
    return any(folded.endswith(end) and folded[: -len(end)] in LABELS for end in ("s", "n", "en", "es"))


def label_before(text: str, start: int) -> Label | None:
    """The label of a number that starts at a place of a text; None for none."""
    before = text[max(0, start - _WINDOW) : start]
    found = None
    for _ in range(4):
        match = _LAST_WORD.search(before)
        if match is None:
            break
        word = match[1].casefold()
        if word in GENERIC_MARKS and (match[2] or word not in {"no", "num"} or before[match.end(1) :].strip()):
            found = Label.MARK
        elif word not in _CONNECTORS:
            return _label_of_word(match[1]) or _unspaced_label(before) or found
        before = before[: match.start()]
    return _unspaced_label(text[max(0, start - _WINDOW) : start]) or found


def has_label_after(text: str, end: int) -> bool:
    """Whether a label in a script without spaces follows a number."""
    return text.startswith(UNSPACED_LABELS_AFTER, end + (text[end : end + 1] == " "))


def _label_of_word(word: str) -> Label | None:
    if word.casefold() in PHONE_LABELS:
        return Label.PHONE
    if is_label(word):
        return Label.THING
    parts = [part.casefold() for part in re.split(r"[-_]", _HUMP.sub("_", word))]
    if len(parts) > 1 and not AMOUNT_KEYS.isdisjoint(parts):
        return Label.AMOUNT
    if len(parts) == 1:
        return Label.AMOUNT if parts[0] in AMOUNT_KEYS else None
    return Label.THING if any(map(is_label, parts)) else None


def _unspaced_label(before: str) -> Label | None:
    if before.isascii():
        return None
    stripped = _UNSPACED_CONNECTORS.sub("", before)
    if stripped.endswith(UNSPACED_PHONE_LABELS):
        return Label.PHONE
    return Label.THING if stripped.endswith(UNSPACED_LABELS) or before.rstrip().endswith(UNSPACED_LABELS) else None


UNITS: Mapping[str, str] = {
    spelling: unit for unit, spellings in read_lexicon("identifiers")["units"].items() for spelling in spellings.split()
}
"""The canonical unit of each spelling."""
CURRENCY_SIGNS = "€$£¥₹₽₩"
"""The signs that stand before or after an amount."""
MAX_QUANTITIES = 200
"""How many quantities of a text are read at most."""


def _alternatives() -> str:
    return "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))


_DIGIT = lazy_pattern(r"\d")
_NUMBER = r"\d{1,12}(?:[.,' \u00a0\u202f]\d{3}(?!\d)){0,4}(?:[.,]\d{1,6})?"
_CURRENCY_BEFORE = r"eur|usd|gbp|jpy|cny|inr|chf|rub|krw|us\$|r\$"
_NO_WORD_AFTER = rf"(?!(?![{UNSPACED_CHARS}])[^\W\d_])(?![\d_=])"
_UNIT_AFTER = lazy_pattern(rf"[ \u00a0\u202f-]?(?P<unit>{_alternatives()}){_NO_WORD_AFTER}", re.IGNORECASE)
_BEFORE = rf"(?P<sign>[{CURRENCY_SIGNS}]|(?<![a-z])(?:{_CURRENCY_BEFORE}))\s?"
_QUANTITY = lazy_pattern(rf"(?:{_BEFORE})?(?<![\d.,])(?P<number>{_NUMBER})", re.IGNORECASE)


def quantities(text: str) -> tuple[str, ...]:
    """The distinct quantities of a text in order, each as a number and a canonical unit: "5 kg", "20 eur"."""
    found: dict[str, None] = {}
    if _DIGIT.search(text) is None:  # the usual case
        return ()
    for match in _QUANTITY.finditer(text):
        sign, after = match["sign"], unit_after(text, match.end())
        unit = UNITS[sign.lower()] if sign else after
        if unit:
            found[f"{_normal_number(match['number'])} {unit}"] = None
            if len(found) >= MAX_QUANTITIES:
                break
    return tuple(found)


def unit_after(text: str, end: int) -> str | None:
    """The canonical unit that stands at a place of a text, with or without a space before it; None for none."""
    match = _UNIT_AFTER.match(text, end)
    return None if match is None else UNITS.get(match["unit"]) or UNITS.get(match["unit"].lower())


def is_currency(word: str) -> bool:
    """Whether a word is a unit of money that may stand before an amount, as in EUR 50."""
    return UNITS.get(word.lower(), "") in {"eur", "usd", "gbp", "jpy", "cny", "inr", "chf", "rub", "krw", "sek", "brl"}


def _normal_number(number: str) -> str:
    """A number without separators of thousands, with a decimal point, without zeros at its end."""
    whole, point, decimals = number, "", ""
    if (place := max(number.rfind(","), number.rfind("."))) >= 0 and len(number) - place != 4:
        whole, point, decimals = number[:place], ".", number[place + 1 :]
    whole = re.sub(r"\D", "", whole).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}{point}{decimals}" if decimals else whole


_DATE_START = lazy_pattern(r"(?:0?[1-9]|[12]\d|3[01])[./-](?:0?[1-9]|1[0-2])[./-](?:(?:19|20)\d\d|\d\d)(?![\d./-])")
_DATE_DIGITS = lazy_pattern(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\Z")
_NEXT_WORD = lazy_pattern(rf"[ \u00a0]([^\W\d_{UNSPACED_CHARS}]+)")
_COUNTER = frozenset(
    "个個人名位次年月日歳岁本枚分秒元円块塊只台件页頁点點时時回度倍万萬千百億亿天周週円개명년월일시분초원번살권장대층회만천백억"
)
_FUNCTION_WORDS = lexicon_words("identifiers", "labels", "function words")
_APPROXIMATE = lazy_pattern(
    r"(?:about|around|over|nearly|almost|than|least|most|only|another|approximately|roughly|etwa|rund|fast|über|"
    r"mehr als|environ|presque|casi|unos|unas|circa|quasi|около|почти|约|約|およそ)\s*\Z",
    re.IGNORECASE,
)


def read_card(place: Place) -> Identifier:
    """The identifier of a number in four groups of four digits."""
    return Identifier(IdentifierKind.NUMBER, place.part, re.sub(r"\D", "", place.part))


def read_phone(place: Place) -> Identifier | None:
    """The identifier of a telephone number."""
    text = place.part
    label = label_before(place.text, place.start)
    is_range = re.fullmatch(r"\d{3}-\d{4}", text) and text.endswith("00") and label is not Label.PHONE
    number = parse_phone_number(text)
    if number is None or is_range or label is Label.AMOUNT or _DATE_START.match(text) or _has_amount_around(place):
        return None
    digits = re.sub(r"\D", "", text)
    short_forms = (number.national,) if number.national != number.value else ()
    return Identifier(IdentifierKind.PHONE, text, number.value, (digits,), short_forms, short_forms)


def read_number(place: Place) -> Identifier | None:
    """The identifier of a number with a label, or of a long number that is no count, year, date or amount."""
    text = place.part
    number = text.removeprefix("#")
    if _has_amount_around(place) or place.text.startswith(("'s", "’s"), place.end):
        return None
    label = label_before(place.text, place.start + len(text) - len(number))
    if label is None and has_label_after(place.text, place.end):
        label = Label.THING
    if label is Label.AMOUNT:
        return None
    if label is Label.PHONE and (grouped := GROUPED.match(place.text, place.start)):
        return read_phone(Place(place.text, place.start, grouped.end()))
    return _read_plain(place, number, label) if number.isdigit() else _read_groups(place, number, label)


def _read_plain(place: Place, number: str, label: Label | None) -> Identifier | None:
    """The identifier of a number without separators."""
    text, variants = place.part, (*without_zeros(number), *_as_phone(number))
    if label in {Label.THING, Label.PHONE} and not (len(number) < 4 and is_followed_by_plural(place)):
        return Identifier(IdentifierKind.NUMBER, text, number, variants)
    if (text.startswith("#") or label is Label.MARK) and len(number) >= 3:
        return Identifier(IdentifierKind.NUMBER, text, number, variants)
    is_approximate = _APPROXIMATE.search(place.text[max(0, place.start - 20) : place.start])
    is_date = _is_year(number) or _DATE_DIGITS.match(number)
    if is_date or is_approximate or len(number) < 2 or _is_followed_by_count(place):
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
    if (before[-1:] in CURRENCY_SIGNS and before) or (word is not None and is_currency(word[0])):
        return True
    return unit_after(place.text, place.end) is not None


def _is_followed_by_count(place: Place) -> bool:
    """Whether the word after a number may be what is counted."""
    if place.text[place.end : place.end + 1] in _COUNTER:
        return True
    word = _NEXT_WORD.match(place.text, place.end)
    return word is not None and word[1].casefold() not in _FUNCTION_WORDS


def is_followed_by_plural(place: Place) -> bool:
    word = _NEXT_WORD.match(place.text, place.end)
    if word is None:
        return False
    folded = word[1].casefold()
    return len(folded) > 3 and folded.endswith("s") and folded not in _FUNCTION_WORDS and not folded.endswith("ss")


def _is_year(number: str) -> bool:
    return len(number) == 4 and "1000" <= number <= "2199"


def without_zeros(number: str) -> tuple[str, ...]:
    shorter = number.lstrip("0")
    return (shorter,) if shorter != number and shorter else ()


def _as_phone(number: str) -> tuple[str, ...]:
    phone = parse_phone_number(number) if len(number) >= 9 else None
    return () if phone is None else (phone.national,)
