"""First questions, and what states what they ask."""

import pytest

from ecphora.language.question import asks_what_addressee_said
from ecphora.language.statements.asked_facts import AskedFact, asked_fact, lacks, may_state, states

HOME, OWN_NAME, BIRTHDAY = AskedFact


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Where do I live?", HOME),
        ("What's my address?", HOME),
        ("Wo wohne ich?", HOME),
        ("¿Dónde vivo?", HOME),
        ("Où est-ce que j’habite ?", HOME),
        ("Gdzie mieszkam?", HOME),
        ("What is my name?", OWN_NAME),
        ("Wie heiße ich?", OWN_NAME),
        ("When is my brother's birthday?", BIRTHDAY),
        ("Wann hat mein Bruder Geburtstag?", BIRTHDAY),
        ("When did I live in Ghent?", None),
        ("What is my dog's name?", None),
    ],
)
def test_question_asks_for_a_fact(question: str, fact: AskedFact | None) -> None:
    assert asked_fact(question) is fact


@pytest.mark.parametrize(
    ("text", "fact", "expected"),
    [
        ("We moved! New address: Mill Lane 7, Peebles.", HOME, True),
        ("I moved in with Jonas, Satamatie 3.", HOME, True),
        ("Wir sind umgezogen! Neue Adresse: Lindenweg 8.", HOME, True),
        ("Nous avons déménagé !", HOME, True),
        ("¡Nos mudamos!", HOME, True),
        ("We moved the meeting to Friday.", HOME, False),
        ("We moved to Slack.", HOME, False),
        ("I used to live in Ghent.", HOME, False),
        ("If we moved in with Jonas, we would save rent.", HOME, False),
        ("I live in Ghent. " * 30, HOME, False),
        ("Hi! I am Priya, I just started using this.", OWN_NAME, True),
        ("Hey, Tobias here. I keep bees.", OWN_NAME, True),
        ("I am tired.", OWN_NAME, False),
        ("My mother turns 70 on 3 February.", BIRTHDAY, True),
    ],
)
def test_text_states_a_fact(text: str, fact: AskedFact, expected: bool) -> None:
    assert states(text, fact) is expected


def test_text_without_the_words_lacks_a_fact() -> None:
    assert lacks("My sister Ines marries on 14 June 2025.", BIRTHDAY)
    assert not lacks("She was born in May.", BIRTHDAY)
    assert not lacks("My sister marries. " * 30, BIRTHDAY)  # a long text may say it in other words


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did you recommend for the floor?", True),
        ("Was hast du mir zum Daumen gesagt?", True),
        ("¿Qué me recomendaste?", True),
        ("What did I tell you about the floor?", False),
        ("Which paint did I use?", False),
    ],
)
def test_question_asks_what_the_addressee_said(question: str, expected: bool) -> None:
    assert asks_what_addressee_said(question) is expected


def test_move_to_something_may_state_a_home() -> None:
    assert may_state("I moved to Porto.", HOME)
    assert not may_state("We moved the meeting.", HOME)
    assert not may_state("I moved to Porto.", OWN_NAME)
