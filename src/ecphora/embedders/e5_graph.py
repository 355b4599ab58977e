"""The layers of multilingual-e5-small as an ONNX graph in 8-bit integers, made from the bare weights.

Jacob Devlin et al., "BERT", 2019, arXiv:1810.04805, twelve layers. Its one input is the sum of what is embedded of
every token, shape ``(1, tokens, 384)``; one text needs no mask. The operators are onnxruntime's own, each the whole of
what its optimiser would join, so that the graph needs no optimising.
"""

from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import Vectors
from . import local
from .e5_file import E5File

WIDTH = 384
INNER = 1_536
LAYERS = 12
HEADS = 12
NEAR_ZERO = 1e-12
"""Added to a variance before it divides."""
STEPS = 64
"""Whole numbers on each side of 0 that a weight is rounded to: sums of two products with a byte stay inside 16 bits."""


def built(file: E5File) -> bytes:
    """The graph, its weights rounded to 8 bits with one scale for every column."""
    return _Build(file).graph()


class _Build:
    """Grows a graph, node by node."""

    def __init__(self, file: E5File) -> None:
        self._file = file
        self._onnx: Any = local.module("onnx", "onnx")
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._names = (f"v{number}" for number in count())

    def graph(self) -> bytes:
        helper, number = self._onnx.helper, self._onnx.TensorProto.FLOAT
        at = self._node("LayerNormalization", "tokens", *self._norm("emb.ln"), domain="", epsilon=NEAR_ZERO)
        for layer in range(LAYERS):
            at = self._layer(f"l{layer}.", at)
        sides = [helper.make_tensor_value_info(name, number, [1, "tokens", WIDTH]) for name in ("tokens", at)]
        graph = helper.make_graph(self._nodes, "multilingual-e5-small", sides[:1], sides[1:], self._weights)
        operators = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        model: bytes = helper.make_model(graph, opset_imports=operators, ir_version=8).SerializeToString()
        return model

    def _layer(self, layer: str, at: str) -> str:
        """Attention, then two dense layers, each added to what it was given and normalised."""
        three = self._dense(at, WIDTH, *(f"{layer}{part}" for part in "qkv"))
        parts = self._split(three)
        seen = self._node("MultiHeadAttention", *parts, num_heads=HEADS)
        seen = self._dense(seen, WIDTH, f"{layer}ao")
        at = self._node("SkipLayerNormalization", seen, at, *self._norm(f"{layer}aln"), epsilon=NEAR_ZERO)
        inner = self._node("Gelu", self._dense(at, WIDTH, f"{layer}fi"))
        outer = self._dense(inner, INNER, f"{layer}fo")
        return self._node("SkipLayerNormalization", outer, at, *self._norm(f"{layer}oln"), epsilon=NEAR_ZERO)

    def _dense(self, at: str, width: int, *names: str) -> str:
        """One or more dense layers of one input, their outputs beside each other."""
        rows = np.concatenate([self._file.matrix(f"{name}.w", width).rows() for name in names])
        bias = np.concatenate([self._file.numbers(f"{name}.b") for name in names])
        numbers, scales = _rounded(rows)
        kept = [self._keep(numbers), self._keep(scales), "", self._keep(bias)]
        return self._node("DynamicQuantizeMatMul", at, *kept)

    def _split(self, at: str) -> list[str]:
        parts = [next(self._names) for _ in range(3)]
        self._nodes.append(self._onnx.helper.make_node("Split", [at], parts, axis=-1, num_outputs=3))
        return parts

    def _norm(self, name: str) -> list[str]:
        return [self._keep(self._file.numbers(f"{name}.{part}")) for part in "wb"]

    def _keep(self, values: npt.NDArray[Any]) -> str:
        name = next(self._names)
        self._weights.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(self, kind: str, *given: str, domain: str = "com.microsoft", **how: float) -> str:
        name = next(self._names)
        self._nodes.append(self._onnx.helper.make_node(kind, given, [name], domain=domain, **how))
        return name


def _rounded(rows: Vectors) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Weights as columns of whole numbers, and the scale of every column."""
    scales = np.abs(rows).max(axis=1) / STEPS
    return np.rint(rows / scales[:, None]).astype(np.int8).T, scales
