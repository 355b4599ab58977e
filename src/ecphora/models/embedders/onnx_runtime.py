"""Models that run in onnxruntime, in this process: their files, one load for all users, and unbatched encoding.

The quantization of an 8-bit graph is dynamic, with one scale per run, so texts are run one by one: in a batch a vector
would depend on its neighbors.

Reads NumPy's files of several arrays, one at a time: Python 3.11 cannot parse their headers in two threads at once.

There ``ast.literal_eval``, which NumPy calls for each header, can raise "AST constructor recursion depth mismatch" if
another thread parses meanwhile (https://github.com/python/cpython/issues/106905).

Loads a model once per process, for all its users, and frees it with the last of them.

A forked child loads the model again: a thread of the parent may have been inside it, and its locks would stay locked
in the child forever.

The encoder networks of the package: texts to tokens, tokens to hidden states.

A network is an ONNX graph in 8-bit integers. It has a second branch, selected by an input, that other models of the
package use; so they share one set of weights with the embedder.
"""

import hashlib
import importlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from threading import Lock, RLock
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from ...errors import EmbedderUnavailable, ModelDamaged, WrongVector
from ...model.cancellation import check_cancellation
from ...model.text_format import replace_surrogates
from ...model.types import Vector, Vectors
from ...model.validation import check_component


class ProcessLock:
    """A lock of the process, ``current``. A forked child has its own: the thread that held it does not run there."""

    def __init__(self) -> None:
        self.current = Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.current = Lock()


_lock = ProcessLock()


def read_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; raises ``ValueError``, ``OSError``, ``EOFError`` or ``BadZipFile`` without any."""
    with _lock.current, np.load(io.BytesIO(content), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


M = TypeVar("M")


class _Registry:
    """The models loaded in this process, by key."""

    def __init__(self) -> None:
        self.lock = RLock()  # held while loading; reentrant, as loading a model may load another
        self.models: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()


_registry = _Registry()
_parent_models: list[Any] = []
"""Models of the parent process: never used in this child, and never destroyed."""


def _reset_registry() -> None:
    """Start with an empty registry in a forked child."""
    global _registry  # noqa: PLW0603  # there is one per process
    _parent_models.extend(_registry.models.values())
    _registry = _Registry()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_registry)


class SharedModel(Generic[M]):
    """A reference to the object that ``load`` returns; all references with the same ``key`` share one object.

    The first call loads it. It is freed with its last reference. Safe to share between threads and in a forked child.
    """

    def __init__(self, key: Hashable, load: Callable[[], M]) -> None:
        self.key = key
        self._load = load
        self._cached: tuple[_Registry, M] | None = None

    def __call__(self) -> M:
        """Return the loaded object; raises what ``load`` raises, and tries again at the next call."""
        registry, cached = _registry, self._cached
        if cached is not None and cached[0] is registry:
            return cached[1]
        with registry.lock:
            found: M | None = registry.models.get(self.key)
            if found is None:
                found = registry.models[self.key] = self._load()
        self._cached = registry, found
        return found


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


MODEL = "model.onnx"
"""The file of the graph."""
HIDDEN_SIZE, FEED_FORWARD_SIZE = 384, 1_536
"""How many numbers a token has between layers, and between the two dense matrices of a layer."""

REPAIR_HINT = "fix it with: pip install --force-reinstall --no-deps ecphora"
"""The end of the error about a damaged file."""


class EncoderNetwork(ABC):
    """A loaded network. Safe to share between threads."""

    model_name: ClassVar[str]
    file_digests: ClassVar[Mapping[str, str]]
    """SHA-256 of the network's files."""
    max_tokens: ClassVar[int]
    """How many tokens of a text are read, its special tokens included."""
    first_token: ClassVar[int]
    last_token: ClassVar[int]

    def __init__(self, folder: Traversable) -> None:
        # To hash the model and to load it leave Python free: meanwhile the packages and the tokenizer are loaded.
        with ThreadPoolExecutor(1, "ecphora-load") as pool:
            session = pool.submit(lambda: inference_session(self._read_graph(folder)))
            load_onnxruntime()
            self._load_tokenizer(folder)
            self._session = session.result()

    @abstractmethod
    def _load_tokenizer(self, folder: Traversable) -> None:
        """Load all that :meth:`tokenize` and :meth:`_graph_inputs` need."""

    @abstractmethod
    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first ``limit`` tokens of a text, without special tokens."""

    @abstractmethod
    def _graph_inputs(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return the tokens as inputs of the graph."""

    def hidden_states(self, ids: Sequence[int]) -> Vectors:
        """Return the output of the last layer for every token, shape ``(len(ids), 384)``."""
        return self._run(self._graph_inputs(ids))

    def _run(self, inputs: Mapping[str, Any]) -> Vectors:
        rows: Vectors = self._session.run(None, inputs)[0][0]
        return rows

    def embed(self, text: str) -> Vector:
        """Return the mean of the hidden states of a text's first ``max_tokens`` tokens, scaled to length 1."""
        return mean_pool(self.hidden_states(self._read_tokens(text)), self.model_name, text)

    def _read_tokens(self, text: str) -> list[int]:
        return [self.first_token, *self.tokenize(text, self.max_tokens - 2), self.last_token]

    def _read_graph(self, folder: Traversable) -> bytes:
        return self._read(folder, MODEL)

    def _read(self, folder: Traversable, name: str) -> bytes:
        """Return one file of the network, or raise ``ModelDamaged``."""
        return read_verified(folder, {name: self.file_digests[name]}, REPAIR_HINT)[0]


N = TypeVar("N", bound=EncoderNetwork)


def share(network: type[N], packaged: Traversable, source: Traversable | None) -> SharedModel[N]:
    """Return a reference to the network whose files are in the folder ``source``, by default in ``packaged``."""
    folder = packaged if source is None else check_component("source", source, "a folder, such as a Path", "joinpath")
    return SharedModel((network.model_name, str(folder)), lambda: network(folder))
