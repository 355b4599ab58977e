"""Vectors in 8-bit integers: 386 bytes for 384 numbers, in memory and in the file.

Each number is a level of -127..127 times the scale of its vector, which is the vector's largest number divided by 127.
The error of a cosine between vectors of 384 numbers is about .0003. Vectors of fewer than ``MIN_DIM`` numbers are
small, and their error would be larger: their levels are the numbers themselves, and their scale is 1.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .model import Mask, Scores, Vectors

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
