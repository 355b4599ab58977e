"""ONNX Runtime: telemetry off."""

import importlib
import os

import pytest

from ecphora.embedders import onnx_runtime


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
