"""``ecphora bench speed`` from the command line to its table, its lines and its picture."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ecphora_bench.commands import bench
from ecphora_bench.speed.peers import PEERS

pytestmark = pytest.mark.slow


def test_speed_measures_a_strategy_and_the_comparison_of_all_vectors(tmp_path: Path) -> None:
    words = ["speed", "--n", "200", "--strategy", "dense", "--peer", "chroma", "--recalls", "5", "--out", str(tmp_path)]
    result = CliRunner().invoke(bench, [*words, "--json", "-"], catch_exceptions=False)
    run, *rows = map(json.loads, result.stdout.splitlines())
    assert "--n 200" in run["command"]
    engines = ["dense", "exact"] + ["chroma"] * PEERS["chroma"].is_installed
    assert [(row["engine"], row["memories"], row["error"]) for row in rows] == [(name, 200, None) for name in engines]
    assert all(row["recalls"] == 5 and 0 < row["ms_p50"] <= row["ms_p99"] for row in rows)
    assert rows[1]["vector_recall"] == 1
    assert rows[1]["bytes_per_memory"] == 4 * 384
    assert "<svg" in (tmp_path / "speed.svg").read_text("utf-8")


def test_speed_prints_a_table_and_names_what_fails() -> None:
    words = ["speed", "--n", "200", "--strategy", "dense", "--peer", "mem0", "--recalls", "5", "--limit", "0.01"]
    shown = CliRunner().invoke(bench, words, catch_exceptions=False).stdout
    assert "200 memories" in shown
    assert "dense, 200 memories: build: not done in 0.01 s" in shown
    assert ("mem0: not installed" in shown) is not PEERS["mem0"].is_installed
