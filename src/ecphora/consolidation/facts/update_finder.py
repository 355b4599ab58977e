"""Finds the earlier claims that a new one replaces or contradicts, among the memories of :mod:`.update_candidates`.

With a classifier, candidate pairs pass its gate and a cross-encoder scores them; otherwise the rules of
:mod:`.supersession` decide. Contradictions are always found by rules.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...language.statements.statements import ChangeSignal
from ...language.statements.values import ValueKind
from ...model.ports import SecondsLeft
from ...model.types import Rows
from ...retrieval.validity import MIN_CONFIDENCE
from ..batching import adaptive_batches
from .alignment import AlignedPair, align
from .memory_statements import MemoryStatements, RuleMatch, Utterance
from .supersession import MEASURABLE_SORTS, match_contradiction, match_supersession
from .update_candidates import CandidateSearch
from .update_classifier import UpdateClassifier

ScorePairs = Callable[[Sequence[tuple[str, str]]], NDArray[np.float64]]
"""A cross-encoder: the log-odds that the later text replaces the earlier one, for each (earlier, later) pair."""
MULTIPLE_MIN_CONFIDENCE = 0.5
"""Minimum confidence, by the rules, for taking more than the best update."""
MIN_PENDING_CONFIDENCE, MIN_PENDING_WITH_RULE = 0.55, 0.35
"""Minimum confidence of a scored update, and of an update of which the rules are certain. Below
:data:`~ecphora.retrieval.validity.MIN_CONFIDENCE` an update is pending, unless it reaches the first minimum and the
rules are certain. See decision 0030."""
CERTAIN_RULE_CONFIDENCE = 0.8
"""The rules' confidence from which they are certain."""
MIN_RULE_CONFIDENCE = 0.65
"""Minimum confidence of the rules for a value conflict, which the cross-encoder then scores whatever the gate says."""
MAX_UPDATES = 5
"""Earlier claims that one statement may replace: a fact is seldom stated more often before it changes."""
MAX_PAIR_SLICE = 8
"""With a time limit: the most pairs scored between two checks of the clock."""


@dataclass(frozen=True, slots=True)
class ClaimUpdate:
    """A claim that another one replaces, is replaced by, or contradicts: its memory's row, and its position there."""

    row: int
    position: int
    rule_match: RuleMatch
    utterance: Utterance


@dataclass(eq=False)
class UpdateFinder:
    """Finds the claims that the claims of new memories update; rows below ``first_new_row`` were compared before.

    ``similarity_floor`` is the embedder's cosine of two unrelated texts.
    """

    statements: MemoryStatements
    first_new_row: int
    classifier: UpdateClassifier | None = None
    score: ScorePairs | None = None
    similarity_floor: float = 0.0
    _scored_updates: dict[tuple[int, int], list[ClaimUpdate]] = field(default_factory=dict, init=False)

    @cached_property
    def _candidates(self) -> CandidateSearch:
        return CandidateSearch(self.statements, self.first_new_row, self.similarity_floor)

    def find(self, row: int, position: int) -> list[ClaimUpdate]:
        """The updates of a claim, the surest of each memory. With a classifier, first call :meth:`score_rows`."""
        utterance = self.statements.utterances(row)[position]
        if self.classifier is None or self.score is None:
            return self._find_by_rules(row, utterance) if _can_update(utterance) else []
        contradictions = (
            self._find_by_rules(row, utterance, with_supersessions=False)
            if ChangeSignal.NEVER in utterance.statement.change_signals
            else []
        )
        return [*self._scored_updates.get((row, position), ()), *contradictions]

    # ---- by rules alone

    def _find_by_rules(self, row: int, utterance: Utterance, *, with_supersessions: bool = True) -> list[ClaimUpdate]:
        """The updates that the rules find among the candidates; without ``with_supersessions`` only contradictions."""
        cosines, term_weights = self._candidates.of_claim(row, utterance)
        self.statements.fetch(cosines)
        hits: list[ClaimUpdate] = []
        for other, cosine in cosines.items():
            best: ClaimUpdate | None = None
            for position, candidate in enumerate(self.statements.utterances(other)):
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

    def score_rows(self, rows: Rows, max_pairs: int, time_left: SecondsLeft | None = None) -> None:
        """Score new memories against the candidates that the gate or the rules select, and store what each replaces.

        The gate selects the ``max_pairs`` pairs of highest log-odds. If the time runs out, the last memories and the
        last pairs are not scored.
        """
        if self.classifier is None or self.score is None:
            return
        with_statements = rows[self.statements.has_statements[rows]]
        slices = (
            with_statements[index] for index in adaptive_batches(len(with_statements), 1, time_left)
        )  # fewer if the time ran out
        conflicts = {row: list(self._value_conflicts(row)) for slice_rows in slices for row in slice_rows.tolist()}
        scanned = with_statements[: len(conflicts)]
        pairs = sorted(
            self._candidates.pairs(scanned, self.classifier, conflicts), key=lambda pair: -pair.gate_log_odds
        )
        selected = [
            pair for index, pair in enumerate(pairs) if index < max_pairs or pair.other_row in conflicts[pair.row]
        ]
        aligned = [found for pair in selected if (found := align(self.statements, pair)) is not None]
        updates: dict[tuple[int, int], list[ClaimUpdate]] = {}
        new_rows = set(rows.tolist())
        for aligned_pair, log_odds in zip(
            aligned, _cross_encoder_scores(aligned, self.score, time_left), strict=False
        ):  # fewer scores if the time ran out
            rule_confidence = 0.0 if aligned_pair.rule_match is None else aligned_pair.rule_match.confidence
            confidence = self.classifier.probability(log_odds, rule_confidence)
            is_certain_rule = rule_confidence >= CERTAIN_RULE_CONFIDENCE
            if confidence < (MIN_PENDING_WITH_RULE if is_certain_rule else MIN_PENDING_CONFIDENCE):
                continue
            if is_certain_rule and confidence >= MIN_PENDING_CONFIDENCE:
                confidence = max(confidence, MIN_CONFIDENCE)
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
        self._scored_updates = {
            position: _select_updates(position_updates, self.statements.utterances(position[0])[position[1]], 0.0)
            for position, position_updates in updates.items()
        }

    def _value_conflicts(self, row: int) -> Iterator[int]:
        """The rows whose value for the same thing conflicts with the new memory's, by the rules."""
        for utterance in self.statements.utterances(row):
            if any(value.kind in MEASURABLE_SORTS for value in utterance.statement.values):
                yield from (
                    update.row
                    for update in self._find_by_rules(row, utterance)
                    if _is_value_conflict(update.rule_match)
                )

    def _is_correction(self, pair: AlignedPair) -> bool:
        """Whether the replaced claim was wrong from the start: the later memory corrects a nearby utterance."""
        corrects = any(
            ChangeSignal.CORRECTION in utterance.statement.change_signals
            for utterance in self.statements.utterances(pair.later[0])
        )
        return corrects and pair.later[2].is_nearby(pair.earlier[2])


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
