"""Who is who in a chat: the roles of assistants' logs, and who says "I"."""

from ..patterns import lazy_pattern

ROLES = {"user": "user", "human": "user", "me": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
         "system": "system", "tool": "tool", "model": "assistant"}  # fmt: skip
"""Speakers that are roles, not names."""

_FIRST_PERSON = lazy_pattern(r"\b(?:I|me|my|mine|myself)\b|[我私僕俺]")


def first_person(text: str) -> bool:
    """Whether the asker speaks of themself."""
    return _FIRST_PERSON.search(text) is not None
