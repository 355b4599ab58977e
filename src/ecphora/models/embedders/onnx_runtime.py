"""Shared parts of the embedders that run onnxruntime in this process: model files, unbatched encoding.

The quantization of an 8-bit graph is dynamic, with one scale per run, so texts are run one by one: in a batch a vector
would depend on its neighbors.
"""

import hashlib
import importlib
import os
from collections.abc import Callable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from typing import Any, Generic, TypeVar

import numpy as np

from ...errors import EmbedderUnavailable, ModelDamaged, WrongVector
from ...model.cancellation import check_cancellation
from ...model.text_format import replace_surrogates
from ...model.types import Vector, Vectors
from .process_lock import ProcessLock

TEXT_PREFIX_LENGTHS = (4_096, 65_536)
"""How many characters are tokenized: first the smaller number, then, if that does not fill the model, the larger."""

TELEMETRY_VARIABLE = "ORT_DISABLE_TELEMETRY"
"""The environment variable that onnxruntime reads when it is imported."""

T = TypeVar("T", bound=Sized)

_pool_lock = ProcessLock()
"""Held by the call that encodes in several threads; concurrent calls encode in their own thread."""


class UnbatchedEncoder(Generic[T]):
    """Encodes texts, or pairs, to rows of ``dim`` numbers, each in its own run.

    The first call loads the encoder. Safe to share between threads.
    """

    def __init__(self, load_encoder: Callable[[], Callable[[T], Vector]], dim: int) -> None:
        self._load_encoder = load_encoder
        self._dim = dim

    def __call__(self, texts: Sequence[T]) -> Vectors:
        """Return the vectors of texts, in the order given."""
        vectors = np.zeros((len(texts), self._dim), np.float32)
        if not texts:
            return vectors
        encode = self._load_encoder()
        if len(texts) == 1:
            vectors[0] = encode(texts[0])
            return vectors
        # Long texts first, so that no thread ends late.
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        lock = _pool_lock.current
        if not lock.acquire(blocking=False):  # another call has the cores: more threads would only share them
            for row in order:
                vectors[row] = encode(texts[row])
                check_cancellation()
            return vectors
        try:
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1, len(texts)), "ecphora-embed") as pool:
                for row, vector in zip(order, pool.map(encode, (texts[row] for row in order)), strict=True):
                    vectors[row] = vector
                    check_cancellation()
        finally:
            lock.release()
        return vectors


def read_verified(source: Traversable, digests: Mapping[str, str], hint: str) -> list[bytes]:
    """Read the files of ``digests``, name to SHA-256; raise ``ModelDamaged`` for the first that differs.

    ``hint`` ends the message.
    """
    contents = []
    for name, digest in digests.items():
        try:
            content = (source / name).read_bytes()
        except OSError as error:
            raise ModelDamaged(f"cannot read the model file {source / name} ({error}); {hint}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise ModelDamaged(f"the model file {source / name} is not the published one; {hint}")
        contents.append(content)
    return contents


def require_module(name: str, packages: str) -> Any:
    """Import a module; if it is missing, raise ``EmbedderUnavailable`` that names the ``packages`` to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise EmbedderUnavailable(f"{error}; install it with: pip install {packages}") from error


def load_onnxruntime() -> Any:
    """Import ``onnxruntime`` with its telemetry disabled. Nothing else imports it.

    Without the variable, onnxruntime writes an id into the user's cache and, in a process that runs longer than about
    ten seconds, reports to its maker; its own ``disable_telemetry_events`` comes too late for both. A value that the
    user has set is kept.
    """
    if not os.environ.get(TELEMETRY_VARIABLE):
        os.environ[TELEMETRY_VARIABLE] = "1"
    return require_module("onnxruntime", "onnxruntime")


def inference_session(graph: bytes) -> Any:
    """Return an ``InferenceSession`` on one thread, for a graph that is optimized already."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def with_output(graph: bytes, name: str) -> bytes:
    """A graph that also gives an inner value, of single-precision numbers.

    The encodings of two Protocol Buffers messages, one after the other, encode the message that has the parts of both
    (https://protobuf.dev/programming-guides/encoding/#last-one-wins); so an output can be added without parsing.
    """
    tensor_of_floats = _field(1, bytes([1 << 3, 1]))  # TypeProto.tensor_type: elem_type = FLOAT
    value_info = _field(1, name.encode()) + _field(2, tensor_of_floats)
    return graph + _field(7, _field(12, value_info))  # ModelProto.graph: GraphProto.output


def _field(number: int, content: bytes) -> bytes:
    """A field of a message with content of less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def tokenize_prefix(encode: Callable[[str], list[int]], text: str, limit: int) -> list[int]:
    """Return the first tokens of a text; ``encode`` returns at most ``limit``, special tokens included."""
    ids: list[int] = []
    for cut in TEXT_PREFIX_LENGTHS:
        # A lone surrogate cannot be encoded; it becomes a question mark.
        ids = encode(replace_surrogates(text[:cut]))
        if len(ids) == limit or len(text) <= cut:
            break
    return ids


def mean_pool(rows: Vectors, model: str, text: str) -> Vector:
    """Return the mean of the tokens' vectors, shape ``(tokens, dim)``, scaled to length 1."""
    mean = rows.mean(axis=0)
    length = np.linalg.norm(mean)
    if not 0 < length < np.inf:
        raise WrongVector(f"{model} gave no finite vector for the text {text[:80]!r}")
    vector: Vector = (mean / length).astype(np.float32)
    return vector
