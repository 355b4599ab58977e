"""Splits sentences into clauses, by rules for English. No parser, no tagger."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...model.lazy import lazy_pattern

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
