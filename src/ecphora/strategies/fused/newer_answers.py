"""Newer answers: of two candidates that answer a question alike, the newer one, unless a former state is asked for.

"Where does Ana live?" wants the newest statement that answers it, though an older one may be worded more like the
question. Of a series, such as twelve weekly weights, the latest or the first one may be asked for. Nothing here decides
alone: the ranker weighs these features like all others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import Graph
from ...model.reprs import ShortRepr
from ...model.types import Mask, Query, Rows, Scores
from ...retrieval import dense
from ...retrieval.temporal import time_order

NEWER_ANSWER, OLDER_ANSWER, SERIES_END = "newer answer", "older answer", "other end of series"
"""The features of being newer, or older, than another answer, and of not being the end of a series that is asked for.
"""
SMALLEST_SPREAD = 0.005
"""Added to the standard deviation of the cosines, so that equal ones do not become far apart."""
CLOSEST = 3.0
"""The z-score of a cosine from which two candidates are as close as can be."""
PAIR_CLOSENESS = 0.5
"""How close two candidates are if there are no others: that both answer the question decides."""
RELATIVE_SCALE = 0.7
"""By how much a reranker's log-odds are scaled when the best candidate has probability 1: a series may answer badly,
and each of its entries as badly as the next."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnswerPairs(ShortRepr):
    """How close each two of ``n`` candidates are, 0 to 1, shape ``(n, n)``, and ``order`` in time, shape ``(n,)``."""

    closeness: Scores
    order: Rows


def newer_answer_features(pairs: AnswerPairs, log_odds: Scores, preference: float, series: int) -> dict[str, Scores]:
    """The features of ``n`` candidates that were read, each of shape ``(n,)``.

    ``log_odds`` are the reranker's. ``preference`` is 1 if the newest of several answers is meant, -1 if an older
    answer, between them in doubt. ``series`` is 1 if the latest of a series is asked for, -1 if its first, else 0.

    With the closeness c and the probabilities p, ``older answer`` of i is preference · p_i · max c_ij · p_j over the
    candidates j that are newer; ``newer answer`` is the same over the older candidates; ``other end of series`` the
    same over the candidates nearer to the end that is asked for, with probabilities relative to the best.
    """
    if len(log_odds) < 2:
        return {name: np.zeros(len(log_odds), np.float32) for name in (NEWER_ANSWER, OLDER_ANSWER, SERIES_END)}
    is_newer = pairs.order[None, :] > pairs.order[:, None]
    probabilities = 1 / (1 + np.exp(-log_odds.astype(np.float64)))
    relative = np.exp(RELATIVE_SCALE * (log_odds.astype(np.float64) - float(log_odds.max())))
    surpassing = is_newer if series > 0 else is_newer.T
    features = {
        OLDER_ANSWER: preference * _best_rival(pairs.closeness * is_newer, probabilities),
        NEWER_ANSWER: preference * _best_rival(pairs.closeness * is_newer.T, probabilities),
        SERIES_END: abs(series) * _best_rival(pairs.closeness * surpassing, relative),
    }
    return {name: values.astype(np.float32) for name, values in features.items()}


def _best_rival(closeness: Scores, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = probabilities * np.max(closeness * probabilities[None, :], axis=1)
    return found


def answer_pairs(graph: Graph, query: Query, rows: Rows, stays: Mask, alike: Mask) -> AnswerPairs:
    """How close some candidates are to each other, by English vectors for an English question, and their order.

    Candidates that tell of a stay, under the mask ``stays`` of shape ``(n,)``, are not close to the others: where
    somebody is for the weekend is no newer answer to where they live. Those under the mask ``alike``, which state
    what is asked, or may, are as close as can be: "New address: Mill Lane 7." is not near to "I live in Bray."
    """
    cosines = dense.pairwise_cosines(graph, rows, rows, use_english=query.english_vector is not None)
    closeness = np.clip(standardize_cosines(cosines), 0, CLOSEST) / np.float32(CLOSEST)
    if len(rows) == 2:  # nothing to compare their cosine with
        closeness = np.full((2, 2), PAIR_CLOSENESS, np.float32)
    closeness[stays[:, None] != stays[None, :]] = 0
    closeness[alike[:, None] & alike[None, :]] = 1
    return AnswerPairs(closeness, time_order(graph, rows))


def standardize_cosines(cosines: Scores) -> Scores:
    """The cosines of each pair of candidates, shape ``(n, n)``, as z-scores over all pairs; 0 for a single pair.

    So they are alike for all embedders, whose cosines of unrelated texts differ.
    """
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    if len(pairs) < 2:
        return np.zeros_like(cosines)
    standardized: Scores = (cosines - pairs.mean()) / (pairs.std() + np.float32(SMALLEST_SPREAD))
    return standardized
