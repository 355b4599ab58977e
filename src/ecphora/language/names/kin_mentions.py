"""Mentions of kin, as in "my sister": the relation, and the name if the text gives it."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...model.lazy import lazy_pattern
from .adjacent_names import adjacent_name
from .alias_phrases import NameLocator
from .mentions import names
from .relation_lexicon import nouns_by_language

_RELATION_BY_WORD = {
    noun: relation
    for relation in [
        "sister",
        "brother",
        "mother",
        "father",
        "wife",
        "husband",
        "daughter",
        "son",
        "girlfriend",
        "boyfriend",
        "fiance",
        "partner",
    ]
    for noun in nouns_by_language(relation)["en"]
}
KIN_WORDS = tuple(_RELATION_BY_WORD)
"""The English words for them."""

_KIN_PATTERN = "|".join(_RELATION_BY_WORD)
_MY_KIN = lazy_pattern(
    rf"\b(?P<many>[Oo]ne\s+of\s+)?[Mm]y\s+(?P<which>(?:[\w-]+\s+){{0,2}}?)(?P<kin>{_KIN_PATTERN})(?P<end>s\b(?!['’])|['’]s\b|\b)"
    r"(?![- ]in[- ]law|-)"
)
_HAVE_SEVERAL = lazy_pattern(
    rf"\b(?:I\s+have|I['’]ve(?:\s+got)?|I\s+had|I['’]ve\s+only)\s+(?:[\w-]+\s+){{0,2}}(?P<kin>{_KIN_PATTERN})s\b"
)
_COUNTABLE_RELATIONS = frozenset(("sister", "brother", "son", "daughter"))
_PLURAL_QUALIFIERS = frozenset(
    ("other", "another", "two", "three", "four", "five", "both", "ex", "former", "first", "second", "future")
)
_IGNORED_QUALIFIERS = frozenset(
    ("own", "dear", "beloved", "late", "lovely", "amazing", "wonderful", "sweet", "dearest", "poor")
)


@dataclass(frozen=True, slots=True)
class KinMention:
    """A mention of kin: the relation, a qualifier such as "older", the name if given, and whether there are several."""

    relation: str
    qualifier: str = ""
    name: str | None = None
    is_plural: bool = False


def kin_mentions(text: str) -> tuple[KinMention, ...]:
    """The mentions of the speaker's kin in a text."""
    return tuple(_find_kin(text))


def _find_kin(text: str) -> Iterator[KinMention]:
    locator: NameLocator | None = None
    for match in _HAVE_SEVERAL.finditer(text):
        yield KinMention(_RELATION_BY_WORD[match["kin"]], is_plural=True)
    for match in _MY_KIN.finditer(text):
        qualifiers = [word for word in match["which"].lower().split() if word not in _IGNORED_QUALIFIERS]
        relation = _RELATION_BY_WORD[match["kin"]]
        is_plural = match["end"] == "s" and relation in _COUNTABLE_RELATIONS
        if match["many"] or is_plural or _PLURAL_QUALIFIERS.intersection(qualifiers):
            yield KinMention(relation, is_plural=True)
            continue
        locator = NameLocator(names(text)) if locator is None else locator
        name = adjacent_name(locator, text, match.start(), match.start("end"), ending=match["end"])
        yield KinMention(relation, " ".join(qualifiers), name)
