"""Classifies questions: whether one asks for a time, a quantity or the current state; and extracts its topic.

Function words of Dutch, French, German, Italian, Portuguese and Spanish, which have no topical content, are left out of
questions only. What is stored is indexed with them, whatever its language (:mod:`.terms` leaves out English ones only).
"""

import re
import unicodedata
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..model.lazy import lazy_pattern
from .language_identification import likely_foreign_languages
from .lexicon_file import lexicon_value, plain_pattern, read_lexicon
from .terms import extract_terms, hash_terms, stream_safe

GIVEN_NAMES = frozenset("al ben dan ella mia per wil will".split())  # noqa: SIM905  # as the lists above
"""Function words that are also given names: with a capital inside a sentence they are names."""

_QUESTION_END = lazy_pattern(
    r"[?？؟][\s\"'”’)\]」』]*$|[吗呢]\s*[。.]?\s*$|(?:です|ます|でしょう|ました|ません)か\s*[。.]?\s*$"
)
_WHEN, _HOW_MANY, _CURRENT, _REPLACEMENT, _SAID_BY_ADDRESSEE = (
    plain_pattern("questions", "all languages", key, flags=re.IGNORECASE)
    for key in ("when", "how many", "current state", "replacement", "said by addressee")
)
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "couple several dozen first second third twice once"
)


@cache
def vague_terms() -> frozenset[str]:
    """The terms of words that say nothing by themselves: a memory is not near to "much" in meaning."""
    return frozenset(extract_terms(lexicon_value("questions", "all languages", "vague words")))


def is_question(text: str) -> bool:
    """Whether a text ends as a question does. A turn that asks seldom contains the answer."""
    return _QUESTION_END.search(text[-40:]) is not None


def is_time_question(question: str) -> bool:
    """Whether a question asks for a time."""
    return _WHEN.search(question) is not None


def is_quantity_question(question: str) -> bool:
    """Whether a question asks for a number."""
    return _HOW_MANY.search(question) is not None


def asks_what_addressee_said(question: str) -> bool:
    """Whether a question asks for what the one who is asked said or recommended."""
    return _SAID_BY_ADDRESSEE.search(question.replace("’", "'")) is not None


def is_current_state_question(question: str) -> bool:
    """Whether a question asks for the current state."""
    return _CURRENT.search(question) is not None


def asks_for_replacement(question: str) -> bool:
    """Whether a question asks for what replaced a thing, or follows it, and not for the thing itself."""
    return _REPLACEMENT.search(question) is not None


@cache
def number_term_hashes() -> NDArray[np.uint32]:
    """The term hashes of numbers: 0 to 100 as digits, and some English number words."""
    hashes: NDArray[np.uint32] = np.unique(
        hash_terms(extract_terms(f"{_NUMBER_WORDS} {' '.join(map(str, range(101)))}"))
    )
    return hashes


_LETTERS = r"[^\W\d_]+"
_WORD = lazy_pattern(rf"(?<!\w){_LETTERS}(?:['’]{_LETTERS})*(?!\w)")
_PART = lazy_pattern(r"[^'’]+['’]?")
_BEGINS_SENTENCE = lazy_pattern(r"(?:\A|[.?!¿¡:;\n])[^\w]*\Z")


@lru_cache(maxsize=64)
def question_terms(question: str) -> tuple[str, ...]:
    """The distinct terms of a question in order, without function words of its likely language; never without any term.

    A word stays if it has topical content in another language that is equally likely. A word in capitals is no function
    word ("LA"), nor is a given name with a capital inside a sentence ("Mia").
    """
    terms = tuple(dict.fromkeys(extract_terms(question)))
    words = _common_function_words(likely_foreign_languages(question))
    if not words:
        return terms
    text = unicodedata.normalize("NFC", stream_safe(question))
    has_lower = any(map(str.islower, text))
    parts, end = [], 0
    for match in _WORD.finditer(text):
        if _is_function_word(match[0], words, has_lower=has_lower) and not (
            match[0].istitle()
            and match[0].lower() in GIVEN_NAMES
            and not _BEGINS_SENTENCE.search(text[: match.start()])
        ):
            parts.append(text[end : match.start()])
            end = match.end()
    content = set(extract_terms(" ".join((*parts, text[end:]))))
    return tuple(term for term in terms if term in content) or terms


def _is_function_word(word: str, words: frozenset[str], *, has_lower: bool) -> bool:
    if has_lower and len(word) > 1 and word.isupper():
        return False
    folded = word.casefold().replace("’", "'")
    return folded in words or ("'" in folded and all(part in words for part in _PART.findall(folded)))


@cache
def _common_function_words(languages: tuple[str, ...]) -> frozenset[str]:
    """The function words that some languages have in common; languages without a list do not count."""
    known = read_lexicon("languages")["function words"]
    lists = [frozenset(known[language].split()) for language in languages if language in known]
    return frozenset.intersection(*lists) if lists else frozenset()
