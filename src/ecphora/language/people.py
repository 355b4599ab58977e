"""Who is who in a chat: the roles of assistants' logs, and who says "I"."""

import re

ROLES = {"user": "user", "human": "user", "me": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
         "system": "system", "tool": "tool", "model": "assistant"}  # fmt: skip
"""Speakers that are roles, not names."""

_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself)\b|[我私僕俺]")


def first_person(text: str) -> bool:
    """Whether the asker speaks of themself."""
    return _FIRST_PERSON.search(text) is not None
