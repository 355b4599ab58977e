"""The small words by which the place of a name next to a verb is read: auxiliaries, prepositions, question words.

The parties of a relation, the places of names next to a verb or noun, and the party of each place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache, cached_property

from ..language_identification import European
from ..lexicon_file import lexicon_words, read_lexicon


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


CONJUNCTIONS = frozenset("and or & und oder y e et ou".split())  # noqa: SIM905
"""The words that join two names, or two clauses."""


@dataclass(frozen=True)
class Grammar:
    """The small words of a language.

    ``between`` may stand between a subject and its verb, ``auxiliaries`` also before the subject of a question.
    ``passive`` auxiliaries make the subject the object. ``asks_subject`` and ``asks_object`` are question words for
    persons, ``breaks`` words at which a clause ends. ``follows_verb`` says that the subject of a question may follow
    the verb, ``needs_preposition`` that a person as an object has one. ``joins_names`` says that
    words with capitals side by side are one name, which they are not where nouns have capitals.
    """

    language: European
    auxiliaries: frozenset[str]
    passive: frozenset[str]
    between: frozenset[str]
    prepositions: Mapping[str, Slot]
    by: frozenset[str]
    asks_subject: frozenset[str]
    asks_object: frozenset[str]
    asks: frozenset[str]
    first_person: frozenset[str]
    pronouns: frozenset[str]
    articles: frozenset[str]
    breaks: frozenset[str]
    follows_verb: bool = False
    needs_preposition: bool = False
    joins_names: bool = True

    @cached_property
    def small_words(self) -> frozenset[str]:
        """The words that are neither a verb nor a noun."""
        return self.articles | self.breaks | self.by | self.prepositions.keys() | self.asks | CONJUNCTIONS

    def preposition(self, slot: Slot) -> str:
        """The first preposition of a slot."""
        return next(word for word, found in self.prepositions.items() if found is slot)


@cache
def grammar_of(language: European) -> Grammar:
    """The small words of a language, from ``lexicon/roles.ini``."""
    section = language.section

    def words(key: str) -> frozenset[str]:
        return lexicon_words("roles", section, key)

    return Grammar(
        language=language,
        auxiliaries=words("auxiliaries"),
        passive=words("passive"),
        between=words("between"),
        prepositions=_prepositions(section),
        by=words("by"),
        asks_subject=words("asks subject"),
        asks_object=words("asks object"),
        asks=words("asks"),
        first_person=words("first person"),
        pronouns=words("pronouns"),
        articles=words("articles"),
        breaks=words("breaks"),
        follows_verb=language in (European.SPANISH, European.PORTUGUESE),
        needs_preposition=language is European.SPANISH,
        joins_names=language is not European.GERMAN,
    )


def _prepositions(section: str) -> dict[str, Slot]:
    """The slot of each preposition of a language."""
    values = read_lexicon("roles")[section]
    return {word: slot for slot in Slot for word in values.get(f"prepositions {slot}", "").split()}
