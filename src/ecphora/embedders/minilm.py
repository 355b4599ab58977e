"""The default embedder: all-MiniLM-L6-v2 in 8-bit integers, on one CPU core, without a network.

Wenhui Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", 2020, arXiv:2002.10957; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084 (mean
pooling over the tokens). The model (23 MB) and its tokenizer come with the package; ``scripts/build_minilm.py`` makes
them. Rounding is dynamic, one scale a run, so texts are run one by one: in a batch a vector would depend on its
neighbors (cosine down to .989).
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ..language.scripts import latin_share
from ..model import Vector, Vectors
from ..reprs import call_repr
from ..validate import check_part
from . import local
from .share import Share

MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
FILES = {
    MODEL: "ced38c196379cbb61173d78d8065856f5511e3535fad872facdbd0f76201a08b",
    TOKENIZER: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
}
"""SHA-256 of the files of the model."""

TOKENS = 256
"""How many tokens of a text the model reads, its two marks included."""
BEGIN, END = 101, 102
"""The tokens before and after a text."""
SWITCH = "use_adapters"
"""The input of the graph that chooses the branch with adapters; the branch without them is the default."""

SHIPPED = files("ecphora.weights") / "minilm"
"""The folder of the files."""
_MEND = "mend it with: pip install --force-reinstall --no-deps ecphora"


class MiniLM:
    """all-MiniLM-L6-v2: English, 384 dimensions, about 2 ms for a short text.

    Making one costs nothing; the first ``embed`` loads the model, once for all of a process. ``source`` is the folder
    of its files, by default that of the package. Safe to share between threads, and in a forked child.
    """

    name = "all-MiniLM-L6-v2/int8"
    dim = 384

    def __init__(self, *, source: Traversable | None = None) -> None:
        self._network = shared(source)
        self._embed = local.OneByOne(self._encoder, self.dim)

    def __repr__(self) -> str:
        return call_repr("MiniLM")

    def reads(self, text: str, /) -> float:
        """The share in 0..1 of the text's letters that are Latin; 1.0 for a text without letters."""
        return latin_share(text)

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``cue`` makes no difference here.

        Only the first 256 tokens of a text count, about 1,000 characters. Raises ``ModelDamaged`` where a file of the
        model is missing or is not the one that was shipped.
        """
        del cue
        return self._embed(texts)

    def _encoder(self) -> local.Encoder:
        network = self._network()

        def one(text: str) -> Vector:
            ids = [BEGIN, *network.tokens(text, TOKENS - 2), END]
            return local.mean_unit(network.rows(ids), "all-MiniLM-L6-v2", text)

        return one


class Network:
    """The loaded model: texts to tokens, tokens to the rows of its last layer. Safe to share between threads."""

    def __init__(self, folder: Traversable) -> None:
        # To hash the model and to load it leave Python free: meanwhile the packages and the tokenizer are loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            session = pool.submit(lambda: local.session(_checked(folder, MODEL)))
            local.runtime()
            tokenizers = local.module("tokenizers", "tokenizers")
            self._tokenizer = tokenizers.Tokenizer.from_buffer(_checked(folder, TOKENIZER))
            self._session = session.result()
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokens(self, text: str, most: int) -> list[int]:
        """The first ``most`` tokens of a text, without marks."""

        def encode(part: str) -> list[int]:
            ids: list[int] = self._tokenizer.encode(part, add_special_tokens=False).ids
            return ids[:most]

        return local.first_tokens(encode, text, most)

    def rows(
        self, ids: Sequence[int], kinds: Sequence[int] | None = None, adapters: Mapping[str, Any] | None = None
    ) -> Vectors:
        """What the last layer says of every token, shape ``(len(ids), 384)``.

        ``kinds`` says of each token whether it is of the first text (0, the default) or of the second (1). ``adapters``
        are arrays by the names of the graph's inputs, ``{layer}.{part}.down`` and ``{layer}.{part}.up``.
        """
        row = np.array([ids], np.int64)
        second = np.zeros_like(row) if kinds is None else np.array([kinds], np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": second}
        if adapters is not None:
            feed |= {SWITCH: np.array(True), **adapters}
        rows: Vectors = self._session.run(None, feed)[0][0]
        return rows


def _checked(folder: Traversable, name: str) -> bytes:
    """One file of the model, or ``ModelDamaged``."""
    return local.checked(folder, {name: FILES[name]}, _MEND)[0]


def shared(source: Traversable | None = None) -> Share[Network]:
    """A share of the model of a folder, by default the one that comes with the package."""
    folder = SHIPPED if source is None else check_part("source", source, "a folder, such as a Path", "joinpath")
    return Share(("minilm", str(folder)), lambda: Network(folder))
