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
from .european_languages import European, likely_languages, word_set, words_of
from .factuality import MAX_CHARS, without_quotations
from .names import names
from .ordinary_words import is_ordinary_word
from .relation_lexicon import nouns_by_language, relations_by_noun
from .roles import is_assistant
from .subject_lexicon import (
    ARTICLES,
    FIRST_PERSON_VERBS,
    I_WORDS,
    ME_WORDS,
    MY_WORDS,
    OF_WORDS,
    OTHERS,
    PERSON_NOUNS,
    PREPOSITIONS,
    RELATION_LANGUAGES,
    THIRD_PERSON_VERBS,
    WE_WORDS,
    YOU_WORDS,
    Words,
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

    ``is_owner`` if a thing of theirs is meant, or a group that they belong to: "my laptop", "we". Somebody may have the
    relations of another one: "my wife and I", "my dentist is Dr. Okafor".
    """

    kind: _Kind
    words: frozenset[str] = frozenset()
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words of a clause, as written and in lower case, and where each ends; ``known`` are words of names.

    ``languages`` are those that the text may be in.
    """

    text: str
    words: list[str]
    lowers: list[str]
    ends: list[int]
    languages: tuple[European, ...]
    known: frozenset[str]

    def has(self, table: Words, place: int) -> bool:
        """Whether a table has the word at a place, in a language that the text may be in."""
        return place < len(self.lowers) and any(self.lowers[place] in table[one] for one in self.languages)


_SELF, _GROUP = _Subject(_Kind.SELF), _Subject(_Kind.SELF, is_owner=True)
_ADDRESSEE, _OTHER, _USER = _Subject(_Kind.ADDRESSEE), _Subject(_Kind.OTHER), _Subject(_Kind.USER)
_USERS_THING = _Subject(_Kind.USER, is_owner=True)
_USER_WORDS = word_set(
    "user user's nutzer nutzerin benutzer usuario usuaria utilisateur utilisatrice usuário usuária utilizador utente"
)
_NOT_PERSONS = frozenset(("pet", "dog", "cat", "rabbit", "hamster", "bird", "horse", "turtle"))
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
_CJK_SELF = lazy_pattern(r"[我咱私僕俺]|わたし|ぼく|用户|用戶|ユーザー")
_CJK_OWNER_GAP = lazy_pattern(r"(?:[们們]|たち)?家?[的の]?(?:[大小二前老表堂]|那个|这个|上の|下の)?\Z")
"""What stands between "I" and a noun for a person that belongs to it, as in 我的哥哥."""
_CJK_JOINT_GAP = lazy_pattern(r"[和跟与與同](?:[我私]?[的の])?\Z|と\Z")
_KANA = lazy_pattern(r"[ぁ-ゖァ-ヺ]")
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
    named = named or [
        _Subject(_Kind.NAME, frozenset(name.lower().split()))
        for name in _asked_names(question)
        if not _follows_preposition(name, question)
    ]
    return named[0] if len(named) == 1 and _ASKS_WHO.search(question) is None else None


def _follows_preposition(name: str, question: str) -> bool:
    """Whether a name is that of a place, or of the owner of something: "the capital of Peru"."""
    before = _WORD.findall(question[: question.find(name)])
    return bool(before) and any(
        before[-1].lower() in table[one] for table in (PREPOSITIONS, OF_WORDS) for one in European
    )


def _agreement(asked: _Subject, found: _Subject, speaker: str | None) -> int:
    """1 if both are the same person, -1 if they are different ones, 0 if that is open."""
    if asked.kind is _Kind.RELATION:
        return _sign(not asked.words.isdisjoint(found.words)) if found.words and found.kind is not _Kind.NAME else 0
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
    """The subject of each clause that has one, and does not have the one asked about in another part."""
    known = asked.words if asked.kind is _Kind.NAME else frozenset()
    for clause in _clauses(text, known):
        found = list(_persons(clause))
        own = next((one for one in found if one.kind is _Kind.SELF and one.words), _SELF)
        subject = own if _says_i(clause) else next(iter(found), None)
        if subject is not None and (_is_same(asked, subject) or not _mentions(asked, clause, found)):
            yield subject


def _says_i(clause: _Clause) -> bool:
    return any(clause.has(I_WORDS, place) for place in range(len(clause.words)))


def _is_same(asked: _Subject, found: _Subject) -> bool:
    if found.kind is not asked.kind:
        return False
    return asked.kind is not _Kind.NAME or not asked.words.isdisjoint(found.words)


def _mentions(asked: _Subject, clause: _Clause, found: list[_Subject]) -> bool:
    """Whether a clause has the one asked about in any part: "My boss gave me a raise" for "What did I get?"."""
    if asked.kind is _Kind.NAME:
        return any(_is_known(clause, place) for place in range(len(clause.words)))
    return asked.kind in (_Kind.SELF, _Kind.USER) and any(_is_same(asked, one) for one in found)


def _clauses(text: str, known: frozenset[str] = frozenset()) -> Iterator[_Clause]:
    languages = tuple(likely_languages(words_of(text)) or European)
    for part in _CLAUSE_END.split(text):
        written = _CLITIC.sub(r"\1 ", part)
        matches = list(_TOKEN.finditer(written))
        if matches:
            words = [match[0].replace("’", "'") for match in matches]
            lowers = [word.lower() for word in words]
            yield _Clause(written, words, lowers, [match.end() for match in matches], languages, known)


def _persons(clause: _Clause) -> Iterator[_Subject]:
    """The persons of a clause, in order; but nobody after a preposition, unless as an owner."""
    if not _NO_PRONOUN_NEEDED.isdisjoint(clause.languages) and not FIRST_PERSON_VERBS.isdisjoint(clause.lowers[:3]):
        yield _SELF
    place = 0
    while place < len(clause.words):
        found = _pronoun(clause, place) or _owned(clause, place) or _name(clause, place)
        subject, length = found or (None, 1)
        if subject is not None and not _is_object(clause, place, subject):
            yield subject
        place += length


def _is_object(clause: _Clause, place: int, subject: _Subject) -> bool:
    """Whether a person stands where no subject does: after a preposition, or as a name after a verb."""
    if not place or subject.kind in (_Kind.SELF, _Kind.USER):
        return clause.lowers[place] in _MINE and clause.has(OF_WORDS, place - 1)
    if clause.has(PREPOSITIONS, place - 1):
        return True
    if subject.kind is not _Kind.NAME or not clause.known.isdisjoint(subject.words):
        return False
    return clause.has(OF_WORDS, place - 1) or _is_verb(clause.lowers[place - 1 : place])


def _pronoun(clause: _Clause, place: int) -> tuple[_Subject, int] | None:
    """The person of a pronoun at a place, and the number of its words."""
    if clause.has(I_WORDS, place) or clause.has(ME_WORDS, place):
        return (_GROUP if clause.has(WE_WORDS, place) else _SELF), 1
    if clause.has(OTHERS, place):
        return _OTHER, 1
    return (_ADDRESSEE, 1) if clause.has(YOU_WORDS, place) else None


def _owned(clause: _Clause, place: int) -> tuple[_Subject, int] | None:
    """The person of "my sister", "the user's boss" or "the children" at a place, and the number of words."""
    lower, rest = clause.lowers[place], clause.lowers[place + 1 :]
    is_user, is_mine = lower in _USER_WORDS, clause.has(MY_WORDS, place)
    if is_user and not lower.endswith("'s"):
        return _USER, 1
    if not (is_user or is_mine or clause.has(ARTICLES, place)) or clause.has(MY_WORDS, place + 1):
        return None
    if rest and not is_user and rest[0] in _USER_WORDS:
        return None
    noun = _person_noun(rest[: 3 if is_user or is_mine else 2], clause.languages)
    if noun is None:
        return (_USERS_THING if is_user else _GROUP, 1) if is_user or is_mine else None
    word, length = noun[0], 1 + noun[1]
    if not (is_user or is_mine):
        return _OTHER, length
    relations = frozenset(_person_relations(clause.languages).get(word, (word,)))
    is_naming = _NAMING.match(clause.text[clause.ends[place + noun[1]] :]) is not None
    if is_naming or clause.lowers[place + length : place + length + 2] in _AND_I:
        return _Subject(_Kind.USER if is_user else _Kind.SELF, relations, is_owner=is_user), length
    return _Subject(_Kind.RELATION, relations), length


def _name(clause: _Clause, place: int) -> tuple[_Subject | None, int] | None:
    """The person of a name at a place, and the number of its words; a note begins with a capital, too."""
    length = 0
    while place + length < len(clause.words) and _is_name(clause, place + length):
        length += 1
    if not length:
        return None
    if not place and not _is_known(clause, 0) and not _has_verb(clause, length):
        return None, length
    parts = clause.lowers[place : place + length]
    return _Subject(_Kind.NAME, frozenset(part.removesuffix("'s").removesuffix("'") for part in parts)), length


def _is_name(clause: _Clause, place: int) -> bool:
    """Whether a word is of a name: in German, whose nouns have capitals, only one that is known."""
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
    """Whether there is a verb after a name at the start; "a" is a verb in French alone."""
    after = clause.lowers[place : place + 1]
    return (after != ["a"] or clause.languages[0] is European.FRENCH) and _is_verb(after)


def _is_verb(words: list[str]) -> bool:
    return any(word in THIRD_PERSON_VERBS or word.endswith(_VERB_ENDINGS) for word in words)


def _person_noun(words: list[str], languages: tuple[European, ...]) -> tuple[str, int] | None:
    """The first noun for a person among some words, and its number from 1."""
    for number, word in enumerate(words, 1):
        bare = word.removesuffix("'s").removesuffix("'")
        for form in (bare, bare.removesuffix("s")):
            if form in PERSON_NOUNS or form in _person_relations(languages):
                return form, number
    return None


@cache
def _person_relations(languages: tuple[European, ...]) -> dict[str, tuple[str, ...]]:
    return _relations_in(*(code for language in languages for code in RELATION_LANGUAGES[language]))


@cache
def _relations_in(*languages: str) -> dict[str, tuple[str, ...]]:
    """The relations of persons that each noun of some languages stands for."""
    every = relations_by_noun()
    known = {relation for found in every.values() for relation in found if relation not in _NOT_PERSONS}
    nouns = {noun.lower() for one in known for code in languages for noun in nouns_by_language(one).get(code, ())}
    return {noun: found for noun in nouns if _NOT_PERSONS.isdisjoint(found := every[noun])}


def _cjk_subjects(text: str) -> Iterator[_Subject]:
    """The first person of each clause of a Chinese or Japanese text."""
    language = "ja" if _KANA.search(text) else "zh"
    for clause in _CJK_CLAUSE_END.split(text):
        noun, own, other = _cjk_nouns(language).search(clause), _CJK_SELF.search(clause), _CJK_OTHERS.search(clause)
        relations = frozenset(_relations_in(language)[noun[0]] if noun else ())
        if noun and own and _is_joint(clause, noun, own):
            yield _Subject(_Kind.SELF, relations)
        elif noun and not (
            own and own.end() <= noun.start() and not _CJK_OWNER_GAP.match(clause, own.end(), noun.start())
        ):
            yield _Subject(_Kind.RELATION, relations)
        elif own and not (other and other.start() < own.start()):
            yield _SELF
        elif other:
            yield _OTHER


def _is_joint(clause: str, noun: re.Match[str], own: re.Match[str]) -> bool:
    """Whether both act together: 我和妻子, 妻と私."""
    first, second = sorted((noun, own), key=lambda one: one.start())
    return _CJK_JOINT_GAP.match(clause, first.end(), second.start()) is not None


@cache
def _cjk_nouns(language: str) -> re.Pattern[str]:
    """A pattern of the nouns for persons in Chinese or Japanese, the longest first; not as a profession."""
    nouns = sorted(_relations_in(language), key=len, reverse=True)
    return re.compile(rf"(?<![是当當做丈])(?:{'|'.join(map(re.escape, nouns))})(?![语語校国國婦公])")
