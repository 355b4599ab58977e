"""Low-rank adapters with which multilingual-e5-small scores a pair of texts that it reads together, a cross-encoder.

The adapters (LoRA; Edward Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, arXiv:2106.09685) are
inputs of the branch of the graph that ends after ``ADAPTED_LAYERS`` layers; the network's own weights stay in 8 bits. A
head reads the first token, the means of both texts' tokens and their product.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ....errors import InvalidRecord
from ....model.types import Vectors
from ..array_files import read_arrays
from ..scoring_head import PairTokens, ScoringHead
from .e5_network import ADAPTED_MATRICES, E5Network

SEGMENTS = 3
"""Kinds of tokens: of the first text, of the second, and of what stands before the second."""

Half = NDArray[np.float16]


@dataclass(frozen=True)
class PairAdapters:
    """The adapters of each of ``ADAPTED_MATRICES``, as pairs of narrow matrices, the segments' vectors, and the head.

    ``segments`` has the shape ``(SEGMENTS, 384)``.
    """

    matrices: Mapping[str, tuple[Half, Half]]
    segments: Half
    head: ScoringHead

    def to_bytes(self) -> bytes:
        """Return the adapters as an ``.npz`` file."""
        parts: dict[str, Any] = {"segments": self.segments, **self.head.to_arrays()}
        for name, (down, up) in self.matrices.items():
            parts[f"{name}.down"], parts[f"{name}.up"] = down, up
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **parts)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> "PairAdapters":
        """Read the adapters from the content of a file; raises ``InvalidRecord`` if they are missing."""
        try:
            found = read_arrays(content)
            matrices = {name: (found[f"{name}.down"], found[f"{name}.up"]) for name in ADAPTED_MATRICES}
            return cls(matrices, found["segments"], ScoringHead.from_arrays(found))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile) as error:
            raise InvalidRecord(f"no adapters of multilingual-e5-small ({error!r})") from error

    def score_pair(self, network: E5Network, pair: PairTokens) -> float:
        """Return the log-odds of a pair: of what the adapters were trained on."""
        vectors = self._segment_vectors[np.array(pair.segments)]
        return self.head.score_states(network.adapted_states(pair.ids, vectors, self._graph_inputs), pair.segments)

    @cached_property
    def _segment_vectors(self) -> Vectors:
        """The vectors of the segments in single precision."""
        found: Vectors = self.segments.astype(np.float32)
        return found

    @cached_property
    def _graph_inputs(self) -> dict[str, Vectors]:
        """The matrices by the names of the graph's inputs."""
        inputs = {}
        for name, (down, up) in self.matrices.items():
            inputs[f"{name}.down"], inputs[f"{name}.up"] = down.astype(np.float32), up.astype(np.float32)
        return inputs


def join_texts(
    network: E5Network, first: Sequence[int], second: Sequence[int], before: Sequence[int] = ()
) -> PairTokens:
    """Return the tokens of two texts, ``before`` in front of the second, with special tokens."""
    start, end = network.first_token, network.last_token
    parts = [[start, *first, end], [end, *second, end], [end, *before] if before else []]
    order = (0, 2, 1)
    ids = [token for place in order for token in parts[place]]
    return PairTokens(ids, [place for place in order for _ in parts[place]])
