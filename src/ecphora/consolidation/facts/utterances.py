"""Statements in their context: who said them, where and when; and the verdict of a rule on two of them."""

from dataclasses import dataclass
from datetime import datetime

from ...language.statements.statements import Statement
from ...retrieval.validity import Attribution
from .event_time import Timestamp

MAX_TURNS_APART = 6
"""Turns that a correction, or a sentence that names nothing, may refer back."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A statement in its context: speaker, time, session, and ``turn``, its memory's position in order of time.

    ``trust`` in 0..1 is its memory's trust, ``moment`` its timestamp, which says whether it is known to be later than
    another.
    """

    statement: Statement
    speaker: str | None
    session: str | None
    at: datetime
    turn: int
    moment: Timestamp
    trust: float = 1.0

    @property
    def voice(self) -> Attribution:
        """The attribution of the statement: speaker, trust, and whether it is about the speaker."""
        return Attribution(self.speaker, self.trust, self.statement.is_about_speaker)

    def is_nearby(self, other: "Utterance") -> bool:
        """Whether both lie within ``MAX_TURNS_APART`` turns of one conversation."""
        is_same_conversation = self.session == other.session and (
            self.session is not None or abs(self.at - other.at).days < 1
        )
        return is_same_conversation and abs(self.turn - other.turn) <= MAX_TURNS_APART


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule's verdict that a claim replaces another.

    ``confidence`` is in 0..1, ``basis`` says what the two share, and ``is_correction`` that the earlier claim was wrong
    from the start.
    """

    confidence: float
    basis: str
    is_correction: bool = False


def has_same_subject(new: Utterance, old: Utterance) -> bool:
    """Whether both may be about one person; true if either has no subject."""
    new_subjects, old_subjects = new.statement.subjects, old.statement.subjects
    speaker = (new.speaker or "").casefold()
    if not new_subjects or not old_subjects:
        return True
    if "?" in new_subjects or "you" in new_subjects:  # the person meant was mentioned just before
        return new.is_nearby(old) and (not old_subjects & {speaker} or new.speaker != old.speaker)
    if "?" in old_subjects or "you" in old_subjects:
        return new.is_nearby(old) and (
            bool(new_subjects - {(old.speaker or "").casefold()}) or new.speaker != old.speaker
        )
    if new_subjects & old_subjects:
        return True
    if new_subjects & _all_names(old):
        return True
    # "My sister Nadia" and "Nadia": one by relation, the other by name.
    names = {who.split("/")[-1] for who in new_subjects} & _all_names(old)
    return bool(names or ({who.split("/")[-1] for who in old_subjects} & _all_names(new)))


def _all_names(utterance: Utterance) -> frozenset[str]:
    statement = utterance.statement
    return statement.names | {part for name in statement.names for part in name.split()} | statement.former_terms
