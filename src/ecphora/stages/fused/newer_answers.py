"""The newest of several answers, or an older one if the question asks for a former state.

An old and a new statement about one matter both answer a question, and the old one is often worded more like it. So
the chance of a candidate passes to later ones that the reader says answer: to one that the update scorer says updates
it, or, if both were not compared, to one that is similar to it. If a former state is asked for, it passes to earlier
ones.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...model import Rows, Scores
from ...reprs import ShortRepr
from .feature_matrix import Genre, genres

MAX_SHARE = 0.995
"""The largest share of a chance that passes to one other candidate."""
SMALLEST_SPREAD = 0.005
"""Added to the standard deviation of the cosines, so that equal ones do not become far apart."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CandidatePairs(ShortRepr):
    """What is known of each two of ``n`` candidates.

    ``similarities`` are from :func:`standardize_cosines`, shape ``(n, n)``, and ``order`` is from :func:`time_order`,
    shape ``(n,)``. ``updates``, shape ``(n, n)``, are the log-odds that the candidate of a column updates that of the
    row, NaN for two that were not compared.
    """

    similarities: Scores
    order: Rows
    updates: Scores


@dataclass(frozen=True, slots=True, repr=False)
class ShareModel(ShortRepr):
    """A logistic model of the share of a candidate's chance that passes to another candidate.

    ``pair_score`` is the weight of a score of both together; ``to_reading`` and ``from_reading`` are those of the
    reader's log-odds for the candidate that gains and for the one that loses.
    """

    bias: float
    pair_score: float
    to_reading: float
    from_reading: float

    def log_odds(self, pair_scores: Scores, readings: Scores) -> NDArray[np.float64]:
        """The log-odds of the shares that pass from each candidate (row) to each other one (column)."""
        found: NDArray[np.float64] = (
            self.bias
            + self.pair_score * np.float64(pair_scores)
            + self.to_reading * readings[None, :]
            + self.from_reading * readings[:, None]
        )
        return found


@dataclass(frozen=True, slots=True, repr=False)
class Preferences(ShortRepr):
    """Whether the newest of several answers is wanted, 1, or an older one, -1, between them in doubt.

    One for two candidates that were compared, and one for others.
    """

    compared: float
    uncompared: float


@dataclass(frozen=True, slots=True, repr=False)
class NewerAnswerModel(ShortRepr):
    """The shares of two candidates that the update scorer compared, by its score, and of others, by similarity."""

    compared: ShareModel
    uncompared: ShareModel

    def gains(self, log_odds: Scores, readings: Scores, pairs: CandidatePairs, preferences: Preferences) -> Scores:
        """What each candidate gains in log-odds, shape ``(n,)``.

        ``log_odds`` of the candidates, and ``readings`` by the reader, are both of shape ``(n,)``.
        """
        if len(log_odds) < 2:
            return np.zeros(len(log_odds), np.float32)
        shares = self._shares(readings, pairs, preferences)
        chances = np.exp(np.float64(log_odds) - log_odds.max())
        gained = chances @ shares
        lost = np.log1p(-shares).sum(axis=1)
        result: Scores = (np.log1p(gained / chances) + lost).astype(np.float32)
        return result

    def _shares(self, readings: Scores, pairs: CandidatePairs, preferences: Preferences) -> NDArray[np.float64]:
        """The share of the chance of each candidate (row) that passes to each other one (column)."""
        updates = np.fmax(pairs.updates, pairs.updates.T)  # the number, if one of both is NaN
        is_later = pairs.order[None, :] - pairs.order[:, None]

        def shares(model: ShareModel, pair_scores: Scores, preference: float) -> NDArray[np.float64]:
            is_wanted = is_later * np.sign(preference) > 0
            logits = model.log_odds(pair_scores, readings)
            found: NDArray[np.float64] = abs(preference) * is_wanted / (1 + np.exp(-np.clip(logits, -30, 30)))
            return found

        found = np.where(
            np.isnan(updates),
            shares(self.uncompared, pairs.similarities, preferences.uncompared),
            shares(self.compared, np.nan_to_num(updates), preferences.compared),
        )
        return np.minimum(found, MAX_SHARE)


def comparable_pairs(
    log_odds: Scores, similarities: Scores, order: Rows, limit: int, known: Collection[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """The pairs (earlier, later) of the best ``limit`` candidates that are worth comparing, as places in ``log_odds``.

    Two statements about one matter are not less alike than two candidates are on average: ``similarities`` are from
    :func:`standardize_cosines`, ``order`` from :func:`time_order`. ``known`` updates are not compared again.
    """
    best = np.argsort(-log_odds, kind="stable")[:limit].tolist()
    return [
        (earlier, later)
        for earlier in best
        for later in best
        if order[earlier] < order[later] and similarities[earlier, later] >= 0 and (earlier, later) not in known
    ]


def time_order(graph: Graph, rows: Rows) -> Rows:
    """The place of each row in time, shape ``(n,)``; rows of which none is newer have the same place.

    Turns and plain texts of the same time are in the order in which they were remembered, as in a conversation
    without times. Other texts of the same time are not, nor are the chunks of one text.
    """
    nodes = graph.nodes
    is_in_order = (nodes["speakers"][rows] >= 0) | (nodes["sessions"][rows] >= 0)
    is_in_order |= genres(graph, rows) == Genre.PLAIN_TEXT
    texts = np.where(is_in_order, rows - nodes["positions"][rows], -1)  # the first chunk of a text stands for all
    _, places = np.unique(np.stack([nodes["happened"][rows], texts], axis=1), axis=0, return_inverse=True)
    return places.reshape(-1)


def standardize_cosines(cosines: Scores) -> Scores:
    """The cosines of each pair of candidates, shape ``(n, n)``, as z-scores over all pairs; 0 for a single pair.

    So they are alike for all embedders, whose cosines of unrelated texts differ.
    """
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    if not len(pairs):
        return np.zeros_like(cosines)
    standardized: Scores = (cosines - pairs.mean()) / (pairs.std() + np.float32(SMALLEST_SPREAD))
    return standardized
