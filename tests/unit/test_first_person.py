"""A question about the person who says nearly all is asked as they would ask it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ecphora import Memory
from ecphora.language.names.first_person import ask_oneself
from ecphora.retrieval.speakers import query_role_agreement


@pytest.mark.parametrize(
    ("question", "own"),
    [
        ("Where does Rosa live?", "Where do I live?"),
        ("Is Rosa allergic to nuts?", "Am I allergic to nuts?"),
        ("What is Rosa's dog called?", "What is my dog called?"),
        ("How does Rosa earn their money?", "How do I earn my money?"),
        ("Does Rosa like her boss?", "Do I like my boss?"),
        ("Where did Rosa go when she was ill?", "Where did I go when I was ill?"),
        ("Who owes Rosa money?", "Who owes me money?"),
        ("Who gave Rosa the drill?", "Who gave me the drill?"),
        ("What do you know about Rosa?", "What do you know about me?"),
        ("Who is the person at Rosa's side?", "Who is the person at my side?"),
        ("What did the doctor tell her about Rosa?", "What did the doctor tell me about me?"),
    ],
)
def test_question_about_a_person_is_asked_by_them(question: str, own: str) -> None:
    assert ask_oneself(question, "Rosa Vermeer") == own


@pytest.mark.parametrize(
    "question",
    ["Where do I live?", "What did I tell Rosa?", "Who is older, Rosa or Tom?", "Where does Tom live?", "Where?", ""],
)
def test_other_questions_stay_as_they_are(question: str) -> None:
    assert ask_oneself(question, "Rosa") == question


def test_name_within_another_name_is_somebody_else() -> None:
    assert ask_oneself("Where does Ana live?", "Susana") == "Where does Ana live?"


def reranking_text(folder: Path, turns: Sequence[tuple[str | None, str]], question: str) -> str:
    """The text that is read for a question to a memory of turns."""
    with Memory(folder / "turns.db") as memory:
        for number, (speaker, text) in enumerate(turns):
            memory.remember(f"{text} {number}", speaker=speaker)
        return memory.build_query(question).reranking_text


@pytest.mark.medium
def test_main_speaker_is_asked_in_the_first_person(tmp_path: Path) -> None:
    turns: list[tuple[str | None, str]] = [("Rosa", "I moved to Antwerp.")] * 9
    turns += [("assistant", "Good to know.")] * 5 + [("Tom", "Hello.")]
    assert reranking_text(tmp_path, turns, "Where does Rosa live?") == "Where do I live?"
    assert reranking_text(tmp_path, [], "Where does Tom live?") == "Where does Tom live?"
    assert reranking_text(tmp_path, [], "Wo wohnt Rosa?") == "Wo wohnt Rosa?"


@pytest.mark.medium
def test_one_of_several_speakers_is_asked_by_name(tmp_path: Path) -> None:
    turns = [*[("Rosa", "I moved to Antwerp.")] * 8, ("Tom", "Hello.")]
    assert reranking_text(tmp_path, turns, "Where does Rosa live?") == "Where does Rosa live?"


@pytest.mark.medium
@pytest.mark.parametrize(
    ("question", "agreement"), [("Who owes me money?", 1), ("Who owes Rosa money?", 1), ("Whom do I owe money?", -1)]
)
def test_first_person_of_a_question_is_the_main_speaker(tmp_path: Path, question: str, agreement: float) -> None:
    text = "Ben owes me 25 euros for the concert."
    with Memory(tmp_path / "rosa.db") as memory:
        memory.remember(text, speaker="Rosa")
        assert query_role_agreement(memory.build_query(question), text, "Rosa") == agreement
        assert query_role_agreement(memory.build_query("Who owes me money?"), text, "Tom") == 0


def test_one_speaker_among_notes_of_nobody_is_asked_by_name(tmp_path: Path) -> None:
    turns: list[tuple[str | None, str]] = [("Rosa", "I moved to Antwerp."), (None, "The boiler is serviced in May.")]
    assert reranking_text(tmp_path, turns, "Where does Rosa live?") == "Where does Rosa live?"


def test_who_speaks_of_themselves_by_name_is_asked_by_name(tmp_path: Path) -> None:
    by_name: list[tuple[str | None, str]] = [("Rosa", "Rosa moved to Antwerp.")]
    assert reranking_text(tmp_path, by_name, "Where does Rosa live?") == "Where does Rosa live?"
    in_person: list[tuple[str | None, str]] = [("Rosa", "I have two cats."), ("Rosa", "I play the harp.")]
    assert reranking_text(tmp_path, in_person, "Where does Rosa live?") == "Where do I live?"
