"""Whom somebody calls "my sister": which kin a text speaks of, and whether it gives their name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..patterns import lazy_pattern
from .common import COMMON
from .names import key, names
from .said_names import Known

_CALLED = {
    "sister": "sister", "brother": "brother", "mother": "mother", "mom": "mother", "mum": "mother", "mama": "mother",
    "father": "father", "dad": "father", "papa": "father", "wife": "wife", "husband": "husband",
    "daughter": "daughter", "son": "son", "girlfriend": "girlfriend", "boyfriend": "boyfriend",
    "fiancée": "fiance", "fiancé": "fiance", "fiancee": "fiance", "fiance": "fiance", "partner": "partner",
}  # fmt: skip
KIN = tuple(_CALLED)
"""The words for kin of whom one has few."""

_WORDS = "|".join(_CALLED)
_OF = lazy_pattern(
    rf"\b(?P<many>[Oo]ne\s+of\s+)?[Mm]y\s+(?P<which>(?:[\w-]+\s+){{0,2}}?)(?P<kin>{_WORDS})(?P<end>s\b(?!['’])|['’]s\b|\b)"
    r"(?![- ]in[- ]law|-)"
)
_SEVERAL = lazy_pattern(
    rf"\b(?:I\s+have|I['’]ve(?:\s+got)?|I\s+had|I['’]ve\s+only)\s+(?:[\w-]+\s+){{0,2}}(?P<kin>{_WORDS})s\b"
)
_NAMED = lazy_pattern(r"['’]s\s+name\s+is\s+|(?:,?\s+(?:who\s+)?is)?\s+(?:called|named)\s+|\s+(?=[^\W\d_])")
_NEAR = 40
"""Characters around a mention in which its name is looked for."""
_BESIDE = lazy_pattern(r"\s*[,(]\s*")
_IS = lazy_pattern(r"(?:\s+is|['’]s|\s*[,(])\s*\Z")
_OBJECT = lazy_pattern(
    r"\b(?:gave|gives?|giving|buy|bought|get|got|getting|sent|send|show|showed|showing|teach|taught|teaching|take|took|"
    r"taking|made|make|making|cook|cooked|lend|lent|read|offer|offered|bring|brought|play|played|owe|let|have|had)\s+\Z"
)
_CLOSED = lazy_pattern(r"\s*(?:[.;:!?)\n]|\Z|,(?!\s*(?:and|or)\b)(?!\s*[A-Z](?!['’\s]))|\s+who\b)")
_ENDED = lazy_pattern(r"\s*(?:[.;:!?)\n]|\Z|,(?!\s*(?:and|or)\b)|who\b)")
_NO_NAME = frozenset(("christmas", "easter", "thanksgiving", "halloween", "disney", "god", "facebook", "instagram"))
_MANY = frozenset(("sister", "brother", "son", "daughter"))
_OTHER = frozenset(
    ("other", "another", "two", "three", "four", "five", "both", "ex", "former", "first", "second", "future")
)
_PLAIN = frozenset(("own", "dear", "beloved", "late", "lovely", "amazing", "wonderful", "sweet", "dearest", "poor"))


@dataclass(frozen=True, slots=True)
class Kin:
    """One mention of kin: which, how told apart ("older"), the name if it is given, and whether there are several."""

    kin: str
    which: str = ""
    name: str | None = None
    several: bool = False


def kin(text: str) -> tuple[Kin, ...]:
    """The kin of whoever says a text that it speaks of."""
    return tuple(_kin(text))


def _kin(text: str) -> Iterator[Kin]:
    known: Known | None = None
    for match in _SEVERAL.finditer(text):
        yield Kin(_CALLED[match["kin"]], several=True)
    for match in _OF.finditer(text):
        which = [word for word in match["which"].lower().split() if word not in _PLAIN]
        called = _CALLED[match["kin"]]
        plural = match["end"] == "s" and called in _MANY
        if match["many"] or plural or _OTHER.intersection(which):
            yield Kin(called, several=True)
            continue
        known = Known(names(text)) if known is None else known
        name = _name(text, match, known)
        fit = name is not None and key(name) not in COMMON and key(name).split()[0] not in _NO_NAME
        yield Kin(called, " ".join(which), name if fit else None)


def _name(text: str, match: re.Match[str], known: Known) -> str | None:
    """The name given together with a mention: beside it, by "is called", or before it, as in "Nadia is my sister"."""
    at, start = match.start("end"), match.start()
    near = max(0, start - _NEAR)
    if found := _NAMED.match(text, at):
        name = known.after(text, found.end())
        if name is not None and (found[0].strip() or not (match["end"] or _OBJECT.search(text, near, start))):
            return name
    if match["end"]:
        return None
    if found := _BESIDE.match(text, at):
        name = known.after(text, found.end())
        if name is not None and _CLOSED.match(text, found.end() + len(name)):
            return name
    if told := _IS.search(text, near, start):
        name = known.before(text, told.start())
        verb = told[0].strip() not in (",", "(")
        if name is not None and (verb or _alone(text, told.start(), name)) and _ENDED.match(text, at):
            return name
    return None


def _alone(text: str, end: int, name: str) -> bool:
    """Whether nobody is greeted by the name: "Hey Nadia, my sister" speaks to one and of another."""
    head = text[max(0, end - len(name) - _NEAR) : end]
    rest = head.rstrip()[: -len(name)].rstrip(" ,").lower()
    return not rest.endswith(("hi", "hey", "hello", "dear", "thanks", "thank you", "yes", "no", "oh", "wow", "sorry"))
