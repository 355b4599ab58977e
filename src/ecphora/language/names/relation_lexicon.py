"""The nouns for persons and animals that are somebody's: "sister", "boss", "landlord", "dog", in fourteen languages.

The nouns are in ``lexicon/relations.ini``. A *relation* is what such nouns mean, named by the English word.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from ..lexicon_file import lexicon_rows, lexicon_words, read_lexicon

NARROWER_RELATIONS: Mapping[str, tuple[str, ...]] = {
    "child": ("daughter", "son"),
    "sibling": ("sister", "brother", "older sister", "younger sister", "older brother", "younger brother"),
    "partner": ("wife", "husband", "girlfriend", "boyfriend", "fiance"),
    "pet": ("dog", "cat", "rabbit", "hamster", "bird", "horse", "turtle"),
}
"""The relations that a wider one includes: "our pet" may be a dog."""
CHANGING_RELATIONS = frozenset(
    """
    wife husband partner girlfriend boyfriend fiance boss landlord mother father mother-in-law father-in-law dentist vet
    accountant lawyer hairdresser cleaner
    """.split()  # noqa: SIM905
)
"""Relations of which somebody has one at a time; of the others, there may be several."""


@cache
def nouns_by_language(relation: str) -> Mapping[str, tuple[str, ...]]:
    """The nouns of a relation, by the code of their language; none for a relation that is not known."""
    if relation not in read_lexicon("relations")["nouns"]:
        return {}
    rows = lexicon_rows("relations", "nouns", relation, ": ")
    return {code: tuple(noun.replace("_", " ") for noun in nouns.split()) for code, nouns in rows}


@cache
def relations_by_noun() -> Mapping[str, tuple[str, ...]]:
    """The relations that each noun stands for, by the noun in lower case."""
    found: dict[str, tuple[str, ...]] = {}
    for relation in read_lexicon("relations")["nouns"]:
        for nouns in nouns_by_language(relation).values():
            for noun in nouns:
                known = found.get(noun.lower(), ())
                found[noun.lower()] = known if relation in known else (*known, relation)
    return found


def all_nouns(relation: str) -> tuple[str, ...]:
    """The nouns of a relation and of the relations that it includes, in all languages."""
    relations = (relation, *NARROWER_RELATIONS.get(relation, ()))
    return tuple(
        dict.fromkeys(noun for one in relations for nouns in nouns_by_language(one).values() for noun in nouns)
    )


def nouns_or_wider(relations: Iterable[str]) -> tuple[str, ...]:
    """The nouns of some relations, and of wider relations: "my partner" may be the wife."""
    known = tuple(relations)
    wider = (one for one, narrower in NARROWER_RELATIONS.items() if not set(narrower).isdisjoint(known))
    nouns = (noun for one in wider for found in nouns_by_language(one).values() for noun in found)
    return (*(noun for one in known for noun in all_nouns(one)), *nouns)


def needs_possessive(noun: str) -> bool:
    """Whether a noun stands for a relation only with a possessive."""
    return noun.lower() in lexicon_words("names", "all languages", "only with a possessive")
