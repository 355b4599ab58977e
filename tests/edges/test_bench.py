"""``ecphora bench`` from the command line to its tables, on a small data set."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from ecphora import settings
from ecphora.errors import EcphoraError, InvalidInput, UnknownName
from ecphora.maintenance.learn import embedding_cache
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation
from ecphora.model.types import Query, Vectors
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.baselines import Dense
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.strategy import Fused
from ecphora_bench.ablation import ablation_tables, ablations
from ecphora_bench.ablation.ablations import Model, PaperMeasurement, Variant
from ecphora_bench.commands import bench
from ecphora_bench.recall import recall_run as bench_run
from ecphora_bench.recall.run_records import Difference, Figure, Metric, RunRecord

pytestmark = pytest.mark.slow

SPACES = {
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
QUESTIONS = [
    ("harbour", "q1", "What is the rowing boat called?", "single", ["h3"], True),
    ("harbour", "q2", "From whom was the boat bought and what is it called?", "several", ["h1", "h3"], True),
    ("harbour", "q3", "Which violin does Bram play?", "absent", [], False),
    ("kitchen", "q4", "How many hours does the sourdough need?", "single", ["k1"], True),
    ("kitchen", "q5", "What is the kitchen like?", "single", [], True),
]
FIELDS = {"dataset", "strategy", "category", "metric", "k", "n", "value", "low", "high"}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the set ``village``; the embedder is the hashing one, the cache a temporary folder."""
    monkeypatch.setenv("ECPHORA_EMBEDDER", "hashing")
    monkeypatch.setattr(embedding_cache, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    folder = tmp_path / "data"
    folder.mkdir()
    docs = [
        {"space": space, "id": id_, "text": text, "speaker": speaker, "session": "one", "time": f"2024-05-0{day}"}
        for space, turns in SPACES.items()
        for day, (id_, speaker, text) in enumerate(turns, 1)
    ]
    names = ("space", "id", "question", "category", "evidence", "answerable")
    questions = [dict(zip(names, question, strict=True)) for question in QUESTIONS]
    for part, lines in (("docs", docs), ("questions", questions)):
        (folder / f"village.{part}.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return folder


def run_bench(*words: object, check: bool = True) -> Result:
    result = CliRunner().invoke(bench, [str(word) for word in words])
    if check and result.exception is not None:
        raise result.exception
    return result


def test_recall_prints_all_strategies_by_category(data: Path) -> None:
    shown = run_bench("recall", "--data", data).stdout
    for word in (
        "village",
        "answerable",
        "single",
        "several",
        "fused",
        "dense",
        "bm25",
        "rrf",
        "simple",
        "recency",
        "AUROC",
    ):
        assert word in shown
    assert "absent" not in shown
    assert "6 documents in 2 spaces" in shown


def test_recall_prints_first_hits_and_evidence_bands(data: Path) -> None:
    shown = run_bench("recall", "--data", data, "--strategy", "bm25").stdout
    lines = [line.split() for line in shown.splitlines()]
    assert next(line for line in lines if "@1" in line)[-5:-2] == ["@1", "@3", "@5"]
    start = lines.index(["village:", "evidence"])
    assert lines[start + 1] == ["answerable", "unanswerable"]
    assert lines[start + 2] == ["4", "1"]
    assert lines[start + 3] == ["strategy", *("strong", "weak", "none") * 2, "ECE", "Brier", "AUROC"]
    name, *values = lines[start + 5]
    assert name == "bm25"
    assert sum(map(float, values[:3])) == sum(map(float, values[3:6])) == pytest.approx(1)


def test_recall_prints_the_reliability_of_sets_with_unanswerable_questions(data: Path) -> None:
    words = ("recall", "--data", data, "--strategy", "bm25")
    lines = [line.split() for line in run_bench(*words).stdout.splitlines()]
    start = lines.index(["village:", "reliability"])
    confidence, share = lines[start + 3], lines[start + 4]
    assert confidence[:2] == ["bm25", "confidence"]
    assert 0 < float(confidence[2]) < 1
    assert share == ["share", "of", "answerable", ".500"]  # five questions are one bin, where both kinds weigh the same
    few = run_bench(*words, "--limit", 2).stdout
    for word in ("reliability", "ECE", "AUROC\n", "village: evidence"):
        assert word not in few


def test_recall_json_writes_only_json_lines(data: Path) -> None:
    result = run_bench("recall", "--data", data, "--strategy", "bm25", "--strategy", "recency", "--json", "-")
    run, *figures = [json.loads(line) for line in result.stdout.splitlines()]
    assert run["embedder"] == "hashing/256"
    assert {"ecphora", "python", "numpy", "apsw", "onnxruntime"} <= run["versions"].keys()
    assert run["command"] == "ecphora bench recall --data DATA --strategy bm25 --strategy recency"
    assert all(line.keys() - {"secondary_value"} == FIELDS for line in figures)
    assert all(line["low"] <= line["value"] <= line["high"] for line in figures)
    found = {(one["strategy"], one["category"], one["metric"], one["k"]): one for one in figures}
    assert len(found) == len(figures) == 2 * (3 * 9 + 4 + 2 * 3 + 3)
    best = found["bm25", "answerable", "recall", 5]
    assert (best["n"], best["value"]) == (3, 1.0)
    assert found["bm25", "several", "recall_all", 5]["n"] == 1
    assert found["recency", "single", "ndcg", 10]["value"] < found["bm25", "single", "ndcg", 10]["value"]
    assert found["bm25", "all", "auroc", None]["n"] == 5
    assert found["recency", "all", "auroc", None]["value"] == 0.5
    for metric, k in (("brier", None), ("calibration_error", None), ("reliability", 0)):
        assert found["bm25", "all", metric, k]["n"] == 5
    assert found["bm25", "all", "reliability", 0]["value"] == 0.5
    assert found["bm25", "all", "ms_p50", None]["value"] > found["bm25", "all", "ms_p50", None]["secondary_value"] > 0
    assert found["bm25", "all", "index_s", None]["n"] == 6
    assert found["bm25", "all", "index_s", None]["value"] == found["recency", "all", "index_s", None]["value"] > 0


def test_recall_takes_limit_and_set(data: Path) -> None:
    words = ("recall", "--data", data, "--set", "village", "--strategy", "bm25", "--limit", 2)
    lines = run_bench(*words, "--rerank-ms", 70, "--json", "-").stdout.splitlines()
    run, *figures = [json.loads(line) for line in lines]
    assert run["command"].endswith("--set village --strategy bm25 --rerank-ms 70 --limit 2")
    assert {one["n"] for one in figures if one["metric"] != "index_s"} == {1, 2}
    assert {one["n"] for one in figures if one["category"] == "answerable"} == {2}


def test_second_run_embeds_no_document(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_bench("recall", "--data", data, "--strategy", "dense")
    embedded: list[str] = []

    class RecordingEmbedder(HashingEmbedder):
        def embed(self, texts: Sequence[str], /, *, is_query: bool = False) -> Vectors:
            embedded.extend(texts)
            return super().embed(texts, is_query=is_query)

    monkeypatch.setattr(settings.Settings, "make_embedder", lambda _self: RecordingEmbedder())
    run_bench("recall", "--data", data, "--strategy", "dense")
    assert set(embedded) == {question for _, _, question, *_ in QUESTIONS}  # questions are embedded again, to time them


def test_report_is_inserted_into_a_document(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    run_bench("recall", "--data", data, "--json", lines)
    printed = run_bench("report", lines).stdout
    document = tmp_path / "evidence.md"
    document.write_text("# Evidence\n\n<!-- bench:start -->\nold\n<!-- bench:end -->\n\nAfter.\n")
    run_bench("report", lines, "--insert-into", document)
    text = document.read_text()
    assert text == f"# Evidence\n\n<!-- bench:start -->\n\n{printed}\n<!-- bench:end -->\n\nAfter.\n"
    run_bench("report", lines, "--insert-into", document)
    assert document.read_text() == text
    for part in (
        "### village",
        "| index s |",
        "| fused | 3 | **1.000** (1.00–1.00) |",
        "| strategy | single (2) | several (1) |",
        "any@1 by category:",
        "any@3 by category:",
        "unanswerable (1) none | ECE | Brier |",
        "reliability of the confidence:",
        "| fused, share of answerable | .500 |",
    ):
        assert part in printed
    assert "hashing/256" in printed
    assert "ecphora bench recall --data DATA\n" in printed


def test_report_joins_several_files(data: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for strategy, file in zip(("bm25", "recency"), files, strict=True):
        run_bench("recall", "--data", data, "--strategy", strategy, "--json", file)
    report = run_bench("report", *files).stdout
    assert report.count("### village") == 1
    assert report.index("| bm25 |") < report.index("| recency |")
    assert "--strategy bm25\necphora" in report


def test_report_does_not_change_a_document_without_markers(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    run_bench("recall", "--data", data, "--strategy", "recency", "--json", lines)
    document = tmp_path / "evidence.md"
    document.write_text("<!-- bench:end --><!-- bench:start -->")
    error = run_bench("report", lines, "--insert-into", document, check=False).exception
    assert isinstance(error, InvalidInput)
    assert "add the lines" in str(error)
    assert document.read_text() == "<!-- bench:end --><!-- bench:start -->"


# ---- ablations


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Mapping[str, Model]:
    """Two models in the registry: ``fused`` with two variants, and one with every measurement of a paper."""
    complete, (ranker, _) = Fused(name="village"), weights.load_fused_model()

    def without(features: Sequence[str]) -> Fused:
        return replace(complete, ranker=ablations._without_features(ranker, features))

    variants = (
        Variant(
            "no similarity",
            without(["dense similarity", "dense similarity with previous turn"]),
        ),
        Variant("no | words", without(["bm25", "window term coverage"])),
    )
    found = {
        "village": Model("village", Variant("village", complete), variants),
        "fired": Model("fired", Variant("fired", FiringStrategy()), paper_measurements=frozenset(PaperMeasurement)),
    }
    monkeypatch.setattr(ablations, "MODELS", found)
    return found


class FiringStrategy(Dense):
    """A dense strategy in which everything fires."""

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        found = super().activate(query, graph)
        return replace(found, contributions={"fired": found.scores})


def test_ablate_prints_tables_by_model(data: Path, models: Mapping[str, Model]) -> None:
    shown = run_bench("ablate", "--data", data, "--set", "village").stdout
    for word in ("village on village", "fired on village", "no similarity", "AUROC", "refusals", "ERC", "gate", "rrf"):
        assert word in shown
    assert "6 documents in 2 spaces, indexed in" in shown


def test_ablate_json_writes_figures_with_differences(data: Path, models: Mapping[str, Model]) -> None:
    words = ("--set", "village", "--model", "fired", "--limit", 4, "--json", "-")
    run, *figures = [json.loads(line) for line in run_bench("ablate", "--data", data, *words).stdout.splitlines()]
    assert run["command"] == "ecphora bench ablate --data DATA --set village --model fired --distractors 100 --limit 4"
    assert all(line.keys() - {"difference"} == FIELDS | {"model"} for line in figures)
    assert {line["model"] for line in figures} == {"fired"}
    assert all(("difference" in line) == (line["strategy"] != "fired") for line in figures)
    assert all(line["low"] <= line["value"] <= line["high"] for line in figures)
    found = {(one["strategy"], one["metric"], one["k"]): one for one in figures}
    assert len(found) == len(figures)
    assert {metric for strategy, metric, _ in found if strategy == "village"} == {
        "erc", "erc_mg", "precision", "threshold", "gate_refusal",
    }  # fmt: skip
    assert found["fired", "fired_count", None]["value"] > 1
    assert found["fired", "erc", None]["value"] == found["dense", "erc", None]["value"]
    assert found["dense", "recall", 5]["difference"] == {"reference": "fired", "value": 0, "low": 0, "high": 0}


def test_report_of_ablations_is_inserted_into_a_document(
    data: Path, tmp_path: Path, models: Mapping[str, Model]
) -> None:
    lines, recall_lines = tmp_path / "runs.jsonl", tmp_path / "plain.jsonl"
    run_bench("ablate", "--data", data, "--set", "village", "--json", lines)
    run_bench("recall", "--data", data, "--strategy", "bm25", "--json", recall_lines)
    names = ("models", "village", "fired")
    document = tmp_path / "models.md"
    document.write_text("".join(f"<!-- bench:{name}:start -->\n<!-- bench:{name}:end -->\n" for name in names))
    run_bench("report", lines, "--insert-into", document)
    text = document.read_text()
    run_bench("report", lines, "--insert-into", document)
    assert document.read_text() == text
    parts = dict(zip(names, text.split(":end -->\n"), strict=False))
    assert "village, fired on village: measured " in parts["models"]
    assert "\n\nERC: " in parts["models"]
    assert "ecphora bench ablate --data DATA --set village\n" in parts["models"]
    assert "|  | village | village (3) |\n| --- | --- | ---: |\n| recall@5 | village | 1.000 (1.00–1.00) |" in text
    assert "|  | no similarity | " in parts["village"]
    assert "|  | no \\| words | " in parts["village"]
    assert "ERC" not in parts["village"]
    for heading in ("true refusals", "ERC", "ERC gain", "mean K", "gate threshold", "gate refusals"):
        assert f"| {heading} | fired | " in parts["fired"]
    assert "low similarity" not in parts["fired"]  # too few questions
    printed = run_bench("report", lines, recall_lines).stdout
    assert printed.index("### village") < printed.index("## models") < printed.index("## fired")
    assert "no similarity" not in run_bench("report", recall_lines).stdout
    error = run_bench("report", lines, recall_lines, "--insert-into", document, check=False).exception
    assert isinstance(error, InvalidInput)
    assert "bench:start" in str(error)
    assert document.read_text() == text


def test_ablate_compares_a_variant_of_the_command_line_with_its_model(data: Path) -> None:
    words = ("ablate", "--data", data, "--set", "village", "--limit", 1, "--distractors", 1)
    result = run_bench(*words, "--strategy", "synapse:beta=0,theta=.3", "--json", "-")
    run, *figures = [json.loads(line) for line in result.stdout.splitlines()]
    assert run["command"] == (
        "ecphora bench ablate --data DATA --set village --strategy synapse:beta=0,theta=.3 --distractors 1 --limit 1"
    )
    assert {one["model"] for one in figures} == {"synapse"}
    assert {one["strategy"] for one in figures} == {
        "synapse",
        "synapse:beta=0,theta=.3",
        "dense",
        "bm25",
        "rrf",
        "fused",
    }
    shown = run_bench(*words, "--strategy", "synapse:beta=0").stdout
    assert "2 documents in 1 space" in shown
    with pytest.raises(InvalidInput, match="synapse has no field 'zeta'; the fields are alpha, "):
        run_bench(*words, "--strategy", "synapse:zeta=0")


def test_recall_takes_variants_of_strategies(data: Path) -> None:
    result = run_bench("recall", "--data", data, "--strategy", "bm25", "--strategy", "bm25:k1=0.5,b=0", "--json", "-")
    names = {json.loads(line).get("strategy") for line in result.stdout.splitlines()[1:]}
    assert names == {"bm25", "bm25:k1=0.5,b=0"}


def test_ablate_rejects_unknown_models_and_sets(data: Path, models: Mapping[str, Model]) -> None:
    for words, message in (
        (("--set", "village", "--model", "guess"), "no model is called 'guess'; choose one of village, fired"),
        ((), "no set 'locomo'"),
    ):
        error = run_bench("ablate", "--data", data, *words, check=False).exception
        assert isinstance(error, UnknownName)
        assert message in str(error)


FIGURE = Figure("set", "less", "answerable", Metric.RECALL, 5, 9, 0.5, 0.4, 0.6, model="m")


@pytest.mark.parametrize(
    ("figure", "cell"),
    [
        (FIGURE, ".500 (.40–.60)"),
        (replace(FIGURE, difference=Difference("full", -0.052, -0.1, -0.01)), ".500 **−.052** (−.10 to −.01)"),
        (replace(FIGURE, difference=Difference("full", 0.002, -0.004, 0.25)), ".500 +.002 (.00 to +.25)"),
        (replace(FIGURE, difference=Difference("full", 0, 0, 0)), ".500 ="),
        (replace(FIGURE, value=1.0, difference=Difference("full", 1, 1, 1)), "1.000 **+1.000** (+1.00 to +1.00)"),
        (replace(FIGURE, metric=Metric.FIRED_COUNT, k=None, value=12.34, low=9, high=15), "12.3 (9.0–15.0, n 9)"),
        (replace(FIGURE, metric=Metric.LOSS, k=30, value=-0.1, low=-0.2, high=0.01), "−.100 (−.20 to .01, n 9)"),
        (
            replace(FIGURE, metric=Metric.FIRED_COUNT, k=None, value=12, difference=Difference("full", -1.5, -3, 0.04)),
            "12.0 −1.5 (−3.0 to +0.0)",
        ),
    ],
)
def test_ablation_table_formats_values_and_differences(figure: Figure, cell: str) -> None:
    category = "low similarity" if figure.metric is Metric.LOSS else figure.category
    record = RunRecord(bench_run.make_run("model", "command"), [replace(figure, category=category)])
    rows = ablation_tables.sections([record])["m"].splitlines()[2:]
    assert rows[0].endswith(f"| less | {cell} |")


def test_setup_of_ablations_names_sets_of_each_run_without_unused_legends() -> None:
    runs = [bench_run.make_run(kind, f"command {kind}") for kind in ("first", "later")]
    records = [
        RunRecord(replace(runs[0], commit="a1"), [FIGURE, replace(FIGURE, dataset="chats")]),
        RunRecord(replace(runs[1], commit="b2"), [FIGURE]),
    ]
    setup = ablation_tables.sections(records)["models"]
    first, later = (line for line in setup.splitlines() if "measured" in line)
    assert first.startswith("m on chats: ")
    assert "a1" in first
    assert later.startswith(f"m on {FIGURE.dataset}: ")
    assert "b2" in later
    assert "recall@k: " in setup
    assert "ERC" not in setup


def test_recall_rejects_bad_options_before_writing(data: Path, tmp_path: Path) -> None:
    lines = tmp_path / "runs.jsonl"
    lines.write_text("precious")
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, kind, message in (
        (("--set", "town"), UnknownName, "there are: village"),
        (("--strategy", "guess"), UnknownName, "no strategy is called 'guess'"),
        (("--data", empty), InvalidInput, "holds no data set"),
    ):
        error = run_bench("recall", "--data", data, "--json", lines, *words, check=False).exception
        assert isinstance(error, kind)
        assert isinstance(error, EcphoraError)
        assert message in str(error)
    assert lines.read_text() == "precious"
    error = run_bench("recall", "--data", data, "--json", tmp_path / "missing" / "runs.jsonl", check=False).exception
    assert isinstance(error, InvalidInput)
    assert run_bench("recall", check=False).exit_code == click.UsageError.exit_code
