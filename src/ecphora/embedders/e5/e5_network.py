"""The network of multilingual-e5-small. Its files are part of the package; ``scripts/build_e5.py`` makes them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from .. import encoder_network, onnx_runtime
from ..encoder_network import MODEL, EncoderNetwork, name_adapted_matrices
from ..shared_model import SharedModel
from .token_embeddings import TokenEmbeddings
from .unigram import UnigramTokenizer, UnigramVocabulary

EMBEDDINGS, VOCABULARY = "embeddings.npz", "vocabulary.npz"
FILE_DIGESTS = {
    MODEL: "33adcbd3028d38e7568a00f6076277a560764accd2ac88328ee3c303b0420ca8",
    EMBEDDINGS: "f0d1dfe922f6046687e5e6df200e6638e3c3ada3770753f4c897c70bfe13802a",
    VOCABULARY: "fdb81b8a6ce86cd47e7cec680266fc3662885700d56d0c65a40f23114fcce9d2",
}
"""SHA-256 of the model's files."""

LAYERS = 12
ADAPTED_MATRICES = name_adapted_matrices(LAYERS)
"""The matrices that have adapters."""
GRAPH_INPUT = "embeddings"
"""The input of the graph: the embeddings of every token, shape ``(1, tokens, 384)``."""

MODEL_FOLDER = files("ecphora.weights") / "e5"
"""The folder of the model's files."""


class E5Network(EncoderNetwork):
    """The loaded model: texts to tokens, tokens to hidden states. Safe to share between threads.

    The two texts of a pair are told apart by the special tokens between them alone.
    """

    model_name = "multilingual-e5-small"
    file_digests = FILE_DIGESTS
    max_tokens = 512
    first_token, separator, last_token = 0, (2, 2), 2

    def _load_tokenizer(self, folder: Traversable) -> None:
        # To read and to hash the embeddings leave Python free: meanwhile the vocabulary is loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            embeddings = pool.submit(lambda: TokenEmbeddings.from_bytes(self._read(folder, EMBEDDINGS)))
            self._tokenize = UnigramTokenizer(UnigramVocabulary.from_bytes(self._read(folder, VOCABULARY)))
            self._embeddings = embeddings.result()

    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""
        return onnx_runtime.tokenize_prefix(lambda part: self._tokenize(part, limit), text, limit)

    def _graph_inputs(self, ids: Sequence[int], segment_ids: Sequence[int] | None) -> dict[str, Any]:
        del segment_ids
        return {GRAPH_INPUT: self._embeddings.rows(ids)[None]}


def share_network(source: Traversable | None = None) -> SharedModel[E5Network]:
    """Return a reference to the model of a folder, by default that of the package."""
    return encoder_network.share(E5Network, MODEL_FOLDER, source)
