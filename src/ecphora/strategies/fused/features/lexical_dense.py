"""Lexical and dense features, SYNAPSE's dual trigger: of each row alone, with the row before, and in its window."""

import numpy as np

from ....model.types import Scores
from ..candidate_pool import CandidatePool

LEXICAL_FALLBACK = {
    "dense similarity": "bm25",
    "dense similarity with previous turn": "bm25 with previous turn",
}
"""The lexical score that stands in for each dense score where the embedder does not cover the query."""
MAX_ZSCORE = 6.0
"""The cap of z-scores: a rare term in a single row can have a z-score of a hundred."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of lexical and dense similarity.

    Each of four scores counts as a z-score, and all but one also divided by the best. ``first-stage rank`` is minus
    log(1 + rank) by first-stage score. ``rarest term`` is the idf of the rarest query term in a row, divided by the
    highest; ``window term coverage`` what the turns around it cover together; ``novel term coverage`` what a row covers
    of the terms that the top candidate does not.
    """
    first_stage, rows, coverage, scores = pool.first_stage, pool.rows, pool.term_coverage, pool.scores
    normalized = {
        "dense similarity": first_stage.cosine,
        "dense similarity with previous turn": first_stage.cosine_with_previous,
        "bm25": first_stage.bm25,
        "bm25 with previous turn": first_stage.bm25_with_previous,
    }
    features = {f"{name} z-score": np.minimum(score.zscore(rows), MAX_ZSCORE) for name, score in normalized.items()}
    by_best = {name: score.max_normalize(rows) for name, score in normalized.items()}
    # Where the embedder does not cover the query, BM25 stands in for the cosine.
    uncovered_share = np.float32(1 - pool.query.embedder_coverage)
    features["bm25"] = by_best["bm25"]
    for dense, lexical in LEXICAL_FALLBACK.items():
        features[dense] = (1 - uncovered_share) * by_best[dense] + uncovered_share * by_best[lexical]
        features[f"{dense} z-score"] += uncovered_share * features[f"{lexical} z-score"]
    rank = np.searchsorted(np.sort(-scores), -scores)  # how many are better: equal scores share a rank
    features["first-stage rank"] = -np.log1p(rank).astype(np.float32)
    is_missing = ~coverage.in_row[pool.top_candidates[:1]].any(axis=0)
    return features | {
        "rarest term": coverage.rarest_term(),
        "window term coverage": coverage.weighted_fraction(coverage.in_window),
        "novel term coverage": coverage.weighted_fraction(coverage.in_row & is_missing),
    }
