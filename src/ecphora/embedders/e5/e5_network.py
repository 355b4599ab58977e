"""The network of multilingual-e5-small. Its files are part of the package; ``scripts/build_e5.py`` makes them.

The second branch of its graph ends after the ninth of twelve layers. The last layers fit the tokens to the mean that is
the vector of a text; those before tell more of each token.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ...model import Vectors
from .. import encoder_network, onnx_runtime
from ..encoder_network import MODEL, EncoderNetwork
from ..shared_model import SharedModel
from .token_embeddings import TokenEmbeddings
from .unigram import UnigramTokenizer, UnigramVocabulary

EMBEDDINGS, VOCABULARY = "embeddings.npz", "vocabulary.npz"
FILE_DIGESTS = {
    MODEL: "147e02dc99625888dbded6c8534e456ba84b33c76c5929b9b3ab763f3a252184",
    EMBEDDINGS: "f0d1dfe922f6046687e5e6df200e6638e3c3ada3770753f4c897c70bfe13802a",
    VOCABULARY: "fdb81b8a6ce86cd47e7cec680266fc3662885700d56d0c65a40f23114fcce9d2",
}
"""SHA-256 of the model's files."""

LAYERS, MIDDLE_LAYERS = 12, 9
"""All layers, and those before the middle states."""
MIDDLE_SWITCH = "stop_at_middle"
"""The input of the graph that selects the branch of ``MIDDLE_LAYERS`` layers; the one of all layers is the default."""
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

    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        return {GRAPH_INPUT: self._embeddings.rows(ids)[None]}


def share_network(source: Traversable | None = None) -> SharedModel[E5Network]:
    """Return a reference to the model of a folder, by default that of the package."""
    return encoder_network.share(E5Network, MODEL_FOLDER, source)
