"""Build the model of the package: src/ecphora/models/weights/minilm/model.onnx and tokenizer.json.

    .venv/bin/python training/build_minilm.py [--check]

Rounds all-MiniLM-L6-v2 to 8 bits, lets onnxruntime join operators, and adds a second branch in which every matrix has a
low-rank adapter as an input (LoRA; Hu et al. 2021, arXiv:2106.09685). English vectors of questions are made with
that branch (``train_question_adapters.py``). The output is deterministic; the files of the package were written with
onnxruntime 1.32.0 and onnx 1.23.2. ``--check`` writes nothing: it fails unless a build gives the same model, or, with
other versions of the two packages, exactly the same vectors.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import minilm_source
import numpy as np
import onnx
from minilm_source import ADAPTED_MATRICES, matrix_shape
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ecphora.models.embedders import minilm, onnx_runtime
from ecphora.models.embedders.minilm import ADAPTER_SWITCH

TARGET = Path(__file__).parent.parent / "src" / "ecphora" / "models" / "weights" / "minilm"
SAMPLE_TEXTS = Path(__file__).parent / "data" / "talks.docs.jsonl"


def main() -> None:
    """Build, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the files of the package; write nothing")
    options = parser.parse_args()
    plain = quantize()
    built = {"model.onnx": add_adapter_branch(plain), "tokenizer.json": minilm_source.read_file("tokenizer.json")}
    if options.check:
        compare(plain, built)
        return
    for name, content in built.items():
        (TARGET / name).write_bytes(content)
        print(f'    "{name}": "{hashlib.sha256(content).hexdigest()}",')


def compare(base_model: bytes, built: dict[str, bytes]) -> None:
    """Print whether the files equal those of the package, and check that the model gives the same vectors."""
    packaged = {name: (TARGET / name).read_bytes() for name in built}
    if packaged["tokenizer.json"] != built["tokenizer.json"]:
        sys.exit("tokenizer.json is not the published one")
    print("model.onnx:", "the same bytes" if packaged["model.onnx"] == built["model.onnx"] else "other bytes")
    source_session, package_session = (
        onnx_runtime.inference_session(base_model),
        onnx_runtime.inference_session(packaged["model.onnx"]),
    )
    texts = [json.loads(line)["text"] for line in SAMPLE_TEXTS.read_text(encoding="utf-8").splitlines()[::20]]
    network = minilm.share_network()()
    for text in texts:
        ids = np.array([network.tokenize(text, network.max_tokens)])
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        if source_session.run(None, feed)[0].tobytes() != package_session.run(None, feed)[0].tobytes():
            sys.exit(f"model.onnx gives other vectors than a build from the source, first for {text[:60]!r}")
    print(f"model.onnx: exactly the vectors of the quantized source, for {len(texts)} texts")


def quantize() -> bytes:
    """The published model with its weights rounded to 8 bits and its operators joined.

    ``reduce_range`` keeps the sums of 8-bit products inside 16 bits on processors without VNNI; ``per_channel`` and
    quantizing only two types of operators keep the cosine to the full model above .99 (without: .87).
    """
    onnxruntime = onnx_runtime.load_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415  # after its telemetry is off

    with tempfile.TemporaryDirectory(prefix="ecphora-") as folder_name:
        folder = Path(folder_name)
        quantize_dynamic(
            str(minilm_source.copy_model(folder)),
            str(folder / "rounded.onnx"),
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gather"],
        )
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(folder / "joined.onnx")
        onnxruntime.InferenceSession(str(folder / "rounded.onnx"), options, providers=["CPUExecutionProvider"])
        return (folder / "joined.onnx").read_bytes()


def add_adapter_branch(base_model: bytes) -> bytes:
    """The model with two branches over one set of weights: without and with adapters.

    A separate branch, because adapters of zeros in a single branch would add a sixth to the time of each text.
    """
    model = onnx.load_from_string(base_model)
    graph = model.graph
    first = next(index for index, node in enumerate(graph.node) if "/layers.0/" in node.name)
    embedding, layers = list(graph.node)[:first], list(graph.node)[first:]
    output = graph.output[0]
    branches = helper.make_node(
        "If",
        [ADAPTER_SWITCH],
        [output.name],
        name="layers",
        then_branch=_make_branch("adapters", _add_adapters(layers, embedding), output),
        else_branch=_make_branch("plain", layers, output),
    )
    switched = helper.make_graph(
        [*embedding, branches], "all-MiniLM-L6-v2", list(graph.input), [output], list(graph.initializer)
    )
    _add_adapter_inputs(switched)
    opsets = [opset for opset in model.opset_import if opset.domain in {"", "com.microsoft"}]
    found: bytes = helper.make_model(
        switched,
        opset_imports=opsets,
        ir_version=model.ir_version,
        producer_name="ecphora/scripts/build_minilm.py",  # where this file was; the name is in the packaged bytes
    ).SerializeToString(deterministic=True)
    onnx.load_from_string(found)
    return found


def _add_adapters(layers: Sequence[Any], embedding: Sequence[Any]) -> Iterator[Any]:
    """The nodes of the layers, with an adapter after every product with a matrix of ``ADAPTED_MATRICES``."""
    adapters = {f"{minilm_source.matmul_name(name)}_quant": name for name in ADAPTED_MATRICES}
    unquantized = {n.output[0]: n.input[0] for n in [*embedding, *layers] if n.op_type == "DynamicQuantizeLinear"}
    for node in layers:
        if node.name not in adapters:
            yield node
            continue
        name, source, out = adapters.pop(node.name), node.input[0], node.output[0]
        product = type(node).FromString(node.SerializeToString())
        product.output[0] = f"{name}.product"
        yield product
        yield from _adapter_nodes(name, unquantized.get(source, source), f"{name}.product", out)
    if adapters:
        raise SystemExit(f"the joined model has no product called {min(adapters)}")


def _adapter_nodes(name: str, source: str, product: str, output: str) -> Iterator[Any]:
    """The nodes that add the adapter of the matrix ``name`` to the ``product`` of ``source`` and this matrix."""
    yield helper.make_node("MatMul", [source, f"{name}.down"], [f"{name}.narrow"], name=f"{name}.narrow")
    yield helper.make_node("MatMul", [f"{name}.narrow", f"{name}.up"], [f"{name}.wide"], name=f"{name}.wide")
    yield helper.make_node("Add", [product, f"{name}.wide"], [output], name=f"{name}.sum")


def _add_adapter_inputs(graph: Any) -> None:
    """Add the optional inputs: the switch, and two narrow matrices for each of ``ADAPTED_MATRICES``."""
    _add_optional_input(graph, ADAPTER_SWITCH, np.array(False), [])
    for name in ADAPTED_MATRICES:
        rows, columns = matrix_shape(name)
        _add_optional_input(graph, f"{name}.down", np.zeros((rows, 1), np.float32), [rows, f"{name}.rank"])
        _add_optional_input(graph, f"{name}.up", np.zeros((1, columns), np.float32), [f"{name}.rank", columns])


def _add_optional_input(graph: Any, name: str, default: NDArray[Any], shape: list[int | str]) -> None:
    graph.input.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(default.dtype), shape))
    graph.initializer.append(numpy_helper.from_array(default, name))


def _make_branch(name: str, nodes: Iterable[Any], output: Any) -> Any:
    """Nodes as a subgraph, with unique names for all their outputs."""
    body = [type(node).FromString(node.SerializeToString()) for node in nodes]
    internal = {out for node in body for out in node.output}
    for node in body:
        node.name = f"{name}{node.name}" if node.name.startswith("/") else f"{name}/{node.name}"
        node.input[:] = [f"{name}:{source}" if source in internal else source for source in node.input]
        node.output[:] = [f"{name}:{out}" for out in node.output]
    shape = [dim.dim_param or dim.dim_value for dim in output.type.tensor_type.shape.dim]
    outputs = [helper.make_tensor_value_info(f"{name}:{output.name}", TensorProto.FLOAT, shape)]
    return helper.make_graph(body, name, [], outputs)


if __name__ == "__main__":
    main()
