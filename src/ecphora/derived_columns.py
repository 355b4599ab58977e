"""Columns of a graph that follow from others: the order of turns, and the vectors of rows with those before them."""

from dataclasses import dataclass

import numpy as np

from .columns import Table
from .model import Mask, Rows, Scores, Vectors

SESSION_GAP = 3600.0
"""Turns of a speaker without a session belong together if at most this many seconds lie between them."""


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors that one embedder made of texts, shape ``(vectors, dim)``; ``rows`` has the row of each.

    ``positions`` has the position of each row's vector in ``values``, -1 for none.
    """

    rows: Rows
    values: Vectors
    positions: Rows


@dataclass(frozen=True, slots=True)
class PreviousCosines:
    """The previous row of each row of a graph, and the cosine of each row's vector with that of its previous row."""

    previous_rows: Rows
    cosines: Scores


def previous_rows(nodes: Table, episodes: Mask) -> Rows:
    """The row just previous each row in its session or document, by time and then ``seq``; -1 for none."""
    previous = np.full(len(nodes), -1, np.intp)
    sessions, documents, speakers = nodes["sessions"], nodes["documents"], nodes["speakers"]
    is_loose = (sessions < 0) & (documents < 0)
    in_stream = episodes & ~(is_loose & (speakers < 0))
    rows = np.flatnonzero(in_stream)
    stream = np.where(sessions >= 0, 2 * sessions.astype(np.int64), np.where(documents >= 0, 2 * documents + 1, -1))
    happened = nodes["happened"]
    order = rows[np.lexsort((rows, happened[rows], stream[rows]))]
    earlier, later = order[:-1], order[1:]
    is_adjacent = stream[earlier] == stream[later]
    is_adjacent &= ~is_loose[later] | (happened[later] - happened[earlier] <= SESSION_GAP)
    previous[later[is_adjacent]] = earlier[is_adjacent]
    return previous


def vector_positions(rows: Rows, count: int) -> Rows:
    """The position of the vector of each of ``count`` rows, -1 for none; ``rows`` has the row of each vector."""
    positions = np.full(count, -1, np.intp)
    positions[rows] = np.arange(len(rows))
    return positions


def previous_cosines(previous: Rows, vectors: TextVectors, known: PreviousCosines | None) -> Scores:
    """The cosine of each row's vector with that of its previous row; 0 where either is missing.

    ``known`` are those of an earlier graph of the same line, of which only rows with another previous row change.
    """
    cosines, changed = np.zeros(len(previous), np.float32), previous >= 0
    if known is not None:
        start = len(known.previous_rows)
        cosines[:start] = known.cosines
        changed[:start] &= known.previous_rows != previous[:start]
        cosines[:start][previous[:start] < 0] = 0
    rows = np.flatnonzero(changed)
    current, before = vectors.positions[rows], vectors.positions[previous[rows]]
    has_both = (current >= 0) & (before >= 0)
    cosines[rows] = 0
    cosines[rows[has_both]] = np.einsum("ij,ij->i", vectors.values[current[has_both]], vectors.values[before[has_both]])
    return cosines
