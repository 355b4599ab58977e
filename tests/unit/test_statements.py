"""Statements of a text, sentence by sentence."""

from datetime import UTC, datetime, timedelta

import pytest

from ecphora.language.statements.statements import ChangeSignal, Statement, statements
from ecphora.language.statements.validity_phrases import validity_interval

BASE_TIME = datetime(2026, 3, 9, tzinfo=UTC)


def parse(text: str) -> list[Statement]:
    return list(statements(text, "user", BASE_TIME))


@pytest.mark.parametrize("link", ["considering", "but", "especially as", "even though"])
def test_clause_with_never_is_a_separate_statement(link: str) -> None:
    savings, never = parse(f"I have raised what I save for the kayak to 480 euros, {link} I've never been out at sea.")
    assert ChangeSignal.CHANGE in savings.change_signals
    assert ChangeSignal.NEVER not in savings.change_signals
    assert [value.normal_form for value in savings.values] == ["480"]
    assert ChangeSignal.NEVER in never.change_signals
    assert not never.values


def test_statement_leaves_out_a_following_question() -> None:
    (found,) = parse("Our launch is on 3 May. Should we push it to June?")
    assert found.text == "Our launch is on 3 May."
    assert ChangeSignal.QUESTION not in found.change_signals


@pytest.mark.parametrize(
    "text", ["Is 15 miles a week enough of a base?", "What if I asked for 45k?", "Will Lena bring 12 chairs?"]
)
def test_question_alone_is_a_statement_marked_as_question(text: str) -> None:
    (found,) = parse(text)
    assert found.change_signals == {ChangeSignal.QUESTION}
    assert found.valid_from is None
    assert found.valid_to is None
    assert found.values or found.stems


@pytest.mark.parametrize("text", ["x = {a: 1, b: [2]} # y", "", "?", "Hm"])
def test_code_and_fragments_have_no_statements(text: str) -> None:
    assert not parse(text)


def test_assistant_text_has_no_statements() -> None:
    assert not list(statements("You moved to Porto.", "assistant", BASE_TIME))


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("My phone number is 555-0142.", [True]),
        ("I have a new phone number. It is 555-0199.", [True, True]),
        ("I have a new phone number. 555-0199.", [True, True]),
        ("As far as the bistro goes, I am its cook.", [True]),
        ("Ana lives in Lisbon.", [True]),
        ("Bo told me that he moved to Porto.", [False]),
        ("Bo told me that my exam is on 8 June.", [True]),
        ("My sister Nadia lives in Ghent.", [False]),
        ("My sister and I live in Ghent.", [True]),
        ("We meet on Tuesdays.", [False]),
        ("The ferry leaves at nine.", [False]),
        ("I am tired. The ferry to Kestrel leaves at nine.", [True, False]),
        ("I met Bo. He lives here.", [True, False]),
    ],
)
def test_statement_about_the_speaker_is_marked(text: str, own: list[bool]) -> None:
    assert [statement.is_about_speaker for statement in statements(text, "Ana", BASE_TIME)] == own


def test_statement_of_an_unknown_speaker_may_be_about_the_speaker() -> None:
    assert [
        statement.is_about_speaker
        for statement in statements("My phone number is 555-0142. Ana lives here.", None, BASE_TIME)
    ] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("She puts her lessons up to 27 from 1 September.", None),
        ("It runs to 12 pages.", None),
        ("It runs up to 20 guests, but only until 20 September.", "2026-09-20"),
        ("We are open up to the 27th.", "2026-08-27"),
        ("The offer lasts to 27 September.", "2026-09-27"),
        ("It lasts to 2026-09-03.", "2026-09-03"),
    ],
)
def test_amount_is_not_an_end_date(text: str, end: str | None) -> None:
    said_at = datetime(2026, 8, 20, tzinfo=UTC)
    found = validity_interval(text, said_at)[1]
    assert (found and (found - timedelta(1)).date().isoformat()) == end


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("The team sync is on Thursdays at 11 now, Tuesday didn't work.", None),
        ("I do Portuguese now, because we try Lisbon again in October.", None),
        ("I moved to Porto because my contract in Lisbon ended in March.", None),
        ("Rent went up to 900, I noticed on Monday when I paid.", None),
        ("The office is in Ghent now, on Monday we told the landlord.", None),
        ("My new number is 555-0142 — the old one came with the contract in May.", None),
        ("I switched to decaf last week, the doctor said so in January.", "2026-03-02"),
        ("I've been vegan since January, before that I ate fish in May.", "2026-01-01"),
        ("From Monday, we meet at 10 now.", "2026-03-16"),
        ("I moved to Porto, on 3 March, with two suitcases.", "2026-03-03"),
        ("As of 3 March, 2026 the office is in Ghent.", "2026-03-03"),
        ("I no longer live in Lisbon; since 3 March I live in Porto.", "2026-03-03"),
        ("On 3 March, after long thought, I moved to Porto.", "2026-03-03"),
        ("Yesterday, with my wife, I moved to Gaia.", "2026-03-08"),
        ("Since my accident on 3 March, I use crutches.", "2026-03-03"),
        ("When I turned 30 on 3 March, I quit smoking.", "2026-03-03"),
        ("Since 3 March, which was a holiday, I use the new bus line.", "2026-03-03"),
        ("I moved from Lisbon to Porto on 3 March.", "2026-03-03"),
        ("In March I changed jobs from Initech to Globex.", "2026-03-01"),
        ("The meeting changes from Monday to Wednesday starting 1 June.", "2026-06-01"),
        ("Dana will be promoted on 1 June.", "2026-06-01"),
        ("Which bank? Since 2 March we use Monzo.", "2026-03-02"),
        ("As of Tuesday, 3 March the office is in Ghent.", "2026-03-03"),
    ],
)
def test_start_is_in_the_clause_of_the_change(text: str, start: str | None) -> None:
    found = validity_interval(text, BASE_TIME)[0]
    assert (found and found.date().isoformat()) == start


PLANNED = pytest.mark.parametrize(
    "text",
    [
        "The wedding is on Saturday, 11 April 2026 instead.",
        "The launch is now on 10 May.",
        "The flight now leaves on Friday at 6.",
        "The hearing was cancelled and is now in May.",
        "We moved the launch from 3 May to 10 May.",
    ],
)


def test_change_from_one_place_to_another_keeps_its_end() -> None:
    start, end = validity_interval("I moved from Lisbon to Porto until 1 June.", BASE_TIME)
    assert (start, end and end.date().isoformat()) == (None, "2026-06-02")


@PLANNED
def test_date_of_what_is_planned_is_no_start(text: str) -> None:
    assert validity_interval(text, BASE_TIME) == (None, None)
