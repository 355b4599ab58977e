"""The head of a cross-encoder: one score from the states of the tokens of two texts that a network read together.

It reads the first token, the means of both texts' tokens and their product: a normalization, a layer with GELU, and a
layer that gives the score.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...model.types import Vector, Vectors

HEAD_EPSILON = 1e-5
"""Added to a variance before dividing by its root."""

Half = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class PairTokens:
    """The tokens of a pair of texts, and the segment of each: 0 for the first text, 1 for the second, or another."""

    ids: Sequence[int]
    segments: Sequence[int]


@dataclass(frozen=True)
class ScoringHead:
    """The weights of a head: a normalization of 4 x 384 numbers, a layer ``hidden`` and a layer ``score``."""

    norm_scale: Half
    norm_bias: Half
    hidden: Half
    hidden_bias: Half
    score: Half
    score_bias: Half

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Half]) -> "ScoringHead":
        """The head of arrays by the names of its fields; raises ``KeyError`` if one is missing."""
        return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def to_arrays(self) -> dict[str, Half]:
        """The weights by the names of the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def score_states(self, rows: Vectors, segments: Sequence[int]) -> float:
        """Log-odds from the states of all tokens, shape ``(tokens, 384)``.

        ``segments`` are as in :class:`PairTokens`.
        """
        places = np.array(segments)
        first, second = rows[places == 0].mean(axis=0), rows[places == 1].mean(axis=0)
        return self.score_summary(np.concatenate([rows[0], first, second, first * second]))

    def score_summary(self, summary: Vector) -> float:
        """Log-odds from the first token's state, both means and their product, shape ``(4 x 384,)``."""
        head = self._single
        centered = summary - summary.mean()
        normalized = centered / np.sqrt((centered**2).mean() + HEAD_EPSILON) * head["norm_scale"] + head["norm_bias"]
        return float(_gelu(normalized @ head["hidden"] + head["hidden_bias"]) @ head["score"] + head["score_bias"][0])

    @cached_property
    def _single(self) -> dict[str, Vectors]:
        """The weights in single precision."""
        return {name: values.astype(np.float32) for name, values in self.to_arrays().items()}


def _gelu(values: Vector) -> Vector:
    """The Gaussian error linear unit, by its approximation with the hyperbolic tangent."""
    inner = np.sqrt(np.float32(2 / np.pi)) * (values + np.float32(0.044715) * values**3)
    found: Vector = values * 0.5 * (1 + np.tanh(inner))
    return found
