"""Similarity of vectors, as deviations from the mean of the scope: of each row alone, and with the row before it.

An English question is compared with English texts by their English vectors, and with all others by the vectors of the
scope's embedder. Two models are never added: of English texts the second says nothing that the first does not.
"""

import numpy as np

from ....model.types import Scores
from ....retrieval.bm25 import question_word_count
from ....retrieval.fusion import NormalizedScores
from ..candidate_pool import CandidatePool

SHORT_QUESTION, LONG_QUESTION = 8, 60
"""The distinct words of a question up to which shared words do not count by themselves, and from which they count
fully: the vector of a whole dialogue says little, its rare words say much."""
SIMILARITY = "similarity"
"""The feature of rows that are not compared by English vectors."""
LOWEST, HIGHEST = -3.0, 8.0
"""The range of the deviations: a single close text of many can have a hundred."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of similarity.

    ``English similarity`` is the similarity of the English vectors, 0 for a row without one; ``similarity`` is by the
    scope's embedder, 0 for a row with an English similarity. BM25 stands in where the embedder does not read the
    question, and for a row without a vector. ``bm25 of long question`` is the z-score of BM25, times how long the
    question is, from 0 for ``SHORT_QUESTION`` words to 1 for ``LONG_QUESTION``.
    """
    first_stage, rows = pool.first_stage, pool.rows
    is_english = pool.is_english
    lexical = _deviations(first_stage.bm25, pool)
    covered = np.float32(pool.query.embedder_coverage) * (pool.graph.vector_positions[rows] >= 0)
    length = length_share(pool, SHORT_QUESTION, LONG_QUESTION)
    features = {"bm25 of long question": length * np.minimum(first_stage.bm25.zscore(rows), HIGHEST)}
    for name, english, scope in (
        ("", first_stage.english_cosine, first_stage.cosine),
        (" with previous turn", first_stage.english_cosine_with_previous, first_stage.cosine_with_previous),
    ):
        other = covered * _deviations(scope, pool) + (1 - covered) * lexical
        features[f"{SIMILARITY}{name}"] = np.where(is_english, 0, other)
        features[f"English similarity{name}"] = (
            np.zeros(len(rows), np.float32) if english is None else np.where(is_english, _deviations(english, pool), 0)
        )
    return {name: values.astype(np.float32) for name, values in features.items()}


def length_share(pool: CandidatePool, shortest: int, longest: int) -> float:
    """How long the question is, from 0 for ``shortest`` distinct words to 1 for ``longest``."""
    return float(np.clip((question_word_count(pool.query.term_hashes) - shortest) / (longest - shortest), 0, 1))


def _deviations(scores: NormalizedScores, pool: CandidatePool) -> Scores:
    return np.clip(scores.standardize(pool.rows), LOWEST, HIGHEST)
