"""The roles of speakers in chat logs."""

import pytest

from ecphora.language.chat_roles import Role, has_first_person, is_assistant, role_of


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        *((speaker, Role.USER) for speaker in ("user", "User", "human", "me")),
        *((speaker, Role.ASSISTANT) for speaker in ("assistant", "AI", "bot", "model")),
        ("SYSTEM", Role.SYSTEM),
        ("tool", Role.TOOL),
        *((speaker, None) for speaker in ("Ana", "the user", "", None)),
    ],
)
def test_role_is_known_by_its_names(speaker: str | None, role: Role | None) -> None:
    assert role_of(speaker) is role
    assert is_assistant(speaker) == (role is Role.ASSISTANT)


def test_first_person_needs_a_singular_pronoun() -> None:
    assert has_first_person("What did I say?")
    assert has_first_person("我说了什么？")
    assert not has_first_person("What did we say in mid-May?")
