"""What a question asks for: a time, a number, or how things stand now."""

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .words import hashed, words

_WHEN = re.compile(
    r"\b(?:when|how long|since|what (?:date|day|month|year|time)|which (?:date|day|month|year))\b"
    r"|何時|いつ|何年|何月|何日|什么时候|何时|哪天|哪年|哪个月",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|often|old|far|big|tall)\b|几|多少|多大|何人|何回|何個|いくつ|いくら|何歳", re.IGNORECASE
)
_NOW = re.compile(
    r"\b(?:now|nowadays|current|currently|latest|today|still|recent|recently|most recent)\b|现在|最近|目前|今の|現在",
    re.IGNORECASE,
)
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand "
    "couple several dozen first second third twice once"
)


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
