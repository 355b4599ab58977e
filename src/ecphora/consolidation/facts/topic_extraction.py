"""Extracts the topic that two claims share, apart from what else their memories say.

"I live in Lisbon and have two cats" and "I moved to Porto" are about where somebody lives, not about cats. The clauses
of a memory that fit the other claim are found by their vectors; without an embedder all clauses fit.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...language.statements.change_lexicon import ATTRIBUTE_STEMS, FILLER_STEMS
from ...language.statements.clauses import Clause, clauses
from ...language.statements.statements import Statement
from ...language.statements.values import ValueKind, values
from ...language.terms import extract_terms
from ...model.types import Vectors
from ...retrieval.dense import above_floor
from ...retrieval.validity import ClaimTopic
from .alignment import statement_window

MIN_COSINE_RATIO = 0.6
"""Minimum cosine of a clause on the topic to the other claim, as a fraction of the best clause's cosine."""


class EmbedFunction(Protocol):
    """Embeds texts, as :meth:`ecphora.model.ports.Embedder.embed` does."""

    def __call__(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """The vectors of texts."""
        ...


@dataclass(frozen=True, slots=True)
class StatementInContext:
    """A claim's statement, with the whole text of its memory."""

    source_text: str
    statement: Statement


def extract_topic(
    own: StatementInContext,
    other: StatementInContext,
    embed: EmbedFunction | None = None,
    *,
    similarity_floor: float = 0.0,
) -> ClaimTopic:
    """Extract the topic of a claim relative to a claim that it replaces or that replaces it.

    The topic comes from the window around the claim's statement; the rest of the memory is off topic. The values in
    which the two claims differ are neither. ``similarity_floor`` is the embedder's cosine of two unrelated texts.
    """
    window, other_window = (statement_window(side.source_text, side.statement.text) for side in (own, other))
    candidates = clauses(window)
    matching = _matching_clauses(candidates, other_window, embed, similarity_floor)
    shared_stems = frozenset(extract_terms(other.source_text))
    topic_stems = _topic_stems(
        " ".join(clause.text for clause in matching), {value.kind for value in values(other_window)}, shared_stems
    )
    topic_stems |= {
        stem for name in own.statement.attributes & other.statement.attributes for stem in ATTRIBUTE_STEMS[name]
    }
    off_topic_text = " ".join(
        [*own.source_text.split(window, 1), *(clause.text for clause in candidates if clause not in matching)]
    )
    return ClaimTopic(topic_stems, frozenset(extract_terms(off_topic_text)) - FILLER_STEMS - topic_stems - shared_stems)


def _matching_clauses(
    candidates: Sequence[Clause], other_text: str, embed: EmbedFunction | None, similarity_floor: float
) -> list[Clause]:
    """The clauses that fit another text: those nearly as close as the closest, and the first clause of its part.

    The other text is embedded as a query: to multilingual-e5-small, any two short texts are alike, but a short text
    answers few queries.
    """
    if embed is None or len(candidates) < 2:
        return list(candidates)
    vectors = embed([clause.text for clause in candidates])
    cosines = above_floor(vectors @ embed([other_text], is_query=True)[0], similarity_floor).tolist()
    part, best_cosine = candidates[int(np.argmax(cosines))].part_index, max(cosines)
    first = next(clause for clause in candidates if clause.part_index == part)
    return [
        clause
        for clause, cosine in zip(candidates, cosines, strict=True)
        if clause is first or cosine >= MIN_COSINE_RATIO * best_cosine
    ]


def _topic_stems(text: str, differing_kinds: Container[ValueKind], shared_stems: frozenset[str]) -> frozenset[str]:
    """The stems of a text, without the stems of values of ``differing_kinds`` that are not in ``shared_stems``."""
    value_texts = [text[value.start : value.end] for value in values(text) if value.kind in differing_kinds]
    return (
        frozenset(extract_terms(text)) - FILLER_STEMS - (frozenset(extract_terms(" ".join(value_texts))) - shared_stems)
    )
