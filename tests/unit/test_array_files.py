"""Files of arrays are read one at a time."""

import io
from typing import Any

import numpy as np
import pytest

from ecphora.models.embedders import onnx_runtime


def test_arrays_are_read_under_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise two threads may parse headers at once, which Python 3.11 cannot."""
    file, load, was_locked = io.BytesIO(), np.load, []

    def watch(*arguments: Any, **options: Any) -> Any:
        was_locked.append(onnx_runtime._lock.current.locked())
        return load(*arguments, **options)

    np.savez(file, first=np.arange(3), second=np.ones(2))
    monkeypatch.setattr(np, "load", watch)
    found = onnx_runtime.read_arrays(file.getvalue())
    assert {name: values.tolist() for name, values in found.items()} == {"first": [0, 1, 2], "second": [1.0, 1.0]}
    assert was_locked == [True]
    assert not onnx_runtime._lock.current.locked()
