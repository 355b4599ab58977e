"""Mentions of kin, as in "my sister": the relation, and the name if the text gives it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..lazy_pattern import lazy_pattern
from .alias_phrases import NameLocator
from .name_normalization import normalize_name
from .names import names
from .word_lists import COMMON_WORDS

_RELATION_BY_WORD = {
    "sister": "sister", "brother": "brother", "mother": "mother", "mom": "mother", "mum": "mother", "mama": "mother",
    "father": "father", "dad": "father", "papa": "father", "wife": "wife", "husband": "husband",
    "daughter": "daughter", "son": "son", "girlfriend": "girlfriend", "boyfriend": "boyfriend",
    "fiancée": "fiance", "fiancé": "fiance", "fiancee": "fiance", "fiance": "fiance", "partner": "partner",
}  # fmt: skip
KIN_WORDS = tuple(_RELATION_BY_WORD)
"""The words for kin of whom a person has few."""

_KIN_PATTERN = "|".join(_RELATION_BY_WORD)
_MY_KIN = lazy_pattern(
    rf"\b(?P<many>[Oo]ne\s+of\s+)?[Mm]y\s+(?P<which>(?:[\w-]+\s+){{0,2}}?)(?P<kin>{_KIN_PATTERN})(?P<end>s\b(?!['’])|['’]s\b|\b)"
    r"(?![- ]in[- ]law|-)"
)
_HAVE_SEVERAL = lazy_pattern(
    rf"\b(?:I\s+have|I['’]ve(?:\s+got)?|I\s+had|I['’]ve\s+only)\s+(?:[\w-]+\s+){{0,2}}(?P<kin>{_KIN_PATTERN})s\b"
)
_NAME_FOLLOWS = lazy_pattern(r"['’]s\s+name\s+is\s+|(?:,?\s+(?:who\s+)?is)?\s+(?:called|named)\s+|\s+(?=[^\W\d_])")
_NAME_WINDOW_CHARS = 40
"""Characters around a mention in which its name is searched."""
_APPOSITION = lazy_pattern(r"\s*[,(]\s*")
_NAME_PRECEDES = lazy_pattern(r"(?:\s+is|['’]s|\s*[,(])\s*\Z")
_GIVING_VERB = lazy_pattern(
    r"\b(?:gave|gives?|giving|buy|bought|get|got|getting|sent|send|show|showed|showing|teach|taught|teaching|take|took|"
    r"taking|made|make|making|cook|cooked|lend|lent|read|offer|offered|bring|brought|play|played|owe|let|have|had)\s+\Z"
)
_NAME_END = lazy_pattern(r"\s*(?:[.;:!?)\n]|\Z|,(?!\s*(?:and|or)\b)(?!\s*[A-Z](?!['’\s]))|\s+who\b)")
_MENTION_END = lazy_pattern(r"\s*(?:[.;:!?)\n]|\Z|,(?!\s*(?:and|or)\b)|who\b)")
_NOT_NAMES = frozenset(("christmas", "easter", "thanksgiving", "halloween", "disney", "god", "facebook", "instagram"))
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
        name = _name_of_mention(text, match, locator)
        is_valid = (
            name is not None
            and normalize_name(name) not in COMMON_WORDS
            and normalize_name(name).split()[0] not in _NOT_NAMES
        )
        yield KinMention(relation, " ".join(qualifiers), name if is_valid else None)


def _name_of_mention(text: str, match: re.Match[str], known: NameLocator) -> str | None:
    """The name given with a mention: next to it, by "is called", or before it, as in "Nadia is my sister"."""
    at, start = match.start("end"), match.start()
    window_start = max(0, start - _NAME_WINDOW_CHARS)
    if found := _NAME_FOLLOWS.match(text, at):
        name = known.name_starting_at(text, found.end())
        if name is not None and (
            found[0].strip() or not (match["end"] or _GIVING_VERB.search(text, window_start, start))
        ):
            return name
    if match["end"]:
        return None
    if found := _APPOSITION.match(text, at):
        name = known.name_starting_at(text, found.end())
        if name is not None and _NAME_END.match(text, found.end() + len(name)):
            return name
    if preceding := _NAME_PRECEDES.search(text, window_start, start):
        name = known.name_ending_at(text, preceding.start())
        is_verb = preceding[0].strip() not in (",", "(")
        if (
            name is not None
            and (is_verb or _is_not_greeted(text, preceding.start(), name))
            and _MENTION_END.match(text, at)
        ):
            return name
    return None


def _is_not_greeted(text: str, end: int, name: str) -> bool:
    """Whether the name is not part of a greeting: "Hey Nadia, my sister" addresses Nadia and mentions somebody else."""
    head = text[max(0, end - len(name) - _NAME_WINDOW_CHARS) : end]
    rest = head.rstrip()[: -len(name)].rstrip(" ,").lower()
    return not rest.endswith(("hi", "hey", "hello", "dear", "thanks", "thank you", "yes", "no", "oh", "wow", "sorry"))
