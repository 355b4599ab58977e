"""The parties of the names next to a noun of relation: "Jonas is Mira's boss", "Mira got a letter from Jonas"."""

from collections.abc import Iterator, Mapping, Sequence

from .grammar import DEBT, GIVE, HAD, SENT, TAKE, Frame, Grammar, Party, Slot
from .lexicon import light_frame
from .slots import SlotName, right_names, verb_places
from .units import Unit, UnitKind

_LINKS = frozenset(
    "is are was were am be been being became become remains ist war wurde wird es era fue est était é foi".split()  # noqa: SIM905
)
_LINK_WORDS = _LINKS | {"not", "still", "now", "also", "has"}
_OWNERS = frozenset("of to de del du d von vom do da dos das".split())  # noqa: SIM905
_NAMING = frozenset((",", "called", "named", ":", "as"))
_OWE = frozenset(("owe", "owes", "owed", "owing"))
_LIGHT_REACH = 8
"""The most units between a noun and the verb that carries it."""


def person_parties(units: Sequence[Unit], noun: int, party: Party, grammar: Grammar) -> Iterator[tuple[int, Party]]:
    """The names next to a noun for a party of a relation: who is it, and whose.

    "Jonas is Mira's boss", "Mira's boss is Jonas", "the boss of Mira is Jonas", "Jonas, the boss of Mira", "Mira has
    Jonas as boss".
    """
    start = noun - 1
    while start >= 0 and units[start].kind is UnitKind.WORD and noun - start <= 2 and not _is_bound(units[start]):
        start -= 1
    after = _after_of(units, noun, grammar)
    if start >= 0 and units[start].is_possessive:
        owner, before, end = units[start], start - 1, noun + 1
    elif after is not None:
        has_article = start >= 0 and units[start].word in grammar.articles
        owner, before, end = units[after], start - 1 if has_article else start, after + 1
    else:
        yield from _ownerless_parties(units, noun, start, party, grammar)
        return
    if owner.kind not in (UnitKind.NAME, UnitKind.PRONOUN):
        return
    holder = _linked_before(units, before) or _linked_after(units, end, grammar)
    for unit, its_party in ((owner, Party(-party)), (holder, party)):
        if unit is not None and unit.number is not None:
            yield unit.number, its_party


def _after_of(units: Sequence[Unit], noun: int, grammar: Grammar) -> int | None:
    """The index of the name after "of" and a noun, and after an article there."""
    at = noun + 2
    if at >= len(units) or units[noun + 1].word not in _OWNERS:
        return None
    return at + 1 if units[at].word in grammar.articles and at + 1 < len(units) else at


def _ownerless_parties(
    units: Sequence[Unit], noun: int, start: int, party: Party, grammar: Grammar
) -> Iterator[tuple[int, Party]]:
    """The names around a noun with no owner next to it: "Mira has Jonas as boss", "¿De quién es inquilino Jonas?"."""
    while start >= 0 and units[start].word in grammar.articles:
        start -= 1
    if start >= 2 and units[start].word == "as":
        parties = {Slot.OBJECT: party, Slot.SUBJECT: Party(-party)}
        for slot, number in verb_places(units, _verb_before(units, start), grammar).names:
            if number is not None and slot in parties:
                yield number, parties[slot]
    elif grammar.follows_verb and noun + 1 < len(units) and units[noun + 1].is_person:
        number = units[noun + 1].number
        if number is not None:
            yield number, party


def _verb_before(units: Sequence[Unit], at: int) -> int:
    """The index of the word before the name at whose end ``at`` is."""
    while at > 0 and (units[at].kind is not UnitKind.WORD or units[at].word == "as"):
        at -= 1
    return at


def _linked_before(units: Sequence[Unit], at: int) -> Unit | None:
    """The person before "is" or a comma at an index."""
    if at < 1 or not (units[at].word in _LINK_WORDS or units[at].word == ","):
        return None
    at -= 1
    while at > 0 and units[at].word in _LINK_WORDS:
        at -= 1
    return units[at] if units[at].is_person else None


def _linked_after(units: Sequence[Unit], at: int, grammar: Grammar) -> Unit | None:
    """The person after "is", a comma or "called" at an index, or there."""
    while at < len(units) and (units[at].word in _LINKS or units[at].word in _NAMING | grammar.articles):
        at += 1
    return units[at] if at < len(units) and units[at].is_person else None


def _is_bound(unit: Unit) -> bool:
    return unit.word in _LINKS or unit.word in ("the", "a", "an", "of", "and", "as")


def event_parties(
    units: Sequence[Unit], noun: int, frame: Frame, grammar: Grammar, *, subject_follows: bool = False
) -> Mapping[int, Party]:
    """The parties of the names next to a noun for what goes from one to the other: "a letter from Jonas to Mira".

    The verb that carries the noun adds its subject and object: "Jonas wrote Mira a letter", "Mira got a letter".
    """
    if any(unit.word in _OWE for unit in units[max(0, noun - _LIGHT_REACH) : noun]):
        return {}  # "to" is before who gave what one owes, as in "she owes the promotion to Jonas"
    owner = _owner(units, noun)
    found = {} if owner is None else {owner: frame[Slot.SUBJECT]}
    carrier = _carrier(units, noun, grammar)
    if frame is HAD and carrier is not None and carrier[1] is GIVE:
        frame = SENT  # "did an interview with Mira"
    right, prepositions, agents = right_names(units, noun, grammar, None)
    for slot, number in (*right, *(SlotName(Slot.SUBJECT, agent) for agent in agents)):
        if number is not None and slot in frame:
            found.setdefault(number, frame[slot])
    if carrier is not None:
        verb, verb_frame = carrier
        is_from = verb_frame is GIVE or (frame is DEBT and Slot.FROM not in prepositions)
        carried = _carried_frame(frame, is_given=verb_frame is GIVE, is_from=is_from)
        for slot, number in verb_places(units, verb, grammar, subject_follows=subject_follows).names:
            if number is not None and slot in carried:
                found.setdefault(number, carried[slot])
    return found


def _owner(units: Sequence[Unit], noun: int) -> int | None:
    """The number of the name whose "'s" is before a noun, with at most one word between."""
    at = noun - 1
    while at >= 0 and noun - at < 3 and units[at].kind is UnitKind.WORD and not units[at].is_possessive:
        at -= 1
    return units[at].number if at >= 0 and units[at].is_possessive else None


def _carried_frame(frame: Frame, *, is_given: bool, is_from: bool) -> Frame:
    """The parties next to a verb that carries a noun with a frame.

    ``is_given`` says that its object receives the noun, ``is_from`` that the noun comes from its subject.
    """
    goal = frame[Slot.TO]
    found = {slot: frame[slot] for slot in (Slot.FROM, Slot.OTHER) if slot in frame}
    found[Slot.SUBJECT] = frame[Slot.SUBJECT] if is_from else goal
    return found | (dict.fromkeys((Slot.OBJECT, Slot.TO, Slot.FOR), goal) if is_given else {})


def _carrier(units: Sequence[Unit], noun: int, grammar: Grammar) -> tuple[int, Frame] | None:
    """The index and the frame of the verb that carries a noun."""
    is_german = not grammar.joins_names
    end = len(units) if is_german else noun
    found: tuple[int, Frame] | None = None
    for at in range(max(0, noun - _LIGHT_REACH), end):
        unit = units[at]
        if at < noun and (unit.word in grammar.breaks or unit.word in (",", ":")):
            found = None
        elif unit.kind is UnitKind.WORD:
            frame = light_frame(unit.word, grammar.language)
            if frame is None and unit.word in _LINKS and at + 1 < len(units) and units[at + 1].word in ("in", "en"):
                frame = TAKE
            if frame is not None and not (found is not None and is_german and unit.word in grammar.between):
                found = at, frame
    return found
