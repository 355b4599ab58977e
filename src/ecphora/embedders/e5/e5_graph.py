"""Builds the layers of multilingual-e5-small as an ONNX graph in 8-bit integers, from the published weights.

Jacob Devlin et al., "BERT", 2019, arXiv:1810.04805, twelve layers. The only input is the sum of every token's
embeddings, shape ``(1, tokens, 384)``; one text needs no mask. The operators are onnxruntime's own fused ones, so that
the graph needs no optimization.
"""

from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model import Vectors
from .. import onnx_runtime
from .e5_file import E5File

HIDDEN_SIZE = 384
INTERMEDIATE_SIZE = 1_536
NUM_LAYERS = 12
NUM_HEADS = 12
LAYER_NORM_EPSILON = 1e-12
"""Added to a variance before dividing by its root."""
MAX_QUANTIZED = 64
"""The largest absolute value of a quantized weight: the sum of two products with a byte stays within 16 bits."""


def build_graph(file: E5File) -> bytes:
    """Build the graph, with weights rounded to 8 bits and one scale per column."""
    return _GraphBuilder(file).build()


class _GraphBuilder:
    """Builds a graph node by node."""

    def __init__(self, file: E5File) -> None:
        self._file = file
        self._onnx: Any = onnx_runtime.require_module("onnx", "onnx")
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._fresh_names = (f"v{number}" for number in count())

    def build(self) -> bytes:
        helper, float_type = self._onnx.helper, self._onnx.TensorProto.FLOAT
        output = self._add_node(
            "LayerNormalization", "tokens", *self._norm("emb.ln"), domain="", epsilon=LAYER_NORM_EPSILON
        )
        for layer in range(NUM_LAYERS):
            output = self._layer(f"l{layer}.", output)
        infos = [
            helper.make_tensor_value_info(name, float_type, [1, "tokens", HIDDEN_SIZE]) for name in ("tokens", output)
        ]
        graph = helper.make_graph(self._nodes, "multilingual-e5-small", infos[:1], infos[1:], self._weights)
        operators = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        model: bytes = helper.make_model(graph, opset_imports=operators, ir_version=8).SerializeToString()
        return model

    def _layer(self, prefix: str, tensor: str) -> str:
        """Add attention, then two dense layers, each with a residual connection and layer normalization."""
        qkv = self._dense(tensor, HIDDEN_SIZE, *(f"{prefix}{part}" for part in "qkv"))
        parts = self._split(qkv)
        attention = self._add_node("MultiHeadAttention", *parts, num_heads=NUM_HEADS)
        attention = self._dense(attention, HIDDEN_SIZE, f"{prefix}ao")
        tensor = self._add_node(
            "SkipLayerNormalization", attention, tensor, *self._norm(f"{prefix}aln"), epsilon=LAYER_NORM_EPSILON
        )
        inner = self._add_node("Gelu", self._dense(tensor, HIDDEN_SIZE, f"{prefix}fi"))
        outer = self._dense(inner, INTERMEDIATE_SIZE, f"{prefix}fo")
        return self._add_node(
            "SkipLayerNormalization", outer, tensor, *self._norm(f"{prefix}oln"), epsilon=LAYER_NORM_EPSILON
        )

    def _dense(self, tensor: str, width: int, *names: str) -> str:
        """Add one or more dense layers of one input, their outputs concatenated."""
        rows = np.concatenate([self._file.matrix(f"{name}.w", width).rows() for name in names])
        bias = np.concatenate([self._file.tensor(f"{name}.b") for name in names])
        quantized, scales = _quantize(rows)
        initializers = [
            self._add_initializer(quantized),
            self._add_initializer(scales),
            "",
            self._add_initializer(bias),
        ]
        return self._add_node("DynamicQuantizeMatMul", tensor, *initializers)

    def _split(self, tensor: str) -> list[str]:
        parts = [next(self._fresh_names) for _ in range(3)]
        self._nodes.append(self._onnx.helper.make_node("Split", [tensor], parts, axis=-1, num_outputs=3))
        return parts

    def _norm(self, name: str) -> list[str]:
        return [self._add_initializer(self._file.tensor(f"{name}.{part}")) for part in "wb"]

    def _add_initializer(self, values: npt.NDArray[Any]) -> str:
        name = next(self._fresh_names)
        self._weights.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _add_node(self, op_type: str, *inputs: str, domain: str = "com.microsoft", **attributes: float) -> str:
        name = next(self._fresh_names)
        self._nodes.append(self._onnx.helper.make_node(op_type, inputs, [name], domain=domain, **attributes))
        return name


def _quantize(rows: Vectors) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return weights as columns of integers, and the scale of every column."""
    scales = np.abs(rows).max(axis=1) / MAX_QUANTIZED
    return np.rint(rows / scales[:, None]).astype(np.int8).T, scales
