"""The ranker: a linear model over the features of a memory, giving the log-odds that it is relevant to the query.

EISA has a trainable side network next to a frozen embedder. This ranker is linear in named features, so a score is a
sum of contributions and its weights can be read. There is one linear model per genre, because different features find a
turn of a conversation, a statement, a passage and a long turn; each row is scored by the model of its genre. All
weights of a genre are trained together, the weights of reading too (``training/train_fused.py``,
:mod:`ecphora.maintenance.learn`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...model.reprs import ShortRepr
from ...model.types import PRIOR, Scores
from ...retrieval.fusion import LinearModel
from .feature_matrix import FeatureMatrix

MIN_LOG_ODDS = -14.0
"""The log-odds of score 0: a memory less likely than one in a million is not recalled."""


@dataclass(frozen=True, slots=True, repr=False)
class RankedPool(ShortRepr):
    """The contributions of each feature, which add up to ``scores``, and the log-odds of each row."""

    contributions: Mapping[str, Scores]
    scores: Scores
    log_odds: Scores


@dataclass(frozen=True, slots=True, repr=False)
class Ranker(ShortRepr):
    """A linear model for each of :class:`~.feature_matrix.Genre`."""

    utterance: LinearModel
    statement: LinearModel
    passage: LinearModel
    long_turn: LinearModel
    feature_names: tuple[str, ...] = field(init=False, compare=False)
    """The features that any model has a weight for."""
    _weights: NDArray[np.float64] = field(init=False, compare=False)
    """The prior and the weights of ``feature_names``, a column for each genre."""

    def __post_init__(self) -> None:
        """Put the weights of the models into one array."""
        names = tuple(dict.fromkeys(name for model in self.models for name in model.weights))
        rows = [[model.bias - MIN_LOG_ODDS, *(model.weights.get(name, 0.0) for name in names)] for model in self.models]
        object.__setattr__(self, "feature_names", names)
        object.__setattr__(self, "_weights", np.array(rows).T)

    @property
    def models(self) -> tuple[LinearModel, ...]:
        """The models, in the order of :class:`~.feature_matrix.Genre`."""
        return (self.utterance, self.statement, self.passage, self.long_turn)

    def score(self, matrix: FeatureMatrix) -> RankedPool:
        """Score the rows of a pool, each by the model of its genre."""
        names = self.feature_names
        values = np.zeros((1 + len(names), len(matrix)), np.float32)
        values[0] = 1
        for place, name in enumerate(names, 1):
            if name in matrix.features:  # a reranker's features are there once it has read
                values[place] = matrix.features[name]
        contributions: NDArray[np.float32] = (self._weights[:, matrix.genres] * values).astype(np.float32)
        scores: Scores = contributions.sum(axis=0)
        return RankedPool(
            dict(zip((PRIOR, *names), contributions, strict=True)), scores, scores + np.float32(MIN_LOG_ODDS)
        )
