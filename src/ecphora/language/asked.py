"""What a question asks for: a time, a number, or how things stand now; and what it is about."""

import re
from collections.abc import Collection
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..patterns import lazy_pattern
from .words import hashed, words

_WHEN = lazy_pattern(
    r"\b(?:when|how long|since|what (?:date|day|month|year|time)|which (?:date|day|month|year))\b"
    r"|何時|いつ|何年|何月|何日|什么时候|何时|哪天|哪年|哪个月",
    re.IGNORECASE,
)
_HOW_MANY = lazy_pattern(
    r"\bhow (?:many|much|often|old|far|big|tall)\b|几|多少|多大|何人|何回|何個|いくつ|いくら|何歳", re.IGNORECASE
)
_NOW = lazy_pattern(
    r"\b(?:now|nowadays|current|currently|latest|today|still|recent|recently|most recent|(?:the )?last time)\b"
    r"|现在|最近|目前|上次|最后一次|今の|現在|前回|最後に",
    re.IGNORECASE,
)
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "couple several dozen first second third twice once"
)

_VERB = (
    r"(?:did|does|do|is|are|was|were|has|have|had|would|could|will|can|should)|(?:kind|kinds|type|types|sort|sorts) of"
)
_OPENING = lazy_pattern(
    rf"^\s*(?:(?:in|at|on|for|with|from|to|by|of) )?(?:what|when|where|who|whom|whose|which|how|why|{_VERB})\b"
    rf"(?:\s+(?:{_VERB}|many|much|long|often))*\s*",
    re.IGNORECASE,
)
_WORD = lazy_pattern(r"[^\W_]+(?:['’]s\b)?")


def topic(question: str, without: Collection[str]) -> str:
    """What a question is about: what is left of it without how it asks and without some words, or all of it."""
    said = _OPENING.sub("", question, count=1)
    if without:
        said = _WORD.sub(lambda word: "" if "".join(words(word[0])) in without else word[0], said)
    said = " ".join(said.rstrip("?？.!。 ").split())
    return said if _WORD.search(said) else question


def when(question: str) -> bool:
    """Whether it asks for a time."""
    return _WHEN.search(question) is not None


def how_many(question: str) -> bool:
    """Whether it asks for a number."""
    return _HOW_MANY.search(question) is not None


def now(question: str) -> bool:
    """Whether it asks how things stand now."""
    return _NOW.search(question) is not None


@cache
def numbers() -> NDArray[np.uint32]:
    """The hashes of words that are numbers: those up to a hundred as digits, some in English."""
    found: NDArray[np.uint32] = np.unique(hashed(words(f"{_NUMBERS} {' '.join(map(str, range(101)))}")))
    return found
