"""Classifies what a text does: question, request, plan, preference, emotion, hypothesis or assertion. English only."""

import re

from ...model.lazy import lazy_pattern
from ..question import is_question

_SIGNIFIER_PATTERNS = {
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
_COMPILED_PATTERNS = {name: lazy_pattern(pattern, re.IGNORECASE) for name, pattern in _SIGNIFIER_PATTERNS.items()}


def signifiers(text: str) -> tuple[str, ...]:
    """The signifiers of a text, in a fixed order; a question comes first, and a text with none is an assertion."""
    found = [name for name, pattern in _COMPILED_PATTERNS.items() if pattern.search(text)]
    if is_question(text):
        return ("question", *found)
    return tuple(found) or ("assertion",)
