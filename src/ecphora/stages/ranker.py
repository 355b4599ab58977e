"""The ranker: what the columns of a memory are worth together, as log-odds that it belongs to what was asked.

EISA has a trainable side network beside a frozen embedder. This one is linear in named columns, so a score is a sum of
shares and its weights can be read. There is a head for each sort of memory, because a turn of a talk, a note of a day
and a passage of a library are found by different signs; each row is weighed by its own. Pure: it is trained by
:mod:`ecphora.learn`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model import START, Scores
from ..reprs import ShortRepr
from .sheet import Sheet

FLOOR = -14.0
"""Log-odds from which scores are counted: what is less likely than one in a million does not come back."""


@dataclass(frozen=True, slots=True, repr=False)
class Head(ShortRepr):
    """Weights by column, 0 for those not named, and the log-odds of a row whose columns are all 0."""

    bias: float
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True, repr=False)
class Weighed(ShortRepr):
    """What some rows are worth: the shares of their scores, which add up to ``scores``, and log-odds."""

    shares: Mapping[str, Scores]
    scores: Scores
    odds: Scores


@dataclass(frozen=True, slots=True, repr=False)
class Ranker(ShortRepr):
    """A head for each of :data:`~.sheet.SORTS`."""

    spoken: Head
    noted: Head
    written: Head

    @property
    def heads(self) -> tuple[Head, ...]:
        """The heads, in the order of :data:`~.sheet.SORTS`."""
        return (self.spoken, self.noted, self.written)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that any head weighs."""
        return tuple(dict.fromkeys(name for head in self.heads for name in head.weights))

    def weigh(self, sheet: Sheet) -> Weighed:
        """Weigh the rows of a pool, each by the head of its sort."""
        names = self.columns
        weights = np.array(
            [[head.bias - FLOOR, *(head.weights.get(name, 0.0) for name in names)] for head in self.heads]
        )
        values = np.stack([np.ones(len(sheet), np.float32), *(sheet.columns[name] for name in names)])
        shares: NDArray[np.float32] = (weights.T[:, sheet.sorts] * values).astype(np.float32)
        scores: Scores = shares.sum(axis=0)
        return Weighed(dict(zip((START, *names), shares, strict=True)), scores, scores + np.float32(FLOOR))
