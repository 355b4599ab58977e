"""Reads numbers of things and of telephones; None for years, dates, counts and amounts."""

import re

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_words
from ..scripts import UNSPACED_CHARS
from .labels import Label, has_label_after, label_before
from .phone_numbers import GROUPED, parse_phone_number
from .quantities import CURRENCY_SIGNS, is_currency, unit_after
from .values import Identifier, IdentifierKind, Place

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
