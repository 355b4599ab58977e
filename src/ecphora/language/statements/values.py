"""Values in a statement: money, percentages, times of day, weekdays, dates, durations, versions, counts, names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ...model.lazy import lazy_pattern
from ..names.mentions import names
from ..terms import extract_terms
from ..word_lists import MONTHS, WEEKDAYS


class ValueKind(StrEnum):
    """What a value measures or names; a value replaces only a value of the same kind."""

    MONEY = "money"
    PERCENT = "percent"
    TIME_OF_DAY = "time of day"
    WEEKDAY = "weekday"
    DATE = "date"
    DURATION = "duration"
    VERSION = "version"
    COUNT = "count"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a text: ``normal_form`` is equal for equal values, ``unit`` is the stem of the unit or counted noun.

    ``start`` and ``end`` are its offsets in the text.
    """

    kind: ValueKind
    normal_form: str
    start: int
    end: int
    unit: str = ""


_NUMBERS = {
    word: number
    for number, word in enumerate(
        re.findall(
            r"\w+",
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty",
        )
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "dozen": 12, "hundred": 100}
_NUMBER_WORD = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?"
)
_MONTH_NUMBERS = {
    _month: place for place, _month in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), 1)
}
_WEEKDAY_STEMS = "mon|tues|wednes|thurs|fri|satur|sun"
_HOURS = f"(?:1[0-2]|0?\\d|{'|'.join(list(_NUMBERS)[1:13])})"
_AMOUNT = r"\d[\d,]{0,40}(?:\.\d+)?\s?k?"
_UNITS = "seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|nights?|weeks?|fortnights?|months?|years?|ms"
_NOT_COUNTED_UNITS = frozenset(["of", "more", "less", "other", "ago", "am", "pm", "times", "time"])
_NOT_UNITS = _NOT_COUNTED_UNITS | {"or", "and", "at", "to", "in", "on", "a", "an", "the", "per", "now"}
_LABEL = lazy_pattern(
    r"\b(chapter|platform|room|level|gate|track|line|floor|page|season|episode|lesson|stage|phase|step|size|number|"
    r"unit|grade|version|bus|lane) $",
    re.IGNORECASE,
)
_LABEL_LENGTH = 12
_MAX_NAMES = 200
"""Maximum number of names of a text read as values: more than a sentence of 600 characters can hold."""
_PATTERNS: tuple[tuple[ValueKind, re.Pattern[str]], ...] = tuple(
    (sort, lazy_pattern(pattern, re.IGNORECASE))
    for sort, pattern in (
        (
            ValueKind.MONEY,
            rf"[$€£¥]\s?(?P<n>{_AMOUNT})|\b(?P<m>{_AMOUNT})\s?(?:dollars|euros?|pounds|bucks|usd|eur|quid)\b",
        ),
        (ValueKind.PERCENT, r"(?<![\w.])(?P<n>\d+(?:\.\d+)?)\s?(?:%|percent\b|per cent\b)"),
        (ValueKind.VERSION, r"\bv(?:ersion)?\.?\s?(?P<n>\d+(?:\.\d+)*)\b|(?<![\w.$])(?P<m>\d+\.\d+\.\d+)\b"),
        (
            ValueKind.TIME_OF_DAY,
            (
                rf"\b(?P<n>(?:1[0-2]|0?\d)(?:[:.][0-5]\d)?)\s?(?P<half>[ap])\.?m\b|\b(?P<m>(?:[01]?\d|"
                rf"2[0-3])[:h][0-5]\d)\b|"
                rf"\b(?P<w>noon|midnight)\b|"
                rf"\b(?:(?P<past>half|quarter) (?P<side>past|to) )?(?P<o>{_HOURS}) o['’]?clock\b|"
                rf"\b(?P<past2>half|quarter) (?P<side2>past|to) (?P<p>{_HOURS})\b|"
                rf"(?:\b(?:at|by|until|till|from|to|around|before|after|instead of|not)|,|"
                rf"\band) (?P<q>{_HOURS}(?:[ -]?thirty)?)"
                rf"(?P<r>)(?= (?:instead|sharp|now|rather|in the (?:morning|evening|afternoon)|at night|on|from|every|"
                rf"so|with|for)\b|"
                r"\s*(?:[.,;!?)—–]|$))"
            ),
        ),
        (ValueKind.WEEKDAY, rf"\b(?P<n>(?:{_WEEKDAY_STEMS})day)s?\b|\b(?P<w>weekends?|weekdays?)\b"),
        (
            ValueKind.DATE,
            (
                rf"\b(?P<month>{_MONTH})\.?\s(?:the )?(?P<day>\d\d?)(?:st|nd|rd|th)?\b(?!:)|"
                rf"\b(?:the )?(?P<day2>\d\d?)(?:st|nd|rd|th)?\s(?:of )?(?P<month2>{_MONTH})\b|"
                r"\b(?P<year>\d{4})-(?P<m2>\d\d)-(?P<d2>\d\d)\b|"
                r"\bthe (?P<day3>\d\d?)(?:st|nd|rd|th)\b(?! (?:time|floor))|"
                rf"\b(?:in|for|until|till|to|by|since|from|of|not|through|is|meant) (?P<month3>{_MONTH})\b(?! \d)"
            ),
        ),
        (
            ValueKind.DURATION,
            rf"\b(?P<n>\d+(?:\.\d+)?(?:\s?(?:-|–|to)\s?\d+)?|{_NUMBER_WORD}|an?|half an)[\s-]?(?P<unit>{_UNITS})\b",
        ),
        (
            ValueKind.COUNT,
            rf"(?<![\w.$€£:/-])(?P<n>{_AMOUNT}|{_NUMBER_WORD})(?![\w%:/]|\.\d|-\d)(?:\s(?P<unit>[a-z][a-z'’-]+))?",
        ),
    )
)


_HINT = lazy_pattern(
    rf"\d|\b(?:{_NUMBER_WORD}|noon|midnight|half|quarter|weekends?|weekdays?|(?:{_WEEKDAY_STEMS})days?|{_MONTH}"
    rf"|an? (?:{_UNITS}))\b",
    re.IGNORECASE,
)
"""Matches any text that has values other than names."""


def values(text: str) -> list[Value]:
    """The values of a text, in order; no two overlap."""
    taken = [False] * (len(text) + 1)
    result: list[Value] = []
    for kind, pattern in _PATTERNS if _HINT.search(text) else ():
        for match in pattern.finditer(text):
            value = _parse_value(kind, match)
            if value is not None and not any(taken[value.start : value.end]):
                taken[value.start : value.end] = [True] * (value.end - value.start)
                result.append(value)
    result.extend(_name_values(text, taken))
    return sorted(result, key=lambda value: value.start)


def _parse_value(kind: ValueKind, match: re.Match[str]) -> Value | None:
    groups = {name: text.lower() for name, text in match.groupdict().items() if text}
    start, end = match.span()
    unit = ""
    if kind == ValueKind.TIME_OF_DAY:
        form = _normalize_time(groups)
        if groups.get("q") is not None:
            start = match.start("q")
    elif kind == ValueKind.WEEKDAY:
        form = (groups.get("n") or groups["w"].rstrip("s"))[:7]
    elif kind == ValueKind.DATE:
        form = _normalize_date(groups)
    else:
        form = _normalize_number(groups.get("n") or groups["m"])
    if kind in {ValueKind.DURATION, ValueKind.COUNT}:
        unit = groups.get("unit", "")
        before = max(0, start - _LABEL_LENGTH)
        label = _LABEL.search(match.string, before, start) if kind == ValueKind.COUNT else None
        if label:
            unit = label[1].lower()
        elif kind == ValueKind.COUNT and (unit in _NOT_COUNTED_UNITS or unit in WEEKDAYS | MONTHS or form == "1"):
            return None  # "one more", "two of them": nothing is counted
        unit = "" if unit in _NOT_UNITS else unit
        unit = next(iter(extract_terms(unit)), "")
        end = match.end("n")
    if kind == ValueKind.DATE and groups.get("month3"):
        start = match.start("month3")
    return Value(kind, form, start, end, unit)


def _normalize_number(text: str) -> str:
    plain = text.replace(",", "").replace(" ", "")
    if plain in _NUMBERS:
        return str(_NUMBERS[plain])
    if plain in {"a", "an"}:
        return "1"
    if plain.endswith("k") and plain[:-1].replace(".", "", 1).isdigit():
        return f"{float(plain[:-1]) * 1000:g}"
    return f"{float(plain):g}" if plain.replace(".", "", 1).isdigit() and plain.count(".") < 2 else plain


def _normalize_time(groups: dict[str, str]) -> str:
    if "w" in groups:
        return {"noon": "12:00", "midnight": "0:00"}[groups["w"]]
    past, side = groups.get("past") or groups.get("past2"), groups.get("side") or groups.get("side2")
    text = groups.get("n") or groups.get("m") or groups.get("o") or groups.get("p") or groups["q"]
    half = text.endswith("thirty")
    hour, _, minute = re.sub(r"[ -]?thirty$", "", text).replace(".", ":").replace("h", ":").partition(":")
    if hour not in _NUMBERS and not hour.isdigit():  # the "h" was part of "three"
        hour, minute = text, ""
    at = 60 * _NUMBERS.get(hour, int(hour) if hour.isdigit() else 0) + (30 if half else int(minute or 0))
    if past:
        at += (30 if past == "half" else 15) * (1 if side == "past" else -1)
    if groups.get("half") == "p" and at < 720:
        at += 720
    return f"{at // 60 % 24}:{at % 60:02}"


def _normalize_date(groups: dict[str, str]) -> str:
    month = groups.get("month") or groups.get("month2") or groups.get("month3")
    day = groups.get("day") or groups.get("day2") or groups.get("day3") or groups.get("d2")
    number = int(groups["m2"]) if "m2" in groups else _MONTH_NUMBERS.get((month or "")[:3], 0)
    return f"{number:02}-{int(day or 0):02}"


def _name_values(text: str, taken: list[bool]) -> Iterator[Value]:
    for name in names(text)[:_MAX_NAMES]:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            if not any(taken[match.start() : match.end()]):
                yield Value(ValueKind.NAME, name.casefold(), match.start(), match.end())
                break
