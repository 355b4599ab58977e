"""The parties of the names beside a noun of relation: "Jonas is Mira's boss", "Mira got a letter from Jonas"."""

from collections.abc import Iterator, Mapping, Sequence

from .clause_grammar import Grammar
from .clause_slots import SlotName, right_names, verb_places
from .clause_units import Unit, UnitKind
from .role_frames import DEBT, GIVE, TAKE, Frame, Party, Slot
from .role_lexicon import light_frame

_LINKS = frozenset(
    "is are was were am be been being became become remains ist war wurde wird es era fue est était é foi".split()  # noqa: SIM905
)
_LINK_WORDS = _LINKS | {"not", "still", "now", "also", "has"}
_OWNERS = frozenset("of to de del du d von vom do da dos das".split())  # noqa: SIM905
_NAMING = frozenset((",", "called", "named", ":", "as"))
_LIGHT_REACH = 8
"""The most units between a noun and the verb that carries it."""


def person_parties(units: Sequence[Unit], noun: int, party: Party, grammar: Grammar) -> Iterator[tuple[int, Party]]:
    """The names beside a noun for a party of a relation: who is it, and whose.

    "Jonas is Mira's boss", "Mira's boss is Jonas", "the boss of Mira is Jonas", "Jonas, the boss of Mira", "Mira has
    Jonas as boss".
    """
    start = noun - 1
    while start >= 0 and units[start].kind is UnitKind.WORD and noun - start <= 2 and not _is_bound(units[start]):
        start -= 1
    after = noun + 2 if noun + 2 < len(units) and units[noun + 1].word in _OWNERS else None
    if after is not None and after + 1 < len(units) and units[after].word in grammar.articles:
        after += 1
    if start >= 0 and units[start].is_possessive:
        owner, before, end = units[start], start - 1, noun + 1
    elif after is not None:
        has_article = start >= 0 and units[start].word in grammar.articles
        owner, before, end = units[after], start - 1 if has_article else start, after + 1
    else:
        while start >= 0 and units[start].word in grammar.articles:
            start -= 1
        if start >= 2 and units[start].word == "as":
            for slot, number in verb_places(units, _verb_before(units, start), grammar).names:
                if number is not None and slot in (Slot.SUBJECT, Slot.OBJECT):
                    yield number, Party(party if slot is Slot.OBJECT else -party)
        elif grammar.follows_verb and noun + 1 < len(units) and units[noun + 1].is_person:
            number = units[noun + 1].number  # "¿De quién es inquilino Jonas?"
            if number is not None:
                yield number, party
        return
    if owner.kind not in (UnitKind.NAME, UnitKind.PRONOUN):
        return
    if owner.number is not None:
        yield owner.number, Party(-party)
    holder = _linked_before(units, before) or _linked_after(units, end, grammar)
    if holder is not None and holder.number is not None:
        yield holder.number, party


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
    """The parties of the names beside a noun for what goes from one to the other: "a letter from Jonas to Mira".

    The verb that carries the noun adds its subject and object: "Jonas wrote Mira a letter", "Mira got a letter".
    """
    found: dict[int, Party] = {}
    owner = noun - 1
    while owner >= 0 and noun - owner < 3 and units[owner].kind is UnitKind.WORD and not units[owner].is_possessive:
        owner -= 1
    number = units[owner].number if owner >= 0 and units[owner].is_possessive else None
    if number is not None:
        found[number] = frame[Slot.SUBJECT]
    right, prepositions, agents = right_names(units, noun, grammar, None)
    is_given = bool({Slot.TO, Slot.FOR} & prepositions)
    for slot, number in (*right, *(SlotName(Slot.SUBJECT, agent) for agent in agents)):
        if number is not None and slot in frame:
            is_source = slot is Slot.POSSESSOR and is_given
            found.setdefault(number, frame[Slot.SUBJECT if is_source else slot])
    carrier = _carrier(units, noun, grammar)
    if carrier is not None:
        verb, verb_frame = carrier
        places = verb_places(units, verb, grammar, subject_follows=subject_follows)
        is_from = verb_frame is GIVE or (frame is DEBT and Slot.FROM not in prepositions)
        for slot, number in places.names:
            if number is None or number in found:
                continue
            if slot is Slot.SUBJECT:
                found[number] = frame[Slot.SUBJECT if is_from else Slot.TO]
            elif slot in (Slot.OBJECT, Slot.TO, Slot.FOR) and verb_frame is GIVE:
                found[number] = frame[Slot.TO]
            elif slot in (Slot.FROM, Slot.OTHER) and slot in frame:
                found[number] = frame[slot]
    return found


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
