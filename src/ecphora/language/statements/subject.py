"""Tells whether the person whom a question asks about is the one whom a text is about: its subject.

"Where was I born?" is answered by "I first saw the light of day in Lund" and not by "My grandfather was born in Riga".
Rules for English, German, Spanish, French, Italian, Portuguese, Chinese and Japanese; no parser. The words by which a
subject is told are by language, for "on", "die" and "mia" are other words in English. The Romance languages have one
table, for short texts of theirs are easily confused; Italian is among them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache, lru_cache

from ...model.lazy import lazy_pattern
from ..chat_roles import is_assistant
from ..dates.cjk import has_cjk
from ..language_identification import European, likely_languages, words_of
from ..lexicon_file import lexicon_words
from ..names.mentions import names
from ..names.persons import OTHER, SELF, Person, PersonKind, cjk_persons, person_relations
from ..names.relation_lexicon import NARROWER_RELATIONS, relations_by_noun
from ..word_lists import is_ordinary_word
from .factuality import MAX_CHARS, without_quotations


@dataclass(frozen=True, slots=True)
class SubjectWords:
    """Words by which the persons of a clause are told.

    ``i``, ``we`` (of several), ``me`` (objects) and ``my`` are of the first person, ``you`` of the second, ``others``
    of the third and for people. ``nameless`` are articles after which no person's name stands, though it may stand
    after others ("la Marta"). ``prepositions`` are before what is no subject, ``of`` before the owner of a thing, and
    before names that are no subjects.
    """

    i: frozenset[str]
    we: frozenset[str]
    me: frozenset[str]
    my: frozenset[str]
    you: frozenset[str]
    others: frozenset[str]
    articles: frozenset[str]
    nameless: frozenset[str]
    prepositions: frozenset[str]
    of: frozenset[str]


_ROMANCE = frozenset((European.SPANISH, European.FRENCH, European.PORTUGUESE))


def _section(language: European) -> str:
    """The section of a language in ``lexicon/subjects.ini``."""
    return "romance" if language in _ROMANCE else language.section


@cache
def subject_words(languages: tuple[European, ...]) -> SubjectWords:
    """The words of a text that may be in any of some languages."""
    sections = {_section(language) for language in languages}
    return SubjectWords(
        **{
            one.name: frozenset[str]().union(*(lexicon_words("subjects", section, one.name) for section in sections))
            for one in fields(SubjectWords)
        }
    )


@cache
def _words(key: str) -> frozenset[str]:
    """The words of a key that are for all languages."""
    return lexicon_words("subjects", "all", key)


RELATION_LANGUAGES: Mapping[European, tuple[str, ...]] = {
    European.ENGLISH: ("en",),
    European.GERMAN: ("de",),
    **dict.fromkeys((European.SPANISH, European.FRENCH, European.PORTUGUESE), ("es", "fr", "it", "pt")),
}
"""The languages of ``names.relation_lexicon`` whose nouns a text may have."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words of a clause, as written and in lower case, and where each ends; ``known`` are words of names.

    ``languages`` are the languages that the text may be in.
    """

    text: str
    words: list[str]
    lowers: list[str]
    ends: list[int]
    languages: tuple[European, ...]
    known: frozenset[str]

    @property
    def lexicon(self) -> SubjectWords:
        return subject_words(self.languages)

    def before(self, place: int) -> str:
        """The word before a place in lower case; "" for the first."""
        return self.lowers[place - 1] if place else ""


_GROUP = Person(PersonKind.SELF, is_owner=True)
_ADDRESSEE, _USER = Person(PersonKind.ADDRESSEE), Person(PersonKind.USER)
_USERS_THING = Person(PersonKind.USER, is_owner=True)
_NO_PRONOUN_NEEDED = frozenset(European) - {European.ENGLISH, European.GERMAN, European.FRENCH}
_AND_I = (["and", "i"], ["und", "ich"], ["y", "yo"], ["et", "moi"], ["e", "eu"], ["e", "io"])
_MINE = ("mine", "ours")
"""After "of", they are of another one: "a friend of mine"."""
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
_CLITIC = lazy_pattern(r"\b([JjLlDd]|[Qq]u|[Dd]ell|[Aa]ll|[Uu]n)['’](?=\w)")
_ASKS_WHO = lazy_pattern(r"\b(?:who|whom|whose|wer|wen|wem|wessen|quién|quiénes|qui|quem|chi)\b|[谁誰]", re.IGNORECASE)


def subject_agreement(question: str, text: str, speaker: str | None = None) -> float:
    """How far a text is about the person whom a question asks about, -1 to 1; 0 if it does not say, or is long.

    It is the part of the clauses that are about this person, less the part that are about others. ``speaker`` is who
    "I" is in the text; "I" in the question is the user, and every speaker by name may be the user.
    """
    asked = _asked_subject(question)
    if asked is None or len(text) > MAX_CHARS:
        return 0.0
    bare, _ = without_quotations(text)
    found = list(cjk_persons(bare) if has_cjk(bare) else _clause_subjects(bare, asked))
    if not found and is_assistant(speaker) and asked == SELF:
        return -1.0  # what an assistant says of no one is not about the user
    if asked.kind is not PersonKind.NAME:
        others = words_of(question)  # "Netflix costs 12 euros" is of "What do I pay for Netflix?"
        found = [one for one in found if one.kind is not PersonKind.NAME or one.words.isdisjoint(others)]
    signs = [sign for one in found if (sign := _agreement(asked, one, speaker))]
    return sum(signs) / len(signs) if signs else 0.0


def asks_about_relation(question: str) -> bool:
    """Whether a question is about somebody by a relation, such as "my brother"."""
    asked = _asked_subject(question)
    return asked is not None and asked.kind is PersonKind.RELATION


def asks_about_self(question: str) -> bool:
    """Whether a question is about the one who asks."""
    return _asked_subject(question) in {SELF, _GROUP}


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
def _asked_subject(question: str) -> Person | None:
    """Whom a question asks about; None if it is about nobody, or about who does something to somebody."""
    if has_cjk(question):
        return next(cjk_persons(question), None)
    clauses = list(_clauses(question))
    found = [one for clause in clauses for one in _persons(clause)]
    if _ASKS_WHO.search(question) is not None and not any(map(_says_i, clauses)):
        found = [one for one in found if one.kind is not PersonKind.SELF]  # "Who visits me?" is about another one
    for kind in (PersonKind.RELATION, PersonKind.USER, PersonKind.SELF):
        of_kind = [one for one in found if one.kind is kind]
        if of_kind:
            return next((one for one in of_kind if not one.is_owner), of_kind[0])
    named = [one for one in found if one.kind is PersonKind.NAME]
    named = named or [
        Person(PersonKind.NAME, frozenset(name.lower().split()))
        for name in _asked_names(question)
        if not _follows_preposition(name, question)
    ]
    return named[0] if len(named) == 1 and _ASKS_WHO.search(question) is None else None


def _says_i(clause: _Clause) -> bool:
    """Whether the speaker is the subject of a clause, by a pronoun or by the verb alone."""
    return not (clause.lexicon.i | _words("first person verbs")).isdisjoint(clause.lowers)


def _follows_preposition(name: str, question: str) -> bool:
    """Whether a name stands for a place, or for the owner of something: "the capital of Peru"."""
    before = _WORD.findall(question[: question.find(name)])
    words = subject_words(tuple(European))
    return bool(before) and before[-1].lower() in words.prepositions | words.of


def _agreement(asked: Person, found: Person, speaker: str | None) -> int:
    """1 if both are the same person, -1 if they are different persons, 0 if that is open."""
    if asked.kind is PersonKind.RELATION:
        return _agreement_with_relation(asked.words, found)
    if found.kind is PersonKind.ADDRESSEE:
        return 0
    if asked.kind is PersonKind.NAME:
        return _agreement_with_name(asked.words, found, speaker)
    if found.kind is PersonKind.SELF and is_assistant(speaker):
        return -1
    if found.kind in (PersonKind.SELF, PersonKind.USER):
        return 0 if asked.is_owner else 1  # "my car" is also told of without "I"
    return 0 if asked.is_owner and found.kind is not PersonKind.RELATION else -1


def _agreement_with_relation(relations: frozenset[str], found: Person) -> int:
    """As ``_agreement``, with a relation: a wife is a partner, and the other way round perhaps."""
    if not found.words or found.kind is PersonKind.NAME:
        return 0
    return _sign(not _with_narrower(relations).isdisjoint(_with_narrower(found.words)))


def _with_narrower(relations: frozenset[str]) -> frozenset[str]:
    return relations.union(*(NARROWER_RELATIONS.get(one, ()) for one in relations))


def _agreement_with_name(name: frozenset[str], found: Person, speaker: str | None) -> int:
    if found.kind is PersonKind.SELF:
        return _sign(speaker is not None and not name.isdisjoint(speaker.lower().split()))
    if found.kind is PersonKind.NAME:
        return _sign(not name.isdisjoint(found.words))
    return 0 if found.kind is PersonKind.OTHER else -1


def _sign(is_same: bool) -> int:
    return 1 if is_same else -1


def _clause_subjects(text: str, asked: Person) -> Iterator[Person]:
    """The subject of each clause that has one, and does not have the one asked about in another part."""
    known = asked.words if asked.kind is PersonKind.NAME else frozenset()
    for clause in _clauses(text, known):
        found = list(_persons(clause))
        own = next((one for one in found if one.kind is PersonKind.SELF and one.words), SELF)
        says_i = not clause.lexicon.i.isdisjoint(clause.lowers)
        subject = own if says_i else next(iter(found), None)
        if subject is not None and (_is_same(asked, subject) or not _mentions(asked, clause, found)):
            yield subject


def _is_same(asked: Person, found: Person) -> bool:
    if found.kind is not asked.kind:
        return False
    return asked.kind is not PersonKind.NAME or not asked.words.isdisjoint(found.words)


def _mentions(asked: Person, clause: _Clause, found: list[Person]) -> bool:
    """Whether a clause has the one asked about in any part: "My boss gave me a raise" for "What did I get?"."""
    if asked.kind is PersonKind.NAME:
        return any(_is_known(clause, place) for place in range(len(clause.words)))
    return asked.kind in (PersonKind.SELF, PersonKind.USER) and any(_is_same(asked, one) for one in found)


def _clauses(text: str, known: frozenset[str] = frozenset()) -> Iterator[_Clause]:
    languages = tuple(likely_languages(words_of(text)) or European)
    for part in _CLAUSE_END.split(text):
        written = _CLITIC.sub(r"\1 ", part)
        matches = list(_TOKEN.finditer(written))
        if matches:
            words = [match[0].replace("’", "'") for match in matches]
            lowers = [word.lower() for word in words]
            yield _Clause(written, words, lowers, [match.end() for match in matches], languages, known)


def _persons(clause: _Clause) -> Iterator[Person]:
    """The persons of a clause, in order; but nobody after a preposition, unless as an owner."""
    if not _NO_PRONOUN_NEEDED.isdisjoint(clause.languages) and not _words("first person verbs").isdisjoint(
        clause.lowers[:3]
    ):
        yield SELF
    place = 0
    while place < len(clause.words):
        found = _pronoun(clause, place) or _owned(clause, place) or _kin(clause, place) or _name(clause, place)
        subject, length = found or (None, 1)
        if subject is not None and not _is_object(clause, place, subject):
            yield subject
        place += length


def _is_object(clause: _Clause, place: int, subject: Person) -> bool:
    """Whether a person stands where no subject does: after a preposition, or as a name after a verb."""
    words, before = clause.lexicon, clause.before(place)
    if subject.kind in (PersonKind.SELF, PersonKind.USER):
        return clause.lowers[place] in _MINE and before in words.of
    if before in words.prepositions:
        return True
    if subject.kind is not PersonKind.NAME or not clause.known.isdisjoint(subject.words):
        return False
    is_of = before in words.of and (place > 1 or clause.lowers[0] != "a")  # "A Marta tem um carro."
    return is_of or before in words.nameless or (place > 0 and _has_verb(clause, place - 1))


def _pronoun(clause: _Clause, place: int) -> tuple[Person, int] | None:
    """The person of a pronoun at a place, and the number of its words."""
    lower, words = clause.lowers[place], clause.lexicon
    if lower in words.i or lower in words.me:
        return (_GROUP if lower in words.we else SELF), 1
    if lower in words.others:
        return OTHER, 1
    return (_ADDRESSEE, 1) if lower in words.you else None


def _owned(clause: _Clause, place: int) -> tuple[Person, int] | None:
    """The person of "my sister", "the user's boss" or "the children" at a place, and the number of words."""
    lower, rest, words = clause.lowers[place], clause.lowers[place + 1 : place + 4], clause.lexicon
    is_user, is_mine = lower in _words("user words"), lower in words.my
    if is_user and not lower.endswith("'s"):
        return _USER, 1
    is_of_owner = bool(rest) and (rest[0] in words.my or rest[0] in _words("user words"))
    if is_of_owner or not (is_user or is_mine or lower in words.articles):
        return None
    noun = _person_noun(rest[: 3 if is_user or is_mine else 2], clause.languages)
    if noun is None:
        return (_USERS_THING if is_user else _GROUP, 1) if is_user or is_mine else None
    word, length = noun[0], 1 + noun[1]
    if not (is_user or is_mine):
        return OTHER, length
    relations = frozenset(_person_relations(clause.languages).get(word, (word,)))
    is_naming = _NAMING.match(clause.text[clause.ends[place + noun[1]] :]) is not None
    if is_naming or clause.lowers[place + length : place + length + 2] in _AND_I:
        return Person(PersonKind.USER if is_user else PersonKind.SELF, relations, is_owner=is_user), length
    return Person(PersonKind.RELATION, relations), length


def _kin(clause: _Clause, place: int) -> tuple[Person, int] | None:
    """The person of "Mom" or "Opa" at a place, without a possessive."""
    noun = clause.lowers[place].removesuffix("'s")
    return (
        (Person(PersonKind.RELATION, frozenset(relations_by_noun()[noun])), 1) if noun in _words("kin names") else None
    )


def _name(clause: _Clause, place: int) -> tuple[Person | None, int] | None:
    """The person of a name at a place, and the number of its words; a note begins with a capital, too."""
    length = 0
    while place + length < len(clause.words) and _is_name(clause, place + length):
        length += 1
    if not length:
        return None
    if not place and not _is_known(clause, 0) and not _has_verb(clause, length):
        return None, length
    parts = clause.lowers[place : place + length]
    return Person(PersonKind.NAME, frozenset(part.removesuffix("'s").removesuffix("'") for part in parts)), length


def _is_name(clause: _Clause, place: int) -> bool:
    """Whether a word belongs to a name: in German, whose nouns have capitals, only if the name is known."""
    word = clause.words[place]
    return _is_known(clause, place) or (
        word[:1].isupper() and clause.languages[0] is not European.GERMAN and not is_ordinary_word(word)
    )


def _is_known(clause: _Clause, place: int) -> bool:
    lower = clause.lowers[place]
    return bool(clause.known) and not clause.known.isdisjoint(
        (lower, lower.removesuffix("'s"), lower.removesuffix("s"))
    )


def _has_verb(clause: _Clause, place: int) -> bool:
    """Whether there is a verb at a place; "a" is one in French alone."""
    word = clause.lowers[place] if place < len(clause.lowers) else ""
    if word == "a":
        return clause.languages[0] is European.FRENCH
    return word in _words("third person verbs") or word.endswith(_VERB_ENDINGS)


def _person_noun(words: list[str], languages: tuple[European, ...]) -> tuple[str, int] | None:
    """The first noun for a person among some words, and its number from 1."""
    for number, word in enumerate(words, 1):
        bare = word.removesuffix("'s").removesuffix("'")
        for form in (bare, bare.removesuffix("s")):
            if form in _words("person nouns") or form in _person_relations(languages):
                return form, number
    return None


@cache
def _person_relations(languages: tuple[European, ...]) -> dict[str, tuple[str, ...]]:
    return person_relations(*(code for language in languages for code in RELATION_LANGUAGES[language]))
