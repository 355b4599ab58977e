"""The semantics of the date grammar in ``dates``: one small function for each phrase.

The patterns are in ``dates``. A function here gets one match, the reference time and, if the phrase modifies another
date ("the week before ..."), that date's interval. An impossible date raises ``ValueError`` or ``OverflowError``, which
``dates`` treats as no date.
"""

import re
from datetime import datetime, timedelta, timezone
from functools import partial

from ...model.lazy import lazy_pattern
from ...model.types import Interval
from .calendar_arithmetic import (
    UNIT_LENGTHS,
    UNIT_MONTHS,
    day_part,
    midnight,
    month_range,
    nearest_weekday,
    on_date,
    resolve_recurrence,
    resolve_relative,
    resolve_yearly,
    season_range,
    unit_range,
    unit_start,
)
from .tense import tense_around, tense_of_clause

_Match = re.Match[str]


# Words ----------------------------------------------------------------------------------------------------------------

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBER_VALUES = {"a": 1, "an": 1} | {word: value for value, word in enumerate(_NUMBER_WORDS.split(), start=1)}
NUMBER_VALUES |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_VAGUE_COUNTS = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}
_RELATIVE_OFFSETS = {
    "last": -1,
    "previous": -1,
    "past": -1,
    "this": 0,
    "current": 0,
    "next": 1,
    "coming": 1,
    "upcoming": 1,
}
_NTH = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
DECADE_WORDS = {
    "twenties": 20,
    "thirties": 30,
    "forties": 40,
    "fifties": 50,
    "sixties": 60,
    "seventies": 70,
    "eighties": 80,
}
DECADE_WORDS |= {"nineties": 90}
_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH_NUMBERS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_WEEKDAY_NAMES = "mon tue wed thu fri sat sun"
_WEEKDAY_NUMBERS = {name: number for number, name in enumerate(_WEEKDAY_NAMES.split())}
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_FOUR_DIGITS = lazy_pattern(r"\d{4}")
_MIN_DATE = datetime(1, 1, 2)  # noqa: DTZ001 - the zone comes from the reference time
_MAX_DATE = datetime(9999, 12, 30)  # noqa: DTZ001


def _count(match: _Match) -> tuple[int, int]:
    """Parse "3", "two or three", "a couple of" or "a few" as a minimum and a maximum."""
    words = (match["low"].lower(), (match["high"] or "").lower())
    for word, bounds in _VAGUE_COUNTS.items():
        if word in words[0]:
            return bounds
    low, high = (NUMBER_VALUES[word] if word in NUMBER_VALUES else int(word or 0) for word in words)
    return low, max(low, high)


def _unit(match: _Match) -> tuple[str, int]:
    """Parse a unit of time as a calendar unit, and how many of them it has."""
    unit = match["unit"].lower()
    return {"night": ("day", 1), "fortnight": ("week", 2)}.get(unit, (unit, 1))


def _relative_offset(match: _Match) -> int:
    return _RELATIVE_OFFSETS[match["which"].lower().split()[-1]]


def _month_number(text: str) -> int:
    return int(text) if text.isdigit() else _MONTH_NUMBERS[text[:3].lower()]


def _weekday_number(match: _Match) -> int:
    return _WEEKDAY_NUMBERS[match["weekday"][:3].lower()]


def _year_number(match: _Match, reference_time: datetime) -> int | None:
    """Parse "2024", "'24" or "last year"."""
    parts = match.groupdict()
    if text := parts.get("year"):
        year = int(text.strip("'’"))
        if len(text.strip("'’")) > 2:
            return year
        return year + (2000 if year <= reference_time.year % 100 + 10 else 1900)
    if relative := parts.get("rel"):
        distant_offset = 2 if (parts.get("far") or "").lower().startswith("from") else -2
        return reference_time.year + {"last": -1, "this": 0, "next": 1}.get(relative.lower(), distant_offset)
    return None


# Semantics of a match alone -------------------------------------------------------------------------------------------


def no_date(_match: _Match, _reference_time: datetime) -> None:
    return None


def named_day(match: _Match, reference_time: datetime) -> Interval:
    word = match["day"].lower()
    day = unit_range("day", reference_time, {"yesterday": -1, "tomorrow": 1}.get(word, 0))
    return day_part("night", day) if word == "tonight" else day


def calendar_date(match: _Match, reference_time: datetime) -> Interval | None:
    """A month, a day or several days of a month, in a year that is stated or inferred."""
    parts, year = match.groupdict(), _year_number(match, reference_time)
    month, day, last = _month_number(match["month"]), int(parts.get("day") or 0), int(parts.get("until") or 0)
    if month > 12 and "/" in match[0] and "cut" not in parts:
        month, day = day, month
    make = partial(month_range, reference_time, month, day, last or day)
    return resolve_yearly(make, reference_time, tense_of_clause(match)) if year is None else make(year)


def instant(match: _Match, reference_time: datetime) -> Interval:
    """An ISO 8601 date and time, as the minute or the second that it names."""
    clock = match["clock"]
    at = datetime.strptime(clock, "%H:%M:%S" if len(clock) > 5 else "%H:%M")  # noqa: DTZ007 - only the clock
    day = on_date(reference_time, int(match["year"]), int(match["month"]), int(match["day"]))
    start = day.replace(hour=at.hour, minute=at.minute, second=at.second)
    if (zone := match["zone"]) and reference_time.tzinfo:
        hours, minutes = (0, 0) if zone in "zZ" else (int(zone[:3]), int(zone[0] + zone[-2:]))
        start = start.replace(tzinfo=timezone(timedelta(hours=hours, minutes=minutes))).astimezone(
            reference_time.tzinfo
        )
    return Interval(start, start + timedelta(seconds=1 if len(clock) > 5 else 60))


def calendar_year(match: _Match, reference_time: datetime) -> Interval:
    return unit_range("year", on_date(reference_time, _year_number(match, reference_time) or 0, 1))


def decade(match: _Match, reference_time: datetime) -> Interval:
    word = match["decade"].lower()
    year = DECADE_WORDS.get(word) or int(word)
    if year < 100:
        year += reference_time.year // 100 * 100
        year -= 100 * (year > reference_time.year)
    return unit_range("decade", on_date(reference_time, year, 1))


def ago(match: _Match, reference_time: datetime) -> Interval:
    (low, high), (unit, size) = _count(match), _unit(match)
    return unit_range(unit, reference_time, -high * size, -low * size)


def ago_today(match: _Match, reference_time: datetime) -> Interval:
    """Parse "a week ago today": one day."""
    (count, _), (unit, size) = _count(match), _unit(match)
    if unit not in UNIT_MONTHS:
        return unit_range("day", reference_time - UNIT_LENGTHS[unit] * count * size)
    month = unit_start("month", reference_time, -count * size * UNIT_MONTHS[unit])
    return unit_range("day", month.replace(day=min(reference_time.day, (unit_start("month", month, 1) - month).days)))


def from_now(match: _Match, reference_time: datetime) -> Interval:
    (low, high), (unit, size) = _count(match), _unit(match)
    return unit_range(unit, reference_time, low * size, high * size)


def in_duration(match: _Match, reference_time: datetime) -> Interval | None:
    """Parse "in two weeks"; None in the past tense, where it is a duration and not a date."""
    return None if tense_around(match) < 0 else from_now(match, reference_time)


def rolling_window(match: _Match, reference_time: datetime) -> Interval:
    """Parse "the past three months" or "the next few days": from that long ago up to now, or from now on."""
    (_, high), (unit, size) = _count(match) if match["low"] else (1, 1), _unit(match)
    offset = _relative_offset(match)
    if unit in UNIT_MONTHS:
        month = unit_start("month", reference_time, offset * high * size * UNIT_MONTHS[unit])
        bound = month + timedelta(days=min(reference_time.day, (unit_start("month", month, 1) - month).days) - 1)
    else:
        bound = reference_time + UNIT_LENGTHS["week" if unit == "weekend" else unit] * (offset * high * size)
    bound = bound if unit in {"hour", "minute"} else midnight(bound)
    return Interval(bound, reference_time) if offset < 0 else Interval(reference_time, bound + timedelta(days=1))


def relative_unit(match: _Match, reference_time: datetime) -> Interval:
    return unit_range(match["unit"].lower(), reference_time, _relative_offset(match))


def second_relative_unit(match: _Match, reference_time: datetime) -> Interval:
    """Parse "the week before last" or "the week after next"."""
    unit, _ = _unit(match)
    span = unit_range(unit, reference_time, -2 if match["side"].lower() == "before" else 2)
    return day_part("night", span) if match["unit"].lower() == "night" else span


def relative_day_part(match: _Match, reference_time: datetime) -> Interval:
    part, offset = match["part"].lower(), _relative_offset(match)
    if part == "night" and not offset and tense_around(match) < 0:  # "cette nuit il a plu"
        offset = -1
    return day_part(part, unit_range("day", reference_time, offset))


def relative_weekday(match: _Match, reference_time: datetime) -> Interval:
    index, which = _weekday_number(match), match["which"].lower()
    if which == "next":
        return unit_range("day", unit_start("week", reference_time, 1), index)
    if which == "this":
        return nearest_weekday(index, reference_time, tense_around(match), include_today=True)
    return nearest_weekday(index, reference_time, _relative_offset(match))


def relative_month(match: _Match, reference_time: datetime) -> Interval | None:
    if _year_number(match, reference_time) is not None:
        return calendar_date(match, reference_time)
    month = _month_number(match["month"])
    return resolve_relative(
        lambda year: unit_range("month", on_date(reference_time, year, month)),
        reference_time,
        reference_time.year,
        _relative_offset(match),
    )


def relative_season(match: _Match, reference_time: datetime) -> Interval | None:
    name = match["season"].lower()
    current = reference_time.year - (name == "winter" and reference_time.month < 3)
    return resolve_relative(
        lambda year: season_range(name, year, reference_time), reference_time, current, _relative_offset(match)
    )


def season_of_year(match: _Match, reference_time: datetime) -> Interval:
    return season_range(match["season"].lower(), _year_number(match, reference_time) or 0, reference_time)


def bare_weekday(match: _Match, reference_time: datetime) -> Interval:
    return nearest_weekday(_weekday_number(match), reference_time, tense_around(match))


def weekday_of_week(match: _Match, reference_time: datetime) -> Interval:
    sign = -1 if match.groupdict().get("side", "").lower() == "ago" else 1
    weeks = _relative_offset(match) if match["which"] else sign * _count(match)[0]
    return unit_range("day", unit_start("week", reference_time, weeks), _weekday_number(match))


def day_of_month(match: _Match, reference_time: datetime) -> Interval:
    month = unit_start("month", reference_time, _relative_offset(match))
    return unit_range("day", month.replace(day=int(match["day"])))


def nearest_day_of_month(match: _Match, reference_time: datetime) -> Interval | None:
    """Parse "on the 9th": in the past tense the latest begun, in the future the first not over, else the nearest."""
    day = int(match["day"])

    def in_month(count: int) -> Interval:
        return unit_range("day", unit_start("month", reference_time, count).replace(day=day))

    return resolve_recurrence(in_month, reference_time, range(-2, 3), tense_of_clause(match))


def weekday_of_month(match: _Match, reference_time: datetime) -> Interval | None:
    """Parse "Monday the 9th": in the nearest month in which the 9th is a Monday, if one is within a year."""
    day, weekday = int(match["day"]), _weekday_number(match)

    def in_month(count: int) -> Interval:
        found = unit_range("day", unit_start("month", reference_time, count).replace(day=day))
        if found.start.weekday() != weekday:
            raise ValueError(f"{found.start:%Y-%m-%d} is another weekday")
        return found

    return resolve_recurrence(in_month, reference_time, range(-12, 13), 0)


def bare_weekend(match: _Match, reference_time: datetime) -> Interval | None:
    """Parse "on the weekend": the latest one in the past tense, the coming one in the future, else a habit."""
    tense = tense_around(match)
    is_weekend = reference_time.weekday() >= _WEEKDAY_NUMBERS["sat"]
    return unit_range("weekend", reference_time, -1 if tense < 0 and not is_weekend else 0) if tense else None


def other_day(_match: _Match, reference_time: datetime) -> Interval:
    return unit_range("day", reference_time, -7, -1)


# Semantics of a match and the date after it ---------------------------------------------------------------------------


def identity(_match: _Match, inner: Interval, _reference_time: datetime) -> Interval:
    return inner


def day_on_weekday(match: _Match, inner: Interval, reference_time: datetime) -> Interval:
    """Parse "Monday, 9 March": in the nearby year in which that day is a Monday; a stated year stays."""
    if inner.end - inner.start > timedelta(days=1) or _FOUR_DIGITS.search(match.string[match.end() :][:24]):
        return inner
    this_year = reference_time.year
    days = (_in_year(inner, year) for year in (inner.start.year, *range(this_year - 1, this_year + 2)))
    return next((day for day in days if day and day.start.weekday() == _weekday_number(match)), inner)


def _in_year(day: Interval, year: int) -> Interval | None:
    try:
        return unit_range("day", day.start.replace(year=year))
    except ValueError:  # February 29
        return None


def since(_match: _Match, inner: Interval, reference_time: datetime) -> Interval:
    return Interval(inner.start, reference_time)


def before(_match: _Match, inner: Interval, reference_time: datetime) -> Interval:
    return Interval(_MIN_DATE.replace(tzinfo=reference_time.tzinfo), inner.start)


def after(_match: _Match, inner: Interval, reference_time: datetime) -> Interval:
    return Interval(inner.end, _MAX_DATE.replace(tzinfo=reference_time.tzinfo))


def until(match: _Match, inner: Interval, reference_time: datetime) -> Interval:
    """Parse "until": from the reference time if the date is in the future, else from the start of the calendar."""
    return (
        Interval(reference_time, inner.end)
        if inner.end > reference_time
        else before(match, Interval(inner.end, inner.end), reference_time)
    )


def third(match: _Match, inner: Interval, _reference_time: datetime) -> Interval:
    """The early, middle or late third of an interval of at least a week; of a month, days 1-10, 11-20 and the rest."""
    index = _THIRDS[(match["third"] or match["edge"]).lower()]
    days = (inner.end - inner.start).days
    months = (inner.end.year - inner.start.year) * 12 + inner.end.month - inner.start.month
    if months % 3 == 0 and months:
        step = months // 3
        return unit_range("month", inner.start, index * step, (index + 1) * step - 1)
    if days < 7:
        return inner
    width = timedelta(days=10 if months == 1 else days // 3)
    return Interval(inner.start + index * width, inner.end if index == 2 else inner.start + (index + 1) * width)


def offset_from(match: _Match, inner: Interval, _reference_time: datetime) -> Interval:
    """Parse "the week before May 3" or "two days after May 3"."""
    (low, high), (unit, size) = _count(match) if "low" in match.groupdict() else (1, 1), _unit(match)
    if match["side"].lower() == "before":
        return unit_range(unit, inner.start, -high * size, -low * size)
    return unit_range(unit, inner.end - timedelta(microseconds=1), low * size, high * size)


def adjacent_weekday(match: _Match, inner: Interval, _reference_time: datetime) -> Interval:
    index = _weekday_number(match)
    if match["side"].lower() == "before":
        return nearest_weekday(index, inner.start, -1)
    return nearest_weekday(index, inner.end - timedelta(microseconds=1), 1)


def unit_containing(match: _Match, inner: Interval, _reference_time: datetime) -> Interval:
    """Parse "the week of June 5"; an interval of more than a day is returned unchanged."""
    is_one_day = inner.end - inner.start <= timedelta(days=1)
    return unit_range(match["unit"].lower(), inner.start) if is_one_day else inner


def day_part_of(match: _Match, inner: Interval, _reference_time: datetime) -> Interval:
    return day_part(match["part"].lower(), inner)


def nth(match: _Match, inner: Interval, _reference_time: datetime) -> Interval | None:
    """Parse "the first weekend of August" or "the last Friday in May 2024"."""
    ordinal, unit = _NTH[match["nth"].lower()], (match["unit"] or "").lower()
    if unit in {"day", "week"}:
        width = timedelta(days=7 if unit == "week" else 1)
        start = inner.end - width if ordinal < 0 else inner.start + ordinal * width
        return Interval(start, start + width)
    index = 5 if unit else _weekday_number(match)
    if ordinal < 0:
        start = nearest_weekday(index, inner.end, -1).start
    else:
        start = nearest_weekday(index, inner.start, 1, include_today=True).start + timedelta(days=7 * ordinal)
    return Interval(start, start + timedelta(days=2 if unit else 1))
