"""The default embedder: multilingual-e5-small in 8-bit integers, on one CPU core, without a network.

Liang Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024, arXiv:2402.05672: twelve layers of BERT,
the mean over the tokens, "query: " before a question and "passage: " before a text.
"""

from collections.abc import Sequence
from importlib.resources.abc import Traversable

from ....model.lazy_pattern import lazy_pattern
from ....model.reprs import call_repr
from ....model.types import Vectors
from .. import onnx_runtime
from ..encoder_network import HIDDEN_SIZE
from ..minilm import MiniLMEmbedder
from .e5_network import PASSAGE_PREFIX, QUERY_PREFIX, share_network

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
