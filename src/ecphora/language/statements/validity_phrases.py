"""The interval for which a sentence says that something holds: "since 3 May", "until August", "for three weeks".

English only.
"""

import re
from calendar import isleap
from datetime import datetime, timedelta

from ...model.lazy import lazy_pattern
from ...model.types import Interval
from ..dates.mentions import time_mentions
from .change_lexicon import CHANGE, CURRENT, END, PAST_STATE, RESUMPTION, START

_RANGE_START = lazy_pattern(r"\b(?:from|between)\b", re.IGNORECASE)
_RANGE_TO = lazy_pattern(r"\b(?:to|till|until|through|and)\b", re.IGNORECASE)
_REST_OF = lazy_pattern(
    r"\b(?:for|through(?:out)?) (?:all of |the whole of )?(?:the )?rest of (?:the |this )?(?P<what>day|week|month|"
    r"quarter|year|summer)",
    re.IGNORECASE,
)
_MONTH_NAMES = "January|February|March|April|May|June|July|August|September|October|November|December"
_MONTH_ABBREVIATIONS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_NOT_AMOUNT = rf"(?! \d[\d,.]*(?![\d,.]|st\b|nd\b|rd\b|th\b|-\d|\s(?:of )?(?:{_MONTH_ABBREVIATIONS})))"
"""Excludes bare numbers: "the price goes up to 27", "it runs to 12 pages"."""
_END_PHRASE = lazy_pattern(
    r"\b(?:until|till|'til|til|through|thru|ending|ends?(?: on)?|back (?=on|in|at)|reopens?|finishes|"
    r"last day (?:\w+ ){0,6}?(?:is|will be)|"
    rf"(?:up|runs?|lasts?|only) to{_NOT_AMOUNT}|runs? out|runs? out on|expires?|over by|up on|up in)\b",
    re.IGNORECASE,
)
_START_PHRASE = lazy_pattern(
    r"\b(?:since|as of|from|starting|beginning|effective|on|in|last|this|next|yesterday|today|tomorrow)\b",
    re.IGNORECASE,
)
_CLAUSE_BREAK = lazy_pattern(
    rf"[;—–]|,\s(?!\s*(?:\d|(?:{_MONTH_NAMES}|{_MONTH_ABBREVIATIONS})\b))|(?<=\s)(?=because\b)", re.IGNORECASE
)
"""Between clauses; not the comma of a date: "Monday, 3 May", "May 3, 2026"."""
_REASON_CLAUSE = lazy_pattern(r"because\b|since (?:i|you|he|she|it|we|they)\b", re.IGNORECASE)
_SIDE_CLAUSE = lazy_pattern(
    r"(?:which|so that|before (?:that|then)|(?:as|when|while) (?:i|you|he|she|it|we|they|my|our|the))\b", re.IGNORECASE
)
"""The start of a clause whose time is not the statement's, unless it is the first clause."""
_TIME_PHRASE_CHARS = 26
"""The most characters of a time phrase between commas, which belongs to the clause next to it: "On Monday, we …"."""
_DATE_START = rf"(?:the )?(?:\d|(?:mon|tue|wed|thu|fri|sat|sun|{_MONTH_ABBREVIATIONS})[a-z]{{0,6}}\b)"
_VALUE_PHRASE = lazy_pattern(
    r"(?:\b(?:is|are|be|leaves?|departs?|meets?|happens?|takes? place)|['’]s) (?:(?:now|still|only) )?(?:on|for|in) "
    rf"(?={_DATE_START})",
    re.IGNORECASE,
)
"""A time after these is what the statement says of its topic, not the start of its validity."""
_OLD_AND_NEW = lazy_pattern(
    r"\b(?:mov|shift|push|chang|resched|postpon|delay|br(?:ought|ing))\w{0,10}(?: \w{1,20}){0,5}? from "
    rf"{_DATE_START}[^.;,]{{0,30}}? to {_DATE_START}[^.;,]{{0,20}}?"
    r"(?=$|[.;,!]| (?:since|as of|from|starting|beginning|effective|on)\b)",
    re.IGNORECASE,
)
"""An old time and a new one, which are no interval: "moved the launch from 3 to 10 May"."""
_DURATION = lazy_pattern(
    r"\bfor (?:the )?(?:next |coming |another |just |about )*(?P<n>\d{1,6}|an?|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|"
    r"couple of|few) (?P<unit>day|week|fortnight|month|year)s?\b",
    re.IGNORECASE,
)
_END_OF = lazy_pattern(
    r"\b(?:until|till|through|to)(?: the)? end of (?:the |this |next )?(?P<what>day|week|month|quarter|year|summer)\b",
    re.IGNORECASE,
)
_WHOLE_MONTHS = lazy_pattern(
    rf"\b(?:during|all of|whole of|throughout|(?:only )?for) (?:all of |the whole of )?(?P<first>{_MONTH_NAMES})"
    rf"(?:(?:,| and| to|,? \w+ and) (?P<last>{_MONTH_NAMES}))?\b(?! \d)"
)
_DAY_OF_MONTH = lazy_pattern(
    r"(?:(?:on )?(?:mon|tues?|wed|thu|fri|sat|sun)\w*,? )?(?:the )?(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?\b"
    rf"(?!\.?\s*(?:of )?(?:{_MONTH_NAMES[:-1]}|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|am\b|pm\b|o['’]clock|"
    r"[:.%]\d|days?|weeks?|months?|years?|people|hours?|minutes?))",
    re.IGNORECASE,
)
_FUTURE = lazy_pattern(r"\b(?:from|as of|starting|beginning|effective|will|going to|next)\b|['’]ll\b", re.IGNORECASE)
ROLL_FORWARD_DAYS = 200
"""Days in the past from which a date without a year is taken for the next one."""
LEAP_YEAR_DAYS, FEBRUARY = 366, 2
_NUMBER_WORDS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
                 "eight": 8, "nine": 9, "ten": 10, "couple of": 2, "few": 3}  # fmt: skip
_UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}


def validity_interval(sentence: str, reference_time: datetime) -> tuple[datetime | None, datetime | None]:
    """The start and end of validity that a sentence states; None for an open bound."""
    sentence = _OLD_AND_NEW.sub("changed", sentence)
    end = _valid_to(sentence, reference_time)
    is_future = _FUTURE.search(sentence) is not None
    start_spans = _start_spans(sentence, reference_time)
    spans = [_roll_forward(span, reference_time) for span in start_spans] if is_future else start_spans
    nearby_spans = [
        span for span in spans if span and abs((span.start - reference_time).days) < 400 and span.start.year > 1
    ]
    short_spans = [
        span for span in nearby_spans if span.end - span.start <= timedelta(93) or span.end == reference_time
    ]
    start = short_spans[0].start if short_spans else None
    return (None if end is not None and start is not None and start >= end else start), end


def _start_spans(sentence: str, reference_time: datetime) -> tuple[Interval, ...]:
    """The times in the first clause that can say when the statement starts to hold.

    Clauses with a word of change come first, then clauses that begin with a start: the first clause, or "since 3 May
    …".
    """
    clauses = _clauses(sentence)
    changes = [clause for clause in clauses if _is_change(clause)]
    starts = [clause for place, clause in enumerate(clauses) if (START if place else _START_PHRASE).match(clause)]
    found = (
        time_mentions(clause, reference_time)
        for clause in ([*changes, *starts] if changes else clauses)
        if START.search(clause) or (_START_PHRASE.search(clause) and not _VALUE_PHRASE.search(clause))
    )
    return next(filter(None, found), ())


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence without reason clauses; a time phrase is part of the clause next to it."""
    result: list[str] = []
    is_time_phrase = False
    for clause in map(str.strip, _CLAUSE_BREAK.split(sentence)):
        if not clause or _REASON_CLAUSE.match(clause) or (result and _SIDE_CLAUSE.match(clause)):
            continue
        starts_with_time = len(clause) <= _TIME_PHRASE_CHARS and _START_PHRASE.match(clause) is not None
        if result and (starts_with_time or is_time_phrase):
            result[-1] += f", {clause}"
        else:
            result.append(clause)
        is_time_phrase = starts_with_time and len(result) == 1
    return result


def _is_change(clause: str) -> bool:
    return any(pattern.search(clause) for pattern in (CHANGE, CURRENT, END, RESUMPTION))


def _roll_forward(span: Interval, reference_time: datetime) -> Interval | None:
    """Move an interval a year later if it is long past and recurs soon: the next return of a date without a year.

    None if that is beyond the calendar.
    """
    if not ROLL_FORWARD_DAYS < (reference_time - span.end).days < LEAP_YEAR_DAYS:
        return span
    try:
        return Interval(
            *(bound + timedelta(LEAP_YEAR_DAYS - 1 + _crosses_leap_day(bound)) for bound in (span.start, span.end))
        )
    except OverflowError:
        return None


def _crosses_leap_day(day: datetime) -> bool:
    """Whether the same day of the next year is 366 days away."""
    return isleap(day.year) if day.month <= FEBRUARY else isleap(day.year + 1)


def _valid_to(sentence: str, reference_time: datetime) -> datetime | None:
    duration = _DURATION.search(sentence)
    if duration and not PAST_STATE.search(sentence):
        count = _NUMBER_WORDS.get(duration["n"].lower(), 0) or int(duration["n"])
        try:
            return reference_time + timedelta(days=count * _UNIT_DAYS[duration["unit"].lower()])
        except OverflowError:  # beyond the calendar
            return None
    if end_of := _END_OF.search(sentence) or _REST_OF.search(sentence):
        spans = time_mentions(f"this {end_of['what']}", reference_time)
        return spans[0].end if spans else None
    if date_range := _date_range(sentence, reference_time):
        return date_range.end
    end_phrase = _END_PHRASE.search(sentence)
    return end_phrase and _parse_end(sentence[end_phrase.end() :].strip(), end_phrase[0], reference_time)


def _date_range(sentence: str, reference_time: datetime) -> Interval | None:
    """The interval that a sentence states: from one day to another, or whole months."""
    if any(map(_is_range, sentence.split("\n"))):
        for span in _future_intervals(sentence, reference_time):
            if span.end - span.start > timedelta(1):
                return span
    months = _WHOLE_MONTHS.search(sentence)
    return (
        next(iter(_future_intervals(f"in {months['last'] or months['first']}", reference_time)), None)
        if months
        else None
    )


def _is_range(line: str) -> bool:
    """Whether a line has a range, "from ... to" or the like."""
    opening = _RANGE_START.search(line)
    return opening is not None and _RANGE_TO.search(line, opening.end()) is not None


def _parse_end(rest: str, end_phrase: str, reference_time: datetime) -> datetime | None:
    """The end after an end phrase: a day is included, a longer period only after "through" or "end of"."""
    if day := _DAY_OF_MONTH.match(rest):
        return _end_of_day_of_month(int(day["day"]), reference_time)
    span = next(
        iter([*_future_intervals(f"on {rest}", reference_time), *_future_intervals(rest, reference_time)]), None
    )
    if span is None:
        return None
    is_inclusive = end_phrase.lower() in {"through", "thru"} or rest.lower().startswith(("end of", "the end of"))
    return span.end if is_inclusive or span.end - span.start <= timedelta(days=1) else max(span.start, reference_time)


def _future_intervals(text: str, reference_time: datetime) -> list[Interval]:
    """The intervals that a text mentions and that are not over."""
    return [
        span
        for span in (_roll_forward(mention, reference_time) for mention in time_mentions(text, reference_time))
        if span and span.end > reference_time
    ]


def _end_of_day_of_month(day: int, reference_time: datetime) -> datetime | None:
    """The midnight after the next day with that day of the month; None if it is beyond the calendar."""
    date = reference_time.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        date += timedelta(1)
        while date.day != day:
            date += timedelta(1)
        return date + timedelta(1)
    except OverflowError:
        return None
