"""What a question asks of time besides the times that it names: the latest or the first of several; its other words.

Seven languages: English, German, Spanish, French, Portuguese, Chinese and Japanese. Phrases of time ("last week", "la
semaine dernière") are taken out first, so that their "last" does not count. The words are in
``lexicon/questions.ini``.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from ...model.lazy import lazy_pattern
from ..language_identification import European, common_words, likely_languages, words_of
from ..lexicon_file import lexicon_words, plain_pattern
from .cjk import has_cjk
from .mentions import time_spans

_ANY_TIME = datetime(2000, 1, 15, tzinfo=UTC)
"""The places of time phrases in a text do not depend on it."""


def _patterns(key: str) -> dict[European, re.Pattern[str]]:
    return {
        language: plain_pattern("questions", language.section, key, r"\b(?:{})\b", re.IGNORECASE)
        for language in European
    }


_LATEST, _FIRST = _patterns("latest"), _patterns("first")
_LATEST_CJK = plain_pattern("questions", "chinese and japanese", "latest")
_FIRST_CJK = plain_pattern("questions", "chinese and japanese", "first")
_EMPTY_CJK = plain_pattern("questions", "chinese and japanese", "empty words")
_DIGIT = lazy_pattern(r"\d")
_EDGE = lazy_pattern(r"^[\s,;:.、，¿¡]+|[\s,;:.、，?？!。¿¡]+$")


def rest_of_question(text: str) -> str:
    """A question without the times that it names; empty if it has no other word with content.

    "What did I do yesterday?" and "What did I tell you on 12 July?" have none: their only content is the time.
    """
    rest = _EDGE.sub("", " ".join(_without_times(text).split()))
    return rest if _has_content(rest, likely_languages(words_of(text)) or European) else ""


def asks_for_latest(text: str) -> bool:
    """Whether a question asks for the latest of several, or for how things are now."""
    return _asks(_without_times(text), _LATEST, _LATEST_CJK)


def asks_for_first(text: str) -> bool:
    """Whether a question asks for the first of several, or for how things were originally."""
    return _asks(_without_times(text), _FIRST, _FIRST_CJK)


def asked_end(question: str) -> int:
    """The end of a series that a question asks for: 1 for the latest, -1 for the first, 0 for neither or both."""
    return int(asks_for_latest(question)) - int(asks_for_first(question))


def _asks(text: str, patterns: Mapping[European, re.Pattern[str]], cjk: re.Pattern[str]) -> bool:
    """Whether the pattern of a text's likely languages, of any language if none is likely, or ``cjk`` matches."""
    languages = likely_languages(words_of(text)) or European
    return any(patterns[language].search(text) for language in languages) or cjk.search(text) is not None


def _without_times(text: str) -> str:
    pieces: list[str] = []
    at = 0
    for span in time_spans(text, _ANY_TIME):
        if span.start >= at:
            pieces.append(text[at : span.start])
            at = span.end
    return " ".join((*pieces, text[at:]))


def _empty_words(language: European) -> frozenset[str]:
    """The words of a language that say no more than that something happened, or was told, done or planned."""
    return lexicon_words("questions", language.section, "empty words")


def _has_content(text: str, languages: Iterable[European]) -> bool:
    """Whether a text in one of some languages has a digit, or a word that is neither common nor empty."""
    if has_cjk(text):
        text = _EMPTY_CJK.sub(" ", text)
    words = words_of(text).difference(*(common_words(language) | _empty_words(language) for language in languages))
    return bool(words) or _DIGIT.search(text) is not None
