"""Tells questions where somebody lives, and statements of it: "We moved! New address: Mill Lane 7, Peebles."

Nothing in such words is near to "Where do I live?". The patterns are in ``lexicon/factuality.ini``.
"""

import re

from ..lexicon_file import plain_pattern
from .factuality import MAX_CHARS, factuality, is_stay

_ASKED, _STATED = (plain_pattern("factuality", "homes", key, flags=re.IGNORECASE) for key in ("asked", "stated"))


def asks_for_home(question: str) -> bool:
    """Whether a question asks where somebody lives."""
    return _ASKED.search(question.replace("’", "'")) is not None


def states_home(text: str) -> bool:
    """Whether a short text states as a fact of now where somebody lives, or has moved to."""
    if len(text) > MAX_CHARS or _STATED.search(text.replace("’", "'")) is None or is_stay(text):
        return False
    meant = factuality(text)
    return meant.is_fact and not meant.is_former
