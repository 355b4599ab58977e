"""Tells which of English, German, Spanish, French and Portuguese a text is in, by its commonest words."""

import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from functools import cache

from ..model.lazy import lazy_pattern
from .lexicon_file import lexicon_words, phrase_pattern


class European(StrEnum):
    """A European language whose dates are read."""

    ENGLISH = "en"
    GERMAN = "de"
    SPANISH = "es"
    FRENCH = "fr"
    PORTUGUESE = "pt"

    @property
    def section(self) -> str:
        """The name of its sections in the files of the lexicon."""
        return self.name.lower()


def phrase_patterns(name: str, key: str) -> dict[European, re.Pattern[str]]:
    """The phrases of a file of the lexicon in the section of each language, by language."""
    return {language: phrase_pattern(name, language.section, key) for language in European}


def word_set(words: str) -> frozenset[str]:
    """A set of words from a text that has them apart by spaces."""
    return frozenset(words.split())


_WORD = lazy_pattern(r"[^\W\d_]+")
_ASCII_WORD = lazy_pattern("[a-z]+")
"""Equals ``_WORD`` on ASCII text in lower case, and is faster."""


def common_words(language: European) -> frozenset[str]:
    """The commonest words of a language, and its words of time."""
    return _common_words()[language]


@cache
def _common_words() -> Mapping[European, frozenset[str]]:
    return {one: lexicon_words("languages", "commonest words", one.section) for one in European}


def words_of(text: str) -> set[str]:
    """The words of a text in lower case, without digits and marks."""
    return set((_ASCII_WORD if text.isascii() else _WORD).findall(text.lower()))


def european_language(words: set[str], preferred: Collection[European] = ()) -> European | None:
    """The language with most of a text's words among its commonest ones; None if no word is among them.

    Between languages with equally many, a language among ``preferred`` wins, then the first.
    """
    likely = likely_languages(words)
    return next((language for language in likely if language in preferred), likely[0] if likely else None)


def likely_languages(words: set[str]) -> list[European]:
    """All languages with the most of a text's words among their commonest ones, of at least one word."""
    counts = {language: len(words & common) for language, common in _common_words().items()}
    most = max(counts.values())
    return [language for language, count in counts.items() if count == most] if most else []
