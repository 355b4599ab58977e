"""Reads what a question says of the parts of names: who is asked about, and which part each name has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..language_identification import European, european_language, words_of
from ..word_lists import is_ordinary_word
from .grammar import Grammar, Party, grammar_of
from .lexicon import known_senses, light_frame, may_be_participle, person_nouns, senses
from .sentences import (
    Parties,
    Relation,
    fitting_senses,
    is_surely_noun,
    note_relations,
    noun_relations,
    parties_of,
    words_near,
)
from .slots import verb_places
from .units import TOKEN, USER, Unit, UnitKind, sentences, split_units


@dataclass(frozen=True, slots=True)
class RoleQuestion:
    """What a question says of its names: their words, and their parties in each relation that it may be about.

    ``transfer`` are the parties in a relation in which something passes on, None if it is about no such relation.
    """

    names: tuple[frozenset[str], ...]
    words: frozenset[str]
    parties: Mapping[str, Parties]
    transfer: Parties | None
    language: European


@lru_cache(maxsize=64)
def role_question(question: str) -> RoleQuestion | None:
    """What a question asks, or None if it says nothing of the parts of names."""
    language = _language(question)
    grammar = grammar_of(language)
    names: list[frozenset[str]] = []
    parties: dict[str, dict[int, Party]] = {}
    transfer: dict[int, Party] = {}
    for sentence in sentences(_question_units(question, grammar, language, names)):
        if not any(unit.number is not None for unit in sentence):
            continue
        for relation in _question_relations(sentence, grammar):
            if relation.parties:
                parties.setdefault(relation.name, {}).update(relation.parties)
                if relation.is_transfer:
                    transfer.update(relation.parties)
    if not parties:
        return None
    return RoleQuestion(tuple(names), frozenset().union(*names), parties, transfer or None, language)


def _question_relations(sentence: list[Unit], grammar: Grammar) -> list[Relation]:
    """The relations that a question may be about: of its main verb, or of the noun that this verb carries."""
    language = grammar.language
    statement, subject_follows, is_inverted = _as_statement(sentence, grammar, language)
    verb = _main_verb(statement, grammar, language, has_subject=is_inverted or subject_follows)
    nouns: list[Relation] = []
    if verb is None or light_frame(statement[verb].word, language) is not None:
        nouns = [
            relation
            for place, unit in enumerate(statement)
            if unit.kind is UnitKind.WORD and place != verb
            for relation in noun_relations(statement, place, grammar, is_question=True, subject_follows=subject_follows)
        ]
    if verb is None:
        return nouns or list(note_relations(statement, grammar))
    places = verb_places(statement, verb, grammar, subject_follows=subject_follows)
    found = fitting_senses(senses(statement[verb].word, language), places, words_near(statement, verb, grammar))
    if any(relation.parties for relation in nouns):
        found = [sense for sense in found if sense.word and sense.word != "$"]  # the verb only carries the noun
    return [*nouns, *(Relation(sense.relation, parties_of(sense, places), sense.is_transfer) for sense in found)]


def _language(question: str) -> European:
    """The language of a question, by its question word, or else by its commonest words."""
    words = words_of(question)
    asking = [language for language in European if words & grammar_of(language).asks]
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
    """The index of the verb that a question is about: a verb of the table, or the first after the subject."""
    words = [
        place
        for place, unit in enumerate(units)
        if unit.kind is UnitKind.WORD
        and not unit.is_possessive
        and unit.word not in grammar.small_words
        and not is_surely_noun(units, place, grammar)
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
        is_noun = language is European.ENGLISH and bool(person_nouns(units[follows].word, language))
        if not is_noun and all(unit.word in grammar.between for unit in units[person + 1 : follows]):
            return follows
    return known


def _is_full_verb(units: Sequence[Unit], place: int, language: European) -> bool:
    """Whether a form of "have" or "get" is the verb itself, with no participle after it."""
    if not known_senses(units[place].word, language):
        return False
    following = units[place + 1].word if place + 1 < len(units) else ""
    return language is European.ENGLISH and following != "to" and not may_be_participle(following)


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
