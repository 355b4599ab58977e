"""A linear model over named features."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...reprs import ShortRepr


@dataclass(frozen=True, slots=True, repr=False)
class LinearModel(ShortRepr):
    """Weights by feature, 0 for features not named, and a bias: the log-odds of a row whose features are all 0."""

    bias: float
    weights: Mapping[str, float]
