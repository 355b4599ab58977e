"""From when to when a sentence says that something holds: "since 3 May", "until August", "for three weeks". English."""

import re
from calendar import isleap
from datetime import datetime, timedelta

from ..model import Interval
from ..patterns import lazy_pattern
from .claim_words import PAST
from .dates import told

_RANGE_OPENS = lazy_pattern(r"\b(?:from|between)\b", re.IGNORECASE)
_RANGE_GOES_ON = lazy_pattern(r"\b(?:to|till|until|through|and)\b", re.IGNORECASE)
_REST_OF = lazy_pattern(
    r"\b(?:for|through(?:out)?) (?:all of |the whole of )?(?:the )?rest of (?:the |this )?(?P<what>day|week|month|"
    r"quarter|year|summer)",
    re.IGNORECASE,
)
_NAMED = "January|February|March|April|May|June|July|August|September|October|November|December"
_SHORT = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_AMOUNT = rf"(?! \d[\d,.]*(?![\d,.]|st\b|nd\b|rd\b|th\b|-\d|\s(?:of )?(?:{_SHORT})))"
"""No bare number: "the price goes up to 27", "it runs to 12 pages"."""
_BOUND = lazy_pattern(
    r"\b(?:until|till|'til|til|through|thru|ending|ends?(?: on)?|back (?=on|in|at)|reopens?|finishes|"
    r"last day (?:\w+ ){0,6}?(?:is|will be)|"
    rf"(?:up|runs?|lasts?|only) to{_AMOUNT}|runs? out|runs? out on|expires?|over by|up on|up in)\b",
    re.IGNORECASE,
)
_FROM = lazy_pattern(
    r"\b(?:since|as of|from|starting|beginning|effective|on|in|last|this|next|yesterday|today|tomorrow)\b",
    re.IGNORECASE,
)
_LASTS = lazy_pattern(
    r"\bfor (?:the )?(?:next |coming |another |just |about )*(?P<n>\d{1,6}|an?|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|"
    r"couple of|few) (?P<unit>day|week|fortnight|month|year)s?\b",
    re.IGNORECASE,
)
_END_OF = lazy_pattern(
    r"\b(?:until|till|through|to)(?: the)? end of (?:the |this |next )?(?P<what>day|week|month|quarter|year|summer)\b",
    re.IGNORECASE,
)
_MONTHS = lazy_pattern(
    rf"\b(?:during|all of|whole of|throughout|(?:only )?for) (?:all of |the whole of )?(?P<first>{_NAMED})"
    rf"(?:(?:,| and| to|,? \w+ and) (?P<last>{_NAMED}))?\b(?! \d)"
)
_DAY = lazy_pattern(
    r"(?:(?:on )?(?:mon|tues?|wed|thu|fri|sat|sun)\w*,? )?(?:the )?(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?\b"
    rf"(?!\.?\s*(?:of )?(?:{_NAMED[:-1]}|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|am\b|pm\b|o['’]clock|[:.%]\d|"
    r"days?|weeks?|months?|years?|people|hours?|minutes?))",
    re.IGNORECASE,
)
_AHEAD = lazy_pattern(r"\b(?:from|as of|starting|beginning|effective|will|going to|next)\b|['’]ll\b", re.IGNORECASE)
SOON = 200
"""Days after which a date without a year is rather the coming one."""
YEAR, FEBRUARY = 366, 2
_SMALL = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
          "nine": 9, "ten": 10, "couple of": 2, "few": 3}  # fmt: skip
_DAYS = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "year": 365}


def interval(sentence: str, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """From when to when it holds, as far as it says so."""
    end = _end(sentence, said_at)
    if not _FROM.search(sentence):
        return None, end
    ahead = _AHEAD.search(sentence) is not None
    spans = [_coming(span, said_at) if ahead else span for span in told(sentence, said_at)]
    near = [span for span in spans if abs((span.start - said_at).days) < 400 and span.start.year > 1]
    days = [span for span in near if span.end - span.start <= timedelta(93) or span.end == said_at]
    start = days[0].start if days else None
    return (None if end is not None and start is not None and start >= end else start), end


def _coming(span: Interval, said_at: datetime) -> Interval:
    """A stretch a year later, where it is a long time past and comes again soon: of a day without a year the next."""
    if not SOON < (said_at - span.end).days < YEAR:
        return span
    return Interval(*(one + timedelta(YEAR - 1 + _leap(one)) for one in (span.start, span.end)))


def _leap(day: datetime) -> bool:
    """Whether the next year's same day is 366 days away."""
    return isleap(day.year) if day.month <= FEBRUARY else isleap(day.year + 1)


def _end(sentence: str, said_at: datetime) -> datetime | None:
    lasts = _LASTS.search(sentence)
    if lasts and not PAST.search(sentence):
        count = _SMALL.get(lasts["n"].lower(), 0) or int(lasts["n"])
        try:
            return said_at + timedelta(days=count * _DAYS[lasts["unit"].lower()])
        except OverflowError:  # beyond the calendar
            return None
    if whole := _END_OF.search(sentence) or _REST_OF.search(sentence):
        named = told(f"this {whole['what']}", said_at)
        return named[0].end if named else None
    if found := _stretched(sentence, said_at):
        return found.end
    bound = _BOUND.search(sentence)
    return bound and _bounded(sentence[bound.end() :].strip(), bound[0], said_at)


def _stretched(sentence: str, said_at: datetime) -> Interval | None:
    """The stretch of time for which it holds: from one day to another, or some whole months."""
    if any(map(_ranges, sentence.split("\n"))):
        for span in _ahead(sentence, said_at):
            if span.end - span.start > timedelta(1):
                return span
    months = _MONTHS.search(sentence)
    return next(iter(_ahead(f"in {months['last'] or months['first']}", said_at)), None) if months else None


def _ranges(line: str) -> bool:
    """Whether a line goes from one thing to another."""
    opening = _RANGE_OPENS.search(line)
    return opening is not None and _RANGE_GOES_ON.search(line, opening.end()) is not None


def _bounded(rest: str, bound: str, said_at: datetime) -> datetime | None:
    """The end behind a word that bounds: a day belongs to the time before it, a month only with "through"."""
    if day := _DAY.match(rest):
        return _next(int(day["day"]), said_at) + timedelta(1)
    span = next(iter([*_ahead(f"on {rest}", said_at), *_ahead(rest, said_at)]), None)
    if span is None:
        return None
    whole = bound.lower() in {"through", "thru"} or rest.lower().startswith(("end of", "the end of"))
    return span.end if whole or span.end - span.start <= timedelta(days=1) else max(span.start, said_at)


def _ahead(text: str, said_at: datetime) -> list[Interval]:
    """The stretches of time to come that a text speaks of."""
    return [span for span in (_coming(one, said_at) for one in told(text, said_at)) if span.end > said_at]


def _next(day: int, said_at: datetime) -> datetime:
    """The next day of that number, at midnight."""
    found = said_at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(1)
    while found.day != day:
        found += timedelta(1)
    return found
