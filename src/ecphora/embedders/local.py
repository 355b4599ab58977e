"""What the embedders that run in this process share: files found and checked, a graph kept, one text a run.

The rounding of a graph in 8-bit integers is dynamic, one scale a run, so texts are run one by one: in a batch a vector
would depend on its neighbours.
"""

import hashlib
import importlib
import importlib.util
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from ..errors import EmbedderUnavailable, ModelDamaged, WrongVector
from ..model import Vector, Vectors

CUTS = (4_096, 65_536)
"""How many characters are cut into tokens: first so many, then, if that was too little to fill the model, so many."""

NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""The variable of the environment that onnxruntime reads when it is imported."""

Encoder = Callable[[str], Vector]
"""Turns one text into its vector; may be shared by threads."""

_log = logging.getLogger("ecphora")


T = TypeVar("T", bound=Sized)


class OneByOne(Generic[T]):
    """Texts, or pairs, to rows of ``dim`` numbers, each in a run of its own.

    The first call takes the ``encoder``. Safe to share between threads.
    """

    def __init__(self, encoder: Callable[[], Callable[[T], Vector]], dim: int) -> None:
        self._encoder = encoder
        self._dim = dim

    def __call__(self, texts: Sequence[T]) -> Vectors:
        """The vectors of texts, in the order given."""
        vectors = np.zeros((len(texts), self._dim), np.float32)
        if not texts:
            return vectors
        one = self._encoder()
        if len(texts) == 1:
            vectors[0] = one(texts[0])
            return vectors
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))  # the long ones first: no thread ends late
        with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(texts)), "ecphora-embed") as pool:
            for row, vector in zip(order, pool.map(one, (texts[row] for row in order)), strict=True):
                vectors[row] = vector
        return vectors


def installed(package: str, inside: str = ".") -> Path | None:
    """The folder ``inside`` an installed package, found without running any code of it."""
    spec = importlib.util.find_spec(package)
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / inside
        if path.is_dir():
            return path
    return None


def checked(source: Traversable, digests: Mapping[str, str], mend: str) -> list[bytes]:
    """Read the files of ``digests``, name to SHA-256, or raise ``ModelDamaged`` at the first that is not as published.

    ``mend`` ends the message.
    """
    contents = []
    for name, digest in digests.items():
        try:
            content = (source / name).read_bytes()
        except OSError as error:
            raise ModelDamaged(f"cannot read the model file {source / name} ({error}); {mend}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ModelDamaged(f"the model file {source / name} is not the published one; {mend}")
        contents.append(content)
    return contents


def kept_graph(cache: Path, name: str, made: Mapping[str, object], build: Callable[[Path], bytes]) -> bytes:
    """The graph ``name``: the cached one if it is whole and its note says ``made``, else one built and kept.

    ``build`` gets a folder for its files, which is gone afterwards.
    """
    path, note = cache / f"{name}.onnx", cache / f"{name}.json"
    try:
        graph = path.read_bytes()
        if json.loads(note.read_bytes()) == {**made, "graph": hashlib.sha256(graph).hexdigest()}:
            return graph
    except (OSError, ValueError):
        pass  # not there, not readable or half a note: build it
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as made_in:
            folder = Path(made_in)
            graph = build(folder)
            (folder / "graph").write_bytes(graph)
            (folder / "note").write_text(json.dumps({**made, "graph": hashlib.sha256(graph).hexdigest()}))
            # Each file appears whole. Of two processes that come here at once, each uses the graph it made; at worst
            # the note then belongs to the other's graph, and the next process makes it once more.
            (folder / "graph").replace(path)
            (folder / "note").replace(note)
            return graph
    except OSError as error:
        _log.warning("cannot keep the 8-bit model in %s (%s); every process builds it anew", cache, error)
    try:
        with tempfile.TemporaryDirectory(prefix="ecphora-") as made_in:
            return build(Path(made_in))
    except OSError as error:
        raise EmbedderUnavailable(f"the 8-bit model needs 200 MB for its files while it is built: {error}") from error


def module(name: str, mend: str) -> Any:
    """Import a module, or raise ``EmbedderUnavailable`` and say which packages ``mend`` it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EmbedderUnavailable(f"{error}; install it with: pip install {mend}") from error


def runtime() -> Any:
    """The package ``onnxruntime``, its telemetry off. Nothing else imports it.

    Without the variable, onnxruntime writes an id into the user's cache and, in a process of more than some ten
    seconds, reports to its maker; its own ``disable_telemetry_events`` comes too late for both. Who has set the
    variable keeps what they set.
    """
    if not os.environ.get(NO_TELEMETRY):
        os.environ[NO_TELEMETRY] = "1"
    return module("onnxruntime", "onnxruntime")


def session(graph: bytes) -> Any:
    """An ``InferenceSession`` on one thread, over a graph that is optimised already."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def first_tokens(encode: Callable[[str], list[int]], text: str, most: int) -> list[int]:
    """The tokens of a text's beginning; ``encode`` gives at most ``most``, its marks included."""
    ids: list[int] = []
    for cut in CUTS:
        # A lone surrogate cannot be encoded; it becomes a question mark.
        ids = encode(text[:cut].encode("utf-8", "replace").decode("utf-8"))
        if len(ids) == most or len(text) <= cut:
            break
    return ids


def mean_unit(rows: Vectors, model: str, text: str) -> Vector:
    """The mean of the tokens' vectors, shape ``(tokens, dim)``, at length 1."""
    mean = rows.mean(axis=0)
    length = np.linalg.norm(mean)
    if not 0 < length < np.inf:
        raise WrongVector(f"{model} gave no finite vector for the text {text[:80]!r}")
    vector: Vector = (mean / length).astype(np.float32)
    return vector
