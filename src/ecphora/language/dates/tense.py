"""Tells whether the words around a date are in the past or the future, in the seven languages whose dates are read.

The words are in ``lexicon/dates.ini``.
"""

import re
from collections.abc import Mapping

from ...model.lazy import lazy_pattern
from ..language_identification import European, likely_languages, words_of
from ..lexicon_file import lexicon_words, plain_pattern
from .cjk import has_cjk

_FUTURE_PHRASES = {language: plain_pattern("dates", language.section, "future phrases") for language in European}
_PAST_PHRASES = {
    language: plain_pattern("dates", language.section, "past phrases")
    for language in European
    if language is not European.ENGLISH
}
_FUTURE_CJK = plain_pattern("dates", "chinese and japanese", "future")
_PAST_CJK = plain_pattern("dates", "chinese and japanese", "past")
_WORD = lazy_pattern("[a-z']+")
_END = {"until": 1, "till": 1}
_SIDES = _END | {"since": -1}
_CONTEXT_CHARS = 120
_CLAUSE_END = lazy_pattern(r"[.!?\n。！？;:,、，；：()–—]")
_SENTENCE_END = lazy_pattern(r"[.!?\n。！？]")


def _words(language: European, key: str) -> frozenset[str]:
    return lexicon_words("dates", language.section, key)


def _common(key: str) -> frozenset[str]:
    return lexicon_words("dates", "all european", key)


def tense_around(match: re.Match[str]) -> int:
    """The tense of the words around a date: past (-1), future (1) or unknown (0)."""
    before, after = _context(match)
    sentence = _sentence(before, after)
    if found := _tense(sentence) or _side(before, _SIDES):
        return found
    return -1 if _asks_for_past(sentence, after) else _tense(f"{before} {after}")


def tense_of_clause(match: re.Match[str]) -> int:
    """The tense of a date's clause, or of its sentence if the clause has no word besides the date.

    This decides on a date without a year, which seldom is a year ago because another clause is in the past.
    """
    before, after = _context(match)
    clause = f"{_CLAUSE_END.split(before)[-1]} {_CLAUSE_END.split(after, maxsplit=1)[0]}"
    sentence = _sentence(before, after)
    if found := _tense(clause) or _side(before, _END):
        return found
    if not words_of(clause) - _common("dates") and (found := _tense(sentence)):
        return found
    return -_asks_for_past(sentence, after)


def _context(match: re.Match[str]) -> tuple[str, str]:
    text = match.string
    stop = "." if match[0].endswith(".") and text[match.end() : match.end() + 1].isspace() else ""
    return text[max(0, match.start() - _CONTEXT_CHARS) : match.start()], (
        stop + text[match.end() : match.end() + _CONTEXT_CHARS]
    )


def _side(before: str, sides: Mapping[str, int]) -> int:
    """The tense that a word of ``sides`` before a date tells; 0 without such a word, and in Chinese and Japanese."""
    return 0 if has_cjk(before) else next((sides[word] for word in before.lower().split()[-2:] if word in sides), 0)


def _sentence(before: str, after: str) -> str:
    return f"{_SENTENCE_END.split(before)[-1]} {_SENTENCE_END.split(after, maxsplit=1)[0]}"


def _asks_for_past(sentence: str, after: str) -> bool:
    """Whether a sentence is a question that is not in the present tense; False in Chinese and Japanese."""
    end = _SENTENCE_END.search(after)
    if has_cjk(sentence):
        return False
    return end is not None and end[0] in "?？" and _common("present").isdisjoint(words_of(sentence))


def _tense(text: str) -> int:
    text = text.lower().replace("’", "'")
    if not text.isascii():
        if _FUTURE_CJK.search(text):
            return 1
        if _PAST_CJK.search(text):
            return -1
    words = words_of(text)
    languages = likely_languages(words - _common("dates")) or tuple(European)
    return next((tense for language in languages if (tense := _tense_in(language, text, words))), 0)


def _tense_in(language: European, text: str, words: set[str]) -> int:
    if language is European.ENGLISH:
        words = set(_WORD.findall(text))
    if words & _words(language, "future words") or _FUTURE_PHRASES[language].search(text):
        return 1
    if words & _words(language, "past words"):
        return -1
    if language is European.ENGLISH:
        not_past = _words(language, "not past")
        return -any(word.endswith("ed") and word not in not_past for word in words)
    return -1 if _PAST_PHRASES[language].search(text) else 0
