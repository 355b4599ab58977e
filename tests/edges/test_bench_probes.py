"""``ecphora bench probes`` from the command line to its table, its figures and its sets."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import ecphora
from ecphora.errors import InvalidInput
from ecphora.maintenance.learn import datasets, embedding_cache
from ecphora.model.types import Evidence, Rerank
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.baselines import Bm25
from ecphora_bench.commands import bench
from ecphora_bench.probes.loading import load_maker
from ecphora_bench.probes.probe import Form, Half, Kind, Probe
from ecphora_bench.probes.probe_run import ProbeResult, run
from ecphora_bench.probes.probe_tables import RIGHT_FIRST, Grouping, measure, misses
from ecphora_bench.recall.run_records import ALL, UNANSWERABLE, Metric, read_records

pytestmark = pytest.mark.slow

EMBEDDER = ("--embedder", "hashing:64")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda _name: str(tmp_path / "cache"))


def invoke(*words: str) -> Result:
    result = CliRunner().invoke(bench, ["probes", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def probe(form: Form) -> Probe:
    made = load_maker()([Kind.WHO], Half.TEST, worlds=1)
    return next(one for one in made if one.form is form and one.is_answerable)


def test_small_run_prints_a_row_for_each_strategy() -> None:
    result = invoke("--kind", "identifiers", "--limit", "4", "--worlds", "1", "--form", "strings", *EMBEDDER)
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[1] for row in rows if row[:1] == ["identifiers"]] == ["fused"]
    assert {"dense", "bm25", "rrf", "simple"} <= {row[0] for row in rows if row}


def test_json_on_stdout_is_clean_and_can_be_read_again(tmp_path: Path) -> None:
    words = ("--kind", "who", "--form", "strings", "--limit", "9", "--strategy", "bm25", "--by", "form", *EMBEDDER)
    result = invoke(*words, "--rerank", "never", "--rerank-ms", "70", "--json", "-")
    (tmp_path / "figures.jsonl").write_text(result.stdout, "utf-8")
    (record,) = read_records(tmp_path / "figures.jsonl")
    assert record.run.command.endswith("--by form --rerank never --rerank-ms 70 --embedder hashing:64 --limit 9")
    assert "--data" not in record.run.command
    assert {figure.dataset for figure in record.figures} == {"who", "who/strings"}
    counts = {figure.n for figure in record.figures if figure.metric is Metric.RECALL_ANY} | {
        figure.n for figure in record.figures if figure.category == UNANSWERABLE
    }
    assert sum(counts) == 9


@pytest.mark.parametrize("form", list(Form))
def test_memories_come_in_by_their_form_and_are_found(form: Form, tmp_path: Path) -> None:
    one = replace(probe(form), question="")
    gold = next(memory for memory in one.memories if memory.id in one.gold)
    one = replace(one, question=gold.text)
    with embedding_cache.CachingEmbedder(HashingEmbedder(64), tmp_path) as embedder:
        (result,) = run([one], [Bm25()], embedder, rerank=Rerank.NEVER)
    assert result.is_right_first


def test_written_sets_are_read_by_the_other_commands(tmp_path: Path) -> None:
    result = invoke("--half", "learn", "--kind", "days", "--language", "ja", "--write", str(tmp_path))
    assert "probes-days-learn" in result.stdout
    cases = list(datasets.read_cases("probes-days-learn", tmp_path))
    made = [one for one in load_maker()([Kind.DAYS], Half.LEARN) if one.language == "ja"]
    assert {one.id: (one.question, one.gold, one.now) for one in made} == {
        question.id: (question.text, question.gold, question.asked_at) for case in cases for question in case.questions
    }
    assert [len(case.episodes) for case in cases] == [
        len(next(one for one in made if one.world == case.space).memories) for case in cases
    ]
    first = json.loads((tmp_path / "probes-days-learn.questions.jsonl").read_text("utf-8").splitlines()[0])
    assert first["language"] == "ja"


def test_probes_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="benchmarks/probes of a checkout"):
        invoke("--probes", str(tmp_path))


def test_no_probe_left_is_a_usage_error() -> None:
    assert invoke("--kind", "who", "--language", "ja").exit_code == 2


def test_misses_names_what_came_first_instead() -> None:
    result = invoke("--kind", "who", "--form", "mcp", "--limit", "9", "--strategy", "dense", "--misses", *EMBEDDER)
    assert "  right, " in result.stdout
    assert "  first, evidence " in result.stdout


def test_process_of_the_server_answers_the_same_probes() -> None:
    result = invoke("--kind", "identifiers", "--worlds", "1", "--limit", "5", "--host", *EMBEDDER)
    assert result.exit_code == 0, result.output
    row = next(line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["identifiers"])
    assert row[1:3] == ["ecphora", "mcp"]
    assert int(row[5]) >= 50  # among the first three


def test_figures_count_first_hits_and_bands() -> None:
    answerable = probe(Form.STRINGS)
    gold = min(answerable.gold)
    other = next(memory.id for memory in answerable.memories if memory.id != gold)
    absent = replace(answerable, id="absent", gold=frozenset(), resembles=answerable.id)
    results = [
        ProbeResult(answerable, "s", (gold, other), Evidence.NONE),
        ProbeResult(answerable, "s", (other, gold), Evidence.STRONG),
        ProbeResult(absent, "s", (other,), Evidence.STRONG),
        ProbeResult(absent, "s", (other,), Evidence.NONE),
        ProbeResult(absent, "s", (other,), Evidence.NONE),
        ProbeResult(absent, "s", (other,), Evidence.WEAK),
    ]
    figures = {(one.dataset, one.category, one.metric, one.k): (one.value, one.n) for one in measure(results)}
    assert figures["who", ALL, Metric.RECALL_ANY, 1] == (0.5, 2)
    assert figures["who", ALL, Metric.RECALL_ANY, 3] == (1.0, 2)
    assert figures["who", UNANSWERABLE, Metric.STRONG, None] == (0.25, 4)
    assert figures["who", UNANSWERABLE, Metric.NONE, None] == (0.5, 4)
    assert figures["who", RIGHT_FIRST, Metric.NONE, None] == (1.0, 1)
    other_strategy = [replace(result, strategy="t") for result in results]
    rows = dict.fromkeys((one.dataset, one.strategy) for one in measure([*results, *other_strategy], Grouping.SORT))
    assert list(rows) == [(name, strategy) for name in ("who", f"who/{answerable.sort}") for strategy in "st"]
    assert len(list(misses(results, "s"))) == 1


def test_package_has_no_probes() -> None:
    assert not any(Path(ecphora.__file__).parents[1].rglob("lists/own.txt"))
