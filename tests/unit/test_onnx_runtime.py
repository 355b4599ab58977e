"""ONNX Runtime: telemetry off; texts are encoded in several threads by one call at a time."""

import importlib
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from ecphora.model.types import Vector
from ecphora.models.embedders import onnx_runtime

SECONDS = 30.0


@pytest.mark.parametrize(("configured", "expected"), [(None, "1"), ("", "1"), ("1", "1"), ("0", "0")])
def test_telemetry_is_off_before_onnxruntime_is_imported(
    configured: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telemetry is on only if the environment asks for it."""
    imports: list[tuple[str, str | None]] = []
    monkeypatch.setattr(
        importlib, "import_module", lambda name: imports.append((name, os.environ.get("ORT_DISABLE_TELEMETRY")))
    )
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    if configured is not None:
        monkeypatch.setenv("ORT_DISABLE_TELEMETRY", configured)
    onnx_runtime.load_onnxruntime()
    assert imports == [("onnxruntime", expected)]


def test_calls_at_once_share_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call has threads of its own; a call beside it encodes in its own thread, with the same vectors."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    threads: dict[str, set[int]] = {"first": set(), "second": set()}
    has_begun, may_end = threading.Event(), threading.Event()

    def encode(text: str) -> Vector:
        call, number = text.split()
        threads[call].add(threading.get_ident())
        if call == "first":
            has_begun.set()
            assert may_end.wait(SECONDS)
        return np.full(2, float(number), np.float32)

    encoder = onnx_runtime.UnbatchedEncoder(lambda: encode, 2)
    found: list[float] = []
    first = threading.Thread(target=lambda: found.extend(encoder(["first 1", "first 2"])[:, 0].tolist()))
    first.start()
    assert has_begun.wait(SECONDS)
    assert encoder(["second 3", "second 4", "second 5"])[:, 0].tolist() == [3, 4, 5]
    assert threads["second"] == {threading.get_ident()}
    may_end.set()
    first.join()
    assert found == [1, 2]
    assert first.ident not in threads["first"]


def test_call_after_a_failed_one_has_threads_again() -> None:
    threads = set[int]()

    def encode(text: str) -> Vector:
        threads.add(threading.get_ident())
        if text == "bad":
            raise ValueError(text)
        return np.zeros(1, np.float32)

    encoder = onnx_runtime.UnbatchedEncoder(lambda: encode, 1)
    with pytest.raises(ValueError, match="bad"):
        encoder(["bad", "good"])
    threads.clear()
    encoder(["good", "good"])
    assert threading.get_ident() not in threads


@pytest.mark.medium
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_child_has_a_lock_of_its_own() -> None:
    """The parent's thread that encodes does not run in the child, and would never release its lock."""
    code = """
import os
from ecphora.models.embedders import onnx_runtime
with onnx_runtime._pool_lock.current:
    child = os.fork()
    if child == 0:
        os._exit(0 if onnx_runtime._pool_lock.current.acquire(blocking=False) else 1)
    _, status = os.waitpid(child, 0)
    raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=SECONDS).returncode == 0
