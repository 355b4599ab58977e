"""Recall runs: the memories of strategies, the metrics, and the records."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ecphora import Memory, Recollection, strategies
from ecphora.errors import InvalidRecord
from ecphora.maintenance.learn import temporary_memory
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation, NodeSource, Strategy
from ecphora.model.types import Episode, Query, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval.confidence import DEFAULT_BANDS
from ecphora_bench.recall import recall_run, recall_tables, run_records
from ecphora_bench.recall.run_records import Figure, Metric

LONG = "".join(f"The {n}th barrel holds plum brandy and stands in the cellar. " for n in range(60))


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


class RecordingStrategy:
    """Ranks as BM25 does and records its queries."""

    name = "recording"

    def __init__(self) -> None:
        self.queries: list[Query] = []

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        self.queries.append(query)
        return strategies.resolve_strategy("bm25").activate(query, graph)


class RerankStrategy(RecordingStrategy):
    """Ranks as BM25 does and records the number of logged accesses."""

    name = "reading"

    def __init__(self) -> None:
        super().__init__()
        self.access_counts: list[int] = []

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        self.access_counts.append(len(graph.accesses))
        return super().activate(query, graph)


@dataclass
class StimulatingStrategy(RecordingStrategy):
    """Ranks as BM25 does; a new episode stimulates the rows that share a word with it."""

    name: str = "stimulating"
    writes_on_store: bool = True
    access_counts: list[int] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        self.access_counts.append(len(graph.accesses))
        found = super().activate(query, graph)
        return replace(found, stimulus=found.scores)


@dataclass
class ProcessingStrategy(RecordingStrategy):
    """Ranks as BM25 does, and processes new episodes in the background."""

    name: str = "processing"
    cursors: list[int] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        self.cursors.append(graph.cursors.get("processing", 0))
        return super().activate(query, graph)

    def has_pending(self, graph: Graph, /) -> bool:
        return graph.cursors.get("processing", 0) < graph.episodes.sum()

    def process(self, graph: Graph, _read: NodeSource, _now: datetime, /, **_tools: object) -> WriteBatch:
        return WriteBatch(cursors={"processing": int(graph.episodes.sum())})


def question(id_: str, text: str, *evidence: str, **rest: object) -> Question:
    return replace(Question(id_, text, "plain", frozenset(evidence)), **rest)  # type: ignore[arg-type]


def only_figure(found: list[Figure] | tuple[Figure, ...], metric: Metric, k: int | None, category: str) -> Figure:
    [figure] = [f for f in found if (f.metric, f.k, f.category) == (metric, k, category)]
    return figure


def test_chunks_are_ranked_as_their_document(embedder: CachingEmbedder) -> None:
    episodes = (Episode(LONG, "long"), Episode("Plum brandy.", "short"), Episode("Nothing of it.", "other"))
    case = Case("s", episodes, (question("q", "Where does the plum brandy barrel stand?", "long", "short"),))
    outcome = recall_run.run("set", [case], [strategies.resolve_strategy("bm25")], embedder)
    assert only_figure(outcome.figures, Metric.RECALL, 5, "answerable").value == 1
    assert only_figure(outcome.figures, Metric.NDCG, 10, "answerable").value == 1
    assert (outcome.spaces, outcome.episodes) == (1, 3)


def test_spaces_have_separate_memories(embedder: CachingEmbedder) -> None:
    first = Case("a", (Episode("The ferry is blue.", "1"),), (question("q1", "What colour is the ferry?", "1"),))
    second = Case("b", (Episode("A ferry, a blue ferry!", "2"),), (question("q2", "Is the ferry blue?", "2"),))
    outcome = recall_run.run("set", [first, second], [strategies.resolve_strategy("bm25")], embedder)
    assert only_figure(outcome.figures, Metric.NDCG, 10, "answerable").value == 1


@pytest.mark.parametrize(("options", "expected"), [({}, None), ({"rerank_ms": 70}, 70)])
def test_reading_has_no_deadline_unless_one_is_given(
    options: dict[str, float], expected: float | None, embedder: CachingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[object] = []
    recall = Memory.recall

    def record(memory: Memory, *args: Any, **others: Any) -> Recollection:
        times.append(others["options"].rerank_ms)
        return recall(memory, *args, **others)

    monkeypatch.setattr(Memory, "recall", record)
    case = Case("s", (Episode("Snow.", "1"),), (question("q", "Snow?", "1"),))
    recall_run.run("set", [case], [strategies.resolve_strategy("bm25")], embedder, **options)  # type: ignore[arg-type]
    assert set(times) == {expected}


@pytest.mark.medium
def test_query_time_is_that_of_the_question_or_the_end_of_its_space(embedder: CachingEmbedder) -> None:
    asked_at, last = datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)
    dated = Case(
        "s",
        (Episode("Snow.", "1", happened_at=last), Episode("Ice.", "2", happened_at=datetime(2023, 1, 1, tzinfo=UTC))),
        (question("q1", "Snow?", "1"), question("q2", "Ice?", "2", asked_at=asked_at), question("q3", "Rain?", "2")),
    )
    recording = RecordingStrategy()
    recall_run.run("set", [dated], [recording], embedder)
    assert [query.now for query in recording.queries[1:]] == [last, asked_at, last]  # the first recall is a warm-up
    assert {query.as_of for query in recording.queries} == {None}
    undated = RecordingStrategy()
    recall_run.run("set", [Case("s", (Episode("Snow.", "1"),), (question("q", "Snow?", "1"),))], [undated], embedder)
    assert {query.now for query in undated.queries} == {temporary_memory.DEFAULT_NOW}


def test_progress_counts_all_steps(embedder: CachingEmbedder) -> None:
    cases = [Case("s", (Episode("Snow.", "1"),), (question("q1", "Snow?", "1"), question("q2", "Ice?", "1")))]
    strategy_list = [strategies.resolve_strategy("bm25"), strategies.resolve_strategy("dense")]
    progress: list[int] = []
    recall_run.run("set", cases, strategy_list, embedder, progress.append)
    assert sum(progress) == recall_run.count_steps(cases, strategy_list) == 5


@pytest.mark.medium
def test_writing_strategies_have_separate_memories(embedder: CachingEmbedder) -> None:
    reading, stimulating, processing = RerankStrategy(), StimulatingStrategy(), ProcessingStrategy()
    strategy_list: list[Strategy] = [
        stimulating,
        reading,
        strategies.resolve_strategy("bm25"),
        processing,
        replace(stimulating, name="again"),
    ]
    assert [[strategy.name for strategy in group] for group in recall_run.group_by_memory(strategy_list)] == [
        ["stimulating", "again"],
        ["reading", "bm25"],
        ["processing"],
    ]
    assert not recall_run.needs_own_memory(replace(stimulating, writes_on_store=False))
    episodes = (Episode("Snow fell.", "1"), Episode("More snow.", "2"), Episode("Ice.", "3"))
    case = Case("s", episodes, (question("q1", "Snow?", "1", "2"), question("q2", "Ice?", "3")))
    progress: list[int] = []
    outcome = recall_run.run("set", [case], strategy_list[:-1], embedder, progress.append)
    assert sum(progress) == recall_run.count_steps([case], strategy_list[:-1]) == 3 * 3 + 2 * 4
    recall_count = 2 + 1  # the first recall is a warm-up
    # The second turn stimulated the first; questions are not logged.
    assert stimulating.access_counts == [0, 1, 3, *[4] * recall_count]
    assert processing.cursors == [3] * recall_count
    assert reading.access_counts == [3] * recall_count  # other strategies do not write to the memory of reading ones
    assert [timing.strategies for timing in outcome.indexing_times] == [
        ("stimulating",),
        ("reading", "bm25"),
        ("processing",),
    ]
    assert all(timing.seconds > 0 for timing in outcome.indexing_times)
    assert list(dict.fromkeys(figure.strategy for figure in outcome.figures)) == [
        strategy.name for strategy in strategy_list[:-1]
    ]
    took = [figure for figure in outcome.figures if figure.metric is Metric.INDEX_S]
    assert [(figure.n, figure.k, figure.category) for figure in took] == [(3, None, "all")] * 4
    assert took[1].value == took[2].value == outcome.indexing_times[1].seconds


def answer(id_: str, ranked: str, *evidence: str, confidence: float = 0.5, **rest: object) -> recall_run.RecallResult:
    return recall_run.RecallResult(question(id_, "?", *evidence, **rest), "way", tuple(ranked), confidence, 2.0)


@pytest.mark.medium
def test_metrics_use_answerable_questions_with_evidence() -> None:
    answers = [
        answer("q1", "ab", "a", confidence=0.9),
        answer("q2", "ab", "z", confidence=0.4, category="hard"),
        answer("q3", "ab", "a", "z", confidence=0.9, category="hard"),
        answer("q4", "ab", confidence=0.9, category="vague"),
        answer("q5", "ab", confidence=0.4, category="none", is_answerable=False),
        answer("q6", "ab", "a", confidence=0.1, category="none", is_answerable=False),
    ]
    found = recall_run.measure("set", answers, np.array([1.0, 1, 1, 1, 1, 3]))
    assert {f.category for f in found} == {"answerable", "unanswerable", "plain", "hard", "all"}
    assert {f.dataset for f in found} == {"set"}
    assert {f.strategy for f in found} == {"way"}
    overall = only_figure(found, Metric.RECALL, 5, "answerable")
    # The mean over questions, (1 + 0 + 1/2) / 3, not over categories, (1 + 1/4) / 2.
    assert (overall.n, overall.value) == (3, 0.5)
    hard = only_figure(found, Metric.RECALL, 30, "hard")
    assert (hard.n, hard.value) == (2, 0.25)
    assert only_figure(found, Metric.RECALL_ALL, 5, "answerable").value == pytest.approx(1 / 3)
    area = only_figure(found, Metric.AUROC, None, "all")
    assert (area.n, area.value) == (6, (3 * 2 + 1.5) / 8)
    middle = only_figure(found, Metric.MS_P50, None, "all")
    assert (middle.n, middle.value, middle.secondary_value) == (6, 3.0, 2.0)
    assert only_figure(found, Metric.MS_P95, None, "all").value == 4.5  # between 3 and 5, a quarter from the last


@pytest.mark.medium
def test_bands_are_measured_by_answerability() -> None:
    answers = [
        answer(str(index), "ab", "a", confidence=confidence) for index, confidence in enumerate((0.0, 0.4, 1.0, 1.0))
    ]
    answers += [answer("none", "ab", confidence=0.0, is_answerable=False)]
    found = recall_run.measure("set", answers, np.ones(5))
    bands = (Metric.STRONG, Metric.WEAK, Metric.NONE)
    assert [DEFAULT_BANDS.band(confidence).value for confidence in (1.0, 0.4, 0.0)] == [
        metric.value for metric in bands
    ]
    assert [only_figure(found, band, None, "answerable").value for band in bands] == [0.5, 0.25, 0.25]
    assert [only_figure(found, band, None, "unanswerable").value for band in bands] == [0.0, 0.0, 1.0]
    record = run_records.RunRecord(recall_run.make_run("model", "ecphora bench recall"), found)
    assert "| way | .500 | .250 | .250 | .000 | .000 | 1.000 | .200 | .170 |" in recall_tables.render_markdown([record])


@pytest.mark.medium
def test_reliability_is_measured_for_each_bin() -> None:
    """Twenty questions make two bins; the confidence is right in the lower one and too low in the higher one."""
    low = [answer(f"low{n}", "ab", "a", confidence=0.5, is_answerable=n % 2 == 0) for n in range(10)]
    high = [answer(f"high{n}", "ab", "a", confidence=0.7, is_answerable=n % 2 == 0) for n in range(10)]
    found = recall_run.measure("set", high + low, np.ones(20))
    lower, higher = (only_figure(found, Metric.RELIABILITY, k, "all") for k in (0, 1))
    assert (lower.n, higher.n) == (10, 10)
    assert [lower.value, higher.value] == pytest.approx([0.5, 0.5])
    assert [lower.secondary_value, higher.secondary_value] == pytest.approx([0.5, 0.7])
    assert lower.low < lower.value < lower.high
    assert only_figure(found, Metric.CALIBRATION_ERROR, None, "all").value == pytest.approx(0.1)
    brier = only_figure(found, Metric.BRIER, None, "all")
    assert brier.value == pytest.approx((0.25 + (0.3**2 + 0.7**2) / 2) / 2)
    assert brier.low < brier.value < brier.high


def test_terminal_tables_fit_in_100_columns() -> None:
    """At their widest: intervals that reach 1, thousands of questions, a long category."""
    bands = [(metric, None) for metric in recall_tables.BANDS]
    rankings = list(recall_tables.RANKING_COLUMNS.values())
    figures = [
        Figure("set", "synaptic", category, metric, k, 1540, 1.0, 0.5, 1.0, 100.0)
        for category, keys in (
            ("answerable", rankings + bands),
            ("misinformation+ambiguous", rankings),
            ("unanswerable", bands),
            ("all", [(metric, None) for metric in (Metric.AUROC, Metric.BRIER, Metric.CALIBRATION_ERROR)]),
            ("all", [(Metric.RELIABILITY, number) for number in range(10)]),
            ("all", [(Metric.MS_P50, None), (Metric.MS_P95, None)]),
        )
        for metric, k in keys
    ]
    console = Console(width=100)
    with console.capture() as capture:
        console.print(recall_tables.terminal_tables(figures))
    shown = capture.get()
    assert shown.count(".50–1.0") == 2 * len(rankings) + 2 * 3 + 2
    assert shown.count("synaptic") == 2 + 1 + 1 + 1
    assert "…" not in shown


def test_figures_of_confidence_need_unanswerable_questions() -> None:
    found = recall_run.measure("set", [answer("q1", "ab", "a")], np.ones(1))
    absent = {Metric.AUROC, Metric.STRONG, Metric.NONE, Metric.BRIER, Metric.RELIABILITY, Metric.CALIBRATION_ERROR}
    assert not absent & {f.metric for f in found}
    assert recall_run.measure("set", [], np.ones(0)) == []


def test_embedding_times_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_run, "EMBEDDING_SAMPLES", 2)
    times = recall_run.embedding_times(HashingEmbedder(), ["a", "b", "c", "d"])
    assert times.shape == (4,)
    assert times[0] == times[1] > 0 < times[2] == times[3]
    assert recall_run.embedding_times(HashingEmbedder(), []).shape == (0,)


def test_records_round_trip(tmp_path: Path) -> None:
    run = recall_run.make_run("model", "ecphora bench recall")
    timing = Figure("set", "way", "all", Metric.MS_P50, None, 3, 2.0, 1.0, 3.0, 0.5)
    plain = Figure("set", "way", "多跳", Metric.NDCG, 10, 3, 0.5, 0.4, 0.6)
    path = tmp_path / "runs.jsonl"
    difference = run_records.Difference("full", -0.1, -0.2, 0.0)
    ablated = replace(plain, strategy="no gate", model="synapse", difference=difference)
    lines = (run, timing, plain, run, ablated)
    path.write_text("".join(f"{line.to_json_line()}\n" for line in lines), "utf-8")
    first, second = run_records.read_records(path)
    assert (first.run, first.figures, second.figures) == (run, [timing, plain], [ablated])
    assert json.loads(plain.to_json_line()) == {
        "dataset": "set", "strategy": "way", "category": "多跳", "metric": "ndcg", "k": 10, "n": 3, "value": 0.5,
        "low": 0.4, "high": 0.6,
    }  # fmt: skip
    assert json.loads(timing.to_json_line())["secondary_value"] == 0.5
    assert json.loads(ablated.to_json_line())["difference"] == {
        "reference": "full", "value": -0.1, "low": -0.2, "high": 0.0
    }  # fmt: skip
    assert set(json.loads(run.to_json_line())) == {"commit", "versions", "embedder", "machine", "date", "command"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "runs:1: neither a run nor a figure"),
        ("[]", "runs:1: neither"),
        ("{}", "runs:1: neither"),
        ('{"metric": "charm"}', "'charm' is not a valid Metric"),
        ('{"metric": "recall_any", "difference": {"by": 1}}', "runs:1: neither"),
        ('{"metric": "recall_any", "difference": 1}', "runs:1: neither"),
        (
            Figure("s", "w", "all", Metric.RECALL_ANY, 5, 1, 1, 1, 1).to_json_line(),
            "runs:1: a figure before the line of its run",
        ),
        ("", "no run in it"),
    ],
)
def test_invalid_record_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "runs"
    path.write_text(text)
    with pytest.raises(InvalidRecord, match=message):
        list(run_records.read_records(path))


def test_unreadable_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="cannot be read"):
        list(run_records.read_records(tmp_path / "missing"))


def test_run_outside_a_repository_has_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert recall_run.make_run("model", "").commit is None
