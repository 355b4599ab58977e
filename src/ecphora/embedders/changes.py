"""Reads two texts at once: whether the later one replaces what the earlier one says. A cross-encoder, English.

all-MiniLM-L6-v2 with low-rank adapters (Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021,
arXiv:2106.09685), trained by ``scripts/train_changes.py`` on conversations that were written for this project. The
adapters are inputs of the graph of :mod:`.minilm`; the weights beside them stay in 8 bits.
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

from ..errors import InvalidRecord
from ..model import Vector, Vectors
from ..reprs import call_repr
from . import local, minilm
from .share import Share

LAYERS = 6
PARTS = ("q", "k", "v", "o", "in", "out")
"""The matrices of a layer: of attention the queries, keys, values and output, then the two of the dense layer."""
ADAPTED = tuple(f"{layer}.{part}" for layer in range(LAYERS) for part in PARTS)
"""The matrices that have adapters."""
TOKENS = 96
"""How many tokens of each text are read."""

Half = NDArray[np.float16]
Numbers = NDArray[np.float64]


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

    def inputs(self) -> dict[str, Vectors]:
        """The adapters by the names of the graph's inputs."""
        found = {}
        for name, (down, up) in self.matrices.items():
            found[f"{name}.down"], found[f"{name}.up"] = down.astype(np.float32), up.astype(np.float32)
        return found

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

    Making one costs nothing; the first ``score`` loads the model, once for all of a process and for
    :class:`.minilm.MiniLM` too. ``source`` is the folder of its files, by default that of the package. Safe to share
    between threads, and in a forked child.
    """

    name = "all-MiniLM-L6-v2/changes"

    def __init__(self, *, source: Traversable | None = None) -> None:
        network = minilm.shared(source)
        reader = Share(("changes", network.key), lambda: _reader(network()))
        self._score: local.OneByOne[tuple[str, str]] = local.OneByOne(reader, 1)

    def __repr__(self) -> str:
        return call_repr("MiniLMChanges")

    def score(self, pairs: Sequence[tuple[str, str]], /) -> Numbers:
        """The log-odds that the later text replaces the earlier, for pairs (earlier, later), in their order.

        Raises ``ModelDamaged`` as :class:`.minilm.MiniLM` does.
        """
        return self._score(pairs)[:, 0].astype(np.float64)


def _reader(network: minilm.Network) -> Callable[[tuple[str, str]], Vector]:
    """What turns one pair into its score, shape ``(1,)``."""
    adapters = Adapters.unpacked(files("ecphora.weights").joinpath("changes.npz").read_bytes())
    inputs = adapters.inputs()
    head = adapters.head.astype(np.float32).reshape(4, minilm.MiniLM.dim)

    def one(pair: tuple[str, str]) -> Vector:
        ids, kinds = tokens(network, *pair)
        rows = network.rows(ids, kinds, inputs)
        second = np.array(kinds) == 1
        earlier, later = rows[~second].mean(axis=0), rows[second].mean(axis=0)
        read = np.stack([rows[0], earlier, later, earlier * later])
        return np.array([(read * head).sum() + adapters.bias], np.float32)

    return one


def tokens(network: minilm.Network, earlier: str, later: str) -> tuple[list[int], list[int]]:
    """The first ``TOKENS`` tokens of two texts, with marks, and for each whether it is of the second (1) or not (0)."""
    first, second = (network.tokens(text, TOKENS) for text in (earlier, later))
    return (
        [minilm.BEGIN, *first, minilm.END, *second, minilm.END],
        [0] * (len(first) + 2) + [1] * (len(second) + 1),
    )
