"""What a text says of names themselves: "call me Bo", "Robert, everyone calls him Bob", "Katherine (Kate)", "née"."""

import re
from collections.abc import Iterable, Iterator

from ..patterns import lazy_pattern
from .common import COMMON
from .names import key, names
from .nicknames import acronym, fuller, nickname

_GOES_ON = lazy_pattern(r"\w|\s[A-Z][a-z]")
_HINT = lazy_pattern(
    r"\bcalls?\b|\bcalled\b|a\.?k\.?a\b|\bn[ée]e\b|\bborn\b|\bshort for\b|\bnick|\bgo(?:es)? by\b|known as|\balias\b|"
    r"\bmy (?:\w+ )?name\b|\bstands for\b|\bI['’]?\s?a?m\b|\(|[\"“]",
    re.IGNORECASE,
)
_JOINED = lazy_pattern(
    r"\b(?P<says>a\.?k\.?a\.?|(?:also|better|commonly|otherwise|formerly|previously|best)\s+(?:known\s+as|called)|alias|"
    r"nicknamed|goes\s+by|went\s+by|short\s+for|stands\s+for|n[ée]e|born)(?:\s+the\s+name)?,?\s+(?:the\s+)?",
    re.IGNORECASE,
)
_BOUND = lazy_pattern(r"(?:\s|,|\()+(?:who\s+)?(?:(?:is|was|are)\s+)?\Z")
_BY_ALL = lazy_pattern(
    r"\b(?:everyone|everybody|people|friends|we|I|they|family|folks|kids|colleagues|all|teammates)\s+"
    r"(?:(?:always|usually|just|all|often)\s+){0,3}(?:calls?|called|nicknamed)\s+(?:him|her|them)\s+"
)
_OWN = lazy_pattern(
    r"\b(?:(?:you\s+can|please|just|do|but|and|friends|everyone|everybody|people|they|folks|family)\s+)?"
    r"(?P<says>(?:[Cc]alls?\s+me|[Mm]y\s+(?:full\s+|real\s+|first\s+)?name(?:\s+is|['’]s)|I\s+go\s+by|I['’]?\s?a?m))\s+"
)
_INSIDE = lazy_pattern(r"\s\(([^()\n]{2,40})\)")
_QUOTED = lazy_pattern(r"\s[\"“]([^\"“”\n]{2,20})[\"”]\s")
_SENTENCE = 400
"""Characters before "everyone calls him" in which the name is looked for."""
_TAIL = lazy_pattern(r"\s+(?:for short|to (?:his|her|their|my|our) friends)\Z")


class Known:
    """The names of a text, to be looked up by where they begin or end in it."""

    def __init__(self, found: Iterable[str]) -> None:
        self._names = frozenset(found)
        self._lengths = sorted(set(map(len, self._names)), reverse=True)

    def before(self, text: str, at: int) -> str | None:
        """The longest of these names that ends at a place of a text, but for spaces."""
        while at and text[at - 1].isspace():
            at -= 1
        for length in self._lengths:
            start = at - length
            if start >= 0 and text[start:at] in self._names and not text[max(0, start - 1) : start].isalnum():
                return text[start:at]
        return None

    def after(self, text: str, at: int) -> str | None:
        """The longest of these names that begins at a place of a text."""
        for length in self._lengths:
            name = text[at : at + length]
            if name in self._names and not _GOES_ON.match(text, at + length):
                return name
        return None


def aliases(text: str, speaker: str | None) -> tuple[tuple[str, str], ...]:
    """The pairs of names that a text says are one's, as they are written: the other name, and whose it is."""
    if not _HINT.search(text):
        return ()
    known = Known(names(text))
    found = [*_inside(text, known), *_told(text, known), *(_own(text, speaker, known) if speaker else ())]
    pairs = {(key(one), key(two)): (one, two) for one, two in found if _fit(one) and _fit(two)}
    return tuple(pair for (one, two), pair in pairs.items() if one != two)


def _fit(name: str) -> bool:
    return len(key(name)) > 1 and key(name) not in COMMON


def _inside(text: str, known: Known) -> Iterator[tuple[str, str]]:
    """What stands in parentheses or quotation marks behind a name, if it can be a form of it."""
    for match in _INSIDE.finditer(text):
        name, inner = known.before(text, match.start()), _TAIL.sub("", match[1].strip(" \"“”'"))
        if name is None or not inner[:1].isupper():
            continue
        whole, other = key(name), key(inner)
        if _TAIL.search(match[1]) or nickname(other, whole.split()[0]) or acronym(other, whole):
            yield inner, name
        elif nickname(whole.split()[0], other) or acronym(whole, other) or fuller(whole, other):
            yield name, inner
    for match in _QUOTED.finditer(text):
        plain = names(match[1])
        given, family = known.before(text, match.start()), known.after(text, match.end())
        if given and family and plain and plain[0] == match[1]:
            yield match[1], f"{given} {family}"
            yield match[1], given


def _told(text: str, known: Known) -> Iterator[tuple[str, str]]:
    for match in _JOINED.finditer(text):
        bound = _BOUND.search(text, max(0, match.start() - 20), match.start())
        whose = None if bound is None else known.before(text, bound.start())
        other = known.after(text, match.end())
        if whose is None or other is None:
            continue
        if match["says"].lower() in ("née", "nee", "born"):
            maiden = key(other).split()
            family = len(maiden) == 1 and len(key(whose).split()) > 1
            if match["says"].lower() == "born" and text[match.end() + len(other) :][:1] not in ("", ",", ")", "."):
                continue
            yield (f"{whose.split()[0]} {other}" if family else other), whose
        elif "for" in match["says"].lower().split():
            yield whose, other
        else:
            yield other, whose
    for match in _BY_ALL.finditer(text):
        near = max(0, match.start() - _SENTENCE)
        start = max(near - 1, *(text.rfind(mark, near, match.start()) for mark in ".!?\n")) + 1
        earlier = names(text[start : match.start()].strip(" ,"))
        other = known.after(text, match.end())
        if len(earlier) == 1 and other is not None:
            yield other, earlier[0]


def _own(text: str, speaker: str, known: Known) -> Iterator[tuple[str, str]]:
    """What one says of oneself; "I am Irish" names nobody, so a mere "I am" must fit the name known."""
    for match in _OWN.finditer(text):
        other = known.after(text, match.end())
        if other is None:
            continue
        said, own = key(other), key(speaker)
        merely = match["says"].startswith("I") and "go" not in match["says"]
        if not merely or fuller(own, said) or nickname(said, own.split()[0]) or nickname(own, said.split()[0]):
            yield (speaker, other) if fuller(own, said) else (other, speaker)
