"""Splits text into words, names and marks, the units in which clauses are read."""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from ...model.lazy import lazy_pattern
from ..chat_roles import Role
from ..language_identification import European
from ..word_lists import DATE_WORDS, FOREIGN_STARTERS, SENTENCE_STARTERS, is_ordinary_word
from .grammar import Grammar, Slot, grammar_of
from .lexicon import event_nouns, person_nouns

USER = Role.USER.value
"""The word for the user: in "the user", and for who "I" is in a question."""
TOKEN = lazy_pattern(
    r"(?:Mr|Mrs|Ms|Dr|Prof|St)\.|[^\W_]+(?:['’][^\W_]+)*(?:(?<=s)['’](?!\w))?|[.!?;:,\n()→]|->|(?<=\s)[-–—](?=\s)"
)
"""A word or a mark."""
_CLITIC = lazy_pattern(r"(?:n't|'(?:m|ve|re|d|ll))\Z")
_ELISION = lazy_pattern(r"\b([ldjmnst]|qu)['’](?=\w)", re.IGNORECASE)
_INVERTED_PRONOUN = lazy_pattern(r"(?<=\w)-(?:t-)?(?:ils?|elles?|on|je|tu)\b")
_AUXILIARIES = {"n't": "not", "'m": "am", "'ve": "have", "'re": "are", "'d": "would", "'ll": "will"}
_CONTRACTED = {"wo": "will", "ca": "can", "sha": "shall"}
_NOT_OWNERS = frozenset("it he she that what who there here let how where when".split())  # noqa: SIM905
_POSSESSIVES = frozenset(
    "my mine our your his their mein meine meiner meinem meinen mi mon ma mes meu minha".split()  # noqa: SIM905
)
_ARROWS = frozenset(("→", "->"))
_SENTENCE_ENDS = frozenset(".!?;\n-–—")
_NOT_NAMES = SENTENCE_STARTERS | FOREIGN_STARTERS | DATE_WORDS


class UnitKind(Enum):
    """What a unit of a sentence is."""

    WORD = "word"
    NAME = "name"
    PRONOUN = "pronoun"
    MARK = "mark"


class Unit(NamedTuple):
    """A word in lower case, a whole name or a mark; ``number`` is the number of an asked name."""

    word: str
    kind: UnitKind = UnitKind.WORD
    number: int | None = None
    is_possessive: bool = False

    @property
    def is_person(self) -> bool:
        """Whether it can be a subject or object by itself."""
        return self.kind in (UnitKind.NAME, UnitKind.PRONOUN) and not self.is_possessive


def split_units(text: str, language: European, known: frozenset[str]) -> Iterator[Unit]:
    """The units of a text; a name of several words is one, except in German, whose nouns have capitals.

    Words in lower case that are in ``known`` are names too. Names have no number yet, the first person has -1.
    """
    grammar = grammar_of(language)
    joins_names = grammar.joins_names
    held: Unit | None = None
    for unit in _split_words(text, grammar, known):
        if held is not None:
            if held.kind is UnitKind.NAME and unit.kind is UnitKind.NAME and not held.is_possessive and joins_names:
                held = Unit(f"{held.word} {unit.word}", UnitKind.NAME, None, unit.is_possessive)
                continue
            if not joins_names and held.kind is UnitKind.NAME and person_nouns(unit.word, language):
                held = _genitive(held)
            if not (held.word == "the" and unit.word == USER):
                yield held
        if unit.word in _ARROWS:
            held = Unit(grammar.preposition(Slot.TO))  # "Jonas → Mira"
        else:
            held = Unit(unit.word, UnitKind.NAME, None, unit.is_possessive) if unit.word == USER else unit
    if held is not None:
        yield held


def _genitive(name: Unit) -> Unit:
    """A German name before a noun for a person as its owner, without its "s": "Miras Chef"."""
    return Unit(name.word[:-1], UnitKind.NAME, None, True) if name.word.endswith("s") else name


def sentences(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """The units of each sentence; a dash and a semicolon end one too."""
    sentence: list[Unit] = []
    for unit in units:
        if unit.word in _SENTENCE_ENDS:
            if sentence:
                yield sentence
            sentence = []
        else:
            sentence.append(unit)
    if sentence:
        yield sentence


def _split_words(text: str, grammar: Grammar, known: frozenset[str]) -> Iterator[Unit]:
    """The words, names and marks of a text; a name of several words is in its parts."""
    if grammar is grammar_of(European.FRENCH):
        text = _INVERTED_PRONOUN.sub("", _ELISION.sub(r"\1 ", text))
    is_start = True
    for match in TOKEN.finditer(text):
        token = match[0]
        if not token[0].isalnum():
            yield Unit(token, UnitKind.MARK)
            is_start = token in _SENTENCE_ENDS
            continue
        if token.endswith("."):
            continue
        token, is_owner, auxiliary = _without_ending(token)
        lower = token.lower()
        if lower in grammar.first_person:
            yield Unit(lower, UnitKind.PRONOUN, -1, lower in _POSSESSIVES)
        elif lower in known or (
            token[0].isupper()
            and lower not in _NOT_NAMES
            and lower not in grammar.asks
            and lower not in grammar.prepositions
            and lower not in grammar.articles
            and not (is_start and is_ordinary_word(token))
            and not ((is_start or not grammar.joins_names) and _is_role_noun(lower, grammar.language))
        ):
            yield Unit(lower, UnitKind.NAME, None, is_owner)
        elif lower in grammar.pronouns:
            yield Unit(lower, UnitKind.PRONOUN)
        else:
            yield Unit(_CONTRACTED.get(lower, lower), UnitKind.WORD, None, is_owner)
        if auxiliary:
            yield Unit(auxiliary)
        is_start = False


def _is_role_noun(word: str, language: European) -> bool:
    """Whether a word with a capital is a noun of relation rather than a name."""
    return bool(event_nouns(word, language) or person_nouns(word, language))


def _without_ending(token: str) -> tuple[str, bool, str | None]:
    """A word without "'s", "n't" and the like; whether it is a possessive; and the auxiliary in its ending."""
    word = token.replace("’", "'")
    if "'" not in word:
        return word, False, None
    if word.endswith(("'s", "s'")) and len(word) > 2:
        stem = word[:-2] if word.endswith("'s") else word[:-1]
        is_owner = stem.lower() not in _NOT_OWNERS
        return stem, is_owner, None if is_owner else "is"
    clitic = _CLITIC.search(word)
    if clitic is None or not clitic.start():
        return word, False, None
    return word[: clitic.start()], False, _AUXILIARIES.get(clitic[0])
