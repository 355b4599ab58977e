"""ONNX Runtime: telemetry off, and graphs that are kept."""

import importlib
import importlib.util
import os
from pathlib import Path

import pytest

from ecphora.embedders import onnx_runtime
from ecphora.embedders.minilm import MiniLMEmbedder


@pytest.fixture(scope="session")
def model() -> MiniLMEmbedder:
    """One embedder for all tests."""
    return MiniLMEmbedder()


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


@pytest.mark.parametrize("broken", ["graph", "note", "made", "gone"])
def test_damaged_cached_graph_is_built_again(broken: str, tmp_path: Path) -> None:
    built: list[Path] = []

    def build(folder: Path) -> bytes:
        built.append(folder)
        (folder / "left.over").write_bytes(b"")
        return b"a graph"

    def expected(made: int = 1) -> bytes:
        return onnx_runtime.load_or_build_graph(tmp_path, "model", {"recipe": made}, build)

    graph, note = tmp_path / "model.onnx", tmp_path / "model.json"
    assert expected() == expected() == b"a graph"
    match broken:
        case "graph":
            graph.write_bytes(b"a grapf")
        case "note":
            note.write_text("{")
        case "gone":
            graph.unlink()
    assert len(built) == 1
    recipe = 2 if broken == "made" else 1
    assert expected(recipe) == expected(recipe) == b"a graph"
    assert len(built) == 2
    assert sorted(tmp_path.iterdir()) == [note, graph]


def test_graph_is_built_elsewhere_if_the_cache_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert onnx_runtime.load_or_build_graph(
        tmp_path / "file" / "cache", "model", {}, lambda folder: folder.name.encode()
    )
    assert [(record.name, record.levelname) for record in caplog.records] == [("ecphora", "WARNING")]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
