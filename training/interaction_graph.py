"""The head of the built-in reader as an ONNX graph, for ``train_reranker.py``: does a memory answer a question?

The token states come from an encoder that has seen each text alone. The similarities of tokens across the two texts are
inputs and attention biases, as in late interaction (Omar Khattab and Matei Zaharia, "ColBERT", 2020, arXiv:2004.12832).
A few layers then let the tokens of both texts attend to each other (Sean MacAvaney et al., "Efficient Document
Re-Ranking for Transformers by Precomputing Term Representations", 2020, arXiv:2004.14255). So a head is about a
megabyte and the encoder stays as it is. Its score of a pair is tested against a plain loop over the tokens.
"""
# ruff: noqa: INP001  # in the folder of the script that uses it

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

HEADS = 4
"""Attention heads of a layer."""
SIMILARITY_ORIGIN, SIMILARITY_RANGE = 0.2, 0.4
"""Cosines of tokens are used as their distance from the origin, in units of the range."""
TEXT_ORIGIN, TEXT_RANGE = 0.2, 0.15
"""The same for the cosine of the means of both texts."""
LOWEST_MATCH = -1.0
"""The smallest similarity of a token to its best match."""
WORST_MATCHES = 3
"""How many of the question's worst-matched tokens are features; a question must have as many tokens."""
MATCH_SCALE = 4.0
"""The factor of the mean similarities among the features."""
FEATURES = 3 + WORST_MATCHES
LAYER_NORM_EPSILON = 1e-5
OPSET, IR_VERSION = 20, 9


class _Graph:
    """The nodes and constants of a graph. A node is named by its output."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        self.nodes: list[Any] = []
        self.constants = {name: numpy_helper.from_array(value, name) for name, value in weights.items()}

    def add(self, kind: str, *inputs: str | float | list[int], outputs: int = 1, **attributes: Any) -> str:
        """Add a node; numbers and shapes become constants. Return the name of its first output."""
        name = f"{kind} {len(self.nodes)}"
        others = [f"{name}, output {place}" for place in range(1, outputs)]
        self.nodes.append(
            helper.make_node(kind, [self._name(value) for value in inputs], [name, *others], **attributes)
        )
        return name

    def _name(self, value: str | float | list[int]) -> str:
        if isinstance(value, str):
            return value
        name = f"constant {value}"
        kind = np.int64 if isinstance(value, list) else np.float32
        self.constants[name] = numpy_helper.from_array(np.array(value, kind), name)
        return name

    def linear(self, value: str, name: str) -> str:
        """Rows times a matrix, plus an offset."""
        return self.add("Gemm", value, f"{name}.weight", f"{name}.offset", transB=1)

    def norm(self, value: str, name: str) -> str:
        """Layer normalization."""
        return self.add(
            "LayerNormalization", value, f"{name}.weight", f"{name}.offset", axis=-1, epsilon=LAYER_NORM_EPSILON
        )


def build_graph(weights: Mapping[str, NDArray[np.float32]]) -> bytes:
    """Return the graph of a head with these weights, by the names in ``interaction_training.py``.

    Inputs: ``question`` and ``passage``, token states of shape ``(tokens, width)``, and ``is_text``, 1 for a token of
    the memory's own text and 0 for one of its context. Output: ``log_odds``, shape ``(1, 1)``, that the memory answers.
    """
    g = _Graph(weights)
    count = g.add("Slice", g.add("Shape", "question"), [0], [1])
    passage_count = g.add("Slice", g.add("Shape", "passage"), [0], [1])
    is_context = g.add("Sub", 1.0, "is_text")
    units = (g.add("LpNormalization", text, axis=-1, p=2) for text in ("question", "passage"))
    question_unit, passage_unit = units
    cosine = g.add("MatMul", question_unit, g.add("Transpose", passage_unit, perm=[1, 0]))
    similarity = g.add("Div", g.add("Sub", cosine, SIMILARITY_ORIGIN), SIMILARITY_RANGE)

    def best_of(values: str, axis: int) -> str:
        return g.add("Max", g.add("ReduceMax", values, [axis], keepdims=0), LOWEST_MATCH)

    question_best, passage_best = best_of(similarity, 1), best_of(similarity, 0)
    of_text = g.add("Add", g.add("Mul", similarity, "is_text"), g.add("Mul", is_context, LOWEST_MATCH))
    best_in_text = best_of(of_text, 1)
    no_match = g.add("Add", g.add("Mul", passage_best, 0.0), LOWEST_MATCH)
    matches = [
        g.add("Unsqueeze", g.add("Concat", one, other, axis=0), [1])
        for one, other in ((question_best, passage_best), (best_in_text, no_match))
    ]
    segments = [g.add("Slice", "segments", [place], [place + 1]) for place in range(3)]
    asked = g.add("Add", g.add("Mul", g.add("Unsqueeze", question_best, [1]), 0.0), segments[0])
    told = g.add(
        "Add",
        g.add("MatMul", g.add("Unsqueeze", "is_text", [1]), segments[1]),
        g.add("MatMul", g.add("Unsqueeze", is_context, [1]), segments[2]),
    )
    states = g.add("Concat", "question", "passage", axis=0)
    x = g.add("Add", g.linear(g.norm(states, "input norm"), "input"), g.add("Concat", asked, told, axis=0))
    x = g.add("Add", x, g.linear(g.add("Concat", *matches, axis=1), "match"))
    pads = g.add("Concat", [0], count, passage_count, [0], axis=0)
    block = g.add("Pad", similarity, pads)
    bias = g.add("Unsqueeze", g.add("Add", block, g.add("Transpose", block, perm=[1, 0])), [0])
    width = weights["segments"].shape[1]
    layer = 0
    while f"{layer}.attention.weight" in weights:
        x = _layer(g, x, bias, layer, width)
        layer += 1
    of_question = g.add("Slice", x, [0], count, [0])
    of_passage = g.add("Slice", x, count, [2**31], [0])
    text_row = g.add("Unsqueeze", "is_text", [0])
    text_count = g.add("Max", g.add("ReduceSum", "is_text", keepdims=0), 1.0)
    mean_question = g.add("ReduceMean", of_question, [0], keepdims=1)
    mean_text = g.add("Div", g.add("MatMul", text_row, of_passage), text_count)
    question_sum = g.add("ReduceSum", "question", [0], keepdims=1)
    sums = (g.add("LpNormalization", one, axis=-1, p=2) for one in (question_sum, g.add("MatMul", text_row, "passage")))
    question_whole, text_whole = sums
    whole = g.add("MatMul", question_whole, g.add("Transpose", text_whole, perm=[1, 0]))
    worst = g.add("TopK", question_best, [WORST_MATCHES], outputs=2, largest=0, sorted=1)
    features = g.add(
        "Concat",
        g.add("Div", g.add("Sub", whole, TEXT_ORIGIN), TEXT_RANGE),
        *(
            g.add("Reshape", g.add("Mul", g.add("ReduceMean", one, keepdims=0), MATCH_SCALE), [1, 1])
            for one in (question_best, best_in_text)
        ),
        g.add("Reshape", worst, [1, WORST_MATCHES]),
        axis=1,
    )
    product = g.add("Mul", mean_question, mean_text)
    pooled = g.add("Concat", mean_question, mean_text, product, features, axis=1)
    hidden = g.add("Gelu", g.linear(g.norm(pooled, "output norm"), "output"))
    g.nodes.append(helper.make_node("Add", [g.linear(hidden, "score"), g.linear(features, "features")], ["log_odds"]))
    return _serialize(g, weights["input.weight"].shape[1])


def _layer(g: _Graph, x: str, bias: str, layer: int, width: int) -> str:
    """A layer of the transformer: attention, then the dense matrices."""
    mixed = g.linear(g.norm(x, f"{layer}.attention norm"), f"{layer}.attention")
    parts = g.add("Transpose", g.add("Reshape", mixed, [0, 3, HEADS, width // HEADS]), perm=[1, 2, 0, 3])
    queries, keys, values = (g.add("Squeeze", g.add("Slice", parts, [one], [one + 1]), [0]) for one in range(3))
    odds = g.add("Div", g.add("MatMul", queries, g.add("Transpose", keys, perm=[0, 2, 1])), math.sqrt(width // HEADS))
    odds = g.add("Add", odds, g.add("Mul", bias, g.add("Reshape", f"{layer}.bias", [HEADS, 1, 1])))
    attended = g.add("MatMul", g.add("Softmax", odds, axis=-1), values)
    attended = g.add("Reshape", g.add("Transpose", attended, perm=[1, 0, 2]), [0, width])
    x = g.add("Add", x, g.linear(attended, f"{layer}.attention output"))
    inner = g.add("Gelu", g.linear(g.norm(x, f"{layer}.dense norm"), f"{layer}.dense"))
    return g.add("Add", x, g.linear(inner, f"{layer}.dense output"))


def _serialize(g: _Graph, states: int) -> bytes:
    shapes: dict[str, list[str | int]] = {
        "question": ["question tokens", states],
        "passage": ["passage tokens", states],
        "is_text": ["passage tokens"],
    }
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    output = helper.make_tensor_value_info("log_odds", TensorProto.FLOAT, [1, 1])
    graph = helper.make_graph(g.nodes, "interaction head", inputs, [output], list(g.constants.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content
