"""``benchmarks/ahead.py`` from the command line to its table and its file, on sets of a few questions."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora.errors import InvalidInput, InvalidRecord
from ecphora.maintenance.learn import embedding_cache, metrics
from ecphora_bench.probes.loading import choose_probes, load_maker
from ecphora_bench.probes.probe import Half, Kind
from ecphora_bench.recall import recall_run

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
EMBEDDER = ("--embedder", "hashing:64")
TEXTS = {
    "m1": "The ferry to the island leaves at seven.",
    "m2": "Odile grows saffron behind the mill.",
    "m3": "The mill has belonged to Odile since spring.",
}
QUESTIONS = [
    ("q1", "When does the ferry to the island leave?", "single", ["m1"], True),
    ("q2", "What does Odile own and grow?", "several", ["m2", "m3"], True),
    ("q3", "Which opera does Odile sing?", "absent", [], False),
    ("q4", "What is the island like?", "single", [], True),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda _name: str(tmp_path / "cache"))


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module benchmarks/ahead.py."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("ahead")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the sets ``mill`` and ``ferry``, which are alike, and ``silent``, whose evidence nobody knows."""
    folder = tmp_path / "data"
    folder.mkdir()
    names = ("id", "question", "category", "evidence", "answerable")
    for dataset, some in (("mill", QUESTIONS), ("ferry", QUESTIONS), ("silent", QUESTIONS[2:])):
        docs = [{"space": space, "id": id_, "text": text} for space in "xy" for id_, text in TEXTS.items()]
        questions = [dict(zip(names, one, strict=True), space=space) for space in "xy" for one in some]
        for part, lines in (("docs", docs), ("questions", questions)):
            (folder / f"{dataset}.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


def invoke(ahead: Any, *words: object) -> Result:
    result = CliRunner().invoke(ahead.main, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_table_of_a_set_has_a_row_for_each_baseline_and_cut(ahead: Any, data: Path) -> None:
    result = invoke(ahead, "--data", data, "--set", "mill", *EMBEDDER)
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("mill")]
    assert [(row[:3], row[3], row[4]) for row in rows] == [
        (["mill", "all", "4"], name, cut)
        for name in ("dense", "bm25", "rrf", "simple")
        for cut in ("@1", "@3", "@5", "@10")
    ]
    assert result.stdout.splitlines()[-1].endswith(".")
    assert " of 16 intervals are wholly below 0; " in result.stdout.splitlines()[-1]
    assert "over questions" in result.stdout


def test_lines_on_stdout_are_clean_and_hold_the_recall_of_each_question(
    ahead: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rankings: dict[str, dict[str, list[tuple[str, ...]]]] = {}
    real = recall_run.run

    def run(*arguments: Any, **options: Any) -> recall_run.RunOutcome:
        assert options["rerank"] == "never"
        assert options["rerank_ms"] == 50
        outcome = real(*arguments, **options)
        for one in outcome.results:
            rankings.setdefault(one.question.id, {}).setdefault(one.strategy, []).append(one.ranked_documents)
        return outcome

    monkeypatch.setattr(recall_run, "run", run)
    words = ("--rerank", "never", "--rerank-ms", 50, "--limit", 6, "--json", "-", *EMBEDDER)
    result = invoke(ahead, "--data", data, "--set", "mill", "--set", "silent", *words)
    run_line, *lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert run_line["command"] == (
        "python benchmarks/ahead.py --data DATA --set mill --set silent --rerank never --rerank-ms 50 "
        "--embedder hashing:64 --limit 6"
    )
    assert [(one["dataset"], one["question"], one["category"]) for one in lines] == [
        ("mill", "q1", "single"), ("mill", "q2", "several"), ("mill", "q1", "single"), ("mill", "q2", "several")
    ]  # fmt: skip
    assert "silent: no question with a right answer" in result.stderr
    gold = {"q1": frozenset({"m1"}), "q2": frozenset({"m2", "m3"})}
    for place, one in enumerate(lines):
        assert set(one["recall"]) == {"fused", "dense", "bm25", "rrf", "simple"}
        for name, values in one["recall"].items():
            ranking = rankings[one["question"]][name][place // 2]
            assert values == [metrics.recall_at_k(ranking, gold[one["question"]], k) for k in (1, 3, 5, 10)]
    assert {one["recall"]["bm25"][0] for one in lines} == {1.0, 0.5}


def test_file_grows_and_makes_the_table_without_measuring(
    ahead: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recall.jsonl"
    words = ("--data", data, "--rerank", "never", "--json", path, *EMBEDDER)
    invoke(ahead, "--set", "mill", *words)
    whole = invoke(ahead, "--set", "ferry", *words)
    monkeypatch.setattr(recall_run, "run", None)
    again = invoke(ahead, "--json", path)
    assert again.stdout == whole.stdout
    for word in ("mill", "ferry", "--set mill", "--set ferry", " of 32 intervals"):
        assert word in again.stdout
    path.write_text("\n".join([*path.read_text("utf-8").splitlines()[:4], "{}"]), "utf-8")
    with pytest.raises(InvalidRecord, match=r":5: "):  # before anything is measured
        invoke(ahead, "--set", "mill", *words)


def test_probes_are_sets_by_kind_of_which_any_right_memory_counts(ahead: Any) -> None:
    words = ("--probes", "--worlds", 1, "--limit", 3, "--rerank", "never", "--json", "-", *EMBEDDER)
    run_line, *lines = [json.loads(line) for line in invoke(ahead, *words).stdout.splitlines()]
    assert run_line["command"] == (
        "python benchmarks/ahead.py --worlds 1 --rerank never --embedder hashing:64 --limit 3 --probes"
    )
    asked = [one for one in choose_probes(load_maker(), Kind, Half.TEST, worlds=1, limit=3) if one.is_answerable]
    assert [(one["dataset"], one["question"], one["category"]) for one in lines] == [
        (f"probes-{one.kind}-test", one.id, one.sort) for one in asked
    ]
    assert any(len(one.gold) > 1 for one in asked)
    values = [value for one in lines for some in one["recall"].values() for value in some]
    assert set(values) == {0.0, 1.0}


def test_set_without_a_ranking_alone_is_an_error(ahead: Any, data: Path) -> None:
    with pytest.raises(InvalidInput, match="choose other sets"):
        invoke(ahead, "--data", data, "--set", "silent", *EMBEDDER)


@pytest.mark.parametrize("words", [(), ("--set", "mill"), ("--json", "-")])
def test_run_without_anything_to_measure_is_a_usage_error(ahead: Any, words: tuple[str, ...]) -> None:
    assert invoke(ahead, *words).exit_code == 2
