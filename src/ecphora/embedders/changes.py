"""Reads two texts at once: whether the later one replaces what the earlier one says. A cross-encoder, English.

all-MiniLM-L6-v2 with low-rank adapters (Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021,
arXiv:2106.09685), trained by ``scripts/train_changes.py`` on conversations that were written for this project. The
adapters come with the package, the model from where :mod:`.minilm` has it; both are added up and rounded to 8 bits once
and kept in the user's cache (23 MB).
"""

import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidRecord
from ..model import Vector
from . import local, minilm

LAYERS = 6
PARTS = {"q": "attn/q_proj", "k": "attn/k_proj", "v": "attn/v_proj", "o": "attn/o_proj", "in": "mlp/fc1",
         "out": "mlp/fc2"}  # fmt: skip
"""The matrices of a layer, and what they are called in the published graph."""
ADAPTED = tuple(f"{layer}.{part}" for layer in range(LAYERS) for part in PARTS)
"""The matrices that have adapters."""
TOKENS = 96
"""How many tokens of each text are read."""
BEGIN, END = 101, 102
"""The tokens before and after a text."""

Half = NDArray[np.float16]
Numbers = NDArray[np.float64]
Cut = Callable[[str, str], tuple[list[int], list[int]]]
"""Two texts as tokens, and for each token whether it is of the second."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """What is added to each matrix of ``ADAPTED``, as two narrow ones, and how what comes out is weighed.

    ``head`` has 4 x 384 weights: of the first token, of the means of both texts' tokens, and of their product.
    """

    matrices: Mapping[str, tuple[Half, Half]]
    head: Half
    bias: float

    def packed(self) -> bytes:
        """The adapters as an ``.npz`` file."""
        parts: dict[str, Any] = {"head": self.head, "bias": np.float64(self.bias)}
        for name, (down, up) in self.matrices.items():
            parts[f"{name}.down"], parts[f"{name}.up"] = down, up
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **parts)
        return file.getvalue()

    @classmethod
    def unpacked(cls, content: bytes) -> "Adapters":
        """The adapters of a file; raises ``InvalidRecord`` for one that does not hold them."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as found:
                matrices = {name: (found[f"{name}.down"], found[f"{name}.up"]) for name in ADAPTED}
                return cls(matrices, found["head"], float(found["bias"]))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile) as error:
            raise InvalidRecord(f"no adapters ({error!r}); make them with scripts/train_changes.py") from error


class MiniLMChanges:
    """Says how much speaks for it that a later text replaces an earlier one; about 4 ms for two short texts.

    Making one costs nothing; the first ``score`` loads the model, and builds it (4 s) where that was never done before.
    ``cache`` is the folder for the 8-bit graph, by default the user's. Safe to share between threads.
    """

    name = "all-MiniLM-L6-v2/changes"

    def __init__(self, *, source: Path | None = None, cache: Path | None = None) -> None:
        self._source, self._cache = source, cache
        self._score: local.OneByOne[tuple[str, str]] = local.OneByOne(self._load, 1)

    def score(self, pairs: Sequence[tuple[str, str]], /) -> Numbers:
        """The log-odds that the later text replaces the earlier, for pairs (earlier, later), in their order.

        Raises ``EmbedderUnavailable`` and ``ModelDamaged`` as :class:`.minilm.MiniLM` does.
        """
        return self._score(pairs)[:, 0].astype(np.float64)

    def _load(self) -> Callable[[tuple[str, str]], Vector]:
        source = minilm.folder(self._source)
        content = files("ecphora.weights").joinpath("changes.npz").read_bytes()
        adapters = Adapters.unpacked(content)
        session = local.session(minilm.graph(source, self._cache, "changes", _digest(content), adding(adapters)))
        tokens = cut(source)
        head = adapters.head.astype(np.float32).reshape(4, minilm.MiniLM.dim)

        def one(pair: tuple[str, str]) -> Vector:
            found, second = tokens(*pair)
            ids, kinds = np.array([found], np.int64), np.array([second], np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
            rows = session.run(None, feed)[0][0]
            earlier, later = rows[kinds[0] == 0].mean(axis=0), rows[kinds[0] == 1].mean(axis=0)
            read = np.stack([rows[0], earlier, later, earlier * later])
            return np.array([(read * head).sum() + adapters.bias], np.float32)

        return one


@cache
def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def cut(source: Path) -> Cut:
    """What turns two texts into tokens, the first ``TOKENS`` of each."""
    tokenizer = minilm.tokenizer(source)
    tokenizer.no_truncation()

    def both(earlier: str, later: str) -> tuple[list[int], list[int]]:
        first, second = (
            local.first_tokens(lambda text: tokenizer.encode(text, add_special_tokens=False).ids[:TOKENS], text, TOKENS)
            for text in (earlier, later)
        )
        return [BEGIN, *first, END, *second, END], [0] * (len(first) + 2) + [1] * (len(second) + 1)

    return both


def adding(adapters: Adapters) -> Callable[[Any], None]:
    """What adds the adapters to the matrices of a model."""

    def add(model: Any) -> None:
        numpy_helper = local.module("onnx.numpy_helper", "onnx")
        held = {tensor.name: tensor for tensor in model.graph.initializer}
        for name, (down, up) in adapters.matrices.items():
            tensor = held[_inputs(model)[name]]
            whole = numpy_helper.to_array(tensor) + down.astype(np.float32) @ up.astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(whole.astype(np.float32), tensor.name))

    return add


def _inputs(model: Any) -> dict[str, str]:
    """What the matrices of ``ADAPTED`` are called in a model."""
    called = {node.name: node.input[1] for node in model.graph.node if node.op_type == "MatMul"}
    return {
        f"{layer}.{part}": called[f"/model/layers.{layer}/{path}/MatMul"]
        for layer in range(LAYERS)
        for part, path in PARTS.items()
    }


def weighed(source: Path) -> dict[str, NDArray[np.float32]]:
    """The weights of the published model by our names, for training."""
    numpy_helper = local.module("onnx.numpy_helper", "onnx")
    model = minilm.model(source)
    held = {tensor.name: np.array(numpy_helper.to_array(tensor)) for tensor in model.graph.initializer}
    inputs = _inputs(model)
    found = {name: held[inputs[name]] for name in ADAPTED}
    made = {node.output[0]: node for node in model.graph.node}
    names = {f"/model/layers.{name.split('.')[0]}/{PARTS[name.split('.')[1]]}/MatMul": name for name in ADAPTED}
    for node in model.graph.node:
        if node.op_type == "Add":
            for one, other in (node.input, node.input[::-1]):
                if one in made and made[one].name in names and other in held:
                    found[f"{names[made[one].name]}.bias"] = held[other].ravel()
    norms = [node for node in model.graph.node if node.op_type == "LayerNormalization"]
    called = ["begin", *(f"{layer}.{part}" for layer in range(LAYERS) for part in ("attended", "passed"))]
    for name, node in zip(called, norms, strict=True):
        found[f"{name}.scale"], found[f"{name}.bias"] = held[node.input[1]], held[node.input[2]]
    for name, part in (("words", "word"), ("kinds", "token_type"), ("places", "position")):
        found[name] = next(value for key, value in held.items() if f"{part}_embeddings.weight" in key)
    return found
