"""A column of vectors in 8-bit integers: it grows without being copied, and is compared without being unpacked.

A vector of 384 numbers takes 386 bytes, in memory and in the file. Each number is a level of -127..127 times the scale
of its vector, which is the vector's largest number divided by 127. The error of a cosine between vectors of 384 numbers
is about .0003. Vectors of fewer than ``MIN_DIM`` numbers are small, and their error would be larger: their levels are
the numbers themselves, and their scale is 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..types import Mask, Rows, Scores, Vector, Vectors
from .columns import Column

MIN_DIM = 64
"""The fewest numbers of a vector that is quantized."""
TOP_LEVEL = 127
UNIT_TOLERANCE = 0.01
"""How far from 1 the length of a vector may be before it is quantized."""

Levels = NDArray[Any]
"""8-bit integers, or the numbers themselves; shape ``(vectors, dim)``."""
Scales = NDArray[np.float16]
"""Shape ``(vectors,)``. In half precision a level times its scale is exact in single precision."""


def quantize(vectors: Vectors) -> tuple[Levels, Scales]:
    """The levels and the scales of vectors; what :func:`dequantize` makes of them is quantized to the same."""
    if vectors.shape[1] < MIN_DIM:
        return vectors, np.ones(len(vectors), np.float16)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite get a scale that is not either
        scales = (np.abs(vectors).max(axis=1, initial=0) / TOP_LEVEL).astype(np.float16)
        divisors = np.where(scales > 0, scales, 1).astype(np.float32)
        levels = np.clip(np.rint(vectors / divisors[:, None]), -TOP_LEVEL, TOP_LEVEL).astype(np.int8)
    return levels, scales


def dequantize(levels: Levels, scales: Scales) -> Vectors:
    """The vectors that levels and scales stand for, of the same shape as the levels."""
    vectors: Vectors = levels * scales.astype(np.float32)[..., None]
    return vectors


def are_unit_lengths(lengths: Scores, dim: int) -> Mask:
    """Which lengths quantized vectors of ``dim`` numbers can have, if the vectors had the length 1 before.

    At most, every number but the largest is rounded by half a level: down to 0, or up from 1/2 to 1.
    """
    rounded = dim if dim >= MIN_DIM else 0
    lowest = np.sqrt(TOP_LEVEL**2 / (TOP_LEVEL**2 + rounded / 4))
    highest = np.sqrt((TOP_LEVEL**2 + rounded) / (TOP_LEVEL**2 + rounded / 4))
    found: Mask = (lengths >= lowest - UNIT_TOLERANCE) & (lengths <= highest + UNIT_TOLERANCE)
    return found


BLOCK = 512
"""How many vectors :meth:`VectorColumn.dot` unpacks at a time: so many stay in the cache of a core."""


class VectorColumn:
    """Vectors of equal length, quantized, immutable; appending returns a longer column at the cost of the new part.

    ``view`` unpacks all of them and keeps the result, which is four times as large; ``rows`` and ``dot`` do not.
    """

    __slots__ = ("_levels", "_scales", "_values")

    def __init__(self, levels: Column, scales: Column, values: Column | None = None) -> None:
        self._levels = levels
        self._scales = scales
        self._values = values

    @classmethod
    def from_vectors(cls, vectors: Vectors) -> "VectorColumn":
        """The column of some vectors, shape ``(len, dim)``."""
        return cls.from_levels(*quantize(vectors))

    @classmethod
    def from_levels(cls, levels: Levels, scales: Scales) -> "VectorColumn":
        """The column of vectors that are quantized already."""
        return cls(Column(levels), Column(scales))

    @classmethod
    def empty(cls) -> "VectorColumn":
        """No vectors, of no length yet."""
        return cls.from_vectors(np.empty((0, 0), np.float32))

    def __len__(self) -> int:
        return len(self._levels)

    @property
    def dim(self) -> int:
        """The numbers of each vector."""
        return int(self._levels.view.shape[1])

    @property
    def view(self) -> Vectors:
        """All vectors, shape ``(len, dim)``, read-only by convention."""
        if self._values is None:
            self._values = Column(self.rows(slice(None)))
        values: Vectors = self._values.view
        return values

    def rows(self, positions: Rows | slice | int) -> Vectors:
        """The vectors at some positions, shape ``(len(positions), dim)``; for a single position, shape ``(dim,)``."""
        if self._values is not None:
            vectors: Vectors = self._values.view[positions]
            return vectors
        return dequantize(self._levels.view[positions], self._scales.view[positions])

    def dot(self, vector: Vector) -> Scores:
        """The dot product of each vector with another."""
        levels, scores = self._levels.view, np.empty(len(self), np.float32)
        block = np.empty((BLOCK, self.dim), np.float32)
        for start in range(0, len(levels), BLOCK):
            part = levels[start : start + BLOCK]
            np.copyto(block[: len(part)], part)
            # Not block @ vector: BLAS starts a second thread for it, which can cost 10 ms on a busy machine.
            np.vecdot(block[: len(part)], vector, out=scores[start : start + BLOCK])
        return scores * self._scales.view

    def lengths(self) -> Scores:
        """The length of each vector; not a number where its scale is not."""
        levels, squares = self._levels.view, np.empty(len(self), np.float32)
        block = np.empty((BLOCK, self.dim), np.float32)
        for start in range(0, len(levels), BLOCK):
            part = levels[start : start + BLOCK]
            np.copyto(block[: len(part)], part)
            np.vecdot(block[: len(part)], block[: len(part)], out=squares[start : start + BLOCK])
        return np.sqrt(squares) * self._scales.view

    def append(self, vectors: Vectors) -> "VectorColumn":
        """Return the column with some vectors added."""
        levels, scales = quantize(vectors)
        values = None if self._values is None else self._values.append(dequantize(levels, scales))
        return VectorColumn(self._levels.append(levels), self._scales.append(scales), values)

    def select(self, chosen: Mask | Rows | slice) -> "VectorColumn":
        """Return the vectors under a mask, or at some positions, copied."""
        values = None if self._values is None else Column(self._values.view[chosen])
        return VectorColumn(Column(self._levels.view[chosen]), Column(self._scales.view[chosen]), values)
