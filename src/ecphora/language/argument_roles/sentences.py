"""The relations that a sentence states, and the parties that it gives to the numbered names in each."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..language_identification import European
from .grammar import DONE, GIVE, PLAIN, ROB, Grammar, Party, Slot
from .lexicon import (
    EQUAL_RELATIONS,
    MONEY,
    Sense,
    event_nouns,
    known_senses,
    light_frame,
    may_be_participle,
    person_nouns,
    senses,
)
from .nouns import event_parties, person_parties
from .slots import Slots, verb_places
from .units import Unit, UnitKind

Parties = Mapping[int, Party]
"""The party of each name, by its number."""

_RID = Unit("rid")
"""After "get", a word that turns it around: who gets rid of something receives nothing."""
_NEGATIONS = frozenset(
    "not never no without neither nor nicht nie kein keine keinen keinem nunca jamás pas jamais não nem".split()  # noqa: SIM905
)
_SPANISH_NEGATION = "no"
_BEFORE_NEGATED, _AFTER_NEGATED = 4, 2
"""The most units from a negation to the word that it negates."""
_OBLIGATIONS = frozenset("has have needs need had got tiene tem".split())  # noqa: SIM905
_MUST = frozenset("must should muss doit debe".split())  # noqa: SIM905
_TO = frozenset(("to", "que", "de"))
_GREETINGS = frozenset(
    "hey hi hello thanks yeah yep yes no congrats wow oh dear sure well sorry hallo danke hola oi salut".split()  # noqa: SIM905
)
_WORDS_BESIDE = 8
"""The most units from a verb to a word with which it has another sense."""
_DEED_ENDINGS = ("tion", "sion", "ment", "al", "ance", "ing")
_NOUN_SIGNS = frozenset("of with for after about no any another several two three first last next".split())  # noqa: SIM905


class Relation(NamedTuple):
    """A relation that a sentence states; ``is_inferred`` says that a party follows only from the other name's.

    ``is_transfer`` says that something passes from the agent to the patient, ``is_open`` that a party without a name
    may be a person named elsewhere in the sentence.
    """

    name: str
    parties: Parties
    is_transfer: bool = False
    is_inferred: bool = False
    is_open: bool = True


def relations(sentence: Sequence[Unit], grammar: Grammar) -> Iterator[Relation]:
    """The relations that a sentence states, for each verb and each noun of relation in it."""
    carried = _carried(sentence, grammar)
    people = {unit.number for unit in sentence if unit.number is not None}
    takers = {unit.number for at, unit in enumerate(sentence) if unit.is_person and not _is_called(sentence, at)}
    is_note, used = True, set[str]()
    for place, unit in enumerate(sentence):
        if unit.kind is not UnitKind.WORD or unit.word in grammar.small_words:
            continue
        if _is_negated(sentence, place, grammar):
            continue
        if unit.word not in used and not is_surely_noun(sentence, place, grammar):
            is_note = is_note and not _may_be_verb(unit.word, grammar)
            for relation in _verb_relations(sentence, place, grammar, carried, used):
                yield _with_other(relation, people, takers, grammar)
        for relation in noun_relations(sentence, place, grammar):
            whole = _with_other(relation, people, takers, grammar)
            if len(set(whole.parties.values())) == 2:  # "had a challenge" may be no relation
                yield whole
    if is_note:
        yield from (_with_other(relation, people, takers, grammar) for relation in note_relations(sentence, grammar))


def _is_called(sentence: Sequence[Unit], at: int) -> bool:
    """Whether the name at an index is only spoken to: "Hey Mira, …"."""
    before = sentence[at - 1].word if at else ","
    following = sentence[at + 1].word if at + 1 < len(sentence) else ","
    return following == "," and (before == "," or before in _GREETINGS)


def _may_be_verb(word: str, grammar: Grammar) -> bool:
    language = grammar.language
    return word in grammar.auxiliaries or bool(known_senses(word, language) and not event_nouns(word, language))


def _with_other(relation: Relation, people: set[int], takers: set[int | None], grammar: Grammar) -> Relation:
    """The relation; if it has the party of one person only, the only other person of the sentence gets the other party.

    ``takers`` are the people who may take part: not people who are named only as owners or spoken to.
    """
    is_open = relation.is_open and len(people) == 2 and len(relation.parties) == 1 and grammar.joins_names
    if not is_open or relation.name in EQUAL_RELATIONS:
        return relation
    ((number, found),) = relation.parties.items()
    if number not in people:
        return relation
    (other,) = people - {number}
    if other not in takers:
        return relation
    return relation._replace(parties={number: found, other: Party(-found)}, is_inferred=True)


def note_relations(sentence: Sequence[Unit], grammar: Grammar) -> Iterator[Relation]:
    """What a note without a verb says: "20 euros from Jonas to Mira", "For Mira, from Jonas: a scarf"."""
    parties: dict[int, Party] = {}
    for before, unit in pairwise(sentence):
        slot = grammar.prepositions.get(before.word)
        if unit.number is not None and slot in (Slot.FROM, Slot.TO, Slot.FOR):
            parties.setdefault(unit.number, Party.AGENT if slot is Slot.FROM else Party.PATIENT)
    if parties:
        yield Relation("give", parties, is_transfer=True, is_inferred=True)
        if any(unit.word in MONEY for unit in sentence):
            yield Relation("pay", parties, is_inferred=True)
            yield Relation("lend", {number: Party(-party) for number, party in parties.items()}, is_inferred=True)


def _carried(sentence: Sequence[Unit], grammar: Grammar) -> frozenset[str]:
    """The relations of the nouns in a sentence, which a verb such as "give" only carries."""
    return frozenset(
        sense.relation for unit in sentence if unit.kind is UnitKind.WORD
        for sense in event_nouns(unit.word, grammar.language)
    )  # fmt: skip


def _verb_relations(
    sentence: Sequence[Unit], place: int, grammar: Grammar, carried: frozenset[str], used: set[str]
) -> Iterator[Relation]:
    language = grammar.language
    candidates = senses(sentence[place].word, language)
    if not candidates or sentence[place + 1 : place + 2] == [_RID]:
        return
    places = verb_places(sentence, place, grammar)
    found = fitting_senses(candidates, places, words_near(sentence, place, grammar))
    used.update(sense.word for sense in found)
    is_carrier = bool(carried) and light_frame(sentence[place].word, language) is not None
    for sense in found:
        if is_carrier and sense.relation == "give" and sense.relation not in carried:
            continue
        parties = parties_of(sense, places)
        if sense.relation in ("give", "pay") and sense.frame is GIVE and is_obligation(sentence, place):
            yield Relation("lend", {number: Party(-party) for number, party in parties.items()})
            if sense.relation == "give":
                continue
        yield Relation(sense.relation, parties, sense.is_transfer, is_open=_is_open(sense, places))


def _is_open(sense: Sense, places: Slots) -> bool:
    """Whether a party that no name next to a verb has may be a person elsewhere: no pronoun is the subject."""
    subjects = [number for slot, number in places.names if slot is Slot.SUBJECT]
    if not subjects:
        return all(slot is not Slot.OBJECT for slot, _ in places.names)
    has_pronoun = any(number is None for slot, number in places.names if slot is not Slot.SUBJECT)
    return subjects[0] is not None and (has_pronoun or sense.frame.get(Slot.SUBJECT) is Party.AGENT)


def noun_relations(
    sentence: Sequence[Unit], place: int, grammar: Grammar, *, is_question: bool = False, subject_follows: bool = False
) -> Iterator[Relation]:
    """The relations of the noun at an index, if it is one; ``subject_follows`` as for ``verb_places``.

    In a question, only nouns of the tables are read, as any noun might have the stem of a verb.
    """
    word, language = sentence[place].word, grammar.language
    for relation, party in person_nouns(word, language):
        yield Relation(relation, dict(person_parties(sentence, place, party, grammar)))
    for sense in event_nouns(word, language) or (() if is_question else _verbal_nouns(sentence, place, grammar)):
        parties = event_parties(sentence, place, sense.frame, grammar, subject_follows=subject_follows)
        yield Relation(sense.relation, parties, sense.is_transfer)


def _verbal_nouns(sentence: Sequence[Unit], place: int, grammar: Grammar) -> tuple[Sense, ...]:
    """The relations of a noun with the stem of a verb: "gave her a massage", "his congratulations to her"."""
    if grammar.language is not European.ENGLISH or not _is_noun_place(sentence, place, grammar):
        return ()
    if place and sentence[place - 1].is_possessive and sentence[place].word.endswith(_DEED_ENDINGS):
        return ()  # Mira may be the one who promotes in "Mira's promotion", or the one who is promoted
    return tuple(
        Sense(sense.relation, DONE)
        for sense in senses(sentence[place].word, European.ENGLISH)
        if sense.slot is None and not sense.word and sense.frame in (PLAIN, ROB)
    )


def words_near(units: Sequence[Unit], verb: int, grammar: Grammar) -> frozenset[str]:
    """The words near a verb with which it may have another sense, and "$" for a word of money."""
    start = max(0, verb - _WORDS_BESIDE) if grammar.language is European.GERMAN else verb + 1
    words = frozenset(unit.word for unit in units[start : verb + 1 + _WORDS_BESIDE])
    return words if words.isdisjoint(MONEY) else words | {"$"}


def fitting_senses(candidates: Sequence[Sense], places: Slots, words: frozenset[str]) -> list[Sense]:
    """The senses that a verb has together with some names and words.

    A sense whose condition is met excludes the senses without a condition whose subject is the other party.
    """
    fitting = [
        sense
        for sense in candidates
        if (sense.slot is None or sense.slot in places.prepositions) and (not sense.word or sense.word in words)
    ]
    narrow = [sense for sense in fitting if sense.slot is not None or sense.word]
    if not narrow:
        return fitting
    if any(sense.word == "$" for sense in narrow):
        return narrow
    subjects = {sense.frame.get(Slot.SUBJECT) for sense in narrow}
    return narrow + [
        sense
        for sense in fitting
        if sense.slot is None and not sense.word and subjects == {sense.frame.get(Slot.SUBJECT)}
    ]


def parties_of(sense: Sense, places: Slots) -> dict[int, Party]:
    """The parties of the names in the slots of a verb."""
    return {number: sense.frame[slot] for slot, number in places.names if number is not None and slot in sense.frame}


def is_obligation(sentence: Sequence[Unit], verb: int) -> bool:
    """Whether somebody has to give what the verb says: who has to pay owes."""
    before = [unit.word for unit in sentence[max(0, verb - 3) : verb]]
    return not _MUST.isdisjoint(before) or (not _TO.isdisjoint(before) and not _OBLIGATIONS.isdisjoint(before))


def _is_negated(sentence: Sequence[Unit], place: int, grammar: Grammar) -> bool:
    before = {unit.word for unit in sentence[max(0, place - _BEFORE_NEGATED) : place]}
    if not _NEGATIONS.isdisjoint(before):
        return True
    if grammar.language is European.ENGLISH:
        return False
    after = {unit.word for unit in sentence[place + 1 : place + 1 + _AFTER_NEGATED]}
    return not (_NEGATIONS - {_SPANISH_NEGATION}).isdisjoint(after)


def is_surely_noun(sentence: Sequence[Unit], place: int, grammar: Grammar) -> bool:
    """Whether a word that may be a verb is a noun of relation here: "a call", "Mira's visit", "got help"."""
    word, language = sentence[place].word, grammar.language
    is_noun = bool(event_nouns(word, language) or person_nouns(word, language))
    if language is not European.ENGLISH:
        has_article = place > 0 and sentence[place - 1].word in grammar.articles
        return is_noun and (language is European.GERMAN or has_article or not known_senses(word, language))
    if may_be_participle(word):
        return False
    if not is_noun:
        return word.endswith(_DEED_ENDINGS) and _is_noun_place(sentence, place, grammar)
    before = sentence[place - 1] if place else None
    if before is not None and before.is_person and place > 1:
        verb = sentence[place - 2].word  # "asked Mira questions"
        return verb not in grammar.between and (
            light_frame(verb, European.ENGLISH) is not None or may_be_participle(verb)
        )
    is_compound = (
        before is not None
        and before.kind is UnitKind.WORD
        and before.word not in grammar.between
        and before.word not in ("to", "and")
    )  # "a phone call"
    return is_compound or _is_noun_place(sentence, place, grammar)


def _is_noun_place(sentence: Sequence[Unit], place: int, grammar: Grammar) -> bool:
    """Whether an English word has a noun's place: after an article, an owner or a verb that carries a noun."""
    if may_be_participle(sentence[place].word):
        return False
    if place == 0:
        return len(sentence) > 1 and sentence[1].word in grammar.prepositions
    before = sentence[place - 1]
    if before.is_possessive or before.word in grammar.articles or before.word in _NOUN_SIGNS:
        return True
    frame = light_frame(before.word, European.ENGLISH) if before.kind is UnitKind.WORD else None
    return frame is not None and not (frame is GIVE and before.word in grammar.auxiliaries)  # "did call"
