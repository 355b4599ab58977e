"""Compares who did what to whom: the parts that names have in a question with those that they have in a text.

No parser: the order of names, verbs and prepositions is read by rules, for English, German, Spanish, French and
Portuguese.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..lazy_pattern import lazy_pattern
from .clause_grammar import GRAMMARS, Grammar
from .clause_slots import Slots, german_slots, noun_parties, slots
from .clause_units import TOKEN, USER, Unit, UnitKind, sentences, split_units
from .clauses import SENTENCE_BREAK
from .european_languages import European, european_language, words_of
from .ordinary_words import is_ordinary_word
from .role_lexicon import GIVE, Party, Sense, Slot, known_senses, noun_relation, senses
from .roles import Role, role_of
from .verb_forms import may_be_participle

TRANSFER_AGREEMENT = 0.5
"""The agreement between two relations in which something passes from one to the other, such as "gave" and "lent"."""
MAX_CHARS = 2000
"""Characters of a question or text that are read, from its beginning."""
_OBLIGATIONS = frozenset(("has", "have", "needs", "need", "had", "got"))
_WORD = lazy_pattern(r"[^\W_]+")
_RID = Unit("rid")
"""After "get", a word that turns it around: who gets rid of something receives nothing."""

Parties = Mapping[int, Party]
"""The party of each name, by its number in the question."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question says of its names: their words, and their parties in each relation that it may be about."""

    names: tuple[frozenset[str], ...]
    words: frozenset[str]
    parties: Mapping[str, Parties]
    transfer: Parties | None
    language: European


def role_agreement(question: str, text: str, speaker: str | None = None) -> float:
    """Whether the names of a question have the same parts in a text, in -1..1.

    Positive if who acts and who is acted upon is the same, negative if it is reversed, 0 if the text does not say, or
    is about another relation: "Whom did Jonas invite?" agrees with "Jonas invited Mira", and is opposed by "Mira
    invited Jonas". ``speaker`` is who "I" is in the text; "I" in the question is the user.
    """
    asked = _asked(question[:MAX_CHARS])
    if asked is None:
        return 0.0
    text = text[:MAX_CHARS]
    first_person = _speaker_number(asked, speaker)
    words = asked.words if first_person is None else frozenset(("",))
    if not _has_any(text, words):
        return 0.0
    grammar = GRAMMARS[asked.language]
    fit = misfit = 0.0
    parts = (part for part in SENTENCE_BREAK.split(text) if _has_any(part, words) and _has_relation(part, asked))
    for sentence in (one for part in parts for one in sentences(_units(part, asked, first_person))):
        for weight, asked_parties, parties in _comparisons(sentence, asked, grammar):
            agreement = {party is parties.get(number) for number, party in asked_parties.items() if number in parties}
            is_complete = (
                asked_parties.keys() <= parties.keys() or asked.language is European.GERMAN
            )  # nouns have capitals
            if len(agreement) != 1 or not is_complete:
                continue
            if True in agreement:
                fit = max(fit, weight)
            else:
                misfit = max(misfit, weight)
    return 0.0 if fit and misfit else fit - misfit


def _has_any(text: str, words: frozenset[str]) -> bool:
    """Whether a text has one of these in lower case, as a word or a part of one."""
    lower = text.lower()
    return any(word in lower for word in words)


def _has_relation(text: str, asked: _Asked) -> bool:
    """Whether a text has a word for a relation that is asked about; most texts have none and need not be read."""
    return any(
        any(_is_asked(sense, asked) for sense in senses(word, asked.language))
        or ((noun := noun_relation(word)) is not None and noun[0] in asked.parties)
        for word in _WORD.findall(text.lower())
    )


def _speaker_number(asked: _Asked, speaker: str | None) -> int | None:
    """The number of the asked name that the speaker of a text has."""
    is_user = speaker is None or role_of(speaker) is Role.USER
    words = frozenset((USER,) if is_user else str(speaker).lower().split())
    return next((number for number, name in enumerate(asked.names) if words <= name or name <= words), None)


@lru_cache(maxsize=64)
def _asked(question: str) -> _Asked | None:
    """What a question asks, or None if it says nothing of the parts of names."""
    language = _language(question)
    grammar = GRAMMARS[language]
    names: list[frozenset[str]] = []
    parties: dict[str, dict[int, Party]] = {}
    transfer: dict[int, Party] = {}
    for sentence in sentences(_question_units(question, grammar, language, names)):
        if not any(unit.number is not None for unit in sentence):
            continue
        statement, subject_follows, is_inverted = _as_statement(sentence, grammar, language)
        verb = _main_verb(statement, grammar, language, has_subject=is_inverted or subject_follows)
        if verb is not None:
            places = _places(statement, verb, grammar, language, subject_follows=subject_follows)
            sense = _sense(senses(statement[verb].word, language), places)
            if sense is not None:
                found = _parties(sense, places)
                parties.setdefault(sense.relation, {}).update(found)
                if sense.is_transfer:
                    transfer.update(found)
        elif language is European.ENGLISH:
            for place, unit in enumerate(statement):
                if unit.kind is UnitKind.WORD and (noun := noun_relation(unit.word)):
                    parties.setdefault(noun[0], {}).update(noun_parties(statement, place, noun[1]))
    parties = {relation: found for relation, found in parties.items() if found}
    if not parties:
        return None
    return _Asked(tuple(names), frozenset().union(*names), parties, transfer or None, language)


def _language(question: str) -> European:
    """The language of a question, by its question word, or else by its commonest words."""
    words = words_of(question)
    asking = [language for language, grammar in GRAMMARS.items() if words & grammar.asks]
    return asking[0] if len(asking) == 1 else european_language(words, asking) or European.ENGLISH


def _as_statement(sentence: list[Unit], grammar: Grammar, language: European) -> tuple[list[Unit], bool, bool]:
    """A question in the order of a statement; whether its subject follows the verb, and whether it was inverted."""
    fronted = (
        [sentence[0], Unit("whom", UnitKind.PRONOUN)]
        if sentence and (sentence[0].word in grammar.prepositions or sentence[0].word in grammar.by)
        else []
    )
    if language is European.GERMAN:
        return sentence, False, False
    if language is European.ENGLISH:
        for place, unit in enumerate(sentence[:-1]):
            following = sentence[place + 1]
            if unit.word in grammar.auxiliaries and unit.kind is UnitKind.WORD and following.is_person:
                end = place + 2
                while end + 1 < len(sentence) and sentence[end].word == "and" and sentence[end + 1].is_person:
                    end += 2
                owned = sentence[:place] if sentence[0].word == "whose" else []
                return [*sentence[place + 1 : end], unit, *sentence[end:], *owned, *fronted], False, True
    asks = next((unit.word for unit in sentence if unit.word in grammar.asks), None)
    follows = grammar.follows_verb and (bool(fronted) or asks not in grammar.asks_subject)
    return [*sentence[2:], *fronted] if fronted else sentence, follows, False


def _main_verb(units: Sequence[Unit], grammar: Grammar, language: European, *, has_subject: bool) -> int | None:
    """The index of the verb that a question is about: that of the table, or the first after the subject."""
    words = [
        place
        for place, unit in enumerate(units)
        if unit.kind is UnitKind.WORD
        and not unit.is_possessive
        and unit.word not in grammar.articles
        and unit.word not in grammar.prepositions
        and unit.word not in grammar.asks
        and (unit.word not in grammar.between or (place > 0 and _is_full_verb(units, place, language)))
        and not unit.word.endswith(("ly", "mente"))
    ]
    if language is European.GERMAN:
        words.reverse()  # the participle is at the end
    known = next((place for place in words if known_senses(units[place].word, language)), None)
    if known is not None and (grammar.follows_verb or language is European.GERMAN):
        return known  # a noun may come before: "¿Cuánto dinero le debe …?"
    if language is European.GERMAN:
        return next((place for place in words if senses(units[place].word, language)), None)
    person = next((place for place, unit in enumerate(units) if unit.is_person), 0 if has_subject else len(units))
    follows = next((place for place in words if place > person or (has_subject and person > place)), None)
    if follows is not None and senses(units[follows].word, language):
        is_noun = language is European.ENGLISH and noun_relation(units[follows].word) is not None
        if not is_noun and all(unit.word in grammar.between for unit in units[person + 1 : follows]):
            return follows
    return known


def _is_full_verb(units: Sequence[Unit], place: int, language: European) -> bool:
    """Whether a form of "have" or "get" is the verb itself, with no participle after it."""
    if not known_senses(units[place].word, language):
        return False
    following = units[place + 1].word if place + 1 < len(units) else ""
    return language is European.ENGLISH and not may_be_participle(following)


def _places(
    units: Sequence[Unit], verb: int, grammar: Grammar, language: European, *, subject_follows: bool = False
) -> Slots:
    if language is European.GERMAN:
        return german_slots(units, verb, grammar)
    return slots(units, verb, grammar, subject_follows=subject_follows)


def _sense(candidates: Sequence[Sense], places: Slots) -> Sense | None:
    """The sense of a verb among these names; a sense that needs a preposition comes first."""
    for sense in candidates:
        if sense.needed is not None and sense.needed in places.prepositions:
            return sense
    return next((sense for sense in candidates if sense.needed is None), None)


def _parties(sense: Sense, places: Slots) -> dict[int, Party]:
    """The parties of the asked names."""
    frame = sense.frame
    if sense.relation == "give" and sense.needed is None and frame is not GIVE and _has_recipient(places):
        frame = GIVE  # "Jonas got Mira a scarf"
    return {number: frame[slot] for slot, number in places.names if number is not None and slot in frame}


def _has_recipient(places: Slots) -> bool:
    return any(slot in (Slot.OBJECT, Slot.FOR) for slot, _ in places.names)


def _comparisons(sentence: Sequence[Unit], asked: _Asked, grammar: Grammar) -> Iterator[tuple[float, Parties, Parties]]:
    """The parties that a sentence gives to the asked names, beside those of the question, and how much they weigh."""
    if not any(unit.number is not None for unit in sentence):
        return
    for place, unit in enumerate(sentence):
        if unit.kind is not UnitKind.WORD:
            continue
        candidates = senses(unit.word, asked.language)
        if any(_is_asked(sense, asked) for sense in candidates):
            places = _places(sentence, place, grammar, asked.language)
            sense = _sense(candidates, places)
            if sense is None or sentence[place + 1 : place + 2] == [_RID]:
                continue
            found = _parties(sense, places)
            if "lend" in asked.parties and sense.frame is GIVE and _is_obligation(sentence, place):
                yield 1.0, asked.parties["lend"], {number: Party(-party) for number, party in found.items()}
            elif sense.relation in asked.parties:
                yield 1.0, asked.parties[sense.relation], found
            elif asked.transfer and sense.is_transfer:
                yield TRANSFER_AGREEMENT, asked.transfer, found
        if asked.language is European.ENGLISH and (noun := noun_relation(unit.word)) and noun[0] in asked.parties:
            yield 1.0, asked.parties[noun[0]], dict(noun_parties(sentence, place, noun[1]))


def _is_asked(sense: Sense, asked: _Asked) -> bool:
    """Whether a question is about the relation of a verb, or one that is near it."""
    return (
        sense.relation in asked.parties
        or (asked.transfer is not None and sense.is_transfer)
        or ("lend" in asked.parties and sense.frame is GIVE)
    )


def _is_obligation(sentence: Sequence[Unit], verb: int) -> bool:
    """Whether somebody has to give what the verb says: who has to pay owes."""
    before = [unit.word for unit in sentence[max(0, verb - 3) : verb]]
    return "must" in before or ("to" in before and not _OBLIGATIONS.isdisjoint(before))


def _question_units(question: str, grammar: Grammar, language: European, names: list[frozenset[str]]) -> list[Unit]:
    """The units of a question, in which names are numbered; the words of each are added to ``names``."""
    known = _lowercase_names(question, grammar) if language is European.ENGLISH and question.islower() else frozenset()
    result: list[Unit] = []
    for unit in split_units(question, language, known):
        if unit.number is None and unit.kind is not UnitKind.NAME:
            asks = unit.word in grammar.asks_subject or unit.word in grammar.asks_object
            is_owner = unit.word == "whose"
            result.append(Unit(unit.word, UnitKind.PRONOUN, None, is_owner) if asks or is_owner else unit)
            continue
        words = frozenset((USER,)) if unit.number is not None else frozenset(unit.word.split())
        if words not in names:
            names.append(words)
        result.append(unit._replace(number=names.index(words)))
    return result


def _lowercase_names(question: str, grammar: Grammar) -> frozenset[str]:
    """The words of a question without capitals that may be names: after an auxiliary, a preposition or a verb."""
    words = [match[0] for match in TOKEN.finditer(question)]
    found = {
        word: before
        for before, word in pairwise(words)
        if word.isalpha()
        and not is_ordinary_word(word)
        and word not in grammar.between | grammar.articles
        and (
            before in grammar.auxiliaries
            or before in grammar.prepositions
            or before in grammar.by
            or known_senses(before, European.ENGLISH)
        )
    }
    certain = frozenset(word for word, before in found.items() if before != "to")  # "to" is also before a verb
    return certain or frozenset(found)


def _units(text: str, asked: _Asked, first_person: int | None) -> Iterator[Unit]:
    """The units of a text, in which the asked names have their numbers."""
    for unit in split_units(text, asked.language, asked.words):
        if unit.number is not None:
            yield unit._replace(number=first_person)
        elif unit.kind is UnitKind.NAME:
            yield unit._replace(number=_name_number(frozenset(unit.word.split()), asked.names))
        else:
            yield unit


def _name_number(words: frozenset[str], names: Sequence[frozenset[str]]) -> int | None:
    return next((number for number, name in enumerate(names) if words <= name or name <= words), None)
