"""Aligns the statements of two memories: finds the two that belong together, and what the update scorer reads.

Extracts the topic that two claims share, apart from what else their memories say.

"I live in Lisbon and have two cats" and "I moved to Porto" are about where somebody lives, not about cats. The clauses
of a memory that fit the other claim are found by their vectors; without an embedder all clauses fit.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...language.language_identification import is_english
from ...language.statements.change_lexicon import ATTRIBUTE_STEMS, FILLER_STEMS
from ...language.statements.clauses import Clause, clauses
from ...language.statements.statements import ChangeSignal, Statement, has_code
from ...language.statements.values import ValueKind, values
from ...language.terms import extract_terms
from ...model.text_format import as_message
from ...model.types import Vectors
from ...retrieval.dense import above_floor
from ...retrieval.validity import ClaimTopic
from .memory_statements import MemoryStatements, RuleMatch, Utterance
from .supersession import has_new_content, match_supersession
from .update_candidates import CandidatePair

MAX_STATEMENT_PAIRS = 8
"""Pairs of statements of two memories that the rules are tried on: the pairs that share most."""
MAX_WINDOW_CHARS = 240
"""Characters of a memory that the cross-encoder reads, around its statement."""


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """The two best aligned statements of a pair of memories, each with its row and position.

    ``texts`` are what the update scorer reads.
    """

    later: tuple[int, int, Utterance]
    earlier: tuple[int, int, Utterance]
    rule_match: RuleMatch | None
    texts: tuple[str, str]


def align(index: MemoryStatements, pair: CandidatePair) -> AlignedPair | None:
    """Align the two closest statements of a pair of memories; None if neither can replace the other.

    That is so if their order is unknown, the later one says that something never was, or the texts contain code; in
    English also if the later one adds nothing new.
    """
    index.fetch([pair.other_row])
    own_utterances, other_utterances = index.utterances(pair.row), index.utterances(pair.other_row)
    if not own_utterances or not other_utterances:
        return None
    (earlier_row, earlier_utterances), (later_row, later_utterances) = sorted(
        ((pair.other_row, other_utterances), (pair.row, own_utterances)),
        key=lambda side: (side[1][0].at, side[1][0].turn),
    )
    source_texts = index.node(earlier_row).text, index.node(later_row).text
    if not later_utterances[0].moment.is_after(earlier_utterances[0].moment):
        return None
    position, earlier_position, rule_match = _best_aligned_statements(
        later_utterances, earlier_utterances, pair.term_weights, pair.cosine
    )
    later, earlier = later_utterances[position], earlier_utterances[earlier_position]
    if ChangeSignal.NEVER in later.statement.change_signals | earlier.statement.change_signals:
        return None  # "never" contradicts, it does not replace
    texts = (
        as_message(statement_window(source_texts[0], earlier.statement.text), earlier.speaker),
        as_message(statement_window(source_texts[1], later.statement.text), later.speaker),
    )
    if not is_english(" ".join(texts)):
        rule_match = None  # the rules read English
    elif not has_new_content(later.statement, earlier.statement):
        return None  # it repeats the same, or more of it
    if any(map(has_code, texts)):
        return None
    return AlignedPair((later_row, position, later), (earlier_row, earlier_position, earlier), rule_match, texts)


def _best_aligned_statements(
    new: Sequence[Utterance], old: Sequence[Utterance], term_weights: Mapping[str, float], cosine: float
) -> tuple[int, int, RuleMatch | None]:
    """The positions of the two best aligned statements of two memories, and the rules' match of them.

    Best is the pair with the most confident rule match; else the pair that shares most; among equals a pair with a
    change signal. Greetings come last.
    """
    ranked = [
        (
            sum(term_weights.get(stem, 1.0) for stem in later.statement.stems & earlier.statement.stems),
            bool(later.statement.change_signals - {ChangeSignal.STATEMENT}),
            len(earlier.statement.stems),
            new_position,
            old_position,
        )
        for new_position, later in enumerate(new)
        for old_position, earlier in enumerate(old)
    ]
    ranked.sort(reverse=True)
    candidates = [(new_position, old_position) for *_, new_position, old_position in ranked[:MAX_STATEMENT_PAIRS]]
    first_non_greeting = next(
        (pair for pair in candidates if not _is_greeting(new[pair[0]].statement, old[pair[1]].statement)), candidates[0]
    )
    best: tuple[int, int, RuleMatch | None] = *first_non_greeting, None
    for new_position, old_position in candidates:
        match = match_supersession(new[new_position], old[old_position], term_weights, cosine)
        if match is not None and (best[2] is None or match.confidence > best[2].confidence):
            best = new_position, old_position, match
    return best


def _is_greeting(later: Statement, earlier: Statement) -> bool:
    """Whether a statement has nothing but a word of another: "Hello again."."""
    return len(later.stems) < 2 and not later.values and not has_new_content(later, earlier)


def statement_window(text: str, statement: str) -> str:
    """The text of a memory for the cross-encoder; of a long text a window around the statement."""
    if len(text) > MAX_WINDOW_CHARS:
        at = max(0, text.find(statement))
        start = max(0, min(at - max(0, MAX_WINDOW_CHARS - len(statement)) // 2, len(text) - MAX_WINDOW_CHARS))
        text = text[start : start + MAX_WINDOW_CHARS]
    return text


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
