"""The encoder networks of the package: texts to tokens, tokens to hidden states.

A network is an ONNX graph in 8-bit integers. It has a second branch, selected by an input, that other models of the
package use; so they share one set of weights with the embedder.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from typing import Any, ClassVar, TypeVar

from ...model.types import Vector, Vectors
from ...model.validation import check_component
from . import onnx_runtime
from .shared_model import SharedModel

MODEL = "model.onnx"
"""The file of the graph."""
HIDDEN_SIZE, FEED_FORWARD_SIZE = 384, 1_536
"""How many numbers a token has between layers, and between the two dense matrices of a layer."""

REPAIR_HINT = "fix it with: pip install --force-reinstall --no-deps ecphora"
"""The end of the error about a damaged file."""


class EncoderNetwork(ABC):
    """A loaded network. Safe to share between threads."""

    model_name: ClassVar[str]
    file_digests: ClassVar[Mapping[str, str]]
    """SHA-256 of the network's files."""
    max_tokens: ClassVar[int]
    """How many tokens of a text are read, its special tokens included."""
    first_token: ClassVar[int]
    last_token: ClassVar[int]

    def __init__(self, folder: Traversable) -> None:
        # To hash the model and to load it leave Python free: meanwhile the packages and the tokenizer are loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            session = pool.submit(lambda: onnx_runtime.inference_session(self._read_graph(folder)))
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
    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return the tokens as inputs of the graph."""

    def hidden_states(self, ids: Sequence[int]) -> Vectors:
        """Return the output of the last layer for every token, shape ``(len(ids), 384)``."""
        return self._run(self._graph_inputs(ids))

    def _run(self, inputs: Mapping[str, Any]) -> Vectors:
        rows: Vectors = self._session.run(None, inputs)[0][0]
        return rows

    def embed(self, text: str) -> Vector:
        """Return the mean of the hidden states of a text's first ``max_tokens`` tokens, scaled to length 1."""
        return onnx_runtime.mean_pool(self.hidden_states(self._read_tokens(text)), self.model_name, text)

    def _read_tokens(self, text: str) -> list[int]:
        return [self.first_token, *self.tokenize(text, self.max_tokens - 2), self.last_token]

    def _read_graph(self, folder: Traversable) -> bytes:
        return self._read(folder, MODEL)

    def _read(self, folder: Traversable, name: str) -> bytes:
        """Return one file of the network, or raise ``ModelDamaged``."""
        return onnx_runtime.read_verified(folder, {name: self.file_digests[name]}, REPAIR_HINT)[0]


N = TypeVar("N", bound=EncoderNetwork)


def share(network: type[N], packaged: Traversable, source: Traversable | None) -> SharedModel[N]:
    """Return a reference to the network whose files are in the folder ``source``, by default in ``packaged``."""
    folder = packaged if source is None else check_component("source", source, "a folder, such as a Path", "joinpath")
    return SharedModel((network.model_name, str(folder)), lambda: network(folder))
