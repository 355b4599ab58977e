"""An English cross-encoder that scores whether a later text updates what an earlier one says.

all-MiniLM-L6-v2 with low-rank adapters (Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021,
arXiv:2106.09685), trained by ``scripts/train_update_scorer.py`` on conversations that were written for this project.
The adapters are inputs of the graph of :mod:`ecphora.embedders.minilm`, whose own weights stay in 8 bits.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..embedders import minilm, onnx_runtime
from ..embedders.minilm import ADAPTED_MATRICES
from ..embedders.shared_model import SharedModel
from ..errors import InvalidRecord
from ..model import Vector, Vectors
from ..reprs import call_repr

MAX_TOKENS = 96
"""How many tokens of each text are read."""

Half = NDArray[np.float16]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Adapters:
    """The low-rank adapters of each of ``ADAPTED_MATRICES``, as pairs of narrow matrices, and the scoring head.

    ``head`` has 4 x 384 weights: of the first token, of the means of both texts' tokens, and of their product.
    """

    matrices: Mapping[str, tuple[Half, Half]]
    head: Half
    bias: float

    def to_bytes(self) -> bytes:
        """Return the adapters as an ``.npz`` file."""
        parts: dict[str, Any] = {"head": self.head, "bias": np.float64(self.bias)}
        for name, (down, up) in self.matrices.items():
            parts[f"{name}.down"], parts[f"{name}.up"] = down, up
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **parts)
        return file.getvalue()

    def graph_inputs(self) -> dict[str, Vectors]:
        """Return the adapters by the names of the graph's inputs."""
        inputs = {}
        for name, (down, up) in self.matrices.items():
            inputs[f"{name}.down"], inputs[f"{name}.up"] = down.astype(np.float32), up.astype(np.float32)
        return inputs

    @classmethod
    def from_bytes(cls, content: bytes) -> "Adapters":
        """Read the adapters from the content of a file; raises ``InvalidRecord`` if they are missing."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as found:
                matrices = {name: (found[f"{name}.down"], found[f"{name}.up"]) for name in ADAPTED_MATRICES}
                return cls(matrices, found["head"], float(found["bias"]))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile) as error:
            raise InvalidRecord(f"no adapters ({error!r}); make them with scripts/train_update_scorer.py") from error


class MiniLMUpdateScorer:
    """Scores whether a later text updates an earlier one; about 4 ms for two short texts.

    The constructor is cheap; the first ``score`` loads the model, once per process and shared with
    :class:`~ecphora.embedders.minilm.MiniLMEmbedder`. ``source`` is the folder of its files, by default that of the
    package. Safe to share between threads, and in a forked child.
    """

    name = "all-MiniLM-L6-v2/changes"

    def __init__(self, *, source: Traversable | None = None) -> None:
        network = minilm.share_network(source)
        scorer = SharedModel(("changes", network.key), lambda: _make_scorer(network()))
        self._score: onnx_runtime.UnbatchedEncoder[tuple[str, str]] = onnx_runtime.UnbatchedEncoder(scorer, 1)

    def __repr__(self) -> str:
        return call_repr("MiniLMUpdateScorer")

    def score(self, pairs: Sequence[tuple[str, str]], /) -> Numbers:
        """Return the log-odds that the later text updates the earlier, for pairs (earlier, later), in their order.

        Raises ``ModelDamaged`` as :class:`~ecphora.embedders.minilm.MiniLMEmbedder` does.
        """
        return self._score(pairs)[:, 0].astype(np.float64)


def _make_scorer(network: minilm.MiniLMNetwork) -> Callable[[tuple[str, str]], Vector]:
    """Return a function from one pair to its score, shape ``(1,)``."""
    adapters = Adapters.from_bytes(files("ecphora.weights").joinpath("update_adapters.npz").read_bytes())
    inputs = adapters.graph_inputs()
    head = adapters.head.astype(np.float32).reshape(4, minilm.MiniLMEmbedder.dim)

    def score(pair: tuple[str, str]) -> Vector:
        ids, segment_ids = encode_pair(network, *pair)
        rows = network.adapted_states(ids, segment_ids, inputs)
        is_later = np.array(segment_ids) == 1
        earlier, later = rows[~is_later].mean(axis=0), rows[is_later].mean(axis=0)
        pooled = np.stack([rows[0], earlier, later, earlier * later])
        return np.array([(pooled * head).sum() + adapters.bias], np.float32)

    return score


def encode_pair(network: minilm.MiniLMNetwork, earlier: str, later: str) -> tuple[list[int], list[int]]:
    """Return the first ``MAX_TOKENS`` tokens of two texts with special tokens, and for each token its text, 0 or 1."""
    return network.join_pair(*(network.tokenize(text, MAX_TOKENS) for text in (earlier, later)))
