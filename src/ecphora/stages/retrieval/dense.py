"""Dense retrieval: cosines with the query's vector, of each row alone and with its previous turn, and their scale."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...derived_columns import TextVectors, changed_rows
from ...graph import CachedDerivation, Graph
from ...model import Mask, Query, Rows, Scores, Vector, Vectors

PREVIOUS_TURN_WEIGHT = 0.4
"""The weight of the previous row's vector in a row's context vector. Measured: see decision 0004."""


def cosine(graph: Graph, query: Query) -> Scores:
    """Cosine of the query with each row's vector; 0 for rows without a vector."""
    return cosine_with(graph, query.vector)


def cosine_with(graph: Graph, vector: Vector | None, *, use_english: bool = False) -> Scores:
    """Cosine of a vector with each row's vector; 0 for rows without one, and everywhere if ``vector`` is None.

    With ``use_english`` the rows' vectors are the English ones, here and below.
    """
    scores = graph.zeros()
    stored = graph.text_vectors(use_english=use_english)
    if vector is not None and len(stored.values):
        scores[stored.rows] = stored.values.dot(vector)
    return scores


def pairwise_cosines(graph: Graph, rows: Rows, others: Rows, *, use_english: bool = False) -> Scores:
    """The cosines of some rows with others, shape ``(len(rows), len(others))``; 0 where one has no vector."""
    stored = graph.text_vectors(use_english=use_english)
    # A matrix product may start a second thread.
    cosines: Scores = np.vecdot(_row_vectors(stored, rows)[:, None], _row_vectors(stored, others))
    return cosines


def _row_vectors(stored: TextVectors, rows: Rows) -> Vectors:
    if not len(stored.values):
        return np.zeros((len(rows), 1), np.float32)
    positions = stored.positions[rows]
    vectors = stored.values.rows(positions)
    vectors[positions < 0] = 0
    return vectors


def above_floor(cosines: Scores, floor: float) -> Scores:
    """Cosines rescaled from ``floor``, the embedder's cosine of two unrelated texts: 0 at the floor, 1 at 1."""
    if not floor:
        return cosines
    rescaled: Scores = np.maximum(-1, (cosines - np.float32(floor)) / np.float32(1 - floor))
    return rescaled


def confidence(cosines: Scores, query: Query) -> float:
    """The highest of some cosines as a confidence in 0..1: 0 at the embedder's similarity floor, 1 at 1."""
    return float(np.clip(above_floor(cosines, query.similarity_floor).max(initial=0.0), 0, 1))


def with_previous_turn(
    graph: Graph, scores: Scores, *, weight: float = PREVIOUS_TURN_WEIGHT, use_english: bool = False
) -> Scores:
    """Cosine of the query with each row's vector plus ``weight`` times the vector of the row before it.

    Computed from the rows' own cosines: (d_i + s d_p) / |v_i + s v_p|, |v_i + s v_p|² = 1 + s² + 2 s cos(i, p). So no
    second vector is stored, and a turn that is backfilled later changes the context of the turn after it.
    """
    key, compute = ("context lengths", weight, use_english), partial(_context_lengths, weight, use_english)
    context = graph.derive(key, compute)
    with_previous = (scores + weight * scores[graph.previous_rows]) / context.lengths
    return np.where(context.has_previous, with_previous, scores)


@dataclass(frozen=True, slots=True, eq=False)
class _ContextLengths:
    """Which rows have a vector, and one before them; and the length of each row's vector with the one before it.

    ``previous_rows`` are those of the graph.
    """

    has_previous: Mask
    lengths: Scores
    previous_rows: Rows


def _context_lengths(
    weight: float, use_english: bool, graph: Graph, known: CachedDerivation[_ContextLengths] | None
) -> _ContextLengths:
    previous, positions = graph.previous_rows, graph.text_vectors(use_english=use_english).positions
    cosine = graph.english_previous_cosine if use_english else graph.previous_cosine
    has_previous, lengths, rows = np.zeros(len(graph), np.bool_), graph.zeros(), np.arange(len(graph))
    if known is not None:
        start = known.node_count
        has_previous[:start], lengths[:start] = known.value.has_previous, known.value.lengths
        rows = changed_rows(previous, known.value.previous_rows)
    before = previous[rows]
    has_previous[rows] = (before >= 0) & (positions[rows] >= 0) & (positions[before] >= 0)
    lengths[rows] = np.sqrt(np.maximum((1 - weight) ** 2, 1 + weight * weight + 2 * weight * cosine[rows]))
    return _ContextLengths(has_previous, lengths, previous)
