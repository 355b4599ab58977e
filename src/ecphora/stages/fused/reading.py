"""Reading: what a reader's scores change in the ranking and in the confidence.

A reader scores each of the best candidates together with the question, as a cross-encoder does (Rodrigo Nogueira and
Kyunghyun Cho, "Passage Re-ranking with BERT", 2019, arXiv:1901.04085). Both the ranker and the reader give log-odds
that a memory is relevant, so their sum ranks. The confidence is the mean, in log-odds, of what the ranked pool says
and of what the reader says of the passage it likes best.
"""

from dataclasses import dataclass

import numpy as np

from ...model import Rows, Scores
from ...ports import RowReader
from ...reprs import ShortRepr
from ..retrieval import top_k
from .candidate_pool import CandidatePool
from .ranker import RankedPool

READING = "reading"
"""The contribution of a reader."""
MAX_LOG_ODDS = 8.0
"""Log-odds of a reader are cut to this in both directions, so that one passage cannot outweigh all else."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReadCandidates(ShortRepr):
    """The indices in the pool of the candidates that were read, and the log-odds that each answers the question."""

    indices: Rows
    log_odds: Scores


@dataclass(frozen=True, slots=True, repr=False)
class ReadingPolicy(ShortRepr):
    """How ``fused`` uses a reader. The values are set by hand.

    At most ``max_candidates`` are read. Unless reading is mandatory, none is read if there is no doubt: if the best
    leads the second by more than ``clear_lead`` in log-odds, and the confidence is at least ``clear_confidence``.
    ``weight`` is the weight of the reader's log-odds beside the ranker's, and ``confidence_weight`` their weight in the
    confidence, in 0..1.
    """

    max_candidates: int = 24
    clear_lead: float = 3.0
    clear_confidence: float = 0.9
    weight: float = 1.0
    confidence_weight: float = 0.5

    def read_candidates(
        self, pool: CandidatePool, ranked_pool: RankedPool, answerability: float, read: RowReader
    ) -> ReadCandidates | None:
        """Have the best candidates read; None if none was, as the ranking leaves no doubt or there was no time.

        ``answerability`` is the confidence without reading.
        """
        best = top_k.top_rows(ranked_pool.scores, ranked_pool.scores > 0, self.max_candidates)
        if not len(best) or not (read.is_mandatory or self._is_doubtful(ranked_pool.log_odds[best], answerability)):
            return None
        log_odds = read(pool.rows[best], pool.eligible)
        is_read = np.isfinite(log_odds)
        if not is_read.any():
            return None
        return ReadCandidates(best[is_read], np.clip(log_odds[is_read], -MAX_LOG_ODDS, MAX_LOG_ODDS))

    def _is_doubtful(self, log_odds: Scores, answerability: float) -> bool:
        """Whether the ranking leaves doubt; ``log_odds`` are those of the candidates, best first."""
        has_clear_lead = len(log_odds) == 1 or bool(log_odds[0] - log_odds[1] > self.clear_lead)
        return not has_clear_lead or answerability < self.clear_confidence

    def rerank(self, ranked_pool: RankedPool, candidates: ReadCandidates) -> RankedPool:
        """Add the reader's log-odds, as a contribution.

        A candidate that was not read is taken to be as bad as the worse half of those that were, and gains 0.
        """
        worse_half = np.sort(candidates.log_odds)[: (len(candidates.log_odds) + 1) // 2]
        gains = np.zeros(len(ranked_pool.scores), np.float32)
        gains[candidates.indices] = self.weight * (candidates.log_odds - np.median(worse_half))
        scores = ranked_pool.scores + gains
        return RankedPool({**ranked_pool.contributions, READING: gains}, scores, ranked_pool.log_odds + gains)

    def confidence(self, answerability: float, candidates: ReadCandidates) -> float:
        """The probability that the memory holds the answer; ``answerability`` is the one without reading."""
        probability = np.clip(answerability, 1e-6, 1 - 1e-6)
        without_reading = np.log(probability / (1 - probability))
        log_odds = (1 - self.confidence_weight) * without_reading
        log_odds += self.confidence_weight * candidates.log_odds.max()
        return float(1 / (1 + np.exp(-log_odds)))
