"""The encoder networks of the package: texts to tokens, tokens to hidden states, with or without low-rank adapters.

A network is an ONNX graph in 8-bit integers with two branches: one with inputs for low-rank adapters (LoRA; Edward Hu
et al., 2021, arXiv:2106.09685) and one without. So an embedder and any number of cross-encoders share one set of
weights.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..model import Vector, Vectors
from ..validate import check_component
from . import onnx_runtime
from .shared_model import SharedModel

MODEL = "model.onnx"
"""The file of the graph."""
ADAPTER_SWITCH = "use_adapters"
"""The input of the graph that selects the branch with adapters; the branch without them is the default."""
LAYER_MATRICES = ("q", "k", "v", "o", "in", "out")
"""The matrices of a layer: the queries, keys, values and output of attention, then the two of the dense layer."""
HIDDEN_SIZE, FEED_FORWARD_SIZE = 384, 1_536
"""How many numbers a token has between layers, and between the two dense matrices of a layer."""

REPAIR_HINT = "fix it with: pip install --force-reinstall --no-deps ecphora"
"""The end of the error about a damaged file."""


def name_adapted_matrices(layers: int) -> tuple[str, ...]:
    """Return the names of the matrices that have adapters: ``0.q``, ``0.k``, … of each layer."""
    return tuple(f"{layer}.{part}" for layer in range(layers) for part in LAYER_MATRICES)


def matrix_shape(name: str) -> tuple[int, int]:
    """Return how many numbers the matrix ``name`` of ``name_adapted_matrices`` takes and gives."""
    return (
        FEED_FORWARD_SIZE if name.endswith(".out") else HIDDEN_SIZE,
        FEED_FORWARD_SIZE if name.endswith(".in") else HIDDEN_SIZE,
    )


class EncoderNetwork(ABC):
    """A loaded network. Safe to share between threads."""

    model_name: ClassVar[str]
    file_digests: ClassVar[Mapping[str, str]]
    """SHA-256 of the network's files."""
    max_tokens: ClassVar[int]
    """How many tokens of a text are read, its special tokens included."""
    first_token: ClassVar[int]
    separator: ClassVar[Sequence[int]]
    """The special tokens between the two texts of a pair."""
    last_token: ClassVar[int]

    def __init__(self, folder: Traversable) -> None:
        # To hash the model and to load it leave Python free: meanwhile the packages and the tokenizer are loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            session = pool.submit(lambda: onnx_runtime.inference_session(self._read(folder, MODEL)))
            onnx_runtime.load_onnxruntime()
            self._load_tokenizer(folder)
            self._session = session.result()

    @abstractmethod
    def _load_tokenizer(self, folder: Traversable) -> None:
        """Load all that :meth:`tokenize` and :meth:`_graph_inputs` need."""

    @abstractmethod
    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""

    @abstractmethod
    def _graph_inputs(self, ids: Sequence[int], segment_ids: Sequence[int] | None) -> dict[str, Any]:
        """Return the tokens as inputs of the graph."""

    def join_pair(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the tokens of two texts with special tokens between them, and for each token its text, 0 or 1."""
        first_part, second_part = [self.first_token, *first, *self.separator], [*second, self.last_token]
        return [*first_part, *second_part], [0] * len(first_part) + [1] * len(second_part)

    def hidden_states(
        self, ids: Sequence[int], segment_ids: Sequence[int] | None = None, adapters: Mapping[str, Any] | None = None
    ) -> Vectors:
        """Return the output of the last layer for every token, shape ``(len(ids), 384)``.

        ``segment_ids`` says of each token whether it is of the first text (0, the default) or of the second (1).
        ``adapters`` are arrays by the names of the graph's inputs, ``{layer}.{part}.down`` and ``{layer}.{part}.up``.
        """
        inputs = self._graph_inputs(ids, segment_ids)
        if adapters is not None:
            inputs |= {ADAPTER_SWITCH: np.array(True), **adapters}
        rows: Vectors = self._session.run(None, inputs)[0][0]
        return rows

    def embed(self, text: str) -> Vector:
        """Return the mean of the hidden states of a text's first ``max_tokens`` tokens, scaled to length 1."""
        ids = [self.first_token, *self.tokenize(text, self.max_tokens - 2), self.last_token]
        return onnx_runtime.mean_pool(self.hidden_states(ids), self.model_name, text)

    def _read(self, folder: Traversable, name: str) -> bytes:
        """Return one file of the network, or raise ``ModelDamaged``."""
        return onnx_runtime.read_verified(folder, {name: self.file_digests[name]}, REPAIR_HINT)[0]


N = TypeVar("N", bound=EncoderNetwork)


def share(network: type[N], packaged: Traversable, source: Traversable | None) -> SharedModel[N]:
    """Return a reference to the network whose files are in the folder ``source``, by default in ``packaged``."""
    folder = packaged if source is None else check_component("source", source, "a folder, such as a Path", "joinpath")
    return SharedModel((network.model_name, str(folder)), lambda: network(folder))
