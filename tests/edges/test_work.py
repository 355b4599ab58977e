"""The work of an operation does not grow unnoticed: benchmarks/work.py counts it, work.json is the baseline."""

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module benchmarks/work.py."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("work")


@pytest.fixture
def compare(work: Any) -> Callable[..., list[str]]:
    """Compares counts with a baseline in which every count is 5."""
    known = work.Work(5, 5, 5, 5, 5, 5, 5, 5)

    def compared(**counts: int) -> list[str]:
        return list(work.regressions({"recall": replace(known, **counts)}, {"recall": known}))

    return compared


@pytest.mark.slow
def test_operations_do_the_work_of_the_baseline(work: Any) -> None:
    lines = work.regressions(work.measure(), work.read_baseline())
    assert lines == [], "a rise that is meant is recorded by: python benchmarks/work.py --write"


@pytest.mark.parametrize("count", ["statements", "rows_read", "rows_written", "texts_embedded", "pairs_scored"])
def test_count_of_data_must_equal_the_baseline(compare: Callable[..., list[str]], count: str) -> None:
    assert compare(**{count: 5}) == []
    assert compare(**{count: 6}) == [f"recall: {count} 5 -> 6"]
    assert compare(**{count: 4}) == [f"recall: {count} 5 -> 4"]


@pytest.mark.parametrize("count", ["rows_scanned", "crossing_calls", "returns"])
def test_count_of_code_may_fall_but_not_rise(compare: Callable[..., list[str]], count: str) -> None:
    assert compare(**{count: 4}) == []
    assert compare(**{count: 6}) == [f"recall: {count} 5 -> 6"]


def test_operation_without_a_baseline_is_reported(work: Any) -> None:
    known = work.Work(5, 5, 5, 5, 5, 5, 5, 5)
    assert work.regressions({"recall": known}, {"forget": known}) == [
        "forget: only in the baseline",
        "recall: only in the measurement",
    ]
