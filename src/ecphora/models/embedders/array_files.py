"""Reads NumPy's files of several arrays, one at a time: Python 3.11 cannot parse their headers in two threads at once.

There ``ast.literal_eval``, which NumPy calls for each header, can raise "AST constructor recursion depth mismatch" if
another thread parses meanwhile (https://github.com/python/cpython/issues/106905).
"""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .process_lock import ProcessLock

_lock = ProcessLock()


def read_arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; raises ``ValueError``, ``OSError``, ``EOFError`` or ``BadZipFile`` without any."""
    with _lock.current, np.load(io.BytesIO(content), allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
