"""The newest of several answers, or an older one if the question asks for a former state.

An old and a new statement about one matter both answer a question, and the old one is often worded more like it. So
the chance of a candidate passes to later ones that are similar to it and that the reader says answer. If a former state
is asked for, it passes to earlier ones.
"""

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


@dataclass(frozen=True, slots=True, repr=False)
class NewerAnswerModel(ShortRepr):
    """A logistic model of the share of a candidate's chance that passes to another candidate.

    ``similarity`` is the weight of the cosine of both, as a z-score over all pairs of candidates; ``to_reading`` and
    ``from_reading`` are those of the reader's log-odds for the candidate that gains and for the one that loses.
    """

    bias: float
    similarity: float
    to_reading: float
    from_reading: float

    def gains(
        self,
        log_odds: Scores,
        readings: Scores,
        similarities: Scores,
        order: Rows,
        preference: float,
    ) -> Scores:
        """What each candidate gains in log-odds, shape ``(n,)``.

        ``log_odds`` of the candidates, ``readings`` by the reader, both of shape ``(n,)``; ``similarities`` from
        :func:`standardize_cosines`; ``order`` from :func:`time_order`; ``preference`` is 1 if the
        newest answer is wanted, -1 if an older one, between them in doubt.
        """
        if not preference or len(log_odds) < 2:
            return np.zeros(len(log_odds), np.float32)
        shares = self._shares(readings, similarities, order, preference)
        chances = np.exp(np.float64(log_odds) - log_odds.max())
        gained = chances @ shares
        lost = np.log1p(-shares).sum(axis=1)
        result: Scores = (np.log1p(gained / chances) + lost).astype(np.float32)
        return result

    def _shares(self, readings: Scores, similarities: Scores, order: Rows, preference: float) -> NDArray[np.float64]:
        """The share of the chance of each candidate (row) that passes to each other one (column)."""
        logits = (
            self.bias
            + self.similarity * similarities
            + self.to_reading * readings[None, :]
            + self.from_reading * readings[:, None]
        )
        is_wanted = (order[None, :] - order[:, None]) * np.sign(preference) > 0
        shares = abs(preference) * is_wanted / (1 + np.exp(-np.clip(np.float64(logits), -30, 30)))
        found: NDArray[np.float64] = np.minimum(shares, MAX_SHARE)
        return found


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
