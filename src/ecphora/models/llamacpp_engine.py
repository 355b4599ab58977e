"""Loads a model from a GGUF file into llama.cpp's engine, in this process. Needs the extra ``[llamacpp]``.

The wheel is ``xllamacpp``. Nothing is downloaded. The engine always opens a port on the loopback interface; the port is
locked with a random key and never used.
"""

import importlib
import os
import secrets
from pathlib import Path
from typing import Any

from ..errors import EcphoraError
from ..model.validation import check_optional_count

SILENT_VERBOSITY = -1
"""The engine's verbosity at which it prints nothing."""


def check_threads(threads: int | None) -> int:
    """Check a number of threads; None means half of the cores.

    The engine's threads wait for each other, so that one busy core slows all of them down.
    """
    return check_optional_count("threads", threads) or max(1, (os.cpu_count() or 1) // 2)


def load_engine(
    path: Path,
    *,
    context_tokens: int,
    threads: int,
    gpu_layers: int,
    error_type: type[EcphoraError],
    is_reranker: bool = False,
) -> Any:
    """Return a ``Server`` of the wheel with the model loaded.

    Raises ``error_type`` if the wheel or the file is missing, or the file holds no model.
    """
    try:
        library = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise error_type(f"{error}; install it with: pip install 'ecphora[llamacpp]'") from error
    if not path.is_file():
        raise error_type(f"there is no file {path}; give the path of a GGUF file")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise error_type(f"{path} is not a GGUF file")
    params = library.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.n_gpu_layers = gpu_layers
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = SILENT_VERBOSITY
    params.offline = True
    params.warmup = params.ui = params.endpoint_slots = params.endpoint_props = False
    params.api_keys = [secrets.token_urlsafe(32)]
    if is_reranker:
        params.embedding = True
        params.pooling_type = library.llama_pooling_type.LLAMA_POOLING_TYPE_RANK
        params.n_batch = params.n_ubatch = context_tokens  # a text is processed in one batch
    try:
        return library.Server(params)
    except RuntimeError as error:
        raise error_type(f"{path} cannot be loaded: {error}") from error
