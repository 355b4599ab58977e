"""Rules for claims that supersede an earlier one, and the time from which they hold."""

from datetime import UTC, datetime, timedelta

import pytest

from ecphora.consolidation.facts.memory_statements import RuleMatch, Timestamp, Utterance
from ecphora.consolidation.facts.supersession import has_new_content, match_supersession, supersession_time
from ecphora.language.statements.statements import statements
from ecphora.model.types import Kind, Node

BASE_TIME = datetime(2026, 3, 9, tzinfo=UTC)


def utterance(text: str, turn: int = 0, speaker: str = "Ana") -> Utterance:
    """The statement of a memory, a day later for each turn."""
    (statement,) = statements(text, speaker, BASE_TIME)
    at = BASE_TIME + timedelta(days=turn)
    return Utterance(statement, speaker, f"s{turn}", at, turn, Timestamp(at.timestamp()))


@pytest.mark.parametrize(
    ("earlier", "later", "is_new"),
    [
        ("My class is on Thursdays.", "My class on Thursdays starts at half past six.", False),
        ("My class is on Thursdays.", "My class is still on Thursdays, but at nine.", True),
        ("My class is on Thursdays.", "My class is on Fridays.", True),
        ("My class is on Thursdays.", "My class is on Thursdays.", False),
    ],
)
def test_repeated_claim_has_no_new_content(earlier: str, later: str, is_new: bool) -> None:
    assert has_new_content(utterance(later).statement, utterance(earlier).statement) is is_new


def test_later_claim_supersedes_an_earlier_one() -> None:
    old, new = utterance("I live in Lisbon."), utterance("I moved to Porto.", 10)
    match = match_supersession(new, old, {}, cosine=0.9)
    assert match is not None
    assert not match.is_correction
    assert match_supersession(old, new, {}, cosine=0.9) is None


def test_correction_holds_from_the_start_of_the_earlier_claim() -> None:
    old, new = utterance("My phone number is 555-0142."), utterance("No, my phone number is 555-0199.", 10)
    start = BASE_TIME - timedelta(days=99)
    node = Node("claim", Kind.CLAIM, old.statement.text, BASE_TIME, BASE_TIME, valid_from=start)
    assert supersession_time(new, old, node, RuleMatch(0.9, "former", is_correction=True)) == start
    assert supersession_time(new, old, node, RuleMatch(0.9, "former")) is None


def test_changed_date_holds_from_the_time_of_the_utterance() -> None:
    old, new = utterance("My exam is on 8 June."), utterance("My exam is on 9 June now.", 10)
    node = Node("claim", Kind.CLAIM, old.statement.text, BASE_TIME, BASE_TIME)
    assert supersession_time(new, old, node, RuleMatch(0.9, "date")) == new.at
