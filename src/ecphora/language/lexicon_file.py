"""Reads the tables of words and patterns in ``lexicon/*.ini``.

The comment on top of each file says what it holds. A value is in one of these notations:

- Words: apart by white space; ``_`` is a space within a noun of a relation.
- Phrases: regular expressions, apart by " ; " or line ends. Each counts at word boundaries and in any case. A line that
  ends with "|" continues on the next one. An apostrophe matches every kind of apostrophe, ``<TO>`` up to six words,
  ``<START>`` the start of a sentence, and ``<ON>`` up to 80 characters of the same sentence.
- Plain patterns: as phrases, but without word boundaries and placeholders.
- Rows: one a line, or apart by " ; ", of two parts with a mark between them, such as ":" or "->".
"""

import re
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from functools import cache, cached_property
from importlib.resources import files
from typing import cast

from ..model.lazy import LazyPattern

_PLACEHOLDERS = {
    "'": "['’]",
    "<TO>": r"(?:\w+[\s,]+){0,6}?",
    "<START>": r"(?:(?<![^\n])|(?<=[.!?:;…–—*•-] ))",
    "<ON>": r"[^.!?;\n]{0,80}?",
}
"""The patterns of an apostrophe of any kind, up to six words, the start of a sentence, and a part of a sentence."""
_PHRASES = r"(?<![\w’'-])(?:{})(?![\w])"


class LexiconError(ValueError):
    """A file of the lexicon that cannot be read; the message names the file and the section."""


@cache
def read_lexicon(name: str) -> Mapping[str, Mapping[str, str]]:
    """The sections of a file of the lexicon, by their names, each with its values by their keys."""
    return parse_lexicon(files(__package__).joinpath("lexicon", f"{name}.ini").read_text("utf-8"), name)


def parse_lexicon(source: str, name: str) -> Mapping[str, Mapping[str, str]]:
    """Parse the content of a file of the lexicon; ``LexiconError`` if it is malformed."""
    parser = RawConfigParser(delimiters=("=",), comment_prefixes=("#",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # keeps the case of keys
    try:
        parser.read_string(source, f"{name}.ini")
    except Error as error:
        raise LexiconError(f"lexicon/{name}.ini: {error}") from error
    return {section: dict(parser.items(section, raw=True)) for section in parser.sections()}


def lexicon_value(name: str, section: str, key: str) -> str:
    """A value of the lexicon; ``LexiconError`` if there is none."""
    try:
        return read_lexicon(name)[section][key]
    except KeyError as error:
        raise LexiconError(f"lexicon/{name}.ini has no {key!r} in [{section}]") from error


@cache
def lexicon_words(name: str, section: str, key: str) -> frozenset[str]:
    """A value in the notation of words."""
    return frozenset(lexicon_value(name, section, key).split())


@cache
def lexicon_rows(name: str, section: str, key: str, mark: str) -> tuple[tuple[str, str], ...]:
    """A value in the notation of rows: the parts before and after the mark; ``LexiconError`` for a row without it."""
    rows = [row.partition(mark) for row in _alternatives(lexicon_value(name, section, key))]
    for first, found, _ in rows:
        if not found:
            raise LexiconError(f"lexicon/{name}.ini has a row without {mark!r} in {key!r} of [{section}]: {first!r}")
    return tuple((first.strip(), second.strip()) for first, _, second in rows)


def lexicon_numbers(name: str, section: str, words: Mapping[str, str]) -> dict[str, int]:
    """The numbers of some words of a section; ``LexiconError`` for what is no number."""
    try:
        return {word: int(number) for word, number in words.items()}
    except ValueError as error:
        raise LexiconError(f"lexicon/{name}.ini has a word without its number in [{section}]: {error}") from error


def lexicon_source(name: str, section: str, key: str) -> str:
    """A value in the notation of plain patterns, as the source of one pattern."""
    return "|".join(_alternatives(lexicon_value(name, section, key)))


def phrase_pattern(name: str, section: str, key: str) -> re.Pattern[str]:
    """A value in the notation of phrases, as a pattern that is read and compiled when it is first used."""
    return cast("re.Pattern[str]", _LexiconPattern(name, section, key, _PHRASES, re.IGNORECASE))


def plain_pattern(name: str, section: str, key: str, template: str = "{}", flags: int = 0) -> re.Pattern[str]:
    """A value in the notation of plain patterns, put into a template; read and compiled when it is first used."""
    return cast("re.Pattern[str]", _LexiconPattern(name, section, key, template, flags))


class _LexiconPattern(LazyPattern):
    """A pattern whose source is in a file of the lexicon."""

    def __init__(self, name: str, section: str, key: str, template: str, flags: int) -> None:
        super().__init__(template, flags)
        self._place = (name, section, key)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        name, section, key = self._place
        joined = lexicon_source(name, section, key)
        if self._source is _PHRASES:
            for placeholder, pattern in _PLACEHOLDERS.items():
                joined = joined.replace(placeholder, pattern)
        try:
            return re.compile(self._source.format(joined), self._flags)
        except re.error as error:
            raise LexiconError(f"lexicon/{name}.ini has an invalid {key!r} in [{section}]: {error}") from error


def _alternatives(value: str) -> list[str]:
    """The parts of a value, apart by " ; " or line ends; a line that ends with "|" continues on the next one."""
    lines = re.sub(r"\|\n\s*", "|", value.strip()).splitlines()
    return [part for line in lines if line.strip() for part in line.strip().split(" ; ")]
