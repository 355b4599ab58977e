"""Splits sentences into clauses, by rules for English. No parser, no tagger.

Cue words of cause and effect at the start of a text, which tie it to what was said just before. English only.

Classifies what a text does: question, request, plan, preference, emotion, hypothesis or assertion. English only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...model.lazy import lazy_pattern
from ..question import is_question

SENTENCE_BREAK = lazy_pattern(  # a title does not end a sentence
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\bProf\.)(?<=[.!?…])\s+(?=[\"'“‘A-Z0-9(])|[\n\r]+|"
    r"\s[—–]\s(?=I\b|we\b|it\b)|;\s"
)
"""The break between two sentences."""
_CONJUNCTION = lazy_pattern(r",?\s+(?:and|but|so|while|whereas)\s+", re.IGNORECASE)
_COMMA = lazy_pattern(r",\s+")
_VERB = lazy_pattern(
    r"\b(?:i|we|you|he|she|they|it|there|this|that)\b|['’](?:m|re|ve|ll|d)\b|"
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|will|would|can|must)\b|[a-z]{2}(?:s|ed)\s+\w",
    re.IGNORECASE,
)
"""Signs of a verb; a text without one is only a part of a clause."""
MIN_CLAUSE_WORDS = 3
"""Minimum number of words of an independent clause."""
MAX_SENTENCE_CHARS = 600
"""A longer text is not split at conjunctions: it is unlikely to be one sentence."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a text; clauses of equal ``part_index`` share the subject that the first of them names."""

    text: str
    part_index: int


def clauses(text: str) -> list[Clause]:
    """The clauses of a text, in order.

    A sentence is split at "and", "but" and the like between two full clauses, and these parts are split at commas. A
    sentence with a colon is split at its commas only.
    """
    found: list[Clause] = []
    for number, part in enumerate(_parts(text)):
        found.extend(Clause(piece, number) for piece in map(str.strip, _COMMA.split(part)) if piece)
    return found


def _parts(text: str) -> Iterator[str]:
    for sentence in filter(None, map(str.strip, SENTENCE_BREAK.split(text))):
        start = 0
        for conjunction in (
            () if ": " in sentence or len(sentence) > MAX_SENTENCE_CHARS else _CONJUNCTION.finditer(sentence)
        ):
            before, after = sentence[start : conjunction.start()], sentence[conjunction.end() :]
            if _is_clause(before) and len(after.split()) >= MIN_CLAUSE_WORDS:
                yield before
                start = conjunction.end()
        yield sentence[start:]


def _is_clause(text: str) -> bool:
    return len(text.split()) >= MIN_CLAUSE_WORDS and _VERB.search(text) is not None


_START = r"^[\s\"'“”‘’(—-]*(?:(?:well|yes|yeah|no|oh|and|but|maybe|probably|mostly|mainly|just|it'?s|that'?s)[,\s]+)*"
_CAUSE = lazy_pattern(
    _START + r"(?:because|'?cause|cuz|since|due to|thanks to|on account of|owing to|the reason (?:is|was|being))\b",
    re.IGNORECASE,
)
_EFFECT = lazy_pattern(
    r"^[\s\"'“”‘’(—-]*(?:(?:and|but|well)[,\s]+)?"
    r"(?:that(?:['’]s| is| was) why|which is why|this is why|therefore|thus|hence|consequently"
    r"|as a (?:result|consequence)"
    r"|because of (?:that|this|it)|for (?:that|this) reason"
    r"|so (?:i|we|he|she|they|it|now|that)\b)",
    re.IGNORECASE,
)


def states_cause(text: str) -> bool:
    """Whether a text begins by giving the cause of what was said before, as in "Because the train was late"."""
    return _CAUSE.match(text) is not None and not states_effect(text)


def states_effect(text: str) -> bool:
    """Whether a text begins by giving the effect of what was said before, as in "That's why we moved"."""
    return _EFFECT.match(text) is not None


_SIGNIFIER_PATTERNS = {
    "request": r"^\s*(?:please|could you|can you|would you|remind me|let me know)\b",
    "plan": (
        r"\b(?:i'?ll|we'?ll|(?:am|are|'m|'re) going to|plan(?:s|ning)? (?:to|on)|hop(?:e|ing) to|"
        r"next (?:week|month|year|time)|tomorrow)\b"
    ),
    "preference": (r"\b(?:i|we) (?:really |just )?(?:like|love|prefer|enjoy|hate|can'?t stand)\b|\bmy favou?rite\b"),
    "emotion": (
        r"\b(?:happy|glad|excited|proud|sad|upset|worried|afraid|scared|angry|nervous|grateful|thrilled|"
        r"disappointed|lonely)\b"
    ),
    "hypothesis": r"\b(?:maybe|perhaps|probably|might|i (?:think|guess|suppose))\b",
}
_COMPILED_PATTERNS = {name: lazy_pattern(pattern, re.IGNORECASE) for name, pattern in _SIGNIFIER_PATTERNS.items()}


def signifiers(text: str) -> tuple[str, ...]:
    """The signifiers of a text, in a fixed order; a question comes first, and a text with none is an assertion."""
    found = [name for name, pattern in _COMPILED_PATTERNS.items() if pattern.search(text)]
    if is_question(text):
        return ("question", *found)
    return tuple(found) or ("assertion",)
