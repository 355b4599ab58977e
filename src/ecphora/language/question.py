"""Classifies questions: whether one asks for a time, a quantity or the current state; and extracts its topic."""

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..lazy_pattern import lazy_pattern
from .terms import extract_terms, hash_terms

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
