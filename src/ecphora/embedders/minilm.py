"""The default embedder: all-MiniLM-L6-v2 in 8-bit integers, on one CPU core, without a network.

Wenhui Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", 2020, arXiv:2002.10957; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084 (mean
pooling over the tokens). The model (23 MB) and its tokenizer are part of the package; ``scripts/build_minilm.py`` makes
them. Quantization is dynamic, with one scale per run, so texts are run one by one: in a batch a vector would depend on
its neighbors (cosine down to .989).
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ..language.scripts import latin_fraction
from ..model import Vector, Vectors
from ..reprs import call_repr
from ..validate import check_component
from . import onnx_runtime
from .shared_model import SharedModel

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
FILE_DIGESTS = {
    MODEL: "ced38c196379cbb61173d78d8065856f5511e3535fad872facdbd0f76201a08b",
    TOKENIZER: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
}
"""SHA-256 of the model's files."""

MAX_TOKENS = 256
"""How many tokens of a text the model reads, its two special tokens included."""
CLS_TOKEN, SEP_TOKEN = 101, 102
"""The special tokens before and after a text."""
ADAPTER_SWITCH = "use_adapters"
"""The input of the graph that selects the branch with adapters; the branch without them is the default."""

MODEL_FOLDER = files("ecphora.weights") / "minilm"
"""The folder of the model's files."""
_REPAIR_HINT = "fix it with: pip install --force-reinstall --no-deps ecphora"


class MiniLMEmbedder:
    """all-MiniLM-L6-v2: English, 384 dimensions, about 2 ms for a short text.

    The constructor is cheap; the first ``embed`` loads the model, once per process. ``source`` is the folder of its
    files, by default that of the package. Safe to share between threads, and in a forked child.
    """

    name = "all-MiniLM-L6-v2/int8"
    dim = 384

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = share_network(source)
        self._embed = onnx_runtime.UnbatchedEncoder(self._make_encoder, self.dim)

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

    def _make_encoder(self) -> onnx_runtime.Encoder:
        network = self._network()

        def encode(text: str) -> Vector:
            ids = [CLS_TOKEN, *network.tokenize(text, MAX_TOKENS - 2), SEP_TOKEN]
            return onnx_runtime.mean_pool(network.hidden_states(ids), "all-MiniLM-L6-v2", text)

        return encode


class MiniLMNetwork:
    """The loaded model: texts to tokens, tokens to hidden states. Safe to share between threads."""

    def __init__(self, folder: Traversable) -> None:
        # To hash the model and to load it leave Python free: meanwhile the packages and the tokenizer are loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            session = pool.submit(lambda: onnx_runtime.inference_session(_checked(folder, MODEL)))
            onnx_runtime.load_onnxruntime()
            tokenizers = onnx_runtime.require_module("tokenizers", "tokenizers")
            self._tokenizer = tokenizers.Tokenizer.from_buffer(_checked(folder, TOKENIZER))
            self._session = session.result()
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""

        def encode(part: str) -> list[int]:
            ids: list[int] = self._tokenizer.encode(part, add_special_tokens=False).ids
            return ids[:limit]

        return onnx_runtime.tokenize_prefix(encode, text, limit)

    def hidden_states(
        self, ids: Sequence[int], segment_ids: Sequence[int] | None = None, adapters: Mapping[str, Any] | None = None
    ) -> Vectors:
        """Return the output of the last layer for every token, shape ``(len(ids), 384)``.

        ``segment_ids`` says of each token whether it is of the first text (0, the default) or of the second (1).
        ``adapters`` are arrays by the names of the graph's inputs, ``{layer}.{part}.down`` and ``{layer}.{part}.up``.
        """
        row = np.array([ids], np.int64)
        segments = np.zeros_like(row) if segment_ids is None else np.array([segment_ids], np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": segments}
        if adapters is not None:
            feed |= {ADAPTER_SWITCH: np.array(True), **adapters}
        rows: Vectors = self._session.run(None, feed)[0][0]
        return rows


def _checked(folder: Traversable, name: str) -> bytes:
    """One file of the model, or ``ModelDamaged``."""
    return onnx_runtime.read_verified(folder, {name: FILE_DIGESTS[name]}, _REPAIR_HINT)[0]


def share_network(source: Traversable | None = None) -> SharedModel[MiniLMNetwork]:
    """Return a reference to the model of a folder, by default that of the package."""
    folder = (
        MODEL_FOLDER if source is None else check_component("source", source, "a folder, such as a Path", "joinpath")
    )
    return SharedModel(("minilm", str(folder)), lambda: MiniLMNetwork(folder))
