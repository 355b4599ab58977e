"""Each benchmark can be started, and gives the same wherever it runs."""

import ast
import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.medium
@pytest.mark.parametrize("path", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_benchmark_finds_all_that_it_imports(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    assert "__doc__" in runpy.run_path(str(path))


@pytest.mark.medium
def test_benchmarks_fix_the_zone_of_their_memories() -> None:
    without = [
        f"{path.name}:{call.lineno}"
        for path in sorted(BENCHMARKS.glob("*.py"))
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and getattr(call.func, "id", "") in {"Memory", "AsyncMemory"}
        and all(keyword.arg != "zone" for keyword in call.keywords)
    ]
    assert without == []
