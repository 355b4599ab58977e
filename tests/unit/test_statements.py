"""What statements claim, sentence by sentence."""

from datetime import UTC, datetime, timedelta

import pytest

from ecphora.language.statements import ChangeSignal, Statement, statements
from ecphora.language.validity_phrases import validity_interval

SAID = datetime(2026, 3, 9, tzinfo=UTC)


def read(text: str) -> list[Statement]:
    return list(statements(text, "user", SAID))


@pytest.mark.parametrize("link", ["considering", "but", "especially as", "even though"])
def test_what_never_was_is_a_matter_of_its_own(link: str) -> None:
    savings, never = read(f"I have raised what I save for the kayak to 480 euros, {link} I've never been out at sea.")
    assert ChangeSignal.CHANGE in savings.change_signals
    assert ChangeSignal.NEVER not in savings.change_signals
    assert [value.normal_form for value in savings.values] == ["480"]
    assert ChangeSignal.NEVER in never.change_signals
    assert not never.values


def test_a_claim_needs_no_question_beside_it() -> None:
    (found,) = read("Our launch is on 3 May. Should we push it to June?")
    assert found.text == "Our launch is on 3 May."
    assert ChangeSignal.QUESTION not in found.change_signals


@pytest.mark.parametrize(
    "text", ["Is 15 miles a week enough of a base?", "What if I asked for 45k?", "Will Lena bring 12 chairs?"]
)
def test_what_only_asks_comes_as_a_question(text: str) -> None:
    (found,) = read(text)
    assert found.change_signals == {ChangeSignal.QUESTION}
    assert found.valid_from is None
    assert found.valid_to is None
    assert found.values or found.stems


@pytest.mark.parametrize("text", ["x = {a: 1, b: [2]} # y", "", "?", "Hm"])
def test_programs_and_scraps_are_nothing(text: str) -> None:
    assert not read(text)


def test_an_assistant_claims_nothing() -> None:
    assert not list(statements("You moved to Porto.", "assistant", SAID))


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
def test_who_speaks_of_themselves(text: str, own: list[bool]) -> None:
    assert [one.is_about_speaker for one in statements(text, "Ana", SAID)] == own


def test_whoever_is_not_known_may_speak_of_themselves() -> None:
    assert [one.is_about_speaker for one in statements("My phone number is 555-0142. Ana lives here.", None, SAID)] == [
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
def test_an_amount_is_no_day_on_which_something_ends(text: str, end: str | None) -> None:
    said_at = datetime(2026, 8, 20, tzinfo=UTC)
    found = validity_interval(text, said_at)[1]
    assert (found and (found - timedelta(1)).date().isoformat()) == end
