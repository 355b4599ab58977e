"""Cross-encoders on a packaged network: low-rank adapters for reading a pair of texts, and the head that scores it.

The adapters (LoRA; Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685) are
inputs of the branch of the graph that ends after ``ADAPTED_LAYERS`` layers; the network's own weights stay in 8 bits.
The head reads the first token, the means of both texts' tokens and their product; it is a normalization, a layer with
GELU, and a layer that gives the score.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRecord
from ...model.types import Vector, Vectors
from .e5 import ADAPTED_MATRICES, E5Network
from .onnx_runtime import read_arrays

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


SEGMENTS = 3
"""Kinds of tokens: of the first text, of the second, and of what stands before the second."""


@dataclass(frozen=True)
class PairAdapters:
    """The adapters of each of ``ADAPTED_MATRICES``, as pairs of narrow matrices, the segments' vectors, and the head.

    ``segments`` has the shape ``(SEGMENTS, 384)``.
    """

    matrices: Mapping[str, tuple[Half, Half]]
    segments: Half
    head: ScoringHead

    def to_bytes(self) -> bytes:
        """Return the adapters as an ``.npz`` file."""
        parts: dict[str, Any] = {"segments": self.segments, **self.head.to_arrays()}
        for name, (down, up) in self.matrices.items():
            parts[f"{name}.down"], parts[f"{name}.up"] = down, up
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **parts)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "PairAdapters":
        """Read the adapters from the content of a file; raises ``InvalidRecord`` if they are missing."""
        try:
            found = read_arrays(content)
            matrices = {name: (found[f"{name}.down"], found[f"{name}.up"]) for name in ADAPTED_MATRICES}
            return cls(matrices, found["segments"], ScoringHead.from_arrays(found))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile) as error:
            raise InvalidRecord(f"no adapters of multilingual-e5-small ({error!r})") from error

    def score_pair(self, network: E5Network, pair: PairTokens) -> float:
        """Return the log-odds of a pair: of what the adapters were trained on."""
        vectors = self._segment_vectors[np.array(pair.segments)]
        return self.head.score_states(network.adapted_states(pair.ids, vectors, self._graph_inputs), pair.segments)

    @cached_property
    def _segment_vectors(self) -> Vectors:
        """The vectors of the segments in single precision."""
        found: Vectors = self.segments.astype(np.float32)
        return found

    @cached_property
    def _graph_inputs(self) -> dict[str, Vectors]:
        """The matrices by the names of the graph's inputs."""
        inputs = {}
        for name, (down, up) in self.matrices.items():
            inputs[f"{name}.down"], inputs[f"{name}.up"] = down.astype(np.float32), up.astype(np.float32)
        return inputs


def join_texts(
    network: E5Network, first: Sequence[int], second: Sequence[int], before: Sequence[int] = ()
) -> PairTokens:
    """Return the tokens of two texts, ``before`` in front of the second, with special tokens."""
    start, end = network.first_token, network.last_token
    parts = [[start, *first, end], [end, *second, end], [end, *before] if before else []]
    order = (0, 2, 1)
    ids = [token for place in order for token in parts[place]]
    return PairTokens(ids, [place for place in order for _ in parts[place]])
