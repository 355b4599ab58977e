"""Features of term similarity: query terms matched by vector, as a memory may say "my dog" for "pets"."""

import numpy as np
from numpy.typing import NDArray

from ....graph import Graph
from ....model import Query, Rows, Scores, Vectors
from ...retrieval import dense
from ..candidate_pool import CandidatePool
from .lexical_dense import MAX_ZSCORE

SAMPLE_SIZE = 512
"""The size of the evenly spread sample of vectors that mean and deviation are taken from."""
EXACT_MATCH_ZSCORE = 4.0
"""The z-score of a term that a row contains literally; other terms have the z-score of their similarity."""


def compute(pool: CandidatePool) -> dict[str, Scores]:
    """Features of the query's terms, weighted by idf.

    ``term similarity sum`` and ``term similarity max`` are the sum and the maximum of the z-scores of the terms that
    a row does not contain. ``term similarity min`` is the lowest z-score of any term, and ``term similarity coverage``
    the weighted sum over all terms of the best z-score of the row and the two turns next to it.
    """
    graph, rows, coverage = pool.graph, pool.rows, pool.term_coverage
    vectors = pool.query.term_vectors
    if vectors is None or not len(vectors) or not len(rows):
        return dict.fromkeys(
            ("term similarity sum", "term similarity max", "term similarity min", "term similarity coverage"),
            np.zeros(len(rows), np.float32),
        )
    terms = np.flatnonzero(vectors.any(axis=1))
    if not len(terms):  # script without spaces, or too many terms: literal matches only
        terms = np.arange(len(vectors))
    groups = (rows, graph.previous_rows[rows], graph.next_rows[rows])
    own, before, after = term_zscores(graph, pool.query, vectors[terms], groups)
    weights = coverage.idf[terms]
    weights = weights / max(1e-6, float(weights.sum()))
    is_in_row = coverage.in_row[:, terms]
    weighted = weights * np.where(is_in_row, 0, own)
    zscores = np.where(is_in_row, EXACT_MATCH_ZSCORE, own)
    features = {
        "term similarity sum": weighted.sum(axis=1),
        "term similarity max": weighted.max(axis=1),
        "term similarity min": zscores.min(axis=1),
        "term similarity coverage": np.max([zscores, before, after], axis=0) @ weights,
    }
    return {name: values.astype(np.float32) for name, values in features.items()}


def term_zscores(
    graph: Graph, query: Query, term_vectors: NDArray[np.float32], row_groups: tuple[Rows, ...]
) -> list[Scores]:
    """The z-scores of each group's rows in similarity to the term vectors, shape ``(rows, len(term_vectors))``.

    A row of -1, or one without a vector, has 0.
    """
    stored, positions = graph.vectors.view, graph.vector_positions
    distinct, group_index = np.unique(np.concatenate(row_groups), return_inverse=True)
    zscores = np.zeros((len(distinct), len(term_vectors)), np.float32)
    sample_vectors = graph.derive("sample of vectors", _sample_vectors)
    if len(sample_vectors):
        sample = dense.above_floor(np.vecdot(sample_vectors[:, None], term_vectors), query.similarity_floor)
        has = (distinct >= 0) & (positions[distinct] >= 0)
        similarity = dense.above_floor(
            np.vecdot(stored[positions[distinct[has]]][:, None], term_vectors), query.similarity_floor
        )
        raw = (similarity - sample.mean(axis=0)) / np.maximum(sample.std(axis=0), 1e-6)
        zscores[has] = query.embedder_coverage * np.clip(raw, 0, MAX_ZSCORE)
    return np.split(zscores[group_index], np.cumsum([len(group) for group in row_groups])[:-1])


def _sample_vectors(graph: Graph, _: object) -> Vectors:
    """The vectors of an evenly spread sample of the episodes."""
    positions = graph.vector_positions[graph.episodes]
    positions = positions[positions >= 0]
    sample: Vectors = graph.vectors.view[positions[:: max(1, len(positions) // SAMPLE_SIZE)]]
    return sample
