"""Roles of chat logs, and whether a text is in the first person."""

from ..lazy_pattern import lazy_pattern

ROLES = {"user": "user", "human": "user", "me": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
         "system": "system", "tool": "tool", "model": "assistant"}  # fmt: skip
"""Speakers that are roles, not names, with their standard role."""

_FIRST_PERSON = lazy_pattern(r"\b(?:I|me|my|mine|myself)\b|[我私僕俺]")


def has_first_person(text: str) -> bool:
    """Whether a text has a pronoun of the first person singular."""
    return _FIRST_PERSON.search(text) is not None
