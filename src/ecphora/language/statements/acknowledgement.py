"""Acknowledgements: "Noted.", "I will keep that in mind.", "Nice to meet you, Marek!". They state nothing.

The phrases are in ``lexicon/factuality.ini``, of the languages there and of Italian and Polish. "Yes" and "no" are no
acknowledgements, for they may answer a question.
"""

import re
from functools import lru_cache

from ...model.lazy import lazy_pattern
from ..lexicon_file import plain_pattern

MAX_CHARS, MAX_PART_CHARS = 160, 60
"""A longer text, or part of a sentence, says more."""
_HEARD = plain_pattern("factuality", "acknowledgements", "heard", "(?:{})", re.IGNORECASE)
_GREETING = plain_pattern(
    "factuality", "acknowledgements", "greeting", r"(?:{})(?P<name>(?-i:(?: [A-ZÀ-Þ]\w+){{0,2}}))", re.IGNORECASE
)
_NAME = lazy_pattern(r"[A-ZÀ-Þ]\w+(?: [A-ZÀ-Þ]\w+)?")
_PART_END = lazy_pattern(r"[.!?…;:,\n。！？，、]+|\s[–—-]\s")


@lru_cache(maxsize=4096)
def is_acknowledgement(text: str) -> bool:
    """Whether each part of a text acknowledges, greets or thanks; a name may follow a greeting."""
    if len(text) > MAX_CHARS:
        return False
    parts = [re.sub(r"^\W+|\W+$", "", part) for part in _PART_END.split(text.replace("’", "'"))]
    is_after_greeting, has_any = False, False
    for part in filter(None, parts):
        if len(part) > MAX_PART_CHARS:
            return False
        greeting = _GREETING.fullmatch(part)
        if not (greeting or _HEARD.fullmatch(part) or (is_after_greeting and _NAME.fullmatch(part))):
            return False
        is_after_greeting, has_any = greeting is not None and not greeting["name"], True
    return has_any
