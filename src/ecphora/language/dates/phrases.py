"""The form in which a European language's phrases of time are described, and how they become rewrite rules.

A phrase is a pattern and the English that it becomes. Upper-case words in a pattern stand for a table of the language:
``"vor COUNT UNIT"`` becomes ``"{count} {unit}s ago"``. A space matches one to three white space characters. FIRST and
LAST are the days of a range in digits; DATE is a date that is English already, DAY and COUNT may be words.

Replaces parts of a text and keeps track of where each part of the new text came from.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ...model.lazy import lazy_pattern

Write = Callable[[re.Match[str]], str]
RewriteRule = tuple[re.Pattern[str], Write]


class _Edit(NamedTuple):
    """A part ``start:end`` of the new text that replaced ``old_start:old_end`` of the text before."""

    start: int
    end: int
    old_start: int
    old_end: int


class Rewriting:
    """A text that rules rewrite one after the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._passes: list[list[_Edit]] = []

    @property
    def is_changed(self) -> bool:
        """Whether a rule has matched."""
        return bool(self._passes)

    def apply(self, rules: Iterable[RewriteRule]) -> None:
        """Replace every match of each rule in turn by what the rule writes."""
        for pattern, write in rules:
            if pattern.search(self.text):
                self._replace(pattern, write)

    def _replace(self, pattern: re.Pattern[str], write: Write) -> None:
        pieces: list[str] = []
        edits: list[_Edit] = []
        at, length = 0, 0
        for match in pattern.finditer(self.text):
            new = write(match)
            kept = self.text[at : match.start()]
            length += len(kept)
            edits.append(_Edit(length, length + len(new), match.start(), match.end()))
            pieces += kept, new
            length += len(new)
            at = match.end()
        self.text = "".join((*pieces, self.text[at:]))
        self._passes.append(edits)

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """The start and end in the original text of a part of the rewritten one.

        A part that begins or ends inside a replacement counts as all of it, but for white space at the edges.
        """
        for edits in reversed(self._passes):
            start, end = _place_before(edits, start, is_end=False), _place_before(edits, end, is_end=True)
        return start, end


def _place_before(edits: list[_Edit], place: int, *, is_end: bool) -> int:
    """The place in the text before a pass; inside a replacement, its start or end."""
    shift = 0
    for edit in edits:
        if place < edit.start or (place == edit.start and is_end):
            break
        if place < edit.end or (place == edit.end and is_end):
            return edit.old_end if is_end else edit.old_start
        shift = edit.old_end - edit.end
    return place + shift


_MONTH_NAMES = "January February March April May June July August September October November December"
MONTHS = _MONTH_NAMES.split()
_WEEKDAY_NAMES = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
WEEKDAYS = _WEEKDAY_NAMES.split()
ENGLISH_DATE = (
    rf"(?:the )?(?:(?:early|mid|late|last|this|next|coming|past) [a-zA-Z]|(?:on )?(?:{'|'.join(WEEKDAYS)})\b"
    rf"|yesterday|today|tomorrow|(?:\d{{1,2}} |in )?(?:{'|'.join(MONTHS)})\b|\d+ [a-z]+ ago\b"
    r"|(?:in )?\d{4}(?![\w.,]?\d))"
)
"""What a date looks like that has become English, as far as the words before it need to know."""

_PLACEHOLDER = re.compile(
    "WEEKDAY|DAY2|DAY|FIRST|LAST|MONTHNUMBER|MONTH|YEAR|COUNT2|COUNT|UNIT|REL|PART|THIRD|SEASON|DATE"
)
_DAY_DIGITS = r"(?:[12]?\d|0[1-9]|3[01])"
_SPACE = r"(?:\s{1,3})"
_LOOKBEHIND = re.compile(r"\(\?<[=!][^)]*\)")


class DateWords(NamedTuple):
    """A language's words of time: each table maps a pattern to its English, or to a number."""

    months: Mapping[str, str]
    weekdays: Mapping[str, str]
    numbers: Mapping[str, int]
    days: Mapping[str, int]
    units: Mapping[str, str]
    relatives: Mapping[str, str]
    parts: Mapping[str, str]
    thirds: Mapping[str, str]
    seasons: Mapping[str, str]
    year: str
    """The pattern of a year after a month, with what joins them."""


def numbered(words: str) -> dict[str, int]:
    """A table of numbers from the words for one, two and so on."""
    return {word: value for value, word in enumerate(words.split(), start=1)}


class PhraseRule(NamedTuple):
    """A rewrite rule and the tables of which it needs a word."""

    rewrite: RewriteRule
    tables: frozenset[str]


class PhraseRules:
    """The rewrite rules of a language, in their order."""

    def __init__(self, words: DateWords, phrases: tuple[tuple[str, str], ...]) -> None:
        self._rules = tuple(_rule(words, pattern, english) for pattern, english in phrases)
        self._has_word = {
            name: lazy_pattern(_alternatives(table), re.IGNORECASE) for name, table in _tables(words).items()
        }
        self._has_word |= {
            "count": lazy_pattern(rf"\d|{_alternatives(words.numbers)}", re.IGNORECASE),
            "day": lazy_pattern(rf"\d|{_alternatives(words.days)}", re.IGNORECASE),
            "monthnumber": lazy_pattern(r"\d"),
        }

    def apply(self, rewriting: Rewriting) -> None:
        """Rewrite every phrase of a text; a rule is tried only if the text has words of all its tables."""
        missing = {name for name, pattern in self._has_word.items() if not pattern.search(rewriting.text)}
        for rewrite, tables in self._rules:
            if tables.isdisjoint(missing) and ("date" not in tables or rewriting.is_changed):
                rewriting.apply((rewrite,))


def _rule(words: DateWords, pattern: str, english: str) -> PhraseRule:
    def write(match: re.Match[str]) -> str:
        values = {name: _value(words, name, text) for name, text in match.groupdict("").items()}
        space = " " if english.endswith(" ") else ""
        return (
            re.sub(r"\s+", " ", english.format_map(values)).rstrip().removeprefix(" " if english[0] == "{" else "")
            + space
        )

    spaced = _LOOKBEHIND.sub(lambda part: part[0].replace(" ", r"\s"), pattern).replace(" ", _SPACE)
    source = _PLACEHOLDER.sub(lambda name: _group(words, name[0]), spaced)
    bounded = source if source.startswith("(?<=") else rf"(?<![\w-]){source}"
    source = bounded if english.endswith(" ") else rf"{bounded}(?!\w)"
    tables = frozenset(name.lower() for name in _PLACEHOLDER.findall(pattern)) | (
        {"date"} if pattern.startswith("(?<=day") else set()
    )
    return PhraseRule(
        (lazy_pattern(source, re.IGNORECASE), write),
        tables - {"year", "part"} - ({"day"} if "(?:DAY" in pattern else set()),
    )


def _tables(words: DateWords) -> Mapping[str, Mapping[str, str] | Mapping[str, int]]:
    return {
        "month": words.months,
        "weekday": words.weekdays,
        "unit": words.units,
        "rel": words.relatives,
        "part": words.parts,
        "third": words.thirds,
        "season": words.seasons,
    }


def _group(words: DateWords, placeholder: str) -> str:
    """The pattern that a placeholder stands for, with a group of its name where there is a value."""
    name = placeholder.lower()
    sources = {
        "day": rf"(?P<day>{_DAY_DIGITS}(?!\d)|{_alternatives(words.days)})",
        "day2": rf"(?P<day2>{_DAY_DIGITS}(?!\d)|{_alternatives(words.days)})",
        "first": f"(?P<day>{_DAY_DIGITS})",
        "last": f"(?P<day2>{_DAY_DIGITS})",
        "count": rf"(?P<count>\d{{1,4}}|{_alternatives(words.numbers)})",
        "count2": rf"(?P<count2>\d{{1,4}}|{_alternatives(words.numbers)})",
        "monthnumber": "(?P<monthnumber>1[0-2]|0?[1-9])",
        "year": words.year.replace(" ", _SPACE),
        "date": f"(?={ENGLISH_DATE})",
    }
    return sources.get(name) or f"(?P<{name}>{_alternatives(_tables(words)[name])})"


def _alternatives(table: Mapping[str, str] | Mapping[str, int]) -> str:
    return "|".join(sorted(table, key=len, reverse=True)).replace(" ", _SPACE)


def _value(words: DateWords, name: str, text: str) -> str:
    """The English of a part of a match; the part itself if it has no table."""
    if not text or text.isdigit():
        return MONTHS[int(text) - 1] if name == "monthnumber" else _year(text) if name == "year" and text else text
    if name in {"day", "day2"}:
        return str(_find(words.days, text))
    if name in {"count", "count2"}:
        count = _find(words.numbers, text)
        return str(count) if count else "a few"
    table = _tables(words).get(name)
    return str(_find(table, text)) if table else text


def _year(text: str) -> str:
    return f"'{text}" if len(text) == 2 else text


def _find(table: Mapping[str, str] | Mapping[str, int], text: str) -> str | int:
    text = " ".join(text.split())
    found = table.get(text.lower())
    if found is None:
        found = next(value for pattern, value in table.items() if re.fullmatch(pattern, text, re.IGNORECASE))
    return found
