"""Finds the time intervals that a text mentions, by a grammar of about seventy rules for English.

Not covered: holidays, times of day beyond morning, afternoon, evening and night, and phrases that only their context
dates ("the next day", "two days later").

Conventions: intervals, not points. Days run from midnight to midnight, weeks from Monday, a weekend is Saturday and
Sunday, "two weeks ago" is the calendar week two before this one. "Last Saturday" is the one before today, "next
Saturday" the one in the coming calendar week. "In July" or "May 3" is past if its clause has a word of the past,
future if it has one of the future, past in a question that is not in the present tense, else the nearest, where time
that has passed counts twice. A bare weekday is past or future by its sentence, else by the surrounding text, else the
next one. "Last summer" is the latest that is over; seasons are northern and consist of months, the winter of 2022
ends in February 2023. Early, mid and late are thirds. 5/3/2024 is May 3 unless it cannot be; 3.5.2024 is too. An open
end lies a day inside the calendar's, so that any change of time zone succeeds. "May", "March" and short names count
only where the words around them make them dates. Other languages are first rewritten by ``cjk`` and
``european``; the meaning of a phrase is in ``semantics``. All arithmetic is on the wall clock of
``reference_time``'s zone.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from ...model.lazy import lazy_pattern
from ...model.types import Interval
from ..language_identification import european_language, word_set, words_of
from . import semantics as mean
from .calendar_arithmetic import day_part
from .cjk import has_cjk, rewrite_cjk
from .european import ENGLISH_RULES, ORDINAL_DAY, ORDINAL_WORDS, all_date_hints, date_hints, phrase_rules
from .phrases import Rewriting

_Match = re.Match[str]
_Leaf = Callable[[_Match, datetime], Interval | None]
_Modifier = Callable[[_Match, Interval, datetime], Interval | None]


class _ParseResult(NamedTuple):
    """A parsed date that ends at ``end``; ``interval`` is None for a date that does not exist."""

    interval: Interval | None
    end: int


class _Rule(NamedTuple):
    """A pattern and its semantics.

    ``leaf`` interprets the match alone, ``modifier`` the match and the date that must follow. A rule that
    ``needs_preposition`` counts only after a preposition.
    """

    pattern: re.Pattern[str]
    leaf: _Leaf | None = None
    modifier: _Modifier | None = None
    needs_preposition: bool = False


# The grammar ----------------------------------------------------------------------------------------------------------

_SPACE = r"(?:[\s\xa0]{1,3})"
_ORDINAL_SUFFIX = "(?:st|nd|rd|th)?"
_NOT_COUNT = (
    r"(?!\w|[.,:/]\d|%|,? \d{5}| (?:people|persons|men|women|kids|children|words|steps|dollars|euros|pounds|bucks|"
    r"miles|meters|metres|feet|km|kg|times|hours|minutes|seconds|days|weeks|months|years|pages|points|users|items|"
    r"copies|cups|bc|bce)\b)"
)
_MONTH_NAME = (
    "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    "oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_NOT_VERB = r"(?!(?-i:may|march|mar)\b(?!(?: \d{1,2}(?:st|nd|rd|th|,? \d{4})| \d{4})))"
_MONTH = f"(?:(?<=of\\s)|{_NOT_VERB}){_MONTH_NAME}"
_WEEKDAY_FULL = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_WEEKDAY_SHORT = r"(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)"
_WEEKDAY = rf"(?P<weekday>{_WEEKDAY_FULL}|{_WEEKDAY_SHORT})\b\.?"
_SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
_DAY_PART = "(?P<part>morning|afternoon|evening|night)"
_YEAR = rf"(?P<year>\d{{4}}|['’]\d\d){_NOT_COUNT}"
_ITS_YEAR = rf"(?:,? ?(?:of |in )?(?:{_YEAR}|(?P<rel>last|this|next|two) year(?:s (?P<far>ago|from now))?\b))"
_DAY = (
    rf"(?P<day>\d{{1,2}}){_ORDINAL_SUFFIX}(?:(?: ?(?:-|–|to|until|till|through) ?|(?<=between\s\d) and "
    rf"|(?<=between\s\d\d) and )(?:the )?(?P<until>\d{{1,2}}){_ORDINAL_SUFFIX}(?!\d))?"
)
_NUMERAL = rf"(?:\d{{1,6}}|(?:a )?couple(?: of)?|(?:a )?few|several|(?:{'|'.join(mean.NUMBER_VALUES)})\b)"
_COUNT = rf"(?P<low>{_NUMERAL})(?: ?(?:-|–| to | or ) ?(?P<high>{_NUMERAL}))?"
_UNIT = "(?P<unit>minute|hour|day|night|weekend|week|fortnight|month|year|decade)"
_RELATIVE_WORD = "(?P<which>last|previous|this past|this last|past|this coming|this|current|next|coming|upcoming)"


_NOT_NOUN = (
    r"(?=\s*(?:[.,;:!?)–—]|$)|\s+(?:i|we|you|he|she|they|it|and|or|but|with|at|in|for|because|when|before|after|to|"
    r"was|were|is|did|my|our|his|her|their|by|as|so|if|about|from|there|went|had)\b)"
)


def _rule(
    pattern: str, leaf: _Leaf | None = None, *, modifier: _Modifier | None = None, needs_preposition: bool = False
) -> _Rule:
    """Make a rule; a space in the pattern matches one to three white space characters."""
    return _Rule(
        lazy_pattern(pattern.replace(" ", _SPACE), re.IGNORECASE | re.ASCII), leaf, modifier, needs_preposition
    )


_COUNT_RULES = (
    _rule(rf"{_COUNT} (?P<unit>day|week|fortnight|month|year)s? ago (?:today|to the day)\b", mean.ago_today),
    _rule(rf"{_COUNT} {_UNIT}s? ago\b", mean.ago),
    _rule(rf"{_COUNT} {_UNIT}s? (?:from (?:now|today)|hence)\b", mean.from_now),
    _rule(rf"{_COUNT} {_UNIT}s? (?P<side>before|after) ", modifier=mean.offset_from),
)
_RULES: dict[str, tuple[_Rule, ...]] = {
    "day": (_rule(r"(?P<day>yesterday|today|tomorrow|tonight)\b", mean.named_day),),
    "which": (
        _rule(rf"(?P<nth>last) (?:(?P<unit>weekend|week|day)|{_WEEKDAY}) (?:of|in) (?:the )?", modifier=mean.nth),
        _rule(rf"(?P<which>last|past|next|coming) {_COUNT} {_UNIT}s?\b", mean.rolling_window),
        _rule(r"(?P<which>(?<!this\s)past) (?P<low>)(?P<high>)(?P<unit>week|month|year|decade)\b", mean.rolling_window),
        _rule(rf"{_RELATIVE_WORD} (?P<unit>weekend|week|month|year|quarter|decade|century)\b(?!-)", mean.relative_unit),
        _rule(rf"(?P<which>last|this) {_DAY_PART}\b", mean.relative_day_part),
        _rule(rf"{_RELATIVE_WORD} {_WEEKDAY}(?!\w)", mean.relative_weekday),
        _rule(rf"{_RELATIVE_WORD} {_MONTH} {_DAY}{_NOT_COUNT}{_ITS_YEAR}?", mean.calendar_date),
        _rule(rf"{_RELATIVE_WORD} {_MONTH}{_ITS_YEAR}?", mean.relative_month),
        _rule(rf"{_RELATIVE_WORD} {_SEASON}\b", mean.relative_season),
    ),
    "digit": (
        _rule(
            r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:t| )(?P<clock>\d\d:\d\d(?::\d\d)?)(?:[.,]\d{1,9})?"
            r"(?P<zone>z|[+-]\d\d:?\d\d)?(?![\d:])",
            mean.instant,
        ),
        _rule(r"(?P<year>\d{4})(?P<cut>[-/.])(?P<month>\d\d?)(?P=cut)(?P<day>\d\d?)(?!\d|[/.-]\d)", mean.calendar_date),
        _rule(r"(?P<month>\d\d?)/(?P<day>\d\d?)/(?P<year>\d{4}|\d\d)(?![\d/])", mean.calendar_date),
        _rule(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4})(?!\d|\.\d)", mean.calendar_date),
        _rule(r"(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d\d)(?!\d|\.\d)", mean.calendar_date),
        _rule(
            rf"(?<=on\sthe\s)(?P<day>\d\d?)(?:st|nd|rd|th)(?: of the month\b|{_NOT_NOUN})", mean.nearest_day_of_month
        ),
        _rule(rf"{_DAY}(?: of)? {_MONTH}{_ITS_YEAR}?", mean.calendar_date),
        _rule(rf"(?P<day>\d\d?){_ORDINAL_SUFFIX} of {_RELATIVE_WORD} month\b", mean.day_of_month),
        _rule(r"(?P<decade>\d{3}0)['’]?s\b", mean.decade),
        _rule(r"(?<=the\s)['’]?(?P<decade>\d0)['’]?s\b", mean.decade),
        *_COUNT_RULES,
        _rule(rf"(?<=the\s)(?P<year>(?:19|20)\d\d){_NOT_COUNT}", mean.calendar_year),
        _rule(
            rf"(?<!on\s)(?<!over\s)(?<!about\s)(?P<year>1\d{{3}}|2[01]\d\d){_NOT_COUNT}",
            mean.calendar_year,
            needs_preposition=True,
        ),
        _rule(r"(?<=on\s)(?P<month>\d\d?)/(?P<day>\d\d?)(?![\d/])", mean.calendar_date, needs_preposition=True),
    ),
    "count": (_rule(rf"an? (?:{_WEEKDAY_FULL}|{_MONTH_NAME})", mean.no_date), *_COUNT_RULES),
    "month": (
        _rule(rf"{_MONTH}(?: the)? {_DAY}{_NOT_COUNT}{_ITS_YEAR}?", mean.calendar_date),
        _rule(rf"{_MONTH}{_ITS_YEAR}", mean.calendar_date),
        _rule(
            rf"(?:(?<=in\s)|(?<=during\s)|{_NOT_VERB}){_MONTH_NAME}(?!['’]s)",
            mean.calendar_date,
            needs_preposition=True,
        ),
    ),
    "weekday": (
        _rule(rf"{_WEEKDAY},? (?:of |in )?{_RELATIVE_WORD} week\b", mean.weekday_of_week),
        _rule(rf"{_WEEKDAY},? (?P<which>){_COUNT} weeks? (?P<side>ago|from now)\b", mean.weekday_of_week),
        _rule(rf"{_WEEKDAY} (?P<side>before|after) ", modifier=mean.adjacent_weekday),
        _rule(
            rf"{_WEEKDAY},? (?=(?:the )?\d|{_MONTH_NAME.replace('?P<month>', '?:')} \d)", modifier=mean.day_on_weekday
        ),
        _rule(rf"{_WEEKDAY},? (?:the )?(?P<day>\d\d?)(?:st|nd|rd|th)\b(?! (?:century|floor))", mean.weekday_of_month),
        _rule(rf"{_WEEKDAY}(?!\w)", mean.bare_weekday, needs_preposition=True),
        _rule(rf"(?P<weekday>(?=(?-i:[MTWFS])){_WEEKDAY_FULL})\b(?! school)", mean.bare_weekday),
    ),
    "season": (_rule(rf"{_SEASON}{_ITS_YEAR}", mean.season_of_year),),
    "decade": (_rule(rf"(?<=the\s)(?P<decade>{'|'.join(mean.DECADE_WORDS)})\b", mean.decade),),
    "unit": (
        _rule(r"(?P<unit>week|weekend|month|year|night) (?P<side>before) last\b", mean.second_relative_unit),
        _rule(r"(?P<unit>week|weekend|month|year) (?P<side>after) next\b", mean.second_relative_unit),
        _rule(r"(?P<unit>day|weekend|week|month|year|night) (?P<side>before|after) ", modifier=mean.offset_from),
        _rule(r"(?P<unit>weekend|week) (?:of|beginning|starting) ", modifier=mean.unit_containing),
        _rule(rf"{_DAY_PART} of ", modifier=mean.day_part_of),
        _rule(rf"year {_YEAR}", mean.calendar_year),
        _rule(r"(?:month|year|week) of ", modifier=mean.identity),
        _rule(r"(?<=the\s)other day\b", mean.other_day),
        _rule(r"(?<=(?:on|at|er)\sthe\s)(?P<unit>weekend)\b(?! (?:of|before|after|that|when)\b)", mean.bare_weekend),
    ),
    "third": (
        _rule(
            r"(?:(?P<third>early|mid|late)(?: |-| in )|(?P<edge>beginning|start|middle|end) of )", modifier=mean.third
        ),
    ),
    "nth": (
        _rule(
            rf"(?P<nth>first|second|third|fourth) (?:(?P<unit>weekend|week|day)|{_WEEKDAY}) (?:of|in) ",
            modifier=mean.nth,
        ),
    ),
    "open": (
        _rule(rf"in (?:about )?{_COUNT} {_UNIT}s?['’]?(?: time)?\b(?! (?:ago|before|after)\b)", mean.in_duration),
        _rule("since ", modifier=mean.since),
        _rule("(?:before|prior to) ", modifier=mean.before),
        _rule("after ", modifier=mean.after),
        _rule("(?:until|till) ", modifier=mean.until),
        _rule("(?:in|on|during|by|around|about|over|from|between|throughout) ", modifier=mean.identity),
    ),
    "every": (
        _rule(
            rf"[a-z]{{3,5}} (?:other )?(?:{_WEEKDAY_FULL}|{_MONTH_NAME}(?: \d\d?{_ORDINAL_SUFFIX})?|{_SEASON})",
            mean.no_date,
        ),
    ),
}
_START_WORDS = {
    "open": "in|on|during|since|before|prior|after|until|till|by|around|about|over|from|between|throughout",
    "count": f"couple|few|several|{'|'.join(mean.NUMBER_VALUES)}",
    "which": "last|previous|past|this|current|next|coming|upcoming",
    "day": "yesterday|today|tomorrow|tonight",
    "month": _MONTH_NAME.replace("?P<month>", "?:").replace(r"\b\.?", ""),
    "weekday": f"{_WEEKDAY_FULL}|{_WEEKDAY_SHORT}",
    "season": "spring|summer|autumn|fall|winter",
    "decade": "|".join(mean.DECADE_WORDS),
    "unit": "day|weekend|week|month|year|night|morning|afternoon|evening|other",
    "third": "early|mid|late|beginning|start|middle|end",
    "nth": "first|second|third|fourth",
    "every": "every|each|any|most|some|black|good|ash",
}
_START_WORD = rf"(?:the{_SPACE})?(?:{'|'.join(f'(?P<{kind}>{words})' for kind, words in _START_WORDS.items())})\b"
_START_AT = lazy_pattern(rf"{_START_WORD}|(?:the{_SPACE})?(?P<digit>['’]?\d)", re.IGNORECASE | re.ASCII)
_START = lazy_pattern(
    rf"(?<![\w\u00c0-\u024f'’-]){_START_WORD}|(?<![\w.,/:$€£#])(?<!\d[-–])"
    rf"(?:(?<=the\s)(?=['’]?\d)|(?=\d{{1,6}}(?:[-–/.'’a-z]|{_SPACE}[a-z–-])))(?P<digit>['’]?\d)",
    re.IGNORECASE | re.ASCII,
)
_HINTS = word_set(
    "yesterday today tomorrow tonight day days night nights week weeks weekend weekends fortnight fortnights month "
    "months year years quarter decade decades century morning afternoon evening hour hours minute minutes spring "
    "summer autumn fall winter twenties thirties forties fifties sixties seventies eighties nineties january february "
    "march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct "
    "nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
)
"""The words without which an English text names no time, unless it has a digit."""
_DIGIT = lazy_pattern(r"\d")
_DAY_PART_AFTER = _rule(rf" (?:in the |at )?{_DAY_PART}\b").pattern
_RANGE_JOIN = _rule(r"(?P<tight> ?(?:[-–~〜～到至]|から) ?)| (?P<word>to|until|till|through|and) ").pattern
_FOUR_DIGITS = lazy_pattern(r"\d{4}")


class TimeSpan(NamedTuple):
    """A time that a text mentions, with the start and the end of its phrase in the text."""

    start: int
    end: int
    interval: Interval


def time_mentions(text: str, reference_time: datetime) -> tuple[Interval, ...]:
    """The time intervals that a text mentions, each once, in order of appearance, relative to ``reference_time``."""
    rewriting = _english_dates(text)
    found = _find_dates(rewriting.text, reference_time) if rewriting else ()
    return tuple(dict.fromkeys(date.interval for date in found))


def time_spans(text: str, reference_time: datetime) -> tuple[TimeSpan, ...]:
    """The phrases of time in a text and their intervals, in order of appearance."""
    rewriting = _english_dates(text)
    if not rewriting:
        return ()
    return tuple(
        TimeSpan(*_trim(text, *rewriting.original_span(date.start, date.end)), date.interval)
        for date in _find_dates(rewriting.text, reference_time)
    )


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip(" .,"))


def _english_dates(text: str) -> Rewriting | None:
    """The text with its phrases of time in English; None if it has none."""
    words, has_digit = words_of(text), _DIGIT.search(text) is not None
    rewriting = Rewriting(text)
    if not text.isascii() and has_cjk(text):
        rewrite_cjk(rewriting)
    is_other = not words.isdisjoint(all_date_hints())
    if has_digit or is_other:
        language = european_language(
            words, [language for language, hints in date_hints().items() if words & hints] if is_other else ()
        )
        if language in date_hints() and (has_digit or words & date_hints()[language]):
            phrase_rules(language).apply(rewriting)
    if not rewriting.is_changed and not words.isdisjoint(ORDINAL_WORDS) and ORDINAL_DAY.search(text):
        rewriting.apply(ENGLISH_RULES)
    return rewriting if has_digit or rewriting.is_changed or not words.isdisjoint(_HINTS) else None


def _find_dates(text: str, reference_time: datetime) -> Iterator[TimeSpan]:
    """The dates of an English text."""
    at = 0
    while start := _START.search(text, at):
        found = _parse_range(text, start, reference_time)
        at = found.end if found else start.end()
        if found and found.interval:
            yield TimeSpan(start.start(), found.end, found.interval)


def _parse_range(text: str, start: _Match, reference_time: datetime) -> _ParseResult | None:
    """Parse the date that starts here, or a range of two dates ("from May to July")."""
    opener = (start["open"] or "").lower()
    found = _parse_date(text, start, reference_time)
    if not (found and found.interval):
        return found
    join = _RANGE_JOIN.match(text, found.end)
    first_text = text[start.start() : found.end]
    if join and (
        join["tight"] or opener in {"from", "between"} or (join["word"] != "and" and first_text[-1].isdigit())
    ):
        last = _parse_date_at(text, join.end(), reference_time)
        if (
            last
            and last.interval
            and (
                joined := _join_range(
                    first_text, text[join.end() : last.end], found.interval, last.interval, reference_time
                )
            )
        ):
            return _ParseResult(joined, last.end)
    return None if opener in {"from", "between"} else found


def _join_range(
    first_text: str, last_text: str, first: Interval, last: Interval, reference_time: datetime
) -> Interval | None:
    """The range of two dates; one without a year takes the other's, or the year that puts them in order."""
    first_year, last_year = (_FOUR_DIGITS.search(text) is not None for text in (first_text, last_text))
    if not first_year:
        years = (last.start.year, last.start.year - 1)
        dated = (_in_year(first_text, year, reference_time) for year in years)
        first = next((span for span in dated if span and span.start < last.end), first)
    elif not last_year:
        years = (first.start.year, first.start.year + 1)
        dated = (_in_year(last_text, year, reference_time) for year in years)
        last = next((span for span in dated if span and first.start < span.end), last)
    return Interval(first.start, last.end) if first.start < last.end else None


def _in_year(text: str, year: int, reference_time: datetime) -> Interval | None:
    dated = _parse_date_at(f"{text.strip()} {year:04}", 0, reference_time)
    return dated.interval if dated else None


def _parse_date_at(text: str, at: int, reference_time: datetime, depth: int = 1) -> _ParseResult | None:
    start = _START_AT.match(text, at)
    return _parse_date(text, start, reference_time, depth) if start else None


def _parse_date(text: str, start: _Match, reference_time: datetime, depth: int = 0) -> _ParseResult | None:
    """Parse one date by the first rule that matches; ``depth`` counts the modifiers before it, at most three."""
    kind = start.lastgroup or ""
    for rule in _RULES[kind]:
        match = rule.pattern.match(text, start.start(kind)) if depth or not rule.needs_preposition else None
        if not match:
            continue
        inner = _parse_date_at(text, match.end(), reference_time, depth + 1) if rule.modifier and depth < 3 else None
        if rule.modifier and not inner:
            continue
        end = inner.end if inner else match.end()
        span = _apply_rule(rule, match, inner, reference_time)
        if span and (part := _DAY_PART_AFTER.match(text, end)):
            return _ParseResult(day_part(part["part"].lower(), span), part.end())
        return _ParseResult(span, end)
    return None


def _apply_rule(rule: _Rule, match: _Match, inner: _ParseResult | None, reference_time: datetime) -> Interval | None:
    """The interval of a rule's match, or None for a date that does not exist."""
    span = None
    try:
        if rule.leaf:
            span = rule.leaf(match, reference_time)
        elif rule.modifier and inner and inner.interval:
            span = rule.modifier(match, inner.interval, reference_time)
    except (ValueError, OverflowError):
        return None
    return span if span and span.start < span.end else None
