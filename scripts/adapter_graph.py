"""The parts of an ONNX graph with low-rank adapters, for ``build_minilm.py`` and ``build_e5.py``."""
# ruff: noqa: INP001  # in the folder of the scripts that import it

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ecphora.embedders.encoder_network import ADAPTER_SWITCH, matrix_shape


def add_adapter_inputs(graph: Any, names: Sequence[str]) -> None:
    """Add the optional inputs: the switch, and two narrow matrices for each of the matrices ``names``."""
    _add_optional_input(graph, ADAPTER_SWITCH, np.array(False), [])
    for name in names:
        rows, columns = matrix_shape(name)
        _add_optional_input(graph, f"{name}.down", np.zeros((rows, 1), np.float32), [rows, f"{name}.rank"])
        _add_optional_input(graph, f"{name}.up", np.zeros((1, columns), np.float32), [f"{name}.rank", columns])


def adapter_nodes(name: str, source: str, product: str, output: str) -> list[Any]:
    """The nodes that add the adapter of the matrix ``name`` to the ``product`` of ``source`` and this matrix."""
    return [
        helper.make_node("MatMul", [source, f"{name}.down"], [f"{name}.narrow"], name=f"{name}.narrow"),
        helper.make_node("MatMul", [f"{name}.narrow", f"{name}.up"], [f"{name}.wide"], name=f"{name}.wide"),
        helper.make_node("Add", [product, f"{name}.wide"], [output], name=f"{name}.sum"),
    ]


def _add_optional_input(graph: Any, name: str, default: NDArray[Any], shape: list[int | str]) -> None:
    """Add an optional input."""
    graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(default.dtype), shape))
    graph.initializer.append(numpy_helper.from_array(default, name))
