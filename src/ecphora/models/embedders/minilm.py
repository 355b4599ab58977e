"""The English embedder: all-MiniLM-L6-v2 in 8-bit integers, on one CPU core, without a network.

Wenhui Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", 2020, arXiv:2002.10957; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084 (mean
pooling over the tokens). The model (23 MB) and its tokenizer are part of the package; ``training/build_minilm.py``
makes them. Quantization is dynamic, with one scale per run, so texts are run one by one: in a batch a vector would
depend on its neighbors (cosine down to .989). The graph's second branch has low-rank adapters as inputs (LoRA; Edward
Hu et al., 2021, arXiv:2106.09685): with :data:`QUESTION_ADAPTERS` it moves the vector of a question towards the vectors
of the texts that answer it. ``training/train_question_adapters.py`` trains them. The vectors of texts do not depend on
them.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ...language.terms import latin_fraction
from ...model.reprs import call_repr
from ...model.types import Vector, Vectors
from ...model.validation import check_flag
from . import onnx_runtime
from .onnx_runtime import MODEL, REPAIR_HINT, EncoderNetwork, SharedModel, read_arrays

TOKENIZER = "tokenizer.json"
FILE_DIGESTS = {
    MODEL: "ced38c196379cbb61173d78d8065856f5511e3535fad872facdbd0f76201a08b",
    TOKENIZER: "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904",
}
"""SHA-256 of the model's files."""
QUESTION_ADAPTERS = "question_adapters.npz"
"""The file of the adapters: for each matrix two narrow ones, ``{layer}.{part}.down`` and ``{layer}.{part}.up``."""
ADAPTERS_DIGEST = "91d322347ff70676e9ed9c5300c96ae37b75f19e994187a99b95c22251dc8710"
"""SHA-256 of the adapters' file; ``training/train_question_adapters.py`` prints it for a new file."""
ADAPTER_SWITCH = "use_adapters"
"""The input of the graph that selects the branch with adapters."""
MAX_QUESTION_TOKENS = 64
"""A longer question, such as a whole dialogue, is embedded as a text is: the adapters learned from plain questions."""

MODEL_FOLDER = files("ecphora.models") / "weights" / "minilm"
"""The folder of the model's files."""


class MiniLMEmbedder:
    """all-MiniLM-L6-v2: English, 384 dimensions, about 2 ms for a short text.

    The constructor is cheap; the first ``embed`` loads the model, once per process. ``source`` is the folder of its
    files, by default the package's. With ``adapts_questions`` questions are embedded with adapters, towards the texts
    that answer them; without, as texts are. Safe to share between threads, and in a forked child.
    """

    name = "all-MiniLM-L6-v2/int8"
    dim = 384

    def __init__(self, *, adapts_questions: bool = False, source: Traversable | None = None) -> None:
        check_flag("adapts_questions", adapts_questions)
        network = self._network = share_network(source)
        self._embed = onnx_runtime.UnbatchedEncoder(lambda: network().embed, self.dim)
        self._embed_question = (
            onnx_runtime.UnbatchedEncoder(lambda: network().embed_question, self.dim)
            if adapts_questions
            else self._embed
        )

    def __repr__(self) -> str:
        return call_repr("MiniLMEmbedder")

    def coverage(self, text: str, /) -> float:
        """The fraction in 0..1 of the text's letters that are Latin; 1.0 for a text without letters."""
        return latin_fraction(text)

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``is_query`` marks questions.

        Only the first 256 tokens of a text count, about 1,000 characters. Raises ``ModelDamaged`` if a file of the
        model is missing or differs from the published one.
        """
        return (self._embed_question if is_query else self._embed)(texts)


class MiniLMNetwork(EncoderNetwork):
    """The loaded model: texts to tokens, tokens to hidden states. Safe to share between threads."""

    model_name = "all-MiniLM-L6-v2"
    file_digests = FILE_DIGESTS
    max_tokens = 256
    first_token, last_token = 101, 102

    def __init__(self, folder: Traversable) -> None:
        super().__init__(folder)
        self._folder = folder

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

    def embed_question(self, text: str) -> Vector:
        """Return the vector of a question: as :meth:`embed`, but with the adapters if it is not long."""
        ids = self._read_tokens(text)
        if len(ids) > MAX_QUESTION_TOKENS:
            return self.embed(text)
        states = self.adapted_states(ids, [0] * len(ids), self._question_adapters)
        return onnx_runtime.mean_pool(states, self.model_name, text)

    def adapted_states(
        self, ids: Sequence[int], token_types: Sequence[int], adapters: Mapping[str, Vectors]
    ) -> Vectors:
        """Return the output of the last layer with adapters for every token, shape ``(len(ids), 384)``.

        ``token_types`` are 0 for tokens of a first text and 1 for tokens of a second. ``adapters`` are arrays by the
        names of the graph's inputs, ``{layer}.{part}.down`` and ``{layer}.{part}.up``.
        """
        inputs = {**self._graph_inputs(ids), "token_type_ids": np.array([token_types], np.int64)}
        return self._run({**inputs, **adapters, ADAPTER_SWITCH: np.array(True)})

    @cached_property
    def _question_adapters(self) -> dict[str, Vectors]:
        content = onnx_runtime.read_verified(self._folder, {QUESTION_ADAPTERS: ADAPTERS_DIGEST}, REPAIR_HINT)[0]
        return {name: values.astype(np.float32) for name, values in read_arrays(content).items()}

    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        row = np.array([ids], np.int64)
        return {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}


def share_network(source: Traversable | None = None) -> SharedModel[MiniLMNetwork]:
    """Return a reference to the model of a folder, by default the package's."""
    return onnx_runtime.share(MiniLMNetwork, MODEL_FOLDER, source)
