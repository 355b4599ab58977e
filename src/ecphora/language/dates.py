"""The stretches of time a text speaks of, by a grammar of about sixty rules for English, Chinese and Japanese.

Not a calendar of events and not a clock: no holidays, no times of day beyond morning, afternoon, evening and night, and
nothing that only its neighbour dates ("the next day", "two days later").

Conventions: ranges, not points. Days run from midnight to midnight, weeks from Monday, a weekend is Saturday and
Sunday, "two weeks ago" is the calendar week two before this one. "Last Saturday" is the one before today, "next
Saturday" the one in the coming calendar week. A bare weekday, "in July" or "May 3" lies behind if its sentence has a
cue of the past, ahead if it has one of the future; if it has none, what stands around it decides, and else a weekday is
the next one, a month or a day the nearest. "Last summer" is the latest that is over; seasons are northern and made of
months, the winter of 2022 ends in February 2023. Early, mid and late are thirds. 5/3/2024 is May 3 unless it cannot be;
3.5.2024 is too. An open end lies a day inside the calendar's, so that any change of zone succeeds. "May", "March" and
short names count only where the words around them make them dates. Chinese and Japanese are first rewritten by
``dates_cjk``; what a phrase means is in ``dates_meaning``. All arithmetic is on the wall clock of ``said_at``'s zone.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from ..model import Interval
from ..patterns import lazy_pattern
from . import dates_meaning as mean
from .dates_cjk import english

_Match = re.Match[str]
_Leaf = Callable[[_Match, datetime], Interval | None]
_Wrap = Callable[[_Match, Interval, datetime], Interval | None]


class _Found(NamedTuple):
    """What stands in a text up to ``end``: a stretch of time, or a date that does not exist."""

    span: Interval | None
    end: int


class _Rule(NamedTuple):
    """A pattern and its reading: ``leaf`` of the match alone, ``wrap`` of the match and of the date that must follow.

    A ``bare`` rule counts only after a preposition.
    """

    pattern: re.Pattern[str]
    leaf: _Leaf | None = None
    wrap: _Wrap | None = None
    bare: bool = False


# The grammar ----------------------------------------------------------------------------------------------------------

_SPACE = r"(?:[\s\xa0]{1,3})"
_ORD = "(?:st|nd|rd|th)?"
_COUNTED = (
    r"(?!\w|[.,:/]\d|%|,? \d{5}| (?:people|persons|men|women|kids|children|words|steps|dollars|euros|pounds|bucks|"
    r"miles|meters|metres|feet|km|kg|times|hours|minutes|seconds|days|weeks|months|years|pages|points|users|items|copies|cups|"
    r"bc|bce)\b)"
)
_NAME = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NO_VERB = r"(?!(?-i:may|march|mar)\b(?!(?: \d{1,2}(?:st|nd|rd|th|,? \d{4})| \d{4})))"
_MONTH = f"(?:(?<=of\\s)|{_NO_VERB}){_NAME}"
_FULL = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SHORT = r"(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
_WEEKDAY = rf"(?P<weekday>{_FULL}|{_SHORT})\b\.?"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
_PART = "(?P<part>morning|afternoon|evening|night)"
_YEAR = rf"(?P<year>\d{{4}}|['’]\d\d){_COUNTED}"
_ITS_YEAR = rf"(?:,? ?(?:of |in )?(?:{_YEAR}|(?P<rel>last|this|next|two) year(?:s (?P<far>ago|from now))?\b))"
_DAY = rf"(?P<day>\d{{1,2}}){_ORD}(?: ?(?:-|–|to) ?(?P<until>\d{{1,2}}){_ORD}(?!\d))?"
_WORDS = rf"(?:\d{{1,6}}|(?:a )?couple(?: of)?|(?:a )?few|several|(?:{'|'.join(mean.NUMBERS)})\b)"
_COUNT = rf"(?P<low>{_WORDS})(?: ?(?:-|–| to | or ) ?(?P<high>{_WORDS}))?"
_UNIT = "(?P<unit>minute|hour|day|night|weekend|week|fortnight|month|year|decade)"
_TURN = "(?P<which>last|previous|this past|this last|past|this coming|this|current|next|coming|upcoming)"


def _rule(pattern: str, leaf: _Leaf | None = None, *, wrap: _Wrap | None = None, bare: bool = False) -> _Rule:
    """Compile a pattern; a space in it stands for some white space."""
    return _Rule(lazy_pattern(pattern.replace(" ", _SPACE), re.IGNORECASE | re.ASCII), leaf, wrap, bare)


_COUNTS = (
    _rule(rf"{_COUNT} {_UNIT}s? ago\b", mean.ago),
    _rule(rf"{_COUNT} {_UNIT}s? (?:from (?:now|today)|hence)\b", mean.ahead),
    _rule(rf"{_COUNT} {_UNIT}s? (?P<side>before|after) ", wrap=mean.shifted),
)
_RULES: dict[str, tuple[_Rule, ...]] = {
    "day": (_rule(r"(?P<day>yesterday|today|tomorrow|tonight)\b", mean.named_day),),
    "which": (
        _rule(rf"(?P<nth>last) (?:(?P<unit>weekend|week|day)|{_WEEKDAY}) (?:of|in) (?:the )?", wrap=mean.nth),
        _rule(rf"(?P<which>last|past|next|coming) {_COUNT} {_UNIT}s?\b", mean.rolling),
        _rule(r"(?P<which>(?<!this\s)past) (?P<low>)(?P<high>)(?P<unit>week|month|year|decade)\b", mean.rolling),
        _rule(rf"{_TURN} (?P<unit>weekend|week|month|year|quarter|decade|century)\b(?!-)", mean.turned_unit),
        _rule(rf"(?P<which>last|this) {_PART}\b", mean.turned_part),
        _rule(rf"{_TURN} {_WEEKDAY}(?!\w)", mean.turned_weekday),
        _rule(rf"{_TURN} {_MONTH} {_DAY}{_COUNTED}{_ITS_YEAR}?", mean.date),
        _rule(rf"{_TURN} {_MONTH}{_ITS_YEAR}?", mean.turned_month),
        _rule(rf"{_TURN} {_SEASON}\b", mean.turned_season),
    ),
    "digit": (
        _rule(
            r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:t| )(?P<clock>\d\d:\d\d(?::\d\d)?)(?:[.,]\d{1,9})?"
            r"(?P<zone>z|[+-]\d\d:?\d\d)?(?![\d:])",
            mean.instant,
        ),
        _rule(r"(?P<year>\d{4})(?P<cut>[-/])(?P<month>\d\d?)(?P=cut)(?P<day>\d\d?)(?!\d|[/-]\d)", mean.date),
        _rule(r"(?P<month>\d\d?)/(?P<day>\d\d?)/(?P<year>\d{4}|\d\d)(?![\d/])", mean.date),
        _rule(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4})(?!\d|\.\d)", mean.date),
        _rule(rf"{_DAY}(?: of)? {_MONTH}{_ITS_YEAR}?", mean.date),
        _rule(rf"(?P<day>\d\d?){_ORD} of {_TURN} month\b", mean.day_of_month),
        _rule(r"(?P<decade>\d{3}0)['’]?s\b", mean.decade),
        _rule(r"(?<=the\s)['’]?(?P<decade>\d0)['’]?s\b", mean.decade),
        *_COUNTS,
        _rule(rf"(?<=the\s)(?P<year>(?:19|20)\d\d){_COUNTED}", mean.year),
        _rule(rf"(?<!on\s)(?<!over\s)(?<!about\s)(?P<year>1\d{{3}}|2[01]\d\d){_COUNTED}", mean.year, bare=True),
        _rule(r"(?<=on\s)(?P<month>\d\d?)/(?P<day>\d\d?)(?![\d/])", mean.date, bare=True),
    ),
    "count": (_rule(rf"an? (?:{_FULL}|{_NAME})", mean.nothing), *_COUNTS),
    "month": (
        _rule(rf"{_MONTH}(?: the)? {_DAY}{_COUNTED}{_ITS_YEAR}?", mean.date),
        _rule(rf"{_MONTH}{_ITS_YEAR}", mean.date),
        _rule(rf"(?:(?<=in\s)|(?<=during\s)|{_NO_VERB}){_NAME}(?!['’]s)", mean.date, bare=True),
    ),
    "weekday": (
        _rule(rf"{_WEEKDAY},? (?:of |in )?{_TURN} week\b", mean.weekday_of_week),
        _rule(rf"{_WEEKDAY},? (?P<which>){_COUNT} weeks? (?P<side>ago|from now)\b", mean.weekday_of_week),
        _rule(rf"{_WEEKDAY} (?P<side>before|after) ", wrap=mean.weekday_beside),
        _rule(rf"{_WEEKDAY},? (?=(?:the )?\d|{_NAME.replace('?P<month>', '?:')} \d)", wrap=mean.same),
        _rule(rf"{_WEEKDAY}(?!\w)", mean.bare_weekday, bare=True),
        _rule(rf"(?P<weekday>(?=(?-i:[MTWFS])){_FULL})\b(?! school)", mean.bare_weekday),
    ),
    "season": (_rule(rf"{_SEASON}{_ITS_YEAR}", mean.dated_season),),
    "decade": (_rule(rf"(?<=the\s)(?P<decade>{'|'.join(mean.TENS)})\b", mean.decade),),
    "unit": (
        _rule(r"(?P<unit>week|weekend|month|year|night) (?P<side>before) last\b", mean.turned_twice),
        _rule(r"(?P<unit>week|weekend|month|year) (?P<side>after) next\b", mean.turned_twice),
        _rule(r"(?P<unit>day|weekend|week|month|year|night) (?P<side>before|after) ", wrap=mean.shifted),
        _rule(r"(?P<unit>weekend|week) (?:of|beginning|starting) ", wrap=mean.holding),
        _rule(rf"{_PART} of ", wrap=mean.part_of),
        _rule(rf"year {_YEAR}", mean.year),
        _rule(r"(?:month|year|week) of ", wrap=mean.same),
        _rule(r"(?<=the\s)other day\b", mean.other_day),
    ),
    "third": (
        _rule(r"(?:(?P<third>early|mid|late)(?: |-| in )|(?P<edge>beginning|start|middle|end) of )", wrap=mean.third),
    ),
    "nth": (
        _rule(
            rf"(?P<nth>first|second|third|fourth) (?:(?P<unit>weekend|week|day)|{_WEEKDAY}) (?:of|in) ", wrap=mean.nth
        ),
    ),
    "open": (
        _rule(rf"in (?:about )?{_COUNT} {_UNIT}s?['’]?(?: time)?\b(?! (?:ago|before|after)\b)", mean.within),
        _rule("since ", wrap=mean.since),
        _rule("(?:before|prior to) ", wrap=mean.before),
        _rule("after ", wrap=mean.after),
        _rule("(?:until|till) ", wrap=mean.until),
        _rule("(?:in|on|during|by|around|about|over|from|between|throughout) ", wrap=mean.same),
    ),
    "every": (_rule(rf"[a-z]{{3,5}} (?:other )?(?:{_FULL}|{_NAME}(?: \d\d?{_ORD})?|{_SEASON})", mean.nothing),),
}
_STARTS = {
    "open": "in|on|during|since|before|prior|after|until|till|by|around|about|over|from|between|throughout",
    "count": f"couple|few|several|{'|'.join(mean.NUMBERS)}",
    "which": "last|previous|past|this|current|next|coming|upcoming",
    "day": "yesterday|today|tomorrow|tonight",
    "month": _NAME.replace("?P<month>", "?:").replace(r"\b\.?", ""),
    "weekday": f"{_FULL}|{_SHORT}",
    "season": "spring|summer|autumn|fall|winter",
    "decade": "|".join(mean.TENS),
    "unit": "day|weekend|week|month|year|night|morning|afternoon|evening|other",
    "third": "early|mid|late|beginning|start|middle|end",
    "nth": "first|second|third|fourth",
    "every": "every|each|any|most|some|black|good|ash",
}
_WORD = rf"(?:the{_SPACE})?(?:{'|'.join(f'(?P<{kind}>{words})' for kind, words in _STARTS.items())})\b"
_HERE = lazy_pattern(rf"{_WORD}|(?:the{_SPACE})?(?P<digit>['’]?\d)", re.IGNORECASE | re.ASCII)
_START = lazy_pattern(
    rf"(?<![\w\u00c0-\u024f'’-]){_WORD}|(?<![\w.,/:$€£#])(?<!\d[-–])"
    rf"(?:(?<=the\s)(?=['’]?\d)|(?=\d{{1,6}}(?:[-–/.'’a-z]|{_SPACE}[a-z–-])))(?P<digit>['’]?\d)",
    re.IGNORECASE | re.ASCII,
)
_HINT = lazy_pattern(
    r"\d|\b(?:yesterday|today|tomorrow|tonight|days?|nights?|week(?:end)?s?|fortnights?|months?|years?|quarter|decades?|"
    r"century|morning|afternoon|evening|hours?|minutes?|spring|summer|autumn|fall|winter|[a-z]{3,5}ties|"
    rf"{_STARTS['month']}|{_FULL}|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b",
    re.ASCII,
)
_DAYPART = _rule(rf" (?:in the |at )?{_PART}\b").pattern
_JOIN = _rule(r"(?P<tight> ?(?:[-–~〜～到至]|から) ?)| (?P<word>to|until|till|through|and) ").pattern
_YEAR_IN = lazy_pattern(r"\d{4}")


def told(text: str, said_at: datetime) -> tuple[Interval, ...]:
    """Give the stretches of time a text speaks of, each once, in order of appearance, relative to ``said_at``."""
    if not text.isascii():
        text = english(text)
    if not _HINT.search(text.lower()):
        return ()
    spans: dict[Interval, None] = {}
    at = 0
    while start := _START.search(text, at):
        found = _stretch(text, start, said_at)
        at = found.end if found else start.end()
        if found and found.span:
            spans[found.span] = None
    return tuple(spans)


def _stretch(text: str, start: _Match, said: datetime) -> _Found | None:
    """Read the date that starts here, or with a second one behind it ("from May to July") all from one to the other."""
    opener = (start["open"] or "").lower()
    found = _read(text, start, said)
    if not (found and found.span):
        return found
    join = _JOIN.match(text, found.end)
    near = text[start.start() : found.end]
    if join and (join["tight"] or opener in {"from", "between"} or (join["word"] != "and" and near[-1].isdigit())):
        other = _read_at(text, join.end(), said)
        if other and other.span and (whole := _join(near, found.span, other.span, said)):
            return _Found(whole, other.end)
    return None if opener in {"from", "between"} else found


def _join(near: str, first: Interval, last: Interval, said: datetime) -> Interval | None:
    """Span two dates; a first one without a year takes the last one's, or the year before if it would lie behind it."""
    if not _YEAR_IN.search(near):
        for year in (last.start.year, last.start.year - 1):
            dated = _read_at(f"{near} {year:04}", 0, said)
            if dated and dated.span and dated.span.start < last.end:
                first = dated.span
                break
    return Interval(first.start, last.end) if first.start < last.end else None


def _read_at(text: str, at: int, said: datetime, depth: int = 1) -> _Found | None:
    start = _HERE.match(text, at)
    return _read(text, start, said, depth) if start else None


def _read(text: str, start: _Match, said: datetime, depth: int = 0) -> _Found | None:
    """Read one date by the first rule that fits; ``depth`` counts the phrases before it, of which three are enough."""
    kind = start.lastgroup or ""
    for rule in _RULES[kind]:
        match = rule.pattern.match(text, start.start(kind)) if depth or not rule.bare else None
        if not match:
            continue
        inner = _read_at(text, match.end(), said, depth + 1) if rule.wrap and depth < 3 else None
        if rule.wrap and not inner:
            continue
        end = inner.end if inner else match.end()
        span = _mean(rule, match, inner, said)
        if span and (part := _DAYPART.match(text, end)):
            return _Found(mean.part(part["part"].lower(), span), part.end())
        return _Found(span, end)
    return None


def _mean(rule: _Rule, match: _Match, inner: _Found | None, said: datetime) -> Interval | None:
    """Give what a rule makes of its match, or nothing for a date that no calendar has."""
    span = None
    try:
        if rule.leaf:
            span = rule.leaf(match, said)
        elif rule.wrap and inner and inner.span:
            span = rule.wrap(match, inner.span, said)
    except (ValueError, OverflowError):
        return None
    return span if span and span.start < span.end else None
