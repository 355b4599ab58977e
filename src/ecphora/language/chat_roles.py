"""Roles of chat logs, and whether a text is in the first person."""

from enum import StrEnum

from ..model.lazy import lazy_pattern


class Role(StrEnum):
    """The part that a speaker has in a chat log."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


_ROLES = {
    **{role.value: role for role in Role},
    **dict.fromkeys(("human", "me"), Role.USER),
    **dict.fromkeys(("ai", "bot", "model"), Role.ASSISTANT),
}
_FIRST_PERSON = lazy_pattern(r"\b(?:I|me|my|mine|myself)\b|[我私僕俺]")


def role_of(speaker: str | None) -> Role | None:
    """The role that a speaker is named by, in any case; None for a name and for no speaker."""
    return None if speaker is None else _ROLES.get(speaker.casefold())


def is_assistant(speaker: str | None) -> bool:
    """Whether a speaker is an assistant, which does not speak about itself."""
    return role_of(speaker) is Role.ASSISTANT


def has_first_person(text: str) -> bool:
    """Whether a text has a pronoun of the first person singular."""
    return _FIRST_PERSON.search(text) is not None
