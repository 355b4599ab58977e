"""Tells whether a text is English or clearly in another language, from frequent words and scripts, for short texts.

A text without evidence, such as a name, a number or code, is not clearly in another language: it counts as English.

The frequent words of English and of 27 other languages in Latin script are in ``lexicon/languages.ini``.

Tells which of English, German, Spanish, French and Portuguese a text is in, by its commonest words.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from ..model.lazy import lazy_pattern
from .lexicon_file import lexicon_words, phrase_pattern, read_lexicon
from .terms import count_unspaced, latin_fraction, stream_safe


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


MAX_CHARS = 2000
"""Characters of a text that are read, from its beginning."""
_UNSPACED_WEIGHT = 3
"""Latin letters that say about as much as one character of a script without spaces."""

_LETTERS = r"[^\W\d_]+"
_PLAIN_WORD = lazy_pattern(
    rf"(?<![\w./@\\#=&?-]){_LETTERS}(?:['’]{_LETTERS})*(?![\w@/\\=(\[-]|[.:]\w)|[.!?…:;\n\"“„«»¿¡(-]"
)
"""A word that is not part of a path, an address or an identifier; or a mark that may begin a sentence."""
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ]"
_NAME_PARTICLES = lazy_pattern(
    rf"(\b{_CAPITAL}[\w'’-]* )(?:(?:v[ao]n (?:de[mnr]? )?|de (?:l[ao]s? )?|al|bin|d[aio]s?|de[il]|dell[ao]|e|el|ibn|la|"
    rf"le|ter|y|zu)\b ?)+(?={_CAPITAL})|\b(?:L[aeo]s?|[DV]an|D[aeiu]|Des|Dos|El|Al|Il|Ang) (?={_CAPITAL})"
)
"""Small words of names, as in "Maria de la Cruz" and "Los Angeles"; the word before them is kept."""


def is_english(text: str) -> bool:
    """Whether a text is English, or at least not clearly in another language.

    Not English is a text whose letters are mostly of other scripts than Latin, or that has more frequent words of
    another language than of English. A name, a number or code alone is English. Only the first ``MAX_CHARS`` characters
    count.
    """
    text = unicodedata.normalize("NFC", stream_safe(text[:MAX_CHARS]))
    return _is_mostly_latin(text) and not _latin_evidence(text).is_of_another_language


def _is_mostly_latin(text: str) -> bool:
    if text.isascii():
        return True
    letters = sum(map(str.isalpha, text))
    latin = latin_fraction(text) * letters
    return latin >= letters - latin + (_UNSPACED_WEIGHT - 1) * count_unspaced(text)


def likely_foreign_languages(text: str) -> tuple[str, ...]:
    """The languages other than English with the most frequent words in a text in Latin script; none if it is English.

    They are named as in ``lexicon/languages.ini``; only the first ``MAX_CHARS`` characters count.
    """
    text = unicodedata.normalize("NFC", stream_safe(text[:MAX_CHARS]))
    evidence = _latin_evidence(text)
    if not _is_mostly_latin(text) or not evidence.is_of_another_language:
        return ()
    most = max(evidence.by_language.values(), default=0)
    return tuple(sorted(language for language, value in evidence.by_language.items() if value == most))


@dataclass(frozen=True, slots=True)
class _Evidence:
    """How much of a text in Latin script is evidence of another language than English.

    A frequent word is evidence of 2, or 1 where it may begin a name ("Ben Carson"); an accented other word of 1 for any
    other language, or 2 without English words; an inverted mark (as in Spanish) of twice that. Evidence of 1 more than
    of English does not suffice.
    """

    english: int
    any_other: int
    by_language: Mapping[str, int]

    @property
    def is_of_another_language(self) -> bool:
        """Whether there is more evidence of another language than of English."""
        return max(self.by_language.values(), default=0) + self.any_other >= self.english + 2


def _latin_evidence(text: str) -> _Evidence:
    english_words, languages = _words()
    english, any_other = 0, 2 * ("¿" in text or "¡" in text)
    other: Counter[str] = Counter()
    for surface, may_be_name in _sentence_words(text):
        word = surface.lower()
        prefix = word[: word.find("'") + 1]
        known = languages.get(word) or languages.get(prefix, ())
        if word in english_words or (not known and word.endswith(("'s", "n't"))):
            english += 2
        elif not known and surface.islower() and not surface.isascii():
            any_other += 1
        for language in known:
            other[language] += 1 if may_be_name else 2
    return _Evidence(english, any_other if english else 2 * any_other, other)


def _sentence_words(text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text, without words with a capital inside a sentence, and whether each may begin a name."""
    if not any(map(str.islower, text)) and sum(map(str.isalpha, text.split())) > 1:
        text = text.lower()
    text = _NAME_PARTICLES.sub(r"\1", text)
    begins = True
    for match in _PLAIN_WORD.finditer(text):
        word = match[0].replace("’", "'")
        if not word[0].isalpha():
            begins = True
            continue
        if word[0].islower() or word == "I" or word.startswith("I'"):
            yield word, False
        elif begins and (not word.isupper() or (len(word) == 1 and text[match.end() : match.end() + 1] != ".")):
            yield word, text[match.end() + 1 : match.end() + 2].isupper()
        begins = False


@cache
def _words() -> tuple[frozenset[str], Mapping[str, tuple[str, ...]]]:
    """The frequent words of English, and of each frequent word of other languages these languages."""
    languages: dict[str, tuple[str, ...]] = {}
    lists = read_lexicon("languages")["frequent words"]
    for language, words in lists.items():
        if language != "English":
            for word in set(words.split()):
                languages[word] = (*languages.get(word, ()), language)
    return frozenset(lists["English"].split()), languages
