"""Whether a text is about the person whom a question asks about."""

from pathlib import Path

import pytest

from ecphora.language.language_identification import European
from ecphora.language.names.persons import person_relations
from ecphora.language.statements.factuality import MAX_CHARS
from ecphora.language.statements.subject import name_coverage, subject_agreement, subject_words

SUBJECTS = Path(__file__).parent.parent / "statements" / "subjects.tsv"
SIGNS = {"+": 1, "-": -1, "0": 0}
"""About the person asked about, about others, or open."""


def rows() -> list[tuple[str, str, str, str | None]]:
    """Signs, questions, texts, and speakers if it matters who speaks."""
    lines = (line.split("\t") for line in SUBJECTS.read_text(encoding="utf-8").splitlines())
    return [(one[0], one[1], one[2], one[3] if len(one) > 3 else None) for one in lines]


def sign(value: float) -> int:
    return (value > 0) - (value < 0)


@pytest.mark.parametrize(("expected", "question", "text", "speaker"), rows())
def test_sign_says_whom_a_text_is_about(expected: str, question: str, text: str, speaker: str | None) -> None:
    assert sign(subject_agreement(question, text, speaker)) == SIGNS[expected]


def test_table_has_all_signs_and_languages() -> None:
    assert len(rows()) > 250
    assert all(sum(row[0] == one for row in rows()) > 30 for one in SIGNS)


def test_agreement_is_the_part_of_the_clauses_less_the_rest() -> None:
    question = "Where do I live?"
    assert subject_agreement(question, "I live in Ghent. My brother lives in Ulm. My sister lives in Bonn.") == (
        pytest.approx(-1 / 3)
    )
    assert subject_agreement(question, "I live in Ghent, and I like it. My sister lives in Bonn.") == pytest.approx(
        1 / 3
    )
    assert subject_agreement(question, "It rains. I live in Ghent.") == 1


@pytest.mark.parametrize(
    ("text", "speaker"),
    [("", None), ("?!", None), ("12", "Ana"), ("\n", "user"), ("«»", None), ("'s", None), ("我", None), ("my", None)],
)
def test_agreement_is_within_bounds_for_any_text(text: str, speaker: str | None) -> None:
    for question in ("Where do I live?", "", "?", "Who?", "我", "my", "the user's", "Ana", text):
        assert -1 <= subject_agreement(question, text, speaker) <= 1
        assert 0 <= name_coverage(question, text, speaker) <= 1


def test_long_text_tells_nothing() -> None:
    text = "I live in Ghent. "
    assert subject_agreement("Where do I live?", text * (MAX_CHARS // len(text))) == 1
    assert subject_agreement("Where do I live?", text * (MAX_CHARS // len(text) + 1)) == 0


@pytest.mark.parametrize("speaker", [None, "user", "Ana", "human"])
def test_i_of_every_speaker_but_an_assistant_may_be_the_user(speaker: str | None) -> None:
    assert subject_agreement("Where do I live?", "I live in Ghent.", speaker) == 1
    assert subject_agreement("Where does the user live?", "I live in Ghent.", speaker) == 1


@pytest.mark.parametrize("speaker", ["assistant", "AI", "bot"])
def test_assistant_does_not_speak_of_the_user(speaker: str) -> None:
    assert subject_agreement("Where do I live?", "I live in the cloud.", speaker) == -1
    assert subject_agreement("Where do I live?", "Ghent has many canals.", speaker) == -1
    assert subject_agreement("Where does Ana live?", "It has many canals.", speaker) == 0


def test_quotation_of_somebody_is_left_out() -> None:
    assert subject_agreement("Where do I live?", 'My uncle wrote: "I live in a mill."') == -1
    assert subject_agreement("Where do I live?", 'I wrote: "Uncle Bob lives in a mill."') > -1


def test_words_are_those_of_the_language() -> None:
    english, french = subject_words((European.ENGLISH,)), subject_words((European.FRENCH,))
    either = subject_words((European.ENGLISH, European.FRENCH))
    assert "on" in french.others - english.others
    assert "mia" in french.my - english.my
    assert {"on", "they"} <= either.others
    assert {"mia", "my"} <= either.my
    assert "far" in person_relations("sv")
    assert "far" not in person_relations("en")
    assert "dog" not in person_relations("en")


@pytest.mark.parametrize(
    ("question", "text", "speaker", "expected"),
    [
        ("Where does Ana live?", "Ana lives in Ghent.", None, 1),
        ("Where does Ana live?", "ana lives in ghent", None, 1),
        ("Where does Ana live?", "I live in Ghent.", "Ana", 1),
        ("Where does Ana live?", "Leo lives in Ghent.", "Leo", 0),
        ("Where does Ana live?", "Anas are ducks.", None, 0),
        ("Where did Ana meet Leo?", "Ana went to Ghent.", None, 0.5),
        ("Where did Ana meet Leo?", "I met Leo in Ghent.", "Ana", 1),
        ("Where did Ana Weber go?", "Ana went to Ghent.", None, 1),
        ("Did Hope pay?", "Hope paid.", None, 1),
        ("Did Hope pay?", "I hope so.", None, 0),  # may be an ordinary word
        ("Where do I live?", "I live in Ghent.", None, 0),
        ("田中さんはどこに住んでいますか?", "田中さんは大阪に住んでいます。", None, 1),
        ("田中さんはどこに住んでいますか?", "鈴木さんは大阪に住んでいます。", None, 0),
    ],
)
def test_coverage_is_the_part_of_the_names(question: str, text: str, speaker: str | None, expected: float) -> None:
    assert name_coverage(question, text, speaker) == expected
