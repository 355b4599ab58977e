"""Whether a text states nothing: "Noted."."""

from pathlib import Path

import pytest

from ecphora.language.statements.acknowledgement import is_acknowledgement

SENTENCES = Path(__file__).parent.parent / "statements"


def lines(name: str) -> list[str]:
    return (SENTENCES / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def test_acknowledgements_are_told() -> None:
    assert [text for text in lines("acknowledgements") if not is_acknowledgement(text)] == []


def test_plain_facts_are_none() -> None:
    assert [text for text in lines("plain") if is_acknowledgement(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "Yes.",
        "No, thanks.",
        "Got it, I will remember that Ana avoids peanuts.",
        "Okay, Porto.",  # a name follows no greeting, so it may be an answer
        "Thanks, Marek, Porto.",
        "I will keep the car.",
        "Nice to meet you, Marek! I am Ana.",
        "Noted. " * 40,
    ],
)
def test_what_says_more_is_none(text: str) -> None:
    assert not is_acknowledgement(text)
