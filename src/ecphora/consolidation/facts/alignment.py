"""Aligns the statements of two memories: finds the two that belong together, and what the update scorer reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...language.language_identification import is_english
from ...language.statements.statements import ChangeSignal, Statement, has_code
from ...model.text_format import as_message
from .memory_statements import MemoryStatements
from .supersession import has_new_content, match_supersession
from .update_candidates import CandidatePair
from .utterances import RuleMatch, Utterance

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
