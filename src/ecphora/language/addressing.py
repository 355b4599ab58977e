"""How a text uses a name: whom it speaks to, and who is a person. Read from excerpts in which the name is marked."""

import re

from ..patterns import lazy_pattern
from .names import names

MARK = "\x00"
"""Stands for the name in an excerpt."""
_FEW, _FOLLOWING = 4, 160
_ROLE = (
    r"(?:friend|colleague|boss|manager|coworker|co-worker|neighbou?r|teacher|coach|doctor|roommate|flatmate|classmate|"
    r"teammate|buddy|mate|sister|brother|mom|mum|mother|dad|father|wife|husband|daughter|son|cousin|aunt|uncle|niece|"
    r"nephew|girlfriend|boyfriend|partner|fianc[eé]e?|grandma|grandpa|grandmother|grandfather)"
)
_GREETED = lazy_pattern(
    r"\b(?:hi|hey|hello|dear|thanks|thank you|thx|morning|afternoon|evening|night|bye|goodbye|sorry|congrats|"
    r"congratulations|wow|yo|welcome|cheers|happy birthday|you|ok|okay|oh|yeah|yes|no|sure|absolutely),?\s+"
    r"\x00\s*(?=[,.!?;:\n]|\Z)|\b(?:hi|hey|hello|dear|thanks|thank you),?\s+\x00(?!['’]s)",
    re.IGNORECASE,
)
_OPENING = lazy_pattern(
    r"(?:\A|[.!?\n]\s{0,9})\x00\s*[,!?]\s+(?:I|I['’]\w+|you|your|you['’]\w+|what|how|can|could|did|do|does|are|is|have|has|"
    r"that|this|it|we|please|thanks|thank|let|who|when|where|why|will|would|any|great|so|good|just|the|my|there|if|in|"
    r"and you)\b",
    re.IGNORECASE,
)
_CLOSING = lazy_pattern(r"[\w'’)]\s*,\s*(?=\x00\s*[!?.])")
_DOES = lazy_pattern(
    r"\x00(?:\s+(?:said|says|told|tells|asked|asks|thinks|thought|loves|loved|likes|liked|wants|wanted|knows|knew|"
    r"feels|felt|hopes|hoped|texted|emailed|replied|answered|laughed|smiled|cried|married|lives|lived|works|worked|"
    r"moved|joined|studies|studied|invited|brought|baked|cooked|agreed|decided|promised|finished|lost|herself|himself|"
    rf"and I)\b|['’]s\s+(?:{_ROLE}|birthday|house|place|kids|children|wedding|apartment|flat|family)\b|,\s+who\b)"
    rf"|\b(?:{_ROLE},?|[Mm]rs?\.?|[Mm]s\.?|[Dd]r\.?|[Pp]rof\.?)\s+\x00",
)
_KNOWN = lazy_pattern(
    rf"\b(?:my|our)\s+(?:[\w-]+\s+){{0,2}}{_ROLE},?\s+\x00"
    r"|\x00\s+(?:and I|(?:told|asked|called|texted|emailed|invited|helped|gave|showed|sent|taught|visited|brought)"
    r"\s+(?:me|us))\b"
    r"|\b(?:met|meet|meeting|hugged|(?:lunch|dinner|coffee|breakfast|drinks|spoke|talked|talking|chatted|hung out|call)"
    r"\s+with)\s+(?:\w+\s+)?\x00",
    re.IGNORECASE,
)
_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_PRONOUN = lazy_pattern(
    r"(?:['’]s|\s+(?:is|was|has|had|will|would|can|did|got|also|never|always|just|\w\w+(?:ed|s)))\b"
    r"[^.!?\n]{0,60}?\b(?:he|she|his|her|him|himself|herself)\b"
)
_PLACED = lazy_pattern(r"\b(?:in|at|to|from|the|on|of|for|about|near|into|by|a|an)\s+\Z", re.IGNORECASE)
_OWNER = lazy_pattern(
    r"\b(?:my|his|her|our|their|your|the|an?|named|called|with|and|or)\s+(?:[\w-]+\s+){0,2}[\w-]+,\s*\Z", re.IGNORECASE
)
_WITHIN = lazy_pattern(r"[a-z][,'’]?\s[\"“(]?\x00(?![-\w])")
_TURN = lazy_pattern(r"^[^\w\n]*\x00\s*:", re.MULTILINE)
_GOES_ON = lazy_pattern(r"\w|\s[A-Z][a-z]")


def excerpt(text: str, name: str) -> str:
    """The sentences of a text that hold a name as it is written, the first few, one a line; the name is marked.

    Where the name goes on it is another: "Ana" is not in "Ana Silva".
    """
    found: list[str] = []
    at = text.find(name)
    while at >= 0 and len(found) < _FEW:
        end = at + len(name)
        if not _GOES_ON.match(text, end) and not text[max(0, at - 1) : at].isalnum():
            start = max(text.rfind(mark, 0, at) for mark in (". ", "! ", "? ", "\n")) + 1
            rest = text[end : end + _FOLLOWING]
            found.append(f"{text[start:at].lstrip()}{MARK}{rest}")
            end += len(rest)
        at = text.find(name, end)
    return "\n".join(found)


def addressed(marked: str) -> bool:
    """Whether a text speaks to the one it names: "Hey Mel!", "Mel, how are you", "I know, Mel!"."""
    if _GREETED.search(marked) or _OPENING.search(marked):
        return True
    for match in _CLOSING.finditer(marked):
        start = max(marked.rfind(mark, 0, match.start()) for mark in ".!?\n") + 1
        before = marked[start : match.end()]
        if not _OWNER.search(before) and not names(before.strip(" ,")):
            return True
    return False


def personal(marked: str) -> bool:
    """Whether a text uses a name as a person's."""
    if acquainted(marked) or _DOES.search(marked):
        return True
    for sentence in _SENTENCE.split(marked):
        at = sentence.find(MARK)
        if at >= 0 and not _PLACED.search(sentence[:at]) and _PRONOUN.match(sentence, at + 1) and not names(sentence):
            return True
    return False


def acquainted(marked: str) -> bool:
    """Whether who says a text knows the person it names: "my friend Ana Silva", "Ana Silva told me"."""
    return _KNOWN.search(marked) is not None or addressed(marked)


def within(marked: str) -> bool:
    """Whether a name stands inside a sentence, where an ordinary word would have no capital."""
    return _WITHIN.search(marked) is not None


def turn_of(marked: str) -> bool:
    """Whether a text has a turn that the one it names speaks, as the log of a chat has: "Ana: hello"."""
    return _TURN.search(marked) is not None


def apart(text: str, short: str, full: str) -> bool:
    """Whether a text speaks of a short and a fuller name as of two: in one sentence, or the short one first."""
    rest = text.replace(full, MARK)
    alone = lazy_pattern(rf"\b{re.escape(short)}\b")
    if any(MARK in sentence and alone.search(sentence) for sentence in _SENTENCE.split(rest)):
        return True
    first = alone.search(rest)
    return first is not None and MARK in rest and first.start() < rest.index(MARK)
