"""The parties of a relation, the places of names next to a verb or noun, and the party of each place."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum


class Party(IntEnum):
    """A side of a relation: who acts, gives or is above; and who is acted upon, receives or is below."""

    AGENT = 1
    PATIENT = -1


class Slot(StrEnum):
    """The place of a name next to a verb or a noun; ``OTHER`` is after another preposition.

    ``NONE`` is after a preposition that says nothing of the parties.
    """

    SUBJECT = "subject"
    OBJECT = "object"
    TO = "to"
    FOR = "for"
    FROM = "from"
    POSSESSOR = "possessor"
    OTHER = "other"
    NONE = "none"


Frame = Mapping[Slot, Party]


def _opposite(frame: Frame) -> Frame:
    return {slot: Party(-party) for slot, party in frame.items()}


_A, _P = Party.AGENT, Party.PATIENT
PLAIN: Frame = {
    Slot.SUBJECT: _A, Slot.OBJECT: _P, Slot.TO: _P, Slot.FOR: _P, Slot.POSSESSOR: _P, Slot.OTHER: _P
}  # fmt: skip
"""Of most verbs: the subject acts, whoever else is named is acted upon."""
REVERSED: Frame = _opposite(PLAIN)
"""Of a verb for the side that is acted upon: who consults somebody is advised."""
ROB: Frame = {**PLAIN, Slot.FROM: _P}
"""Of a verb whose "from" is before who loses something by it: steal, copy, take over."""
AWAIT: Frame = {Slot.SUBJECT: _A, Slot.FROM: _P}
"""Of a verb whose subject still has to get back a thing that it gave."""
GIVE: Frame = {Slot.SUBJECT: _A, Slot.OBJECT: _P, Slot.TO: _P, Slot.FOR: _P}
PASS: Frame = {Slot.FROM: _A, Slot.TO: _P}
"""Of a verb whose subject is the thing that passes on."""
TAKE: Frame = {Slot.SUBJECT: _P, Slot.FROM: _A}
LEARN: Frame = {Slot.SUBJECT: _P, Slot.FROM: _A, Slot.OTHER: _A}
"""Of a verb that takes with "from" or "with"."""
BORROW: Frame = {Slot.SUBJECT: _P, Slot.FROM: _A, Slot.TO: _A}
"""Of a verb that takes with "to", as in French."""
EQUALS: Frame = {Slot.SUBJECT: _A, Slot.POSSESSOR: _P}
"""Of a verb whose subject and object are equals; only the owner of an object is on another side."""

SENT: Frame = {Slot.SUBJECT: _A, Slot.FROM: _A, Slot.POSSESSOR: _A, Slot.TO: _P, Slot.FOR: _P, Slot.OTHER: _P}
"""Of a noun for what goes from one to the other: an invitation, a call. The subject is its owner, or after "by"."""
DONE: Frame = {**SENT, Slot.POSSESSOR: _P}
"""Of a noun for what is done to whoever is after "of": a portrait, a review."""
DRAWN: Frame = {**DONE, Slot.FROM: _P}
"""Of a noun for a thing that its owner draws from the other: a quotation."""
TEAM: Frame = {Slot.SUBJECT: _A, Slot.TO: _P}
"""Of a noun for a group whose owner leads it."""
HAD: Frame = {**SENT, Slot.OTHER: _A}
"""Of a noun for what one has with the other: lessons, an appointment."""
ORDER: Frame = _opposite(SENT)
"""Of a noun that goes from who receives something to who gives it."""
DEBT: Frame = {**_opposite(SENT), Slot.OTHER: _A}
"""Of a noun for a thing that its owner still has to give."""

FRAMES: Mapping[str, Frame] = {
    "plain": PLAIN, "reversed": REVERSED, "rob": ROB, "await": AWAIT, "give": GIVE, "pass": PASS, "take": TAKE,
    "learn": LEARN, "borrow": BORROW, "equals": EQUALS, "sent": SENT, "done": DONE, "drawn": DRAWN, "team": TEAM,
    "had": HAD, "order": ORDER, "debt": DEBT,
}  # fmt: skip
"""The frames by their names in ``lexicon/roles.ini``."""
