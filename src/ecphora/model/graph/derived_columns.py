"""Columns of a graph that follow from others: the order of turns, and values of rows with their previous rows."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import Mask, Rows, Scores
from .columns import InvertedIndex, Table
from .vectors import VectorColumn

BLOCK = 1024
"""How many vectors are unpacked at a time."""
SESSION_GAP = 3600.0
"""Turns of a speaker without a session belong together if at most this many seconds lie between them."""


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors that one embedder made of texts; ``rows`` has the row of each.

    ``positions`` has the position of each row's vector in ``values``, -1 for none.
    """

    rows: Rows
    values: VectorColumn
    positions: Rows


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """The row just before and the row just after each row in its session or document, -1 for none."""

    previous: Rows
    following: Rows


@dataclass(frozen=True, slots=True)
class PreviousCosines:
    """The previous row of each row of a graph, and the cosine of each row's vector with its previous row's."""

    previous_rows: Rows
    cosines: Scores


@dataclass(frozen=True, slots=True)
class PreviousLengths:
    """The previous row of each row of a graph, and the number of terms of each row and its previous row together."""

    previous_rows: Rows
    lengths: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class InheritedColumns:
    """The derived columns that an updated graph may take over from its parent.

    With ``has_same_nodes``, parent and child differ in the access log alone and share ``derivations``: a value that
    either of them derives is there for both.
    """

    indexes: dict[str, InvertedIndex]
    derivations: dict[Hashable, Any]
    log_derivations: dict[Hashable, Any]
    has_same_nodes: bool
    turn_order: TurnOrder | None
    lengths: PreviousLengths | None
    previous_cosines: PreviousCosines | None
    english_previous_cosines: PreviousCosines | None

    def without_log(self) -> "InheritedColumns":
        """Return the columns that do not depend on the access log."""
        return replace(
            self,
            indexes={name: index for name, index in self.indexes.items() if name != "accesses"},
            log_derivations={},
        )


def turn_order(nodes: Table, episodes: Mask, known: TurnOrder | None) -> TurnOrder:
    """The order of the rows of each session or document, by time and then ``seq``.

    ``known`` is the order of an earlier graph of the same line; only sessions and documents with new rows are ordered
    again. A row with a neighbor in the earlier graph has a neighbor in this graph, since a new row only comes between.
    """
    start = 0 if known is None else len(known.previous)
    streams, is_loose = _streams(nodes)
    in_stream = episodes & ~(is_loose & (nodes["speakers"] < 0))
    if known is not None:
        in_stream &= np.isin(streams, np.unique(streams[start:][in_stream[start:]]))
    rows = np.flatnonzero(in_stream)
    happened = nodes["happened"]
    order = rows[np.lexsort((rows, happened[rows], streams[rows]))]
    earlier, later = order[:-1], order[1:]
    is_adjacent = streams[earlier] == streams[later]
    is_adjacent &= ~is_loose[later] | (happened[later] - happened[earlier] <= SESSION_GAP)
    previous, following = np.full(len(nodes), -1, np.intp), np.full(len(nodes), -1, np.intp)
    if known is not None:
        previous[:start], following[:start] = known.previous, known.following
    previous[later[is_adjacent]] = earlier[is_adjacent]
    following[earlier[is_adjacent]] = later[is_adjacent]
    return TurnOrder(previous, following)


def _streams(nodes: Table) -> tuple[NDArray[np.int64], Mask]:
    """The number of the session or document of each row, -1 for none; and which rows have none."""
    sessions, documents = nodes["sessions"].astype(np.int64), nodes["documents"].astype(np.int64)
    is_loose = (sessions < 0) & (documents < 0)
    return np.where(sessions >= 0, 2 * sessions, np.where(documents >= 0, 2 * documents + 1, -1)), is_loose


def changed_rows(previous: Rows, known: Rows) -> Rows:
    """The rows that are new, or have another previous row than in an earlier graph of the same line, ascending."""
    start = len(known)
    return np.concatenate([np.flatnonzero(previous[:start] != known), np.arange(start, len(previous))])


def vector_positions(rows: Rows, count: int) -> Rows:
    """The position of the vector of each of ``count`` rows, -1 for none; ``rows`` has the row of each vector."""
    positions = np.full(count, -1, np.intp)
    positions[rows] = np.arange(len(rows))
    return positions


def previous_cosines(previous: Rows, vectors: TextVectors, known: PreviousCosines | None) -> Scores:
    """The cosine of each row's vector with its previous row's vector; 0 where either is missing.

    ``known`` has the cosines of an earlier graph of the same line; only rows with another previous row change.
    """
    cosines, rows = np.zeros(len(previous), np.float32), np.arange(len(previous))
    if known is not None:
        cosines[: len(known.cosines)] = known.cosines
        rows = changed_rows(previous, known.previous_rows)
        cosines[rows] = 0
    rows = rows[previous[rows] >= 0]
    current, before = vectors.positions[rows], vectors.positions[previous[rows]]
    places = np.flatnonzero((current >= 0) & (before >= 0))
    for start in range(0, len(places), BLOCK):
        part = places[start : start + BLOCK]
        cosines[rows[part]] = np.vecdot(vectors.values.rows(current[part]), vectors.values.rows(before[part]))
    return cosines


def lengths_with_previous(
    lengths: NDArray[np.int32], previous: Rows, known: PreviousLengths | None
) -> NDArray[np.int32]:
    """The number of terms of each row and its previous row together.

    ``known`` has the numbers of an earlier graph of the same line; only rows with another previous row change.
    """
    totals, rows = lengths.copy(), np.arange(len(previous))
    if known is not None:
        totals[: len(known.lengths)] = known.lengths
        rows = changed_rows(previous, known.previous_rows)
    before = previous[rows]
    totals[rows] = lengths[rows] + np.where(before >= 0, lengths[before], 0)
    return totals
