"""Classifies questions: whether one asks for a time, a quantity or the current state; and extracts its topic.

Function words of Dutch, French, German, Italian, Portuguese and Spanish, which have no topical content, are left out of
questions only. What is stored is indexed with them, whatever its language (:mod:`.terms` leaves out English ones only).
"""

import re
import unicodedata
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..model.lazy_pattern import lazy_pattern
from .language_identification import likely_foreign_languages
from .lexicon_file import read_lexicon
from .scripts import stream_safe
from .terms import extract_terms, hash_terms

GIVEN_NAMES = frozenset("al ben dan ella mia per wil will".split())  # noqa: SIM905  # as the lists above
"""Function words that are also given names: with a capital inside a sentence they are names."""

_QUESTION_END = lazy_pattern(
    r"[?？؟][\s\"'”’)\]」』]*$|[吗呢]\s*[。.]?\s*$|(?:です|ます|でしょう|ました|ません)か\s*[。.]?\s*$"
)
_WHEN = lazy_pattern(
    r"\b(?:when|how long|since|(?:what|which) (?:date|day|month|year)s?|what times?"
    r"|wann|wie lange|seit|an welche[mn] (?:tag(?:en)?|datum|monat|jahr)|um wie viel uhr|welches (?:datum|jahr)"
    r"|cuándo|cuánto tiempo|desde|qué (?:fecha|día|mes|año)s?|a qué hora"
    r"|quand|combien de temps|depuis|quels? (?:jours?|mois)|quelles? (?:dates?|années?)|à quelle heure"
    r"|quando|quanto tempo|(?:que|qual) (?:data|dia|mês|ano)|quais (?:as )?(?:datas|dias)|a que horas)\b"
    r"|何時|いつ|何年|何月|何日|什么时候|何时|哪天|哪年|哪个月",
    re.IGNORECASE,
)
_HOW_MANY = lazy_pattern(
    r"\b(?:how (?:many|much|often|old|far|big|tall)|wie ?(?:viele?|oft|alt|weit|groß|hoch|teuer)|cuánt[oa]s?|combien"
    r"|quant[oa]s?|quel âge)\b|几|多少|多大|何人|何回|何個|いくつ|いくら|何歳",
    re.IGNORECASE,
)
_CURRENT = lazy_pattern(
    r"\b(?:now|nowadays|current|currently|latest|today|still|recent|recently|most recent|(?:the )?last time)\b"
    r"|现在|最近|目前|上次|最后一次|今の|現在|前回|最後に",
    re.IGNORECASE,
)
_REPLACEMENT = lazy_pattern(
    r"\b(?:replac(?:e|es|ed|ing|ement)|supersed\w+|succeed(?:s|ed)|successor|instead of|rather than|"
    r"(?:come|comes|came|next|new|newer|later|version|release|one) after|newer than|used to be|formerly|"
    r"(?:changed|moved|switched|renamed|migrated) (?:from|to)|take(?:s|n)? over|took over|"
    r"ersetz\w*|abgelöst|nachfolger\w*|statt|anstatt|anstelle|kommt nach|kam nach|"
    r"remplac\w+|au lieu d\w*|à la place d\w*|success(?:eur|or)|reemplaz\w+|sustitu\w+|en lugar de|en vez de|sucesor|"
    r"substitu\w+|em vez de|sostitu\w+|invece di|al posto di|vervang\w*|vervong\w*|in plaats van|opvolger|"
    r"zamiast|zastąpi\w*|yerine|ersatte?|i stället för)\b|замен\w+|вместо|преемник"
    r"|取代|代替|替换|替換|改成|改为|換成|换成|の代わり|後継|置き換え|대신|대체|후속",
    re.IGNORECASE,
)
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "couple several dozen first second third twice once"
)


_VAGUE_WORDS = (
    "much many more most get got gets like name called before after kind type sort way thing do go make take use come "
    "first last next new long often time ever still want need viel viele mehr oft zuerst zuletzt vorher nachher mag "
    "heißt machen gehen neu zeit mucho muchos más antes después llama hacer tipo nuevo vez veces beaucoup plus avant "
    "après appelle faire type nouveau fois muito muitos mais depois chama fazer novo"
)


@cache
def vague_terms() -> frozenset[str]:
    """The terms of words that say nothing by themselves: a memory is not near to "much" in meaning."""
    return frozenset(extract_terms(_VAGUE_WORDS))


def is_question(text: str) -> bool:
    """Whether a text ends as a question does. A turn that asks seldom contains the answer."""
    return _QUESTION_END.search(text[-40:]) is not None


def is_time_question(question: str) -> bool:
    """Whether a question asks for a time."""
    return _WHEN.search(question) is not None


def is_quantity_question(question: str) -> bool:
    """Whether a question asks for a number."""
    return _HOW_MANY.search(question) is not None


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
