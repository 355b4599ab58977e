"""Tells whether the person whom a question asks about is the one whom a text is about: its subject.

"Where was I born?" is answered by "I first saw the light of day in Lund" and not by "My grandfather was born in Riga".
Rules for English, German, Spanish, French, Italian, Portuguese, Chinese and Japanese; no parser.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache

from ..lazy_pattern import lazy_pattern
from .dates_cjk import has_cjk
from .european_languages import European, european_language, word_set, words_of
from .factuality import MAX_CHARS, without_quotations
from .names import names
from .ordinary_words import is_ordinary_word
from .relation_lexicon import relations_by_noun
from .roles import is_assistant
from .subject_lexicon import (
    ARTICLES,
    FIRST_PERSON_VERBS,
    I_WORDS,
    ME_WORDS,
    MY_WORDS,
    OTHERS,
    PERSON_NOUNS,
    THIRD_PERSON_VERBS,
    WE_WORDS,
    YOU_WORDS,
)


class _Kind(Enum):
    SELF = "the speaker"
    ADDRESSEE = "the one who is addressed"
    USER = "the user"
    NAME = "somebody by name"
    RELATION = "somebody by a relation, as in 'my sister'"
    OTHER = "somebody else"


@dataclass(frozen=True, slots=True)
class _Subject:
    """A person; ``words`` are those of a name, or the relations of a noun.

    ``is_owner`` if a thing of theirs is meant, or a group that they belong to: "my laptop", "we".
    """

    kind: _Kind
    words: frozenset[str] = frozenset()
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words of a clause, as written and in lower case, and where each ends; ``known`` are words of names."""

    text: str
    words: list[str]
    lowers: list[str]
    ends: list[int]
    language: European
    known: frozenset[str]


_SELF, _GROUP = _Subject(_Kind.SELF), _Subject(_Kind.SELF, is_owner=True)
_ADDRESSEE, _OTHER, _USER = _Subject(_Kind.ADDRESSEE), _Subject(_Kind.OTHER), _Subject(_Kind.USER)
_USERS_THING = _Subject(_Kind.USER, is_owner=True)
_USER_WORDS = word_set("user user's nutzer benutzer usuario utilisateur usuário")
_NOT_PERSONS = frozenset(("pet", "dog", "cat", "rabbit", "hamster", "bird", "horse", "turtle"))
_AND_I = (["and", "i"], ["und", "ich"], ["y", "yo"], ["et", "moi"], ["e", "eu"], ["e", "io"])
_VERB_ENDINGS = ("ed", "es", "ts", "ks", "ns", "ds", "ys", "ls")
_NAMING = lazy_pattern(
    r"\W*(?:(?:is|are|was)(?: now| still| currently)? (?:called |named )?(?:[Dd]r\.? |Mr\.? |Mrs\.? |Ms\.? )?[A-Z]|"
    r"goes by|'s name|heißt|ist (?:[Dd]r\.? )?[A-ZÄÖÜ]\w+\W*$|se llama|es [A-ZÁÉÍÓÚ]|s'appelle|est [A-ZÉ]|se chama|"
    r"é [A-Z]|si chiama|named|called)"
)
"""What follows a relation whose name is told: that is a statement of the speaker."""
_CLAUSE_END = lazy_pattern(
    r"[.!?…;:,\n]+(?:\s+|$)|\s[–—-]\s|(?<=\w)\s+(?:but|so|while|whereas|aber|doch|pero|mais|mas)\s+"
)
_TOKEN = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)*(?:(?<=s)['’](?!\w))?")
_WORD = lazy_pattern(r"[^\W\d_]+")
_CLITIC = lazy_pattern(r"\b[Jj]['’](?=\w)")
_ASKS_WHO = lazy_pattern(r"\b(?:who|whom|whose|wer|wen|wem|wessen|quién|quiénes|qui|quem|chi)\b|[谁誰]", re.IGNORECASE)
MAX_CJK_GAP = 3
"""The characters between "I" and a noun for a person that belongs to it, as in 我的哥哥."""
_CJK_SELF = lazy_pattern(r"[我咱私僕俺]|わたし|ぼく|用户|用戶|ユーザー")
_CJK_OTHERS = lazy_pattern(r"[他她它]|彼|人们|大家|有人|みんな")
_CJK_CLAUSE_END = lazy_pattern(r"[，。！？；、,.!?;\n]+")


def subject_agreement(question: str, text: str, speaker: str | None = None) -> float:
    """How far a text is about the person whom a question asks about, -1 to 1; 0 if it does not say, or is long.

    It is the part of the clauses that are about this person, less the part that are about others. ``speaker`` is who
    "I" is in the text; "I" in the question is the user, and every speaker by name may be the user.
    """
    asked = _asked_subject(question)
    if asked is None or len(text) > MAX_CHARS:
        return 0.0
    bare, _ = without_quotations(text)
    found = list(_cjk_subjects(bare) if has_cjk(bare) else _clause_subjects(bare, asked))
    if not found and is_assistant(speaker) and asked == _SELF:
        return -1.0  # what an assistant says of no one is not about the user
    signs = [sign for one in found if (sign := _agreement(asked, one, speaker))]
    return sum(signs) / len(signs) if signs else 0.0


def name_coverage(question: str, text: str, speaker: str | None = None) -> float:
    """The part of the names in a question that a text mentions or that its speaker has, 0 to 1; 0 without a name.

    A name that may be an ordinary word, such as Mark or IT, is mentioned only if it is written as in the question.
    """
    asked = _asked_names(question)
    if not asked:
        return 0.0
    whole = f"{speaker or ''} {text}"
    exact_words = set(_WORD.findall(whole))
    words = words_of(whole)
    return sum(_is_mentioned(name, whole, words, exact_words) for name in asked) / len(asked)


def _is_mentioned(name: str, text: str, words: set[str], exact_words: set[str]) -> bool:
    if has_cjk(name):
        return name in text
    return any(part in exact_words if is_ordinary_word(part) else part.lower() in words for part in _WORD.findall(name))


@lru_cache(maxsize=64)
def _asked_names(question: str) -> tuple[str, ...]:
    return names(question)


@lru_cache(maxsize=64)
def _asked_subject(question: str) -> _Subject | None:
    """Whom a question asks about; None if it is about nobody, or about who does something to somebody."""
    if has_cjk(question):
        return next(_cjk_subjects(question), None)
    found = [one for clause in _clauses(question) for one in _persons(clause)]
    for kind in (_Kind.RELATION, _Kind.USER, _Kind.SELF):
        of_kind = [one for one in found if one.kind is kind]
        if of_kind:
            return next((one for one in of_kind if not one.is_owner), of_kind[0])
    named = [one for one in found if one.kind is _Kind.NAME]
    named = named or [_Subject(_Kind.NAME, frozenset(name.lower().split())) for name in _asked_names(question)]
    return named[0] if len(named) == 1 and _ASKS_WHO.search(question) is None else None


def _agreement(asked: _Subject, found: _Subject, speaker: str | None) -> int:
    """1 if both are the same person, -1 if they are different ones, 0 if that is open."""
    if asked.kind is _Kind.RELATION:
        return _sign(not asked.words.isdisjoint(found.words)) if found.kind is _Kind.RELATION else 0
    if found.kind is _Kind.ADDRESSEE:
        return 0
    if asked.kind is _Kind.NAME:
        return _agreement_with_name(asked.words, found, speaker)
    if found.kind in (_Kind.SELF, _Kind.USER):
        return _sign(found.kind is _Kind.USER or not is_assistant(speaker))
    return 0 if asked.is_owner and found.kind is not _Kind.RELATION else -1


def _agreement_with_name(name: frozenset[str], found: _Subject, speaker: str | None) -> int:
    if found.kind is _Kind.SELF:
        return _sign(speaker is not None and not name.isdisjoint(speaker.lower().split()))
    if found.kind is _Kind.NAME:
        return _sign(not name.isdisjoint(found.words))
    return 0 if found.kind is _Kind.OTHER else -1


def _sign(is_same: bool) -> int:
    return 1 if is_same else -1


def _clause_subjects(text: str, asked: _Subject) -> Iterator[_Subject]:
    """The subject of each clause that has one."""
    known = asked.words if asked.kind is _Kind.NAME else frozenset()
    for clause in _clauses(text, known):
        subject = _SELF if not I_WORDS.isdisjoint(clause.lowers) else next(_persons(clause), None)
        if subject is not None:
            yield subject


def _clauses(text: str, known: frozenset[str] = frozenset()) -> Iterator[_Clause]:
    for part in _CLAUSE_END.split(text):
        written = _CLITIC.sub("je ", part)
        matches = list(_TOKEN.finditer(written))
        if matches:
            words = [match[0].replace("’", "'") for match in matches]
            lowers = [word.lower() for word in words]
            language = european_language(set(lowers)) or European.ENGLISH
            yield _Clause(written, words, lowers, [match.end() for match in matches], language, known)


def _persons(clause: _Clause) -> Iterator[_Subject]:
    """The persons of a clause, in order."""
    if clause.language not in (European.ENGLISH, European.GERMAN) and not FIRST_PERSON_VERBS.isdisjoint(
        clause.lowers[:3]
    ):
        yield _SELF
    place = 0
    while place < len(clause.words):
        found = _pronoun(clause, place) or _owned(clause, place) or _name(clause, place)
        subject, length = found or (None, 1)
        if subject is not None:
            yield subject
        place += length


def _pronoun(clause: _Clause, place: int) -> tuple[_Subject, int] | None:
    """The person of a pronoun at a place, and the number of its words."""
    lower = clause.lowers[place]
    if lower in I_WORDS or lower in ME_WORDS:
        return (_GROUP if lower in WE_WORDS else _SELF), 1
    if lower in OTHERS:
        return _OTHER, 1
    if lower in ("tu", "ihr") and clause.language not in (European.FRENCH, European.GERMAN):
        return None
    return (_ADDRESSEE, 1) if lower in YOU_WORDS else None


def _owned(clause: _Clause, place: int) -> tuple[_Subject, int] | None:
    """The person of "my sister", "the user's boss" or "the children" at a place, and the number of words."""
    lower, rest = clause.lowers[place], clause.lowers[place + 1 :]
    is_user, is_mine = lower in _USER_WORDS, lower in MY_WORDS
    if is_user and not lower.endswith("'s"):
        return _USER, 1
    if not (is_user or is_mine or lower in ARTICLES):
        return None
    noun = _person_noun(rest[: 3 if is_user or is_mine else 2])
    if noun is None:
        return (_USERS_THING if is_user else _GROUP, 1) if is_user or is_mine else None
    word, length = noun[0], 1 + noun[1]
    if not (is_user or is_mine):
        return _OTHER, length
    is_naming = _NAMING.match(clause.text[clause.ends[place + noun[1]] :]) is not None
    if is_naming or clause.lowers[place + length : place + length + 2] in _AND_I:
        return _USERS_THING if is_user else _SELF, length
    return _Subject(_Kind.RELATION, frozenset(_person_relations().get(word, (word,)))), length


def _name(clause: _Clause, place: int) -> tuple[_Subject | None, int] | None:
    """The person of a name at a place, and the number of its words; a note begins with a capital, too."""
    length = 0
    while place + length < len(clause.words) and _is_name(clause, place + length):
        length += 1
    if not length:
        return None
    if not place and not _is_known(clause, 0) and not _is_verb(clause.lowers[length : length + 1]):
        return None, length
    parts = clause.lowers[place : place + length]
    return _Subject(_Kind.NAME, frozenset(part.removesuffix("'s").removesuffix("'") for part in parts)), length


def _is_name(clause: _Clause, place: int) -> bool:
    """Whether a word is of a name: in German, whose nouns have capitals, only one that is known."""
    word = clause.words[place]
    return _is_known(clause, place) or (
        word[:1].isupper() and clause.language is not European.GERMAN and not is_ordinary_word(word)
    )


def _is_known(clause: _Clause, place: int) -> bool:
    lower = clause.lowers[place]
    return bool(clause.known) and not clause.known.isdisjoint(
        (lower, lower.removesuffix("'s"), lower.removesuffix("s"))
    )


def _is_verb(words: list[str]) -> bool:
    return any(word in THIRD_PERSON_VERBS or word.endswith(_VERB_ENDINGS) for word in words)


def _person_noun(words: list[str]) -> tuple[str, int] | None:
    """The first noun for a person among some words, and its number from 1."""
    for number, word in enumerate(words, 1):
        bare = word.removesuffix("'s").removesuffix("'")
        for form in (bare, bare.removesuffix("s")):
            if form in PERSON_NOUNS or form in _person_relations():
                return form, number
    return None


@cache
def _person_relations() -> dict[str, tuple[str, ...]]:
    return {noun: found for noun, found in relations_by_noun().items() if _NOT_PERSONS.isdisjoint(found)}


def _cjk_subjects(text: str) -> Iterator[_Subject]:
    """The first person of each clause of a Chinese or Japanese text."""
    for clause in _CJK_CLAUSE_END.split(text):
        noun, own, other = _cjk_nouns().search(clause), _CJK_SELF.search(clause), _CJK_OTHERS.search(clause)
        if noun and not (own and own.start() < noun.start() - MAX_CJK_GAP):
            yield _Subject(_Kind.RELATION, frozenset(_person_relations()[noun[0]]))
        elif own and not (other and other.start() < own.start()):
            yield _SELF
        elif other:
            yield _OTHER


@cache
def _cjk_nouns() -> re.Pattern[str]:
    """A pattern of the nouns for persons in Chinese and Japanese, the longest first."""
    nouns = sorted((noun for noun in _person_relations() if has_cjk(noun)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, nouns)))
