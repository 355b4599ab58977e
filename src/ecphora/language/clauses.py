"""Sentences cut into clauses, by rules for English: where another statement may begin. No parser, no tagger."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..patterns import lazy_pattern

SENTENCE = lazy_pattern(  # no sentence ends with a title
    r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\bProf\.)(?<=[.!?…])\s+(?=[\"'“‘A-Z0-9(])|[\n\r]+|"
    r"\s[—–]\s(?=I\b|we\b|it\b)|;\s"
)
"""Where a sentence ends and another begins."""
_JOINT = lazy_pattern(r",?\s+(?:and|but|so|while|whereas)\s+", re.IGNORECASE)
_COMMA = lazy_pattern(r",\s+")
_VERB = lazy_pattern(
    r"\b(?:i|we|you|he|she|they|it|there|this|that)\b|['’](?:m|re|ve|ll|d)\b|"
    r"\b(?:am|is|are|was|were|be|has|have|had|do|does|did|will|would|can|must)\b|[a-z]{2}(?:s|ed)\s+\w",
    re.IGNORECASE,
)
"""What a clause has that says something; without any of it, it is a part of one."""
LEAST = 3
"""Words of a clause that stands by itself."""
LONGEST = 600
"""Characters of a sentence that is cut where two join: what is longer is none."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a text; those of one ``part`` share the subject that the first of them names."""

    text: str
    part: int


def clauses(text: str) -> list[Clause]:
    """The clauses of a text, in order.

    A sentence is cut where "and", "but" and the like join two that each say something, and such a part at its commas.
    What stands behind a colon belongs to what stands before it.
    """
    found: list[Clause] = []
    for number, part in enumerate(_parts(text)):
        found.extend(Clause(piece, number) for piece in map(str.strip, _COMMA.split(part)) if piece)
    return found


def _parts(text: str) -> Iterator[str]:
    for sentence in filter(None, map(str.strip, SENTENCE.split(text))):
        start = 0
        for joint in () if ": " in sentence or len(sentence) > LONGEST else _JOINT.finditer(sentence):
            before, after = sentence[start : joint.start()], sentence[joint.end() :]
            if _stands(before) and len(after.split()) >= LEAST:
                yield before
                start = joint.end()
        yield sentence[start:]


def _stands(text: str) -> bool:
    return len(text.split()) >= LEAST and _VERB.search(text) is not None
