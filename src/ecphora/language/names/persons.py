"""The persons of texts: who is meant, as far as a text says it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache

from ...model.lazy import lazy_pattern
from .relation_lexicon import nouns_by_language, relations_by_noun

_NOT_PERSONS = frozenset(("pet", "dog", "cat", "rabbit", "hamster", "bird", "horse", "turtle"))


class PersonKind(Enum):
    SELF = "the speaker"
    ADDRESSEE = "the one who is addressed"
    USER = "the user"
    NAME = "somebody by name"
    RELATION = "somebody by a relation, as in 'my sister'"
    OTHER = "somebody else"


@dataclass(frozen=True, slots=True)
class Person:
    """A person; ``words`` are the words of a name, or the relations of a noun.

    ``is_owner`` if a thing of the person is meant, or a group that the person belongs to: "my laptop", "we". A person
    may have relations too: "my wife and I", "my dentist is Dr. Okafor".
    """

    kind: PersonKind
    words: frozenset[str] = frozenset()
    is_owner: bool = False


SELF, OTHER = Person(PersonKind.SELF), Person(PersonKind.OTHER)


@cache
def person_relations(*languages: str) -> dict[str, tuple[str, ...]]:
    """The relations of persons that each noun of some languages stands for."""
    every = relations_by_noun()
    known = {relation for found in every.values() for relation in found}
    nouns = {noun.lower() for one in known for code in languages for noun in nouns_by_language(one).get(code, ())}
    return {noun: found for noun in nouns if _NOT_PERSONS.isdisjoint(found := every[noun])}


def is_personal(relations: Iterable[str]) -> bool:
    """Whether some relations are those to persons, and none to an animal."""
    return _NOT_PERSONS.isdisjoint(relations)


_CJK_SELF = lazy_pattern(r"[我咱私僕俺]|わたし|ぼく|用户|用戶|ユーザー")
_CJK_OWNER_GAP = lazy_pattern(r"(?:[们們]|たち)?家?[的の]?(?:[大小二前老表堂]|那个|这个|上の|下の)?\Z")
"""What stands between "I" and a noun for a person that belongs to it, as in 我的哥哥."""
_CJK_JOINT_GAP = lazy_pattern(r"[和跟与與同](?:[我私]?[的の])?\Z|と\Z")
_KANA = lazy_pattern(r"[ぁ-ゖァ-ヺ]")
_CJK_OTHERS = lazy_pattern(r"[他她它]|彼|人们|大家|有人|みんな")
_CJK_CLAUSE_END = lazy_pattern(r"[，。！？；、,.!?;\n]+")


def cjk_persons(text: str) -> Iterator[Person]:
    """The first person of each clause of a Chinese or Japanese text, and "I" too, if it comes later: 妈妈给我买了."""
    language = "ja" if _KANA.search(text) else "zh"
    for clause in _CJK_CLAUSE_END.split(text):
        noun, own, other = _cjk_nouns(language).search(clause), _CJK_SELF.search(clause), _CJK_OTHERS.search(clause)
        relations = frozenset(person_relations(language)[noun[0]] if noun else ())
        if noun and own and _is_joint(clause, noun, own):
            yield Person(PersonKind.SELF, relations)
        elif noun and (
            own is None or noun.start() < own.start() or _CJK_OWNER_GAP.match(clause, own.end(), noun.start())
        ):
            yield Person(PersonKind.RELATION, relations)
            if own and noun.start() < own.start():
                yield SELF
        else:
            if other and not (own and own.start() < other.start()):
                yield OTHER
            if own:
                yield replace(SELF, is_owner=clause[own.end() : own.end() + 1] in {"的", "の"})


def _is_joint(clause: str, noun: re.Match[str], own: re.Match[str]) -> bool:
    """Whether both act together: 我和妻子, 妻と私."""
    first, second = sorted((noun, own), key=lambda one: one.start())
    return _CJK_JOINT_GAP.match(clause, first.end(), second.start()) is not None


@cache
def _cjk_nouns(language: str) -> re.Pattern[str]:
    """A pattern of the nouns for persons in Chinese or Japanese, the longest first; not as a profession."""
    nouns = sorted(person_relations(language), key=len, reverse=True)
    return re.compile(rf"(?<![是当當做丈])(?:{'|'.join(map(re.escape, nouns))})(?![语語校国國婦公])")
