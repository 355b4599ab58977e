"""``ecphora bench`` from the command line to its tables, on a small set of its own."""

import json
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ecphora.bench import cache, commands
from ecphora.bench.commands import bench
from ecphora.embedders.hashing import Hashing
from ecphora.errors import EcphoraError, InvalidInput, UnknownName
from ecphora.model import Vectors

TOLD = {
    "harbour": [
        ("h1", "Ines", "I bought a rowing boat from the old lighthouse keeper."),
        ("h2", "Bram", "My greenhouse lost two panes in the storm."),
        ("h3", "Ines", "The rowing boat is called Kestrel."),
        ("h4", "Bram", "Tomatoes this year, no cucumbers."),
    ],
    "kitchen": [
        ("k1", "Uma", "The sourdough needs eleven hours in the cold pantry."),
        ("k2", "Uma", "Rosemary goes into the potatoes, never thyme."),
    ],
}
ASKED = [
    ("harbour", "q1", "What is the rowing boat called?", "single", ["h3"], True),
    ("harbour", "q2", "From whom was the boat bought and what is it called?", "several", ["h1", "h3"], True),
    ("harbour", "q3", "Which violin does Bram play?", "absent", [], False),
    ("kitchen", "q4", "How many hours does the sourdough need?", "single", ["k1"], True),
    ("kitchen", "q5", "What is the kitchen like?", "single", [], True),
]
FIELDS = {"set", "strategy", "category", "metric", "k", "n", "value", "low", "high"}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the set ``village``; the embedder knows no model, the cache is not the user's."""
    monkeypatch.setattr(commands, "MiniLM", Hashing)
    monkeypatch.setattr(cache, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    folder = tmp_path / "data"
    folder.mkdir()
    docs = [
        {"space": space, "id": id_, "text": text, "speaker": speaker, "session": "one", "time": f"2024-05-0{day}"}
        for space, turns in TOLD.items()
        for day, (id_, speaker, text) in enumerate(turns, 1)
    ]
    names = ("space", "id", "question", "category", "evidence", "answerable")
    questions = [dict(zip(names, asked, strict=True)) for asked in ASKED]
    for part, lines in (("docs", docs), ("questions", questions)):
        (folder / f"village.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


def ran(*words: object, fine: bool = True) -> Result:
    result = CliRunner().invoke(bench, [str(word) for word in words])
    if fine and result.exception is not None:
        raise result.exception
    return result


def test_all_strategies_are_printed_by_category(data: Path) -> None:
    shown = ran("recall", "--data", data).stdout
    for word in ("village", "answerable", "single", "several", "fused", "dense", "bm25", "rrf", "recency", "AUROC"):
        assert word in shown
    assert "absent" not in shown
    assert "6 documents in 2 spaces" in shown


def test_json_lines_alone_on_stdout(data: Path) -> None:
    result = ran("recall", "--data", data, "--strategy", "bm25", "--strategy", "recency", "--json", "-")
    run, *figures = [json.loads(line) for line in result.stdout.splitlines()]
    assert run["embedder"] == "hashing/256"
    assert {"ecphora", "python", "numpy", "apsw", "onnxruntime"} <= run["versions"].keys()
    assert run["command"] == "ecphora bench recall --data DATA --strategy bm25 --strategy recency"
    assert all(line.keys() - {"apart"} == FIELDS for line in figures)
    assert all(line["low"] <= line["value"] <= line["high"] for line in figures)
    found = {(one["strategy"], one["category"], one["metric"], one["k"]): one for one in figures}
    assert len(found) == len(figures) == 2 * (3 * 7 + 3)
    best = found["bm25", "answerable", "fraction", 5]
    assert (best["n"], best["value"]) == (3, 1.0)
    assert found["bm25", "several", "all", 5]["n"] == 1
    assert found["recency", "single", "ndcg", 10]["value"] < found["bm25", "single", "ndcg", 10]["value"]
    assert found["bm25", "all", "auroc", None]["n"] == 5
    assert found["recency", "all", "auroc", None]["value"] == 0.5
    assert found["bm25", "all", "ms_p50", None]["value"] > found["bm25", "all", "ms_p50", None]["apart"] > 0


def test_limit_and_set(data: Path) -> None:
    words = ("recall", "--data", data, "--set", "village", "--strategy", "bm25", "--limit", 2, "--json", "-")
    run, *figures = [json.loads(line) for line in ran(*words).stdout.splitlines()]
    assert run["command"].endswith("--set village --strategy bm25 --limit 2")
    assert {one["n"] for one in figures if one["category"] in ("answerable", "all")} == {2}


def test_a_second_run_embeds_no_document(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran("recall", "--data", data, "--strategy", "dense")
    embedded: list[str] = []

    class Telling(Hashing):
        def embed(self, texts: Sequence[str], /, *, cue: bool = False) -> Vectors:
            embedded.extend(texts)
            return super().embed(texts, cue=cue)

    monkeypatch.setattr(commands, "MiniLM", Telling)
    ran("recall", "--data", data, "--strategy", "dense")
    assert set(embedded) == {question for _, _, question, *_ in ASKED}  # for their time


def test_report_into_a_document(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    ran("recall", "--data", data, "--json", lines)
    printed = ran("report", lines).stdout
    document = tmp_path / "evidence.md"
    document.write_text("# Evidence\n\n<!-- bench:start -->\nold\n<!-- bench:end -->\n\nAfter.\n")
    ran("report", lines, "--into", document)
    text = document.read_text()
    assert text == f"# Evidence\n\n<!-- bench:start -->\n\n{printed}\n<!-- bench:end -->\n\nAfter.\n"
    ran("report", lines, "--into", document)
    assert document.read_text() == text
    for part in ("### village", "| fused | 3 | **1.000** (1.00–1.00) |", "| strategy | single (2) | several (1) |"):
        assert part in printed
    assert "hashing/256" in printed
    assert "ecphora bench recall --data DATA\n" in printed


def test_reports_of_several_files_are_joined(data: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for strategy, file in zip(("bm25", "recency"), files, strict=True):
        ran("recall", "--data", data, "--strategy", strategy, "--json", file)
    report = ran("report", *files).stdout
    assert report.count("### village") == 1
    assert report.index("| bm25 |") < report.index("| recency |")
    assert "--strategy bm25\necphora" in report


def test_a_document_without_a_place_is_left_alone(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    ran("recall", "--data", data, "--strategy", "recency", "--json", lines)
    document = tmp_path / "evidence.md"
    document.write_text("<!-- bench:end --><!-- bench:start -->")
    error = ran("report", lines, "--into", document, fine=False).exception
    assert isinstance(error, InvalidInput)
    assert "add the lines" in str(error)
    assert document.read_text() == "<!-- bench:end --><!-- bench:start -->"


def test_what_cannot_be_run_is_said_before_anything_is_written(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    lines.write_text("precious")
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, kind, message in (
        (("--set", "town"), UnknownName, "there are: village"),
        (("--strategy", "guess"), UnknownName, "no strategy is called 'guess'"),
        (("--data", empty), InvalidInput, "holds no data set"),
    ):
        error = ran("recall", "--data", data, "--json", lines, *words, fine=False).exception
        assert isinstance(error, kind)
        assert isinstance(error, EcphoraError)
        assert message in str(error)
    assert lines.read_text() == "precious"
    error = ran("recall", "--data", data, "--json", tmp_path / "missing" / "runs.jsonl", fine=False).exception
    assert isinstance(error, InvalidInput)
    assert ran("recall", fine=False).exit_code == click.UsageError.exit_code
