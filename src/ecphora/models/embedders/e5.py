"""The default embedder: multilingual-e5-small in 8-bit integers, on one CPU core, without a network.

Liang Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024, arXiv:2402.05672: twelve layers of BERT,
the mean over the tokens, "query: " before a question and "passage: " before a text.

The network of multilingual-e5-small. Its files are part of the package; ``training/build_e5.py`` makes them.

Its graph can stop after the ninth of twelve layers. The last layers fit the tokens to the mean that is the vector of a
text; earlier layers tell more of each token. A branch of the graph stops after the eighth layer and has low-rank
adapters as inputs, for cross-encoders over pairs of texts (:mod:`.pair_scoring`).

Liang Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024, arXiv:2402.05672: twelve layers of BERT,
the mean over the tokens, "query: " before a question and "passage: " before a text.

The input embeddings of multilingual-e5-small: 4 bits for each number of a common piece, 2 bits for a rare one.

The pieces are numbered from common to rare. A common piece's row is blocks of 32 numbers with a scale each. A rare
piece's row is a scale, times -1.5, -0.5, 0.5 or 1.5 for each number, from the mean of all rare rows. One byte has two
numbers of a block, half a block apart, or four numbers of a rare row, each a quarter of the row apart; the first is in
the lowest bits.
"""

import io
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from importlib.resources import files
from importlib.resources.abc import Traversable
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...model.lazy import lazy_pattern
from ...model.reprs import call_repr
from ...model.types import Vector, Vectors
from . import onnx_runtime
from .minilm import MiniLMEmbedder
from .onnx_runtime import FEED_FORWARD_SIZE, HIDDEN_SIZE, MODEL, REPAIR_HINT, EncoderNetwork, SharedModel, read_arrays
from .token_codes import TokenCodec
from .unigram import UnigramTokenizer, UnigramVocabulary

BLOCK_SIZE = 32
"""How many numbers of a common row share a scale."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenEmbeddings:
    """The embeddings of pieces and of positions."""

    common_codes: NDArray[np.uint8]
    """Shape ``(common pieces, blocks, 16)``."""
    common_scales: NDArray[np.float16]
    """Shape ``(common pieces, blocks)``."""
    rare_codes: NDArray[np.uint8]
    """Shape ``(rare pieces, width / 4)``."""
    rare_scales: NDArray[np.float16]
    rare_mean: Vector
    positions: Vectors

    @classmethod
    def from_bytes(cls, content: bytes) -> "TokenEmbeddings":
        """Read the content of a file."""
        found = read_arrays(content)
        return cls(*(found[field.name] for field in fields(cls)))

    def to_bytes(self) -> bytes:
        """Return the content of a file, the same for the same embeddings."""
        arrays: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    def rows(self, ids: Sequence[int]) -> Vectors:
        """Return the sum of the embeddings of each piece and of its position, shape ``(len(ids), width)``."""
        pieces = np.array(ids, np.intp)
        rows = np.empty((len(pieces), len(self.rare_mean)), np.float32)
        is_rare = pieces >= len(self.common_codes)
        rows[~is_rare] = self._common_rows(pieces[~is_rare])
        rows[is_rare] = self._rare_rows(pieces[is_rare] - len(self.common_codes))
        rows += self.positions[: len(pieces)]
        return rows

    def _common_rows(self, places: NDArray[np.intp]) -> Vectors:
        codes = self.common_codes[places]
        numbers = np.concatenate([codes & 15, codes >> 4], axis=-1).astype(np.float32) - 8
        numbers *= self.common_scales[places].astype(np.float32)[..., None]
        return numbers.reshape(len(places), -1)

    def _rare_rows(self, places: NDArray[np.intp]) -> Vectors:
        codes = self.rare_codes[places]
        numbers = np.concatenate([codes >> shift & 3 for shift in (0, 2, 4, 6)], axis=-1).astype(np.float32) - 1.5
        numbers *= self.rare_scales[places].astype(np.float32)[:, None]
        return numbers + self.rare_mean


EMBEDDINGS, VOCABULARY = "embeddings.npz", "vocabulary.npz"
FILE_DIGESTS = {
    MODEL: "8c51d937f5f8c6fff5e06a7675c1d35bf6ac90fb687fac11f6eb207177853024",
    EMBEDDINGS: "f0d1dfe922f6046687e5e6df200e6638e3c3ada3770753f4c897c70bfe13802a",
    VOCABULARY: "fdb81b8a6ce86cd47e7cec680266fc3662885700d56d0c65a40f23114fcce9d2",
}
"""SHA-256 of the model's files."""

LAYERS, MIDDLE_LAYERS = 12, 9
"""How many layers there are, and how many come before the middle states."""
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
MIDDLE_OUTPUT = "first"
"""The value of the graph that holds the middle states."""
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "
"""The prefixes of questions and texts with which the model was trained."""
PREFIX_TOKENS, MAX_STATES = 3, 256
"""How many tokens stand before a text's own: the first token and the tokens of "query: " or "passage: "; and how many
of the text's own tokens, from the first on, have states."""
CODEC_FILE = "token_codes.npz"
CODEC_DIGEST = "c29f88c4104abf247f11f940ba7b1b82856a2ff4013c58aa87aa7317374bb46e"
"""SHA-256 of the projection's file; ``training/fit_token_codes.py`` prints it for a new file."""
GRAPH_INPUT = "embeddings"
"""The input of the graph: the embeddings of every token, shape ``(1, tokens, 384)``."""

KEPT_QUESTIONS, KEPT_TEXTS = 64, 2_048
"""Of how many questions and texts that were embedded last the tokens are kept: up to 131 and 9 kB each."""

MODEL_FOLDER = files("ecphora.models") / "weights" / "e5"
"""The folder of the model's files."""


T = TypeVar("T")


class LastValues(Generic[T]):
    """The values of the keys that were put or found last. Safe to share between threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str) -> T | None:
        """Return the value of a key, None if it is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: str, value: T) -> None:
        """Keep a value, and let the one go that was used longest ago."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)


class E5Network(EncoderNetwork):
    """The loaded model: texts to tokens, tokens to hidden states. Safe to share between threads."""

    model_name = "multilingual-e5-small"
    file_digests = FILE_DIGESTS
    max_tokens = 512
    first_token, last_token = 0, 2

    def __init__(self, folder: Traversable) -> None:
        super().__init__(folder)
        digests = {CODEC_FILE: CODEC_DIGEST}
        content = onnx_runtime.read_verified(files("ecphora.models") / "weights", digests, REPAIR_HINT)[0]
        self.codec = TokenCodec.from_bytes(content)
        """The projection of token states."""
        self._kept_components: LastValues[Vectors] = LastValues(KEPT_QUESTIONS)
        self._kept_rows: LastValues[tuple[list[int], Vectors]] = LastValues(KEPT_QUESTIONS)
        self._kept_codes: LastValues[bytes] = LastValues(KEPT_TEXTS)

    def _load_tokenizer(self, folder: Traversable) -> None:
        # To read and to hash the embeddings leave Python free: meanwhile the vocabulary is loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            embeddings = pool.submit(lambda: TokenEmbeddings.from_bytes(self._read(folder, EMBEDDINGS)))
            self._tokenize = UnigramTokenizer(UnigramVocabulary.from_bytes(self._read(folder, VOCABULARY)))
            self._embeddings = embeddings.result()

    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""
        return onnx_runtime.tokenize_prefix(lambda part: self._tokenize(part, limit), text, limit)

    def _read_graph(self, folder: Traversable) -> bytes:
        return onnx_runtime.with_output(super()._read_graph(folder), MIDDLE_OUTPUT)

    def embed(self, text: str) -> Vector:
        """Return the mean of the hidden states of a text's first ``max_tokens`` tokens, scaled to length 1.

        The components of a question's tokens, or the codes of a text's tokens, come from the same run; they are kept
        for the next call that asks for them.
        """
        ids = self._read_tokens(text)
        rows, middle = self._run_all(self._graph_inputs(ids))
        if text.startswith(QUERY_PREFIX):
            self._kept_components.put(text, self.codec.project(middle[:MAX_STATES]))
            self._kept_rows.put(text, (ids[:MAX_STATES], rows[:MAX_STATES]))
        else:
            self._kept_codes.put(text, self.codec.encode(_own_states(middle)))
        return onnx_runtime.mean_pool(rows, self.model_name, text)

    def word_vectors(self, question: str, words: Sequence[str]) -> Vectors:
        """Return the mean hidden states of words as they stand in a question, shape ``(len(words), 384)``, unit rows.

        The row of a word that is not found is 0. The question begins with its prefix.
        """
        known = self._kept_rows.get(question)
        if known is None:
            ids = self._read_tokens(question)
            known = ids, self.hidden_states(ids)
        ids, rows = known
        found = np.zeros((len(words), HIDDEN_SIZE), np.float32)
        for place, word in enumerate(words):
            if tokens := self._find_tokens(word, ids[: len(rows)]):
                mean = rows[tokens].mean(axis=0)
                found[place] = mean / np.linalg.norm(mean)
        return found

    def _find_tokens(self, word: str, ids: Sequence[int]) -> slice | None:
        """The first tokens that spell a word, None if there are none."""
        tokens = self.tokenize(word, len(ids))
        starts = range(len(ids) - len(tokens) + 1)
        return next((slice(at, at + len(tokens)) for at in starts if ids[at : at + len(tokens)] == tokens), None)

    def token_components(self, question: str) -> Vectors:
        """Return the components of all tokens of a question, shape ``(tokens, 128)``; it begins with its prefix."""
        found = self._kept_components.get(question)
        if found is None:
            found = self.codec.project(self.middle_states(self._read_tokens(question))[:MAX_STATES])
            self._kept_components.put(question, found)
        return found

    def token_codes(self, text: str) -> bytes:
        """Return the codes of a text's own tokens (:mod:`.token_codes`); it begins with its prefix."""
        found = self._kept_codes.get(text)
        if found is None:
            found = self.codec.encode(self.token_states(text))
            self._kept_codes.put(text, found)
        return found

    def token_states(self, text: str) -> Vectors:
        """Return the middle states of a text's own tokens, shape ``(tokens, 384)``; it begins with its prefix."""
        return _own_states(self.middle_states(self._read_tokens(text)))

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

    def _run_all(self, inputs: Mapping[str, Any]) -> tuple[Vectors, Vectors]:
        """Run all layers; return the output of the last one and the middle states."""
        rows, middle = self._session.run(None, inputs)
        return rows[0], middle[0]

    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        return {GRAPH_INPUT: self.input_embeddings(ids)[None]}


def _own_states(states: Vectors) -> Vectors:
    """The states of a text's own tokens, out of the states of all tokens."""
    return states[PREFIX_TOKENS:-1][:MAX_STATES]


def matrix_shape(name: str) -> tuple[int, int]:
    """Return how many numbers the matrix ``name`` of ``ADAPTED_MATRICES`` takes and gives."""
    part = name.partition(".")[2]
    columns = {"qkv": 3 * HIDDEN_SIZE, "in": FEED_FORWARD_SIZE}.get(part, HIDDEN_SIZE)
    return FEED_FORWARD_SIZE if part == "out" else HIDDEN_SIZE, columns


def share_network(source: Traversable | None = None) -> SharedModel[E5Network]:
    """Return a reference to the model of a folder, by default the package's."""
    return onnx_runtime.share(E5Network, MODEL_FOLDER, source)


KNOWN_SCRIPTS = (
    "\0-\u06ff\u0750-\u077f\u08a0-\u08ff"  # Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic
    "\u0900-\u0eff\u1000-\u139f\u1780-\u17ff"  # of India and Sri Lanka; Thai, Lao, Burmese, Georgian, Ethiopic, Khmer
    "\u1c80-\u1cbf\u1d00-\u2bff\u2c60-\u2c7f\ua640-\ua69f\ua720-\ua7ff\U0001d400-\U0001d7ff"  # more of the first ones
    "\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\uffef\U00020000-\U000323af"  # Chinese, Japanese, Korean; wide forms
)
"""The Unicode ranges of the scripts that the model was trained on."""
_UNKNOWN_SCRIPT = lazy_pattern(f"[^{KNOWN_SCRIPTS}]")


class E5Embedder:
    """multilingual-e5-small: about 100 languages, 384 dimensions, about 5 ms for a short text.

    The constructor is cheap; the first ``embed`` loads the model, once per process. ``source`` is the folder of its
    files, by default the package's. Safe to share between threads, and in a forked child.
    """

    name = "multilingual-e5-small/int8 (query:/passage:)"
    dim = HIDDEN_SIZE
    similarity_floor = 0.72
    """Unrelated texts have cosines of .72 to .79, whatever the language."""

    def __init__(self, *, source: Traversable | None = None) -> None:
        network = self._network = share_network(source)
        self._embed = onnx_runtime.UnbatchedEncoder(lambda: network().embed, self.dim)
        self.english_embedder = MiniLMEmbedder(adapts_questions=True)
        """The embedder of the English vectors."""

    def __repr__(self) -> str:
        return call_repr("E5Embedder")

    def coverage(self, text: str, /) -> float:
        """The fraction in 0..1 of the text's letters whose script the model knows; 1.0 for a text without letters."""
        if text.isascii():
            return 1.0
        letters = sum(map(str.isalpha, text))
        return 1 - sum(map(str.isalpha, _UNKNOWN_SCRIPT.findall(text))) / letters if letters else 1.0

    def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``is_query`` chooses the prefix.

        Only the first 512 tokens of a text count, about 2,000 characters. Raises ``ModelDamaged`` if a file of the
        model is missing or differs from the published one.
        """
        prefix = QUERY_PREFIX if is_query else PASSAGE_PREFIX
        return self._embed([prefix + text for text in texts])

    def embed_words(self, question: str, words: Sequence[str], /) -> Vectors:
        """The vectors of words as they stand in a question, shape ``(len(words), 384)``: unit rows, or 0.

        Each is the mean of the last states of the word's tokens. A word that is not found, such as a word beyond the
        question's first 512 tokens, has zeros. Raises ``ModelDamaged`` as :meth:`embed` does.
        """
        return self._network().word_vectors(QUERY_PREFIX + question, words)
