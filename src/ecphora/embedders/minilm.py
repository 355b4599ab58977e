"""The English embedder: all-MiniLM-L6-v2 in 8-bit integers, on one CPU core, without a network.

Wenhui Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", 2020, arXiv:2002.10957; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084 (mean
pooling over the tokens). The model (23 MB) and its tokenizer are part of the package; ``scripts/build_minilm.py`` makes
them. Quantization is dynamic, with one scale per run, so texts are run one by one: in a batch a vector would depend on
its neighbors (cosine down to .989). The graph's second branch, with low-rank adapters as inputs, is not used.
"""

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ..language.scripts import latin_fraction
from ..model import Vectors
from ..reprs import call_repr
from . import encoder_network, onnx_runtime
from .encoder_network import MODEL, EncoderNetwork
from .shared_model import SharedModel

TOKENIZER = "tokenizer.json"
FILE_DIGESTS = {
    MODEL: "ced38c196379cbb61173d78d8065856f5511e3535fad872facdbd0f76201a08b",
    TOKENIZER: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
}
"""SHA-256 of the model's files."""

MODEL_FOLDER = files("ecphora.weights") / "minilm"
"""The folder of the model's files."""


class MiniLMEmbedder:
    """all-MiniLM-L6-v2: English, 384 dimensions, about 2 ms for a short text.

    The constructor is cheap; the first ``embed`` loads the model, once per process. ``source`` is the folder of its
    files, by default that of the package. Safe to share between threads, and in a forked child.
    """

    name = "all-MiniLM-L6-v2/int8"
    dim = 384

    def __init__(self, *, source: Traversable | None = None) -> None:
        network = self._network = share_network(source)
        self._embed = onnx_runtime.UnbatchedEncoder(lambda: network().embed, self.dim)

    def __repr__(self) -> str:
        return call_repr("MiniLMEmbedder")

    def coverage(self, text: str, /) -> float:
        """The fraction in 0..1 of the text's letters that are Latin; 1.0 for a text without letters."""
        return latin_fraction(text)

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``is_query`` makes no difference.

        Only the first 256 tokens of a text count, about 1,000 characters. Raises ``ModelDamaged`` if a file of the
        model is missing or differs from the published one.
        """
        del is_query
        return self._embed(texts)


class MiniLMNetwork(EncoderNetwork):
    """The loaded model: texts to tokens, tokens to hidden states. Safe to share between threads."""

    model_name = "all-MiniLM-L6-v2"
    file_digests = FILE_DIGESTS
    max_tokens = 256
    first_token, last_token = 101, 102

    def _load_tokenizer(self, folder: Traversable) -> None:
        tokenizers = onnx_runtime.require_module("tokenizers", "tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_buffer(self._read(folder, TOKENIZER))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""

        def encode(part: str) -> list[int]:
            ids: list[int] = self._tokenizer.encode(part, add_special_tokens=False).ids
            return ids[:limit]

        return onnx_runtime.tokenize_prefix(encode, text, limit)

    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        row = np.array([ids], np.int64)
        return {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}


def share_network(source: Traversable | None = None) -> SharedModel[MiniLMNetwork]:
    """Return a reference to the model of a folder, by default that of the package."""
    return encoder_network.share(MiniLMNetwork, MODEL_FOLDER, source)
