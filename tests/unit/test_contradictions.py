"""Denials, and updates that may not close a validity interval."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ecphora.consolidation.facts.memory_statements import RuleMatch, Timestamp, Utterance
from ecphora.consolidation.facts.supersession import DENIAL, is_contradiction, match_contradiction
from ecphora.language.statements.statements import statements

BASE_TIME = datetime(2026, 3, 9, tzinfo=UTC)


def utterance(text: str, turn: int = 0, speaker: str = "Ana") -> Utterance:
    """The statement of a memory, a day later for each turn."""
    (statement,) = statements(text, speaker, BASE_TIME)
    at = BASE_TIME + timedelta(days=turn)
    return Utterance(statement, speaker, f"s{turn}", at, turn, Timestamp(at.timestamp()))


CLIMB = utterance("I climbed the north face of the mountain in summer.")


def test_denial_contradicts_the_denied_statement() -> None:
    denial = utterance("I have never climbed the north face of a mountain.", 10)
    match = match_contradiction(denial, CLIMB, {})
    assert match is not None
    assert match.basis == DENIAL
    assert match == match_contradiction(CLIMB, denial, {})
    assert is_contradiction(denial, CLIMB, match)


@pytest.mark.parametrize(
    "text", ["I have never climbed a tree.", "I have never been out at sea.", "I climbed the north face again."]
)
def test_unrelated_statement_does_not_contradict(text: str) -> None:
    assert match_contradiction(utterance(text, 10), CLIMB, {}) is None


def test_update_contradicts_if_it_may_not_supersede() -> None:
    old, new = utterance("My phone number is 555-0142."), utterance("My phone number is 555-0199 now.", 10)
    match = RuleMatch(0.9, "former")
    assert not is_contradiction(new, old, match)
    assert is_contradiction(replace(new, trust=0.5), old, match)
    assert is_contradiction(replace(new, speaker="Bo"), old, match)
