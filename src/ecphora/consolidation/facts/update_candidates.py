"""Finds the memories to compare with a new one, by shared terms and dense similarity, not by a full scan."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...language.statements.change_lexicon import ATTRIBUTE_STEMS
from ...language.statements.statements import ChangeSignal
from ...language.terms import hash_terms
from ...model.types import Rows, Scores, Vectors
from ...retrieval import fusion
from ...retrieval.dense import above_floor
from .memory_statements import MAX_TURNS_APART, MemoryStatements, Utterance
from .update_classifier import UpdateClassifier, gate_features

MAX_LEXICAL_CANDIDATES = 20
"""Maximum number of earlier memories compared with a new one because they share its rarest terms."""
MAX_DENSE_CANDIDATES = 16
"""Maximum number of memories compared for their dense similarity: a fact may change without sharing a word."""
MIN_TERM_WEIGHT = 0.35
"""The weight of a shared term that occurs everywhere; a rare term weighs 1."""
NO_CANDIDATES: Mapping[int, Iterable[int]] = {}
BLOCK = 512
"""New memories whose cosines with all others are computed at once."""


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """Two memories that may be worth scoring: the new one's row, the other's, and the gate's log-odds.

    ``term_weights`` maps each stem of the new memory to the weight of sharing it; ``cosine`` is the cosine of the two
    memories, rescaled from the embedder's similarity floor.
    """

    row: int
    other_row: int
    gate_log_odds: float
    term_weights: Mapping[str, float]
    cosine: float


@dataclass(frozen=True)
class CandidateSearch:
    """Finds the memories to compare with new ones; rows below ``first_new_row`` were compared before.

    ``similarity_floor`` is the embedder's cosine of two unrelated texts.
    """

    statements: MemoryStatements
    first_new_row: int
    similarity_floor: float = 0.0

    def of_claim(self, row: int, claim: Utterance) -> tuple[dict[int, float], dict[str, float]]:
        """The rows to compare one claim of a memory with, each with the cosine of the two memories.

        Also the weight of sharing each of the claim's stems.
        """
        has_changed = ChangeSignal.CHANGE in claim.statement.change_signals
        dense_rows = next(self._dense_candidates(np.array([row]), same_speaker_only=True)) if has_changed else []
        rows, term_weights, _ = self._candidate_rows(row, [claim], dense_rows)
        return dict(zip(rows, self._cosines(row, rows).tolist(), strict=True)), term_weights

    def pairs(
        self, rows: Rows, classifier: UpdateClassifier, extra_candidates: Mapping[int, Iterable[int]] = NO_CANDIDATES
    ) -> list[CandidatePair]:
        """Pair new memories with similar ones, with those just before them, and with ``extra_candidates``.

        Each pair has the gate's log-odds. Pairs whose order in time is unknown are left out: neither can replace the
        other.
        """
        graph, index = self.statements.graph, self.statements
        rows = rows[index.has_statements[rows]]
        index.fetch(rows.tolist())
        sessions, speakers = graph.nodes["sessions"], graph.nodes["speakers"]
        pairs: list[CandidatePair] = []
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
            cosines = self._cosines(row, comparable.tolist())
            columns = {
                **gate_features([utterance.statement for utterance in utterances]),
                "shared term weight": np.minimum(4.0, shared_weights[comparable]),
                "cosine": cosines,
                "same speaker": speakers[comparable] == speakers[row],
                "same session": (sessions[comparable] == sessions[row]) & (sessions[row] >= 0),
                "log turns apart": np.log1p(np.abs(index.turn_numbers[comparable] - index.turn_numbers[row])),
            }
            gate_log_odds = classifier.gate_log_odds(columns)
            pairs += (
                CandidatePair(row, other, log_odds, term_weights, cosine)
                for other, log_odds, cosine in zip(
                    comparable.tolist(), gate_log_odds.tolist(), cosines.tolist(), strict=True
                )
            )
        return pairs

    def _candidate_rows(
        self, row: int, utterances: Iterable[Utterance], dense_candidates: Iterable[int]
    ) -> tuple[list[int], dict[str, float], NDArray[np.float64]]:
        """The rows to compare with: the turns just before in its session, rows that share its rarest terms, and
        ``dense_candidates``.

        Also the weight of each of its stems, and the weight of the stems that each row of the graph shares.
        """
        graph, index = self.statements.graph, self.statements
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
        index = self.statements
        return index.has_statements & (
            (index.turn_numbers < index.turn_numbers[row])
            | (np.arange(len(self.statements.graph)) < self.first_new_row)
        )

    def _dense_candidates(self, rows: Rows, *, same_speaker_only: bool = False) -> Iterator[list[int]]:
        """Yield, for each row, the rows of highest cosine; with ``same_speaker_only`` only rows of its speaker."""
        graph = self.statements.graph
        places, vectors, speakers = graph.vector_positions, graph.vectors, graph.nodes["speakers"]
        vectored, matrix = self._vectored_rows
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            cosines: Scores = np.round(
                vectors.rows(places[block]) @ matrix.T, 5
            )  # equal texts score equally in any block
            for row, cosine in zip(block.tolist(), cosines, strict=True):
                mask = self._comparable_rows(row)[vectored]
                if same_speaker_only:
                    mask &= speakers[vectored] == speakers[row]
                yield [] if places[row] < 0 else vectored[fusion.top_rows(cosine, mask, MAX_DENSE_CANDIDATES)].tolist()

    @cached_property
    def _vectored_rows(self) -> tuple[Rows, Vectors]:
        """The rows that have statements and a vector, with their vectors."""
        places = self.statements.graph.vector_positions
        vectored = np.flatnonzero(self.statements.has_statements & (places >= 0))
        return vectored, self.statements.graph.vectors.rows(places[vectored])

    def _cosines(self, row: int, other_rows: Sequence[int]) -> NDArray[np.float64]:
        """The cosine of a row with each of others, rescaled from the similarity floor; 0 if either has no vector."""
        graph, others = self.statements.graph, np.array(other_rows, np.intp)
        places = graph.vector_positions
        cosines = np.full(len(others), self.similarity_floor, np.float32)
        if places[row] >= 0:
            has_vector = places[others] >= 0
            vectors = graph.vectors.rows(places[others[has_vector]])
            cosines[has_vector] = np.vecdot(vectors, graph.vectors.rows(places[row]))
        return above_floor(cosines, self.similarity_floor).astype(np.float64)
