"""Reads NumPy's files of several arrays, one at a time: Python 3.11 cannot parse their headers in two threads at once.

There ``ast.literal_eval``, which NumPy calls for each header, can raise "AST constructor recursion depth mismatch" if
another thread parses meanwhile (https://github.com/python/cpython/issues/106905).
"""

import io
import os
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

_lock = Lock()


def _reset_lock() -> None:
    """Make a new lock in a forked child, where the thread that held the old one does not run."""
    global _lock  # noqa: PLW0603  # there is one per process
    _lock = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_lock)


def read_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; raises ``ValueError``, ``OSError``, ``EOFError`` or ``BadZipFile`` without any."""
    with _lock, np.load(io.BytesIO(content), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
