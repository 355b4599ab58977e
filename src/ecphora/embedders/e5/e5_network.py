"""The network of multilingual-e5-small. Its files are part of the package; ``scripts/build_e5.py`` makes them.

Its graph can stop after the ninth of twelve layers. The last layers fit the tokens to the mean that is the vector of a
text; those before tell more of each token. A branch of it stops after the eighth layer and has low-rank adapters as
inputs, for cross-encoders over pairs of texts (:mod:`.pair_adapters`).
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ...model import Vectors
from .. import encoder_network, onnx_runtime
from ..encoder_network import FEED_FORWARD_SIZE, HIDDEN_SIZE, MODEL, EncoderNetwork
from ..shared_model import SharedModel
from .token_embeddings import TokenEmbeddings
from .unigram import UnigramTokenizer, UnigramVocabulary

EMBEDDINGS, VOCABULARY = "embeddings.npz", "vocabulary.npz"
FILE_DIGESTS = {
    MODEL: "8c51d937f5f8c6fff5e06a7675c1d35bf6ac90fb687fac11f6eb207177853024",
    EMBEDDINGS: "f0d1dfe922f6046687e5e6df200e6638e3c3ada3770753f4c897c70bfe13802a",
    VOCABULARY: "fdb81b8a6ce86cd47e7cec680266fc3662885700d56d0c65a40f23114fcce9d2",
}
"""SHA-256 of the model's files."""

LAYERS, MIDDLE_LAYERS = 12, 9
"""All layers, and those before the middle states."""
MIDDLE_SWITCH = "stop_at_middle"
"""The input of the graph that leaves out the layers after ``MIDDLE_LAYERS``."""
ADAPTED_LAYERS = 8
"""The layers that have adapters."""
LAYER_MATRICES = ("qkv", "o", "in", "out")
"""The matrices of a layer: the queries, keys and values of attention as one, its output, then the two dense ones."""
ADAPTED_MATRICES = tuple(f"{layer}.{part}" for layer in range(ADAPTED_LAYERS) for part in LAYER_MATRICES)
ADAPTER_SWITCH, SEGMENT_INPUT = "use_adapters", "segments"
"""The inputs of the graph that select the layers with adapters, and the vectors that these add to the tokens'. Such a
run also stops at the middle."""
GRAPH_INPUT = "embeddings"
"""The input of the graph: the embeddings of every token, shape ``(1, tokens, 384)``."""

MODEL_FOLDER = files("ecphora.weights") / "e5"
"""The folder of the model's files."""


class E5Network(EncoderNetwork):
    """The loaded model: texts to tokens, tokens to hidden states. Safe to share between threads."""

    model_name = "multilingual-e5-small"
    file_digests = FILE_DIGESTS
    max_tokens = 512
    first_token, last_token = 0, 2

    def _load_tokenizer(self, folder: Traversable) -> None:
        # To read and to hash the embeddings leave Python free: meanwhile the vocabulary is loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            embeddings = pool.submit(lambda: TokenEmbeddings.from_bytes(self._read(folder, EMBEDDINGS)))
            self._tokenize = UnigramTokenizer(UnigramVocabulary.from_bytes(self._read(folder, VOCABULARY)))
            self._embeddings = embeddings.result()

    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""
        return onnx_runtime.tokenize_prefix(lambda part: self._tokenize(part, limit), text, limit)

    def middle_states(self, ids: Sequence[int]) -> Vectors:
        """Return the output of layer ``MIDDLE_LAYERS`` for every token, shape ``(len(ids), 384)``."""
        return self._run({**self._graph_inputs(ids), MIDDLE_SWITCH: np.array(True)})

    def adapted_states(self, ids: Sequence[int], segment_vectors: Vectors, adapters: Mapping[str, Vectors]) -> Vectors:
        """Return the output of layer ``ADAPTED_LAYERS`` with adapters for every token, shape ``(len(ids), 384)``.

        ``segment_vectors``, of the same shape, are added to the normalized embeddings. ``adapters`` are arrays by the
        names of the graph's inputs, ``{layer}.{part}.down`` and ``{layer}.{part}.up``.
        """
        inputs = {**self._graph_inputs(ids), **adapters, SEGMENT_INPUT: segment_vectors[None]}
        return self._run({**inputs, ADAPTER_SWITCH: np.array(True), MIDDLE_SWITCH: np.array(True)})

    def input_embeddings(self, ids: Sequence[int]) -> Vectors:
        """Return what the network reads of each token, shape ``(len(ids), 384)``."""
        return self._embeddings.rows(ids)

    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        return {GRAPH_INPUT: self.input_embeddings(ids)[None]}


def matrix_shape(name: str) -> tuple[int, int]:
    """Return how many numbers the matrix ``name`` of ``ADAPTED_MATRICES`` takes and gives."""
    part = name.partition(".")[2]
    columns = {"qkv": 3 * HIDDEN_SIZE, "in": FEED_FORWARD_SIZE}.get(part, HIDDEN_SIZE)
    return FEED_FORWARD_SIZE if part == "out" else HIDDEN_SIZE, columns


def share_network(source: Traversable | None = None) -> SharedModel[E5Network]:
    """Return a reference to the model of a folder, by default that of the package."""
    return encoder_network.share(E5Network, MODEL_FOLDER, source)
