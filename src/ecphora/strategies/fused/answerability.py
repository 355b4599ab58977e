"""Answerability: the probability that a memory holds the answer, from the ranked pool. SYNAPSE's gate, learned.

The features are how far the best candidates stand out, how much of the question they cover, and whether they match the
person and the time asked about. The hard case is the same event told of somebody else: then the best turn of the person
meant scores below the best of the others, with the speaker features left out of both scores.
"""

from dataclasses import dataclass

import numpy as np

from ...model.reprs import ShortRepr
from ...model.types import Scores
from ...retrieval.bm25 import K1
from .feature_matrix import ROLE_AGREEMENT, FeatureMatrix, dialogue_share, passage_share
from .ranker import RankedPool

TOP_HITS = 5
"""How many of the best memories the features look at."""
MARGIN_RANK = 10
"""The rank, from 1, of the score that the best is compared with."""
SPEAKER_FEATURES = ("named speaker", "other speaker", "one of named speakers")
"""The ranker features that depend on the speaker."""
ANSWERABILITY_FEATURES = (
    "top log-odds",
    "log sum of probabilities",
    "margin over tenth",
    "dense similarity",
    "bm25 fraction",
    "top term coverage",
    "window term coverage",
    "joint term coverage",
    "log window idf",
    "out-of-corpus terms",
    "query term count",
    "names one speaker",
    "speaker margin",
    "query has date",
    "date match",
    "has unknown entity",
    "log pool size",
    "English cosine",
    "conversation share",
    "best reranker score",
    "reranker score of top",
    "log sum of reranker scores",
    "second best reranker score",
    "role agreement of top",
    "identifier of top",
    "passage share",
    "top log-odds, of passages",
    "best reranker score, of passages",
)
"""The names of the values of :func:`answerability_features`, in order."""


@dataclass(frozen=True, slots=True, repr=False)
class AnswerabilityModel(ShortRepr):
    """Logistic regressions over :data:`ANSWERABILITY_FEATURES`: one for pools of which a reranker has read the best,
    one for others.

    The prior is even: each bias is set so that 0.5 means that the answer is as likely there as not.
    """

    read_weights: tuple[float, ...]
    read_bias: float
    unread_weights: tuple[float, ...]
    unread_bias: float

    def probability(self, matrix: FeatureMatrix, ranked_pool: RankedPool) -> float:
        """The probability that the memory holds the answer, in 0..1; 0 if no score is positive."""
        if not (ranked_pool.scores > 0).any():
            return 0.0
        values = answerability_features(matrix, ranked_pool)
        weights, bias = (
            (self.read_weights, self.read_bias) if matrix.is_read else (self.unread_weights, self.unread_bias)
        )
        odds = bias + float(values @ np.array(weights))
        return float(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def answerability_features(matrix: FeatureMatrix, ranked_pool: RankedPool) -> Scores:
    """A value for each of :data:`ANSWERABILITY_FEATURES`; the pool must not be empty."""
    odds, coverage = ranked_pool.log_odds, matrix.term_coverage
    order = np.argsort(-odds, kind="stable")
    best, top = order[:TOP_HITS], order[:1]
    tenth = odds[order[min(MARGIN_RANK, len(order)) - 1]]
    reranker_scores, passages = _rerank_values(matrix, int(top[0])), passage_share(matrix.genres[best])
    idf_sum = max(float(coverage.idf.sum()), 1e-6)
    return np.array(
        [
            odds[top[0]],
            np.log(np.sum(1 / (1 + np.exp(-odds.astype(np.float64)))) + 1e-4),
            odds[top[0]] - tenth,
            matrix.cosine[best].max(),
            matrix.bm25[best].max() / (idf_sum * (K1 + 1)),
            coverage.weighted_fraction(coverage.in_row[top])[0],
            coverage.weighted_fraction(coverage.in_window[best]).max(),
            coverage.weighted_fraction(np.logical_or.reduce(coverage.in_row[best], axis=0, keepdims=True))[0],
            np.log1p((coverage.in_row | coverage.in_window)[best] @ coverage.idf).max(),
            coverage.idf[~coverage.in_corpus].sum() / idf_sum,
            len(coverage.idf),
            *_speaker_margin(matrix, ranked_pool),
            matrix.has_query_date,
            matrix.features["date match"][best].max(),
            matrix.has_unknown_entity,
            np.log1p(len(matrix)),
            matrix.english_cosine[best].max(),
            dialogue_share(matrix.genres[best]),
            *reranker_scores,
            matrix.features.get(ROLE_AGREEMENT, np.zeros(len(matrix)))[top[0]],
            matrix.features["identifier match"][top[0]],
            passages,
            passages * odds[top[0]],
            passages * reranker_scores[0],
        ],
        np.float32,
    )


def _speaker_margin(matrix: FeatureMatrix, ranked_pool: RankedPool) -> tuple[float, float]:
    """Whether one speaker is meant, and their best turn's lead over the others' best, without speaker features."""
    is_theirs, is_other = matrix.features["named speaker"] > 0, matrix.features["other speaker"] > 0
    if not (is_theirs.any() or is_other.any()):
        return 0.0, 0.0
    log_odds = ranked_pool.log_odds - np.sum(
        [ranked_pool.contributions[name] for name in SPEAKER_FEATURES if name in ranked_pool.contributions], axis=0
    )
    lowest = float(log_odds.min())
    return 1.0, float(log_odds[is_theirs].max(initial=lowest) - log_odds[is_other].max(initial=lowest))


def _rerank_values(matrix: FeatureMatrix, top: int) -> tuple[float, float, float, float]:
    """The best reranker score, the first hit's, the log of the sum of probabilities, and the second best one."""
    found = np.sort(matrix.reranker_scores[np.isfinite(matrix.reranker_scores)])[::-1].astype(np.float64)
    if not len(found):
        return 0.0, 0.0, 0.0, 0.0
    of_top = matrix.reranker_scores[top]
    sum_of_probabilities = float(np.sum(1 / (1 + np.exp(-found))))
    return (
        float(found[0]),
        float(of_top) if np.isfinite(of_top) else float(found[-1]),
        float(np.log(sum_of_probabilities + 1e-4)),
        float(found[min(1, len(found) - 1)]),
    )
