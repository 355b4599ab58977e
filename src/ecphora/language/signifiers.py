"""What kind of thing a text does: asks, plans, feels, prefers, asks for something, or states. English, by its words."""

import re

from ..patterns import lazy_pattern
from .statements import asks

_SIGNS = {
    "request": r"^\s*(?:please|could you|can you|would you|remind me|let me know)\b",
    "plan": (
        r"\b(?:i'?ll|we'?ll|(?:am|are|'m|'re) going to|plan(?:s|ning)? (?:to|on)|hop(?:e|ing) to|"
        r"next (?:week|month|year|time)|tomorrow)\b"
    ),
    "preference": (r"\b(?:i|we) (?:really |just )?(?:like|love|prefer|enjoy|hate|can'?t stand)\b|\bmy favou?rite\b"),
    "emotion": (
        r"\b(?:happy|glad|excited|proud|sad|upset|worried|afraid|scared|angry|nervous|grateful|thrilled|"
        r"disappointed|lonely)\b"
    ),
    "hypothesis": r"\b(?:maybe|perhaps|probably|might|i (?:think|guess|suppose))\b",
}
_PATTERNS = {name: lazy_pattern(pattern, re.IGNORECASE) for name, pattern in _SIGNS.items()}


def signifiers(text: str) -> tuple[str, ...]:
    """The signs found, in a fixed order; a text that does nothing else is an assertion, or a question if it asks."""
    found = [name for name, pattern in _PATTERNS.items() if pattern.search(text)]
    if asks(text):
        return ("question", *found)
    return tuple(found) or ("assertion",)
