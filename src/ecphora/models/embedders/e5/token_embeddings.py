"""The input embeddings of multilingual-e5-small: 4 bits for each number of a common piece, 2 bits for a rare one.

The pieces are numbered from common to rare. A common piece's row is blocks of 32 numbers with a scale each. A rare
piece's row is a scale, times -1.5, -0.5, 0.5 or 1.5 for each number, from the mean of all rare rows. One byte has two
numbers of a block, half a block apart, or four numbers of a rare row, each a quarter of the row apart; the first is in
the lowest bits.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....model.types import Vector, Vectors
from ..array_files import read_arrays

BLOCK_SIZE = 32
"""How many numbers of a common row share a scale."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenEmbeddings:
    """The embeddings of pieces and of positions."""

    common_codes: NDArray[np.uint8]
    """Shape ``(common pieces, blocks, 16)``."""
    common_scales: NDArray[np.float16]
    """Shape ``(common pieces, blocks)``."""
    rare_codes: NDArray[np.uint8]
    """Shape ``(rare pieces, width / 4)``."""
    rare_scales: NDArray[np.float16]
    rare_mean: Vector
    positions: Vectors

    @classmethod
    def from_bytes(cls, content: bytes) -> "TokenEmbeddings":
        """Read the content of a file."""
        found = read_arrays(content)
        return cls(*(found[field.name] for field in fields(cls)))

    def to_bytes(self) -> bytes:
        """Return the content of a file, the same for the same embeddings."""
        arrays: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    def rows(self, ids: Sequence[int]) -> Vectors:
        """Return the sum of the embeddings of each piece and of its position, shape ``(len(ids), width)``."""
        pieces = np.array(ids, np.intp)
        rows = np.empty((len(pieces), len(self.rare_mean)), np.float32)
        is_rare = pieces >= len(self.common_codes)
        rows[~is_rare] = self._common_rows(pieces[~is_rare])
        rows[is_rare] = self._rare_rows(pieces[is_rare] - len(self.common_codes))
        rows += self.positions[: len(pieces)]
        return rows

    def _common_rows(self, places: NDArray[np.intp]) -> Vectors:
        codes = self.common_codes[places]
        numbers = np.concatenate([codes & 15, codes >> 4], axis=-1).astype(np.float32) - 8
        numbers *= self.common_scales[places].astype(np.float32)[..., None]
        return numbers.reshape(len(places), -1)

    def _rare_rows(self, places: NDArray[np.intp]) -> Vectors:
        codes = self.rare_codes[places]
        numbers = np.concatenate([codes >> shift & 3 for shift in (0, 2, 4, 6)], axis=-1).astype(np.float32) - 1.5
        numbers *= self.rare_scales[places].astype(np.float32)[:, None]
        return numbers + self.rare_mean
