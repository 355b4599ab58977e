"""A linear model over named features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...reprs import ShortRepr


@dataclass(frozen=True, slots=True, repr=False)
class LinearModel(ShortRepr):
    """Weights by feature, 0 for features not named, and a bias: the log-odds of a row whose features are all 0."""

    bias: float
    weights: Mapping[str, float]


def parse_linear_model(found: Mapping[str, Any]) -> LinearModel:
    """The model of a JSON object with a ``bias`` and ``features``; raises ``KeyError`` if one is missing."""
    return LinearModel(float(found["bias"]), {str(name): float(weight) for name, weight in found["features"].items()})
