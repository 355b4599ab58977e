"""How a text uses a name: as a form of address, or as a person's. Reads excerpts in which the name is masked."""

import re

from ...model.lazy import lazy_pattern
from .mentions import names

NAME_PLACEHOLDER = "\x00"
"""Replaces the name in an excerpt."""
_MAX_EXCERPTS, _CHARS_AFTER = 4, 160
_RELATION_NOUN = (
    r"(?:friend|colleague|boss|manager|coworker|co-worker|neighbou?r|teacher|coach|doctor|roommate|flatmate|classmate|"
    r"teammate|buddy|mate|sister|brother|mom|mum|mother|dad|father|wife|husband|daughter|son|cousin|aunt|uncle|niece|"
    r"nephew|girlfriend|boyfriend|partner|fianc[eé]e?|grandma|grandpa|grandmother|grandfather)"
)
_GREETING = lazy_pattern(
    r"\b(?:hi|hey|hello|dear|thanks|thank you|thx|morning|afternoon|evening|night|bye|goodbye|sorry|congrats|"
    r"congratulations|wow|yo|welcome|cheers|happy birthday|you|ok|okay|oh|yeah|yes|no|sure|absolutely),?\s+"
    r"\x00\s*(?=[,.!?;:\n]|\Z)|\b(?:hi|hey|hello|dear|thanks|thank you),?\s+\x00(?!['’]s)",
    re.IGNORECASE,
)
_VOCATIVE_START = lazy_pattern(
    r"(?:\A|[.!?\n]\s{0,9})\x00\s*[,!?]\s+(?:I|I['’]\w+|you|your|you['’]\w+|what|how|can|could|did|do|does|are|is|have|has|"
    r"that|this|it|we|please|thanks|thank|let|who|when|where|why|will|would|any|great|so|good|just|the|my|there|if|in|"
    r"and you)\b",
    re.IGNORECASE,
)
_VOCATIVE_END = lazy_pattern(r"[\w'’)]\s*,\s*(?=\x00\s*[!?.])")
_PERSON_CONTEXT = lazy_pattern(
    r"\x00(?:\s+(?:said|says|told|tells|asked|asks|thinks|thought|loves|loved|likes|liked|wants|wanted|knows|knew|"
    r"feels|felt|hopes|hoped|texted|emailed|replied|answered|laughed|smiled|cried|married|lives|lived|works|worked|"
    r"moved|joined|studies|studied|invited|brought|baked|cooked|agreed|decided|promised|finished|lost|herself|himself|"
    rf"and I)\b|['’]s\s+(?:{_RELATION_NOUN}|birthday|house|place|kids|children|wedding|apartment|flat|family)\b"
    rf"|,\s+who\b)|\b(?:{_RELATION_NOUN},?|[Mm]rs?\.?|[Mm]s\.?|[Dd]r\.?|[Pp]rof\.?)\s+\x00",
)
_ACQUAINTANCE = lazy_pattern(
    rf"\b(?:my|our)\s+(?:[\w-]+\s+){{0,2}}{_RELATION_NOUN},?\s+\x00"
    r"|\x00\s+(?:and I|(?:told|asked|called|texted|emailed|invited|helped|gave|showed|sent|taught|visited|brought)"
    r"\s+(?:me|us))\b"
    r"|\b(?:met|meet|meeting|hugged|(?:lunch|dinner|coffee|breakfast|drinks|spoke|talked|talking|chatted|hung out|call)"
    r"\s+with)\s+(?:\w+\s+)?\x00",
    re.IGNORECASE,
)
_SENTENCE_BREAK = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_PERSONAL_PRONOUN = lazy_pattern(
    r"(?:['’]s|\s+(?:is|was|has|had|will|would|can|did|got|also|never|always|just|\w\w+(?:ed|s)))\b"
    r"[^.!?\n]{0,60}?\b(?:he|she|his|her|him|himself|herself)\b"
)
_AFTER_PREPOSITION = lazy_pattern(r"\b(?:in|at|to|from|the|on|of|for|about|near|into|by|a|an)\s+\Z", re.IGNORECASE)
_APPOSITION_START = lazy_pattern(
    r"\b(?:my|his|her|our|their|your|the|an?|named|called|with|and|or)\s+(?:[\w-]+\s+){0,2}[\w-]+,\s*\Z", re.IGNORECASE
)
_MID_SENTENCE = lazy_pattern(r"[a-z][,'’]?\s[\"“(]?\x00(?![-\w])")
_SPEAKER_LABEL = lazy_pattern(r"^[^\w\n]*\x00\s*:", re.MULTILINE)
_NAME_CONTINUES = lazy_pattern(r"\w|\s[A-Z][a-z]")


def masked_excerpt(text: str, name: str) -> str:
    """The first few occurrences of a name in a text, with context, one a line; the name is masked.

    A longer name is another name: "Ana" does not occur in "Ana Silva".
    """
    excerpts: list[str] = []
    at = text.find(name)
    while at >= 0 and len(excerpts) < _MAX_EXCERPTS:
        end = at + len(name)
        if not _NAME_CONTINUES.match(text, end) and not text[max(0, at - 1) : at].isalnum():
            start = max(text.rfind(mark, 0, at) for mark in (". ", "! ", "? ", "\n")) + 1
            rest = text[end : end + _CHARS_AFTER]
            excerpts.append(f"{text[start:at].lstrip()}{NAME_PLACEHOLDER}{rest}")
            end += len(rest)
        at = text.find(name, end)
    return "\n".join(excerpts)


def is_vocative(excerpt: str) -> bool:
    """Whether a text addresses the named person: "Hey Mel!", "Mel, how are you", "I know, Mel!"."""
    if _GREETING.search(excerpt) or _VOCATIVE_START.search(excerpt):
        return True
    for match in _VOCATIVE_END.finditer(excerpt):
        start = max(excerpt.rfind(mark, 0, match.start()) for mark in ".!?\n") + 1
        before = excerpt[start : match.end()]
        if not _APPOSITION_START.search(before) and not names(before.strip(" ,")):
            return True
    return False


def is_person_mention(excerpt: str) -> bool:
    """Whether a text uses a name as a person's."""
    if is_acquaintance(excerpt) or _PERSON_CONTEXT.search(excerpt):
        return True
    for sentence in _SENTENCE_BREAK.split(excerpt):
        at = sentence.find(NAME_PLACEHOLDER)
        if (
            at >= 0
            and not _AFTER_PREPOSITION.search(sentence[:at])
            and _PERSONAL_PRONOUN.match(sentence, at + 1)
            and not names(sentence)
        ):
            return True
    return False


def is_acquaintance(excerpt: str) -> bool:
    """Whether the speaker knows the named person: "my friend Ana Silva", "Ana Silva told me"."""
    return _ACQUAINTANCE.search(excerpt) is not None or is_vocative(excerpt)


def is_mid_sentence(excerpt: str) -> bool:
    """Whether a name occurs inside a sentence, where an ordinary word would have no capital."""
    return _MID_SENTENCE.search(excerpt) is not None


def has_speaker_label(excerpt: str) -> bool:
    """Whether a text has a turn by the named person, as in a chat log: "Ana: hello"."""
    return _SPEAKER_LABEL.search(excerpt) is not None


def has_distinct_uses(text: str, short: str, full: str) -> bool:
    """Whether a text uses a short and a full name for two persons: both in one sentence, or the short one first."""
    rest = text.replace(full, NAME_PLACEHOLDER)
    alone = lazy_pattern(rf"\b{re.escape(short)}\b")
    if any(NAME_PLACEHOLDER in sentence and alone.search(sentence) for sentence in _SENTENCE_BREAK.split(rest)):
        return True
    first = alone.search(rest)
    return first is not None and NAME_PLACEHOLDER in rest and first.start() < rest.index(NAME_PLACEHOLDER)
