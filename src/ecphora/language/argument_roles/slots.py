"""Finds the place of each name next to a verb or a noun of relation: before it, after it, after which preposition."""

from collections.abc import Sequence
from typing import NamedTuple

from ..language_identification import European
from .grammar import CONJUNCTIONS, Grammar, Slot
from .units import Unit, UnitKind


class SlotName(NamedTuple):
    """A name, or a pronoun, in a slot of a verb; ``number`` is None for a name that is not asked about."""

    slot: Slot
    number: int | None


class Slots(NamedTuple):
    """The names next to a verb, and the slots whose preposition stands there."""

    names: tuple[SlotName, ...]
    prepositions: frozenset[Slot]


_MAX_RIGHT = 14
"""Units after a verb that may belong to it."""
_OBJECT_REACH, _PREPOSITION_REACH = 4, 3
"""The most words from a verb to its object, and from a preposition to its name."""
_OWNED = frozenset((Slot.OBJECT, Slot.POSSESSOR, Slot.OTHER))
_MAX_APPOSITION = 7
_THINGS = frozenset(("it", "them"))
_PARTICLES = frozenset("up out in over off down back away along".split())  # noqa: SIM905
_LOOSE = frozenset("after at in into on around about with con com avec en em dans sur sobre chez".split())  # noqa: SIM905
"""Prepositions that belong to the verb only right after it."""
_CAUSATIVES = frozenset(("had", "has", "have", "got", "gets", "get"))
_ADVERB_ENDINGS = ("ly", "mente")
_RELATIVE_OBJECTS = frozenset(("whom", "that", "who"))
_RELATIVE_SUBJECTS = frozenset(("who", "that", "qui", "que", "quien"))


def slots(units: Sequence[Unit], verb: int, grammar: Grammar, *, subject_follows: bool = False) -> Slots:
    """The names next to the verb at an index, in languages whose subject is before the verb and object after it.

    ``subject_follows`` is for questions whose subject, a name without preposition, follows the verb.
    """
    subject_end, is_passive, objects = _before_verb(units, verb, grammar)
    right, prepositions, agents = right_names(units, verb, grammar)
    is_passive = is_passive or (bool(agents) and verb + 1 < len(units) and units[verb + 1].word in grammar.by)
    if subject_follows and subject_end < 0:
        right = [SlotName(Slot.SUBJECT if name.slot is Slot.OBJECT else name.slot, name.number) for name in right]
    elif grammar.needs_preposition and not subject_follows:
        right = [name for name in right if name.slot is not Slot.OBJECT]
    names = [*right, *objects]
    subjects, antecedent = _subjects(units, subject_end, grammar)
    if antecedent is not None and not is_passive:
        names.append(SlotName(Slot.OBJECT, antecedent))
    if is_passive and subject_end < 0:
        names += [SlotName(Slot.POSSESSOR, number) for number in _owners(units, verb, grammar)]
    if is_passive:
        names = [name for name in names if name.slot is not Slot.OBJECT]
        names += [SlotName(Slot.OBJECT, number) for number in subjects]
        names += [SlotName(Slot.SUBJECT, number) for number in agents]
    else:
        names += [SlotName(Slot.SUBJECT, number) for number in subjects]
    return Slots(tuple(names), prepositions)


def _before_verb(units: Sequence[Unit], verb: int, grammar: Grammar) -> tuple[int, bool, list[SlotName]]:
    """The index of the unit where a subject ends, -1 for none; whether the verb is passive; and pronouns before it."""
    at, is_passive, objects = verb - 1, False, list[SlotName]()
    while at >= 0:
        unit = units[at]
        if unit.word in grammar.between or unit.word.endswith(_ADVERB_ENDINGS):
            is_passive = is_passive or unit.word in grammar.passive
            if unit.number is not None:  # a pronoun of the first person before the verb, as in "me prestó"
                objects.append(SlotName(Slot.OBJECT, unit.number))
        elif unit.word == "to" and at >= 2:  # "Jonas wants to invite"
            at -= 0 if units[at - 1].is_person else 1
        else:
            break
        at -= 1
    if is_passive and not _may_be_participle(units[verb].word):
        is_passive = False
    if at >= 0 and units[at].word == ",":
        at = _before_apposition(units, at)
    elif at >= 0 and units[at].word in CONJUNCTIONS | {"but", "then", "pero", "mais", "mas", "aber"}:
        at = _first_subject(units, at, grammar)
    elif at > 0 and units[at].word in _RELATIVE_SUBJECTS:
        at = at - 2 if units[at - 1].word == "," else at - 1
        return (at if at >= 0 and units[at].is_person else -1), is_passive, objects
    elif at > 1 and units[at].is_person and units[at - 1].word in _CAUSATIVES and units[at - 2].is_person:
        objects.append(SlotName(Slot.OBJECT, units[at].number))  # "Jonas had Mira invited"
        at -= 2
    return (at if at >= 0 and units[at].is_person else -1), is_passive, objects


def _owners(units: Sequence[Unit], verb: int, grammar: Grammar) -> list[int | None]:
    """The number of the owner of a subject that is no person: "Mira's bike was mended"."""
    at = verb - 1
    while at >= 0 and units[at].kind is UnitKind.WORD and verb - at <= _MAX_APPOSITION and not units[at].is_possessive:
        if units[at].word in grammar.breaks:
            return []
        at -= 1
    return [units[at].number] if at >= 0 and units[at].is_possessive else []


def _may_be_participle(word: str) -> bool:
    """Whether an English verb after a form of "be" is passive rather than progressive."""
    return not word.endswith("ing")


def _before_apposition(units: Sequence[Unit], comma: int) -> int:
    """The index before "…, my neighbor," that ends at a comma; -1 if there is none."""
    for at in range(comma - 1, max(0, comma - _MAX_APPOSITION), -1):
        if units[at].word == ",":
            return at - 1
    return -1


def _first_subject(units: Sequence[Unit], end: int, grammar: Grammar) -> int:
    """The index of the name with which a sentence begins, whose second verb follows at ``end``; -1 for another one."""
    at = 1 if units and units[0].word in grammar.articles else 0
    if at >= end or not units[at].is_person:
        return -1
    return at if not any(unit.is_person and unit.kind is UnitKind.PRONOUN for unit in units[at + 1 : end]) else -1


def _subjects(units: Sequence[Unit], end: int, grammar: Grammar) -> tuple[list[int | None], int | None]:
    """The numbers of the names of a subject that ends at an index, and of the name before its relative clause."""
    if end < 0:
        return [], None
    found, at = [units[end].number], end - 1
    while at >= 1 and units[at].word in CONJUNCTIONS | {","} and units[at - 1].is_person:
        if units[at].word == "," and len(found) < 2:
            break
        found.append(units[at - 1].number)
        at -= 2
    while at >= 0 and units[at].word in grammar.articles:
        at -= 1
    is_relative = any(unit.word in _RELATIVE_SUBJECTS for unit in units[end + 1 : end + 3])
    if at >= 0 and not is_relative and (units[at].word in grammar.prepositions or units[at].word in grammar.by):
        return [], None
    if at >= 1 and units[at].word in _RELATIVE_OBJECTS:
        before = at - 2 if units[at - 1].word == "," else at - 1
        if before >= 0 and units[before].is_person:
            return found, units[before].number
    return found, None


def right_names(
    units: Sequence[Unit], verb: int, grammar: Grammar, current: Slot | None = Slot.OBJECT
) -> tuple[list[SlotName], frozenset[Slot], list[int | None]]:
    """The names after a verb in their slots, the slots whose preposition is there, and the names after "by".

    ``current`` is the slot of a name without preposition, None for a noun, which has no object.
    """
    found: list[SlotName] = []
    agents: list[int | None] = []
    prepositions: set[Slot] = set()
    is_by, words, has_object = False, 0, False
    for at in range(verb + 1, _clause_end(units, verb, grammar)):
        unit = units[at]
        if unit.kind is UnitKind.WORD and unit.word not in CONJUNCTIONS:
            words += 1
            is_preposition = unit.word in grammar.prepositions
            if unit.word in grammar.by or is_preposition:
                is_by, words, before = not is_preposition, 0, units[at - 1].word
                slot = grammar.prepositions.get(unit.word)
                is_loose = slot is Slot.OTHER and at > verb + 1 and unit.word in _LOOSE and before not in _PARTICLES
                current = None if is_loose else slot
                if slot is not None and not _is_of_thing(units, at, grammar):
                    prepositions.add(slot)
            continue
        # "My daughter" is not the speaker; what is far from the verb or the preposition is not its own.
        is_own = unit.is_possessive and unit.kind is UnitKind.PRONOUN
        if unit.kind in (UnitKind.WORD, UnitKind.MARK) or is_own or words > _reach(current):
            continue
        if is_by and not unit.is_possessive:
            agents.append(unit.number)
        elif current is Slot.OBJECT and not unit.is_possessive:
            if not has_object or units[at - 1].word in CONJUNCTIONS:
                found.append(SlotName(Slot.OBJECT, unit.number))
                is_thing = unit.word in _THINGS or units[at - 1].word in grammar.articles
                prepositions |= set() if is_thing else {Slot.OBJECT}
        elif current is not None and (not unit.is_possessive or current in _OWNED):
            found.append(SlotName(Slot.POSSESSOR if unit.is_possessive else current, unit.number))
        has_object = has_object or current is Slot.OBJECT
    return found, frozenset(prepositions), agents


def _is_of_thing(units: Sequence[Unit], preposition: int, grammar: Grammar) -> bool:
    """Whether no person follows a preposition: what is bought for 20 euros, or for the kitchen, is for nobody."""
    if preposition + 1 >= len(units):
        return False
    following = units[preposition + 1]
    is_article = grammar.language is European.ENGLISH and following.word in grammar.articles
    is_alone = preposition + 2 >= len(units) or units[preposition + 2].kind is not UnitKind.WORD
    return following.word.isdigit() or (is_article and not is_alone)


def _reach(slot: Slot | None) -> int:
    """The most words between a verb or a preposition and its name."""
    return _OBJECT_REACH if slot is Slot.OBJECT else _PREPOSITION_REACH


def _clause_end(units: Sequence[Unit], verb: int, grammar: Grammar) -> int:
    """The index at which the clause of a verb ends."""
    end = min(len(units), verb + 1 + _MAX_RIGHT)
    for at in range(verb + 1, end):
        word = units[at].word
        following = units[at + 1] if at + 1 < len(units) else None
        if word in CONJUNCTIONS and following is not None:
            joins_names = units[at - 1].is_person and following.is_person
            if not joins_names or _starts_clause(units, at + 1, grammar):
                return at
        elif word == ",":
            if following is None or following.word not in grammar.prepositions:
                return at
        elif word == ":" or (word in grammar.breaks and units[at].number is None) or word in _RELATIVE_OBJECTS:
            return at
    return end


def _starts_clause(units: Sequence[Unit], at: int, grammar: Grammar) -> bool:
    """Whether the person at an index is followed by a verb: "… invited Mira and Jonas was there"."""
    following = units[at + 1] if at + 1 < len(units) else None
    return following is not None and (
        following.word in grammar.between or (following.kind is UnitKind.WORD and following.word.endswith(("ed", "s")))
    )


def verb_places(units: Sequence[Unit], verb: int, grammar: Grammar, *, subject_follows: bool = False) -> Slots:
    """The names next to the verb at an index, in their slots; ``subject_follows`` as for ``slots``."""
    if grammar.language is European.GERMAN:
        return german_slots(units, verb, grammar)
    return slots(units, verb, grammar, subject_follows=subject_follows)


def german_slots(units: Sequence[Unit], verb: int, grammar: Grammar) -> Slots:
    """The names next to a German verb: of the names without article and preposition, the subject comes first."""
    start, end = _german_clause(units, verb, grammar)
    is_passive = any(unit.word in grammar.passive for unit in units[start:end])
    bare: list[Unit] = []
    names: list[SlotName] = []
    prepositions: set[Slot] = set()
    for at in range(start, end):
        unit = units[at]
        before = units[at - 1].word if at > start else ""
        if before in grammar.by or before in grammar.prepositions:
            slot = grammar.prepositions.get(before, Slot.SUBJECT)
            if before in grammar.by and is_passive:
                slot = Slot.SUBJECT
            prepositions.add(slot)
            if unit.is_person and slot is not Slot.NONE:
                names.append(SlotName(slot, unit.number))
        elif unit.is_person and before not in grammar.articles and not before.isdigit():
            bare.append(unit)
    asked_object = [unit for unit in units[start:end] if unit.word in grammar.asks_object]
    persons = [unit for unit in bare if unit not in asked_object]
    first = Slot.OBJECT if is_passive else Slot.SUBJECT
    if persons and (len(persons) > 1 or asked_object or is_passive or units[start] == persons[0]):
        names.append(SlotName(first, persons[0].number))
        if len(persons) > 1 and not is_passive:
            names.append(SlotName(Slot.OBJECT, persons[1].number))
    return Slots(tuple(names), frozenset(prepositions))


def _german_clause(units: Sequence[Unit], verb: int, grammar: Grammar) -> tuple[int, int]:
    """The bounds of the clause around an index: commas, marks and conjunctions."""
    start, end = verb, verb + 1
    while start > 0 and units[start - 1].kind is not UnitKind.MARK and units[start - 1].word not in grammar.breaks:
        start -= 1
    while end < len(units) and units[end].kind is not UnitKind.MARK and units[end].word not in grammar.breaks:
        end += 1
    return start, end
