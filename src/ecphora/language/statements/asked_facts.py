"""Tells first questions, and statements of what they ask: where somebody lives, one's own name, birthdays.

Nothing in "We moved! New address: Mill Lane 7, Peebles." is near to "Where do I live?". The patterns are in
``lexicon/factuality.ini``.
"""

import re
from enum import StrEnum
from functools import lru_cache

from ..lexicon_file import plain_pattern
from .factuality import MAX_CHARS, factuality, is_stay


class AskedFact(StrEnum):
    """A fact that is asked for often; the section of the lexicon with its patterns."""

    HOME = "homes"
    OWN_NAME = "own names"
    BIRTHDAY = "birthdays"


_ASKED, _STATED = (
    {fact: plain_pattern("factuality", fact, key, flags=re.IGNORECASE) for fact in AskedFact}
    for key in ("asked", "stated")
)

_PERHAPS_HOME = plain_pattern("factuality", AskedFact.HOME, "perhaps stated", flags=re.IGNORECASE)


@lru_cache(maxsize=64)
def asked_fact(question: str) -> AskedFact | None:
    """The fact that a question asks for, if it is one of these."""
    text = question.replace("’", "'")
    return next((fact for fact in AskedFact if _ASKED[fact].search(text)), None)


def states(text: str, fact: AskedFact) -> bool:
    """Whether a short text states a fact as one of now, of whomever."""
    if len(text) > MAX_CHARS or lacks(text, fact) or is_stay(text):
        return False
    meant = factuality(text)
    return meant.is_fact and not meant.is_former


def lacks(text: str, fact: AskedFact) -> bool:
    """Whether a short text has none of the words by which a fact is stated."""
    return len(text) <= MAX_CHARS and _STATED[fact].search(text.replace("’", "'")) is None


def may_state(text: str, fact: AskedFact) -> bool:
    """Whether a text states a fact, or may: "We moved to Slack." names no home."""
    return states(text, fact) or (
        fact is AskedFact.HOME and len(text) <= MAX_CHARS and _PERHAPS_HOME.search(text) is not None
    )
