"""Terms of a question for exact matching: those of its text without the function words of its language.

Texts are indexed with such words (:mod:`.terms` leaves out English ones only), so only the question can do without.
"""

import unicodedata
from functools import cache, lru_cache

from ..lazy_pattern import lazy_pattern
from .function_words import FUNCTION_WORDS, GIVEN_NAMES
from .language_identification import likely_foreign_languages
from .scripts import stream_safe
from .terms import extract_terms

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
    """The function words that all of some languages have, of those with a list."""
    lists = [frozenset(FUNCTION_WORDS[language].split()) for language in languages if language in FUNCTION_WORDS]
    return frozenset.intersection(*lists) if lists else frozenset()
