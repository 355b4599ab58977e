"""Finds the earlier claims that a new one may replace, by shared terms and dense similarity, not by a full scan.

With a judge, candidate pairs pass a gate and a cross-encoder scores them; without one, the rules of
:mod:`.update_rules` decide.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ...language.change_lexicon import ATTRIBUTE_STEMS
from ...language.statements import ChangeSignal, has_code
from ...language.terms import hash_terms, is_english
from ...language.values import ValueKind
from ...model import Rows, Scores, Vectors
from ...ports import SecondsLeft
from ...stages.retrieval import top_k
from ..batching import adaptive_batches
from .judge import (
    MAX_MEMORY_COUNT,
    UpdateJudge,
    best_aligned_statements,
    gate_features,
    judge_features,
    statement_window,
)
from .statement_index import StatementIndex
from .update_rules import (
    MAX_TURNS_APART,
    MEASURABLE_SORTS,
    RuleMatch,
    Utterance,
    has_new_content,
    make_pair,
    match_contradiction,
    match_supersession,
)

ScorePairs = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]
"""A cross-encoder: the log-odds that the later text replaces the earlier one, for each (earlier, later) pair."""
MAX_LEXICAL_CANDIDATES = 20
"""Maximum number of earlier memories compared with a new one because they share its rarest terms."""
MAX_DENSE_CANDIDATES = 16
"""Maximum number of memories compared for their dense similarity: a fact may change without sharing a word."""
MIN_TERM_WEIGHT = 0.35
"""The weight of a shared term that occurs everywhere; a rare term weighs 1."""
MULTIPLE_MIN_CONFIDENCE = 0.5
"""Minimum confidence, by the rules, for taking more than the best update."""
MIN_CONFIDENCE, MIN_CONFIDENCE_WITH_RULE = 0.8, 0.5
"""Minimum confidence of a scored update, and of one that the rules support."""
MIN_RULE_CONFIDENCE, MIN_CONFLICT_LOG_ODDS = 0.65, -2.0
"""Minimum confidence of the rules; and the cross-encoder's log-odds above which a value conflict is kept regardless."""
MAX_UPDATES = 5
"""Earlier claims that one statement may replace: a fact is seldom stated more often before it changes."""
SCORED_PAIRS_PER_MEMORY, MIN_SCORED_PAIRS = 0.4, 200
"""Pairs that the cross-encoder scores: per new memory, and the least in all."""
MAX_PAIR_SLICE, MAX_MEMORY_SLICE = 8, 4
"""With a time limit: the most pairs scored, and memories processed, between two checks of the clock."""
NO_CANDIDATES: Mapping[int, Iterable[int]] = {}
BLOCK = 512
"""New memories whose cosines with all others are computed at once."""


@dataclass(frozen=True, slots=True)
class ClaimUpdate:
    """A claim that another one replaces, is replaced by, or contradicts: its memory's row, and its position there."""

    row: int
    position: int
    rule_match: RuleMatch
    utterance: Utterance


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """Two memories that may be worth scoring: the new one's row, the other's, and the gate's log-odds.

    ``term_weights`` maps each stem of the new memory to the weight of sharing it; ``cosine`` is that of the two.
    """

    row: int
    other_row: int
    gate_log_odds: float
    term_weights: Mapping[str, float]
    cosine: float


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """The two best aligned statements of a pair of memories, each with its row and position."""

    later: tuple[int, int, Utterance]
    earlier: tuple[int, int, Utterance]
    rule_match: RuleMatch | None
    features: Mapping[str, float]
    texts: tuple[str, str]


class UpdateFinder:
    """Finds the claims that those of new memories update; rows below ``first_new_row`` were compared before."""

    def __init__(
        self,
        statements: StatementIndex,
        first_new_row: int,
        judge: UpdateJudge | None = None,
        score: ScorePairs | None = None,
    ) -> None:
        self._statements, self.graph, self._first_new_row = statements, statements.graph, first_new_row
        self._judge, self._score = judge, score
        self._log_memory_count = float(np.log1p(min(MAX_MEMORY_COUNT, int(statements.has_statements.sum()))))
        self._judged_updates: dict[tuple[int, int], list[ClaimUpdate]] = {}

    def find(self, row: int, position: int) -> list[ClaimUpdate]:
        """The updates of a claim, the most confident of each memory. With a judge, call :meth:`judge_rows` first."""
        utterance = self._statements.utterances(row)[position]
        if self._judge is None or self._score is None:
            return self._find_by_rules(row, utterance) if _can_update(utterance) else []
        contradictions = (
            self._find_by_rules(row, utterance, with_supersessions=False)
            if ChangeSignal.NEVER in utterance.statement.change_signals
            else []
        )
        return [*self._judged_updates.get((row, position), ()), *contradictions]

    # ---- by rules alone

    def _find_by_rules(self, row: int, utterance: Utterance, *, with_supersessions: bool = True) -> list[ClaimUpdate]:
        """The updates that the rules find among the candidates; without ``with_supersessions`` only contradictions."""
        dense_candidates = (
            next(self._dense_candidates(np.array([row]), same_speaker_only=True))
            if ChangeSignal.CHANGE in utterance.statement.change_signals
            else []
        )
        rows, term_weights, _ = self._candidate_rows(row, [utterance], dense_candidates)
        self._statements.fetch(rows)
        hits: list[ClaimUpdate] = []
        for other in rows:
            best: ClaimUpdate | None = None
            cosine = self._cosine(row, other)
            for position, candidate in enumerate(self._statements.utterances(other)):
                later, earlier = (
                    (utterance, candidate) if _time_key(utterance) > _time_key(candidate) else (candidate, utterance)
                )
                match = match_supersession(later, earlier, term_weights, cosine) if with_supersessions else None
                match = match or match_contradiction(later, earlier, term_weights)
                if match is not None and (best is None or match.confidence > best.rule_match.confidence):
                    best = ClaimUpdate(other, position, match, candidate)
            if best is not None:
                hits.append(best)
        return _select_updates(hits, utterance)

    # ---- by the cross-encoder

    def judge_rows(self, rows: Rows, max_pairs: int, time_left: SecondsLeft | None = None) -> None:
        """Score new memories against the candidates that the gate or the rules select, and store what each replaces.

        The gate selects the ``max_pairs`` pairs of highest log-odds. If the time runs out, the last memories and the
        last pairs are not scored.
        """
        if self._judge is None or self._score is None:
            return
        with_statements = rows[self._statements.has_statements[rows]]
        slices = (
            with_statements[index] for index in adaptive_batches(len(with_statements), 1, time_left)
        )  # fewer if the time ran out
        conflicts = {row: list(self._value_conflicts(row)) for slice_rows in slices for row in slice_rows.tolist()}
        scanned = with_statements[: len(conflicts)]
        pairs = sorted(self.candidate_pairs(scanned, self._judge, conflicts), key=lambda pair: -pair.gate_log_odds)
        selected = [
            pair for index, pair in enumerate(pairs) if index < max_pairs or pair.other_row in conflicts[pair.row]
        ]
        aligned = [aligned_pair for aligned_pair in map(self.align, selected) if aligned_pair is not None]
        updates: dict[tuple[int, int], list[ClaimUpdate]] = {}
        new_rows = set(rows.tolist())
        for aligned_pair, log_odds in zip(
            aligned, _cross_encoder_scores(aligned, self._score, time_left), strict=False
        ):  # fewer scores if the time ran out
            confidence = self._judge.probability({**aligned_pair.features, "cross-encoder log-odds": log_odds})
            is_rule_supported = (
                aligned_pair.rule_match is not None and aligned_pair.rule_match.confidence >= MIN_RULE_CONFIDENCE
            )
            is_value_conflict = (
                aligned_pair.rule_match is not None
                and _is_value_conflict(aligned_pair.rule_match)
                and log_odds > MIN_CONFLICT_LOG_ODDS
            )
            if (
                confidence < (MIN_CONFIDENCE_WITH_RULE if is_rule_supported else MIN_CONFIDENCE)
                and not is_value_conflict
            ):
                continue
            match = RuleMatch(
                round(confidence, 3),
                "cross-encoder" if aligned_pair.rule_match is None else aligned_pair.rule_match.basis,
                self._is_correction(aligned_pair),
            )
            own, other = (
                (aligned_pair.later, aligned_pair.earlier)
                if aligned_pair.later[0] in new_rows
                else (aligned_pair.earlier, aligned_pair.later)
            )
            updates.setdefault(own[:2], []).append(ClaimUpdate(*other[:2], match, other[2]))
        self._judged_updates = {
            position: _select_updates(position_updates, self._statements.utterances(position[0])[position[1]], 0.0)
            for position, position_updates in updates.items()
        }

    def _value_conflicts(self, row: int) -> Iterator[int]:
        """The rows whose value for the same thing conflicts with the new memory's, by the rules."""
        for utterance in self._statements.utterances(row):
            if any(value.kind in MEASURABLE_SORTS for value in utterance.statement.values):
                yield from (
                    update.row
                    for update in self._find_by_rules(row, utterance)
                    if _is_value_conflict(update.rule_match)
                )

    def candidate_pairs(
        self, rows: Rows, judge: UpdateJudge, extra_candidates: Mapping[int, Iterable[int]] = NO_CANDIDATES
    ) -> Iterator[CandidatePair]:
        """Pair new memories with similar ones, with those just before them, and with ``extra_candidates``.

        Each pair has the gate's log-odds. Pairs whose order in time is unknown are left out: neither can replace the
        other.
        """
        graph, index = self.graph, self._statements
        rows = rows[index.has_statements[rows]]
        index.fetch(rows.tolist())
        sessions, speakers = graph.nodes["sessions"], graph.nodes["speakers"]
        for row, dense_candidates in zip(rows.tolist(), self._dense_candidates(rows), strict=True):
            utterances = index.utterances(row)
            if not utterances:
                continue
            candidates, term_weights, shared_weights = self._candidate_rows(
                row, utterances, [*dense_candidates, *extra_candidates.get(row, ())]
            )
            comparable = index.moments.comparable_rows(row, np.array(candidates, np.intp))
            if not len(comparable):
                continue
            cosines = np.array([self._cosine(row, other) for other in comparable.tolist()])
            columns = {
                **gate_features([utterance.statement for utterance in utterances]),
                "shared term weight": np.minimum(4.0, shared_weights[comparable]),
                "cosine": cosines,
                "same speaker": speakers[comparable] == speakers[row],
                "same session": (sessions[comparable] == sessions[row]) & (sessions[row] >= 0),
                "log turns apart": np.log1p(np.abs(index.turn_numbers[comparable] - index.turn_numbers[row])),
            }
            gate_log_odds = judge.gate_log_odds(columns)
            for other, log_odds, cosine in zip(
                comparable.tolist(), gate_log_odds.tolist(), cosines.tolist(), strict=True
            ):
                yield CandidatePair(row, other, log_odds, term_weights, cosine)

    def align(self, pair: CandidatePair) -> AlignedPair | None:
        """Align the two closest statements of a pair of memories; None if neither can replace the other.

        That is so if their order is unknown, the later one says that something never was or adds nothing new, or the
        texts are not English or contain code.
        """
        index = self._statements
        index.fetch([pair.other_row])
        own_utterances, other_utterances = index.utterances(pair.row), index.utterances(pair.other_row)
        if not own_utterances or not other_utterances:
            return None
        (later_row, later_utterances), (earlier_row, earlier_utterances) = (
            (pair.row, own_utterances),
            (pair.other_row, other_utterances),
        )
        if _time_key(later_utterances[0]) < _time_key(earlier_utterances[0]):
            (later_row, later_utterances), (earlier_row, earlier_utterances) = (
                (earlier_row, earlier_utterances),
                (later_row, later_utterances),
            )
        source_texts = index.node(earlier_row).text, index.node(later_row).text
        if not later_utterances[0].is_after(earlier_utterances[0]) or not is_english(" ".join(source_texts)):
            return None
        position, earlier_position, rule_match = best_aligned_statements(
            later_utterances, earlier_utterances, pair.term_weights, pair.cosine
        )
        later, earlier = later_utterances[position], earlier_utterances[earlier_position]
        if ChangeSignal.NEVER in later.statement.change_signals | earlier.statement.change_signals:
            return None  # "never" contradicts, it does not replace
        if not has_new_content(later.statement, earlier.statement):
            return None  # it repeats the same, or more of it
        texts = (
            statement_window(source_texts[0], earlier.statement.text, earlier.speaker),
            statement_window(source_texts[1], later.statement.text, later.speaker),
        )
        if any(map(has_code, texts)):
            return None
        features = {
            "gate log-odds": pair.gate_log_odds,
            "log memory count": self._log_memory_count,
            **judge_features(make_pair(later, earlier, pair.term_weights, pair.cosine), rule_match),
        }
        return AlignedPair(
            (later_row, position, later), (earlier_row, earlier_position, earlier), rule_match, features, texts
        )

    def _is_correction(self, pair: AlignedPair) -> bool:
        """Whether the replaced claim was wrong from the start: the later memory corrects a nearby utterance."""
        corrects = any(
            ChangeSignal.CORRECTION in utterance.statement.change_signals
            for utterance in self._statements.utterances(pair.later[0])
        )
        return corrects and pair.later[2].is_nearby(pair.earlier[2])

    # ---- candidates

    def _candidate_rows(
        self, row: int, utterances: Iterable[Utterance], dense_candidates: Iterable[int]
    ) -> tuple[list[int], dict[str, float], NDArray[np.float64]]:
        """The rows to compare with: the turns just before in its session, rows that share its rarest terms, and
        ``dense_candidates``.

        Also the weight of each of its stems, and the weight of the stems that each row of the graph shares.
        """
        graph, index = self.graph, self._statements
        own_statements = [utterance.statement for utterance in utterances]
        stems = sorted(
            frozenset[str]().union(
                *(utterance.stems | utterance.former_terms | utterance.never_stems for utterance in own_statements),
                *(ATTRIBUTE_STEMS[name] for utterance in own_statements for name in utterance.attributes),
            )
        )
        places, stem_index = (
            graph.postings(hash_terms(stems)) if stems else (np.zeros(0, np.intp), np.zeros(0, np.intp))
        )
        rows = graph.terms["rows"][places]
        counts = np.bincount(stem_index, minlength=len(stems))
        weights = np.maximum(MIN_TERM_WEIGHT, 1 / (1 + np.maximum(0, counts - 2) / (0.01 * len(index.time_order) + 3)))
        focus_stems = frozenset[str]().union(*(utterance.focus_stems for utterance in own_statements))
        boosted_weights = weights * [1 + (stem in focus_stems) for stem in stems]
        shared: NDArray[np.float64] = np.where(
            self._comparable_rows(row), np.bincount(rows, boosted_weights[stem_index], minlength=len(graph)), 0.0
        )
        best = np.flatnonzero(shared)
        best = best[np.lexsort((-index.turn_numbers[best], -shared[best]))[:MAX_LEXICAL_CANDIDATES]]
        turn = int(index.turn_numbers[row])
        preceding = index.time_order[max(0, turn - MAX_TURNS_APART) : turn]
        preceding = preceding[
            (graph.nodes["sessions"][preceding] == graph.nodes["sessions"][row]) & index.has_statements[preceding]
        ]
        term_weights = dict(zip(stems, weights.tolist(), strict=True))
        return list(dict.fromkeys([*preceding.tolist(), *best.tolist(), *dense_candidates])), term_weights, shared

    def _comparable_rows(self, row: int) -> NDArray[np.bool_]:
        """A mask of the rows that a row is compared with: the earlier turns, and all rows below ``first_new_row``."""
        index = self._statements
        return index.has_statements & (
            (index.turn_numbers < index.turn_numbers[row]) | (np.arange(len(self.graph)) < self._first_new_row)
        )

    def _dense_candidates(self, rows: Rows, *, same_speaker_only: bool = False) -> Iterator[list[int]]:
        """Yield, for each row, the rows of highest cosine; with ``same_speaker_only`` only those of its speaker."""
        graph = self.graph
        places, vectors, speakers = graph.vector_positions, graph.vectors.view, graph.nodes["speakers"]
        vectored, matrix = self._vectored_rows
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            cosines: Scores = np.round(vectors[places[block]] @ matrix.T, 5)  # equal texts score equally in any block
            for row, cosine in zip(block.tolist(), cosines, strict=True):
                mask = self._comparable_rows(row)[vectored]
                if same_speaker_only:
                    mask &= speakers[vectored] == speakers[row]
                yield [] if places[row] < 0 else vectored[top_k.top_rows(cosine, mask, MAX_DENSE_CANDIDATES)].tolist()

    @cached_property
    def _vectored_rows(self) -> tuple[Rows, Vectors]:
        """The rows that have statements and a vector, with their vectors."""
        places = self.graph.vector_positions
        vectored = np.flatnonzero(self._statements.has_statements & (places >= 0))
        return vectored, self.graph.vectors.view[places[vectored]]

    def _cosine(self, row: int, other_row: int) -> float:
        places, vectors = self.graph.vector_positions, self.graph.vectors.view
        if places[row] < 0 or places[other_row] < 0:
            return 0.0
        return float(np.einsum("i,i->", vectors[places[row]], vectors[places[other_row]]))


def work_slices(rows: Rows, step_size: int, time_left: SecondsLeft | None) -> Iterator[tuple[Rows, int]]:
    """Yield new memories in slices, each with the number of pairs that may be scored for it.

    With a time limit the numbers are shares of those of a step of ``step_size`` memories, of which ``rows`` are a part.
    """
    pairs_per_memory = max(MIN_SCORED_PAIRS / max(1, step_size), SCORED_PAIRS_PER_MEMORY)
    for index in adaptive_batches(len(rows), MAX_MEMORY_SLICE, time_left):
        slice_rows, previous_pairs = rows[index], ceil(pairs_per_memory * index.start)
        yield (
            slice_rows,
            max(MIN_SCORED_PAIRS, round(SCORED_PAIRS_PER_MEMORY * len(slice_rows)))
            if time_left is None
            else ceil(pairs_per_memory * index.stop) - previous_pairs,
        )


def _cross_encoder_scores(
    pairs: Sequence[AlignedPair], score: ScorePairs, time_left: SecondsLeft | None
) -> list[float]:
    """The cross-encoder's log-odds of some pairs; of the first of them if the time runs out."""
    texts = [pair.texts for pair in pairs]
    return [
        float(log_odds)
        for index in adaptive_batches(len(texts), MAX_PAIR_SLICE, time_left)
        for log_odds in score(texts[index])
    ]


def _is_value_conflict(rule_match: RuleMatch) -> bool:
    """Whether the rules are confident that two claims give different values of one kind for the same thing."""
    return rule_match.confidence >= MIN_RULE_CONFIDENCE and rule_match.basis in MEASURABLE_SORTS


def _time_key(utterance: Utterance) -> tuple[object, int]:
    return utterance.at, utterance.turn


def _select_updates(
    updates: list[ClaimUpdate], utterance: Utterance, min_confidence: float = MULTIPLE_MIN_CONFIDENCE
) -> list[ClaimUpdate]:
    """The most confident updates: one for a correction or partial change, else all of at least ``min_confidence``, up
    to ``MAX_UPDATES``; the best one if none reaches it."""
    updates = sorted(updates, key=lambda update: (-update.rule_match.confidence, -update.utterance.turn))
    is_single = utterance.statement.change_signals & {ChangeSignal.CORRECTION, ChangeSignal.PARTIAL_CHANGE}
    return (
        updates[:1]
        if is_single
        else [update for update in updates if update.rule_match.confidence >= min_confidence][:MAX_UPDATES]
        or updates[:1]
    )


def _can_update(utterance: Utterance) -> bool:
    """Whether a claim may replace or contradict another, by the rules."""
    statement = utterance.statement
    if ChangeSignal.QUESTION in statement.change_signals:
        return False
    if statement.change_signals - {ChangeSignal.NON_OCCURRENCE}:
        return True
    is_measured = any(value.kind != ValueKind.NAME for value in statement.values)
    return bool(statement.subjects) and (is_measured or statement.is_negated or "home" in statement.attributes)
