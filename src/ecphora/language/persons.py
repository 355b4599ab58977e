"""The persons of texts: who is meant, as far as a text says it."""

from dataclasses import dataclass
from enum import Enum
from functools import cache

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
    """A person; ``words`` are those of a name, or the relations of a noun.

    ``is_owner`` if a thing of theirs is meant, or a group that they belong to: "my laptop", "we". Somebody may have the
    relations of another one: "my wife and I", "my dentist is Dr. Okafor".
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
