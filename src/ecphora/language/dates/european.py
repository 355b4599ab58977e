"""Rewrites German, Spanish, French and Portuguese phrases of time in place into the English that ``dates`` parses.

It does not interpret dates and needs no reference time; unrecognized phrases stay. The phrases of one language are
read: the language with most of the text's common words. A text without any such word is left to the English grammar.
The words and phrases are in ``lexicon/date_phrases.ini``. English numbers in words become digits: "the third of March",
"half a year ago".

Conventions: 9/3/2026 is the ninth of March where the text is in one of the four languages. A month alone, "segunda" or
"été" count only next to words that make them dates, a repeated day ("jeden Montag", "los lunes", "le lundi") is none.
"""

import re
from collections.abc import Mapping
from functools import cache

from ...model.lazy import lazy_pattern
from ..language_identification import European
from ..lexicon_file import lexicon_numbers, lexicon_rows, lexicon_source, lexicon_words, read_lexicon
from .phrases import DateWords, PhraseRules, RewriteRule, numbered

_FILE = "date_phrases"


@cache
def phrase_rules(language: European) -> PhraseRules:
    """The rewrite rules of a language other than English, in their order."""
    section = language.section
    words = DateWords(
        months=_table(section, "months"),
        weekdays=_table(section, "weekdays"),
        numbers=_numbers(section, "numbers"),
        days=_numbers(section, "days"),
        units=_table(section, "units"),
        relatives=_table(section, "relatives"),
        parts=_table(section, "parts"),
        thirds=_table(section, "thirds"),
        seasons=_table(section, "seasons"),
        year=lexicon_source(_FILE, section, "year"),
    )
    parts = {key: lexicon_source(_FILE, section, key) for key in read_lexicon(_FILE)[section] if key.startswith("<")}
    rows = lexicon_rows(_FILE, section, "phrases", " -> ")
    return PhraseRules(words, tuple((_with_parts(pattern, parts), _with_spaces(english)) for pattern, english in rows))


def _table(section: str, key: str) -> dict[str, str]:
    return dict(lexicon_rows(_FILE, section, key, " -> "))


def _numbers(section: str, key: str) -> dict[str, int]:
    return lexicon_numbers(_FILE, section, _table(section, key))


def _with_parts(pattern: str, parts: Mapping[str, str]) -> str:
    """A phrase with its parts, such as <ABOUT>, replaced by what they stand for."""
    for name, part in parts.items():
        pattern = pattern.replace(name, part)
    return pattern


def _with_spaces(english: str) -> str:
    """The English of a phrase, with a space where "…" stands for the rest of the sentence."""
    return " " if english == "…" else english.replace(" …", " ").replace("… ", " ")


@cache
def date_hints() -> dict[European, frozenset[str]]:
    """The words without which a text in a language other than English names no time, unless it has a digit."""
    others = [language for language in European if language is not European.ENGLISH]
    return {language: lexicon_words("dates", language.section, "hints") for language in others}


@cache
def all_date_hints() -> frozenset[str]:
    """The words of :func:`date_hints` in all languages."""
    return frozenset().union(*date_hints().values())


_ORDINALS = numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS |= {f"twenty-{word}": 20 + value for word, value in _ORDINALS.items() if value <= 9}
_ORDINALS |= {"thirtieth": 30, "thirty-first": 31}
ORDINAL_WORDS = frozenset(_ORDINALS) | {"half"}
"""The words without which no rule here applies."""

_ORDINAL = f"(?P<day>{'|'.join(sorted(_ORDINALS, key=len, reverse=True)).replace('-', '[- ]')})"
_MONTH = (
    "(?:january|february|march|april|may|june|july|august|september|october|november|december|last month|this month|"
    "next month)"
)

ORDINAL_DAY = lazy_pattern(
    r"[a-z] of |\bon the |(?:[ly]|uary|[cm]ber|ust|march|june|month) (?:the )?[fsteno]|half a year", re.IGNORECASE
)
"""Where a rule here may apply."""


def _day(match: re.Match[str]) -> str:
    return f"{_ORDINALS[match['day'].lower().replace(' ', '-')]}th"


ENGLISH_RULES: tuple[RewriteRule, ...] = tuple(
    (lazy_pattern(pattern, re.IGNORECASE), write)
    for pattern, write in (
        (rf"\b{_ORDINAL}(?= (?:(?:day )?of )?{_MONTH}\b)", _day),
        (rf"\b(?P<month>{_MONTH}) (?:the )?{_ORDINAL}\b(?![- ][a-z])", lambda match: f"{match['month']} {_day(match)}"),
        (rf"(?<=\bon the ){_ORDINAL}\b(?! (?:day|floor|page|line))", _day),
        (r"\bhalf a year(?= ago\b)", lambda _match: "6 months"),
    )
)
