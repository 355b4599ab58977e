"""Work on many scopes: what the ledger leaves out, failures, and the commands."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ecphora.cli.main import main
from ecphora.errors import InvalidInput, StoreBusy
from ecphora.maintenance.bulk import BulkResult, ScopeOutcome, ScopeWork, run_bulk, run_scope


@dataclass
class Counting:
    """A work that counts its runs; in ``broken`` scopes it fails."""

    revisions: dict[str, int]
    broken: dict[str, Exception] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    name: str = "count"

    def states(self) -> Mapping[str, str]:
        return {scope: str(revision) for scope, revision in self.revisions.items()}

    def run(self, scope: str, /) -> tuple[int, str]:
        self.runs.append(scope)
        if scope in self.broken:
            raise self.broken[scope]
        self.revisions[scope] += 1
        return 2, str(self.revisions[scope])


def here(work: ScopeWork, scopes: Sequence[str]) -> Iterator[ScopeOutcome]:
    """An executor in this thread."""
    return (run_scope(work, scope) for scope in scopes)


def run(work: Counting, folder: Path, **options: Any) -> BulkResult:
    return run_bulk(work, ledger=folder / "ledger", executor=here, **options)


def test_scopes_are_done_once_for_each_state(tmp_path: Path) -> None:
    work, seen = Counting({"a": 1, "b": 1, "c": 1}), list[tuple[int, int]]()
    assert run(work, tmp_path, progress=lambda done, total: seen.append((done, total))) == BulkResult(3, 0, 6)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert run(work, tmp_path) == BulkResult(0, 3, 0)
    work.revisions["b"] += 1
    assert run(work, tmp_path) == BulkResult(1, 2, 2)
    assert work.runs == ["a", "b", "c", "b"]
    work.name = "another"
    assert run(work, tmp_path).done == 3


def test_a_failure_stops_no_other_scope(tmp_path: Path) -> None:
    work = Counting({"a": 1, "b": 1, "c": 1}, {"a": StoreBusy("somebody writes"), "b": ValueError("odd")})
    result = run(work, tmp_path)
    assert [(one.scope, one.error) for one in result.failed] == [("a", "somebody writes"), ("b", "ValueError: odd")]
    assert result.done == 1
    work.broken.clear()
    assert run(work, tmp_path) == BulkResult(2, 1, 4)


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path) -> None:
    work = Counting({"a": 1, "b": 1})
    run(work, tmp_path)
    ledger = tmp_path / "ledger"
    ledger.write_bytes(ledger.read_bytes()[:-9])
    assert run(work, tmp_path) == BulkResult(1, 1, 2)
    assert run(work, tmp_path) == BulkResult(0, 2, 0)


def test_only_scopes_that_exist(tmp_path: Path) -> None:
    work = Counting({"a": 1, "b": 1})
    assert run(work, tmp_path, scopes=["b", "b"]).done == 1
    with pytest.raises(InvalidInput, match="no scope 'c'"):
        run(work, tmp_path, scopes=["a", "c"])
    assert work.runs == ["b"]


@pytest.mark.slow
def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "in"
    folder.mkdir()

    def call(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(main, ["bulk", *arguments, "--db", "m.db", "--workers", "2", "--json"])
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    for name in ("ana", "bo"):
        texts = [f"{name} moved to {place}." for place in ("Porto", "Rome")]
        made = CliRunner().invoke(
            main,
            [
                "remember",
                *texts,
                "--db",
                "old.db",
                "--scope",
                name,
                "--embedder",
                "hashing",
            ],
        )
        assert made.exit_code == 0, made.output
        exported = CliRunner().invoke(
            main, ["export", str(folder / f"{name}.jsonl"), "--db", "old.db", "--scope", name]
        )
        assert exported.exit_code == 0, exported.output
    (folder / "bad.jsonl").write_text("no export", "utf-8")
    first = call("import", str(folder), "--embedder", "hashing", code=1)
    assert (first["done"], [one["scope"] for one in first["failed"]]) == (2, ["bad"])
    assert first["memories"] >= 4  # and the entities
    (folder / "bad.jsonl").unlink()
    assert call("import", str(folder), "--embedder", "hashing") == {
        "done": 0,
        "skipped": 2,
        "memories": 0,
        "failed": [],
    }
    assert call("consolidate")["memories"] == 4
    assert call("consolidate") == {"done": 0, "skipped": 2, "memories": 0, "failed": []}
    assert call("reembed", "ana", "--embedder", "minilm")["memories"] == 2
    assert call("reembed", "--embedder", "minilm") == {"done": 1, "skipped": 1, "memories": 2, "failed": []}
