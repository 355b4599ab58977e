"""A run: what is asked of which memory, what counts, and what is put on record."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from ecphora import strategies
from ecphora.bench.datasets import Case, Question
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.recall import recall_run, recall_tables, run_records
from ecphora.bench.recall.run_records import Figure, Metric
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.errors import InvalidRecord
from ecphora.graph import Graph
from ecphora.model import Episode, Query, WriteBatch
from ecphora.ports import Activation, NodeReader, Strategy
from ecphora.stages.retrieval.confidence import band

LONG = "".join(f"The {n}th barrel holds plum brandy and stands in the cellar. " for n in range(60))


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


class Listening:
    """Ranks as BM25 does and keeps the cues it was given."""

    name = "listening"

    def __init__(self) -> None:
        self.cues: list[Query] = []

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        self.cues.append(cue)
        return strategies.resolve_strategy("bm25").activate(cue, graph)


class Reading(Listening):
    """Ranks as BM25 does, and counts the accesses it sees."""

    name = "reading"

    def __init__(self) -> None:
        super().__init__()
        self.logged: list[int] = []

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        self.logged.append(len(graph.accesses))
        return super().activate(cue, graph)


@dataclass
class Stirring(Listening):
    """Ranks as BM25 does; every new episode stirs the rows that share a word with it."""

    name: str = "stirring"
    writes_on_store: bool = True
    logged: list[int] = field(default_factory=list)
    cues: list[Query] = field(default_factory=list)

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        self.logged.append(len(graph.accesses))
        found = super().activate(cue, graph)
        return replace(found, stimulus=found.scores)


@dataclass
class Dozing(Listening):
    """Ranks as BM25 does, and sleeps over every episode."""

    name: str = "dozing"
    marks: list[int] = field(default_factory=list)
    cues: list[Query] = field(default_factory=list)

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        self.marks.append(graph.cursors.get("dozing", 0))
        return super().activate(cue, graph)

    def has_pending(self, graph: Graph, /) -> bool:
        return graph.cursors.get("dozing", 0) < graph.episodes.sum()

    def process(self, graph: Graph, _read: NodeReader, _now: datetime, /) -> WriteBatch:
        return WriteBatch(cursors={"dozing": int(graph.episodes.sum())})


def question(id_: str, text: str, *evidence: str, **rest: object) -> Question:
    return replace(Question(id_, text, "plain", frozenset(evidence)), **rest)  # type: ignore[arg-type]


def value(found: list[Figure] | tuple[Figure, ...], metric: Metric, k: int | None, category: str) -> Figure:
    [one] = [f for f in found if (f.metric, f.k, f.category) == (metric, k, category)]
    return one


def test_pieces_are_rolled_up_to_documents(embedder: CachingEmbedder) -> None:
    episodes = (Episode(LONG, "long"), Episode("Plum brandy.", "short"), Episode("Nothing of it.", "other"))
    case = Case("s", episodes, (question("q", "Where does the plum brandy barrel stand?", "long", "short"),))
    outcome = recall_run.run("set", [case], [strategies.resolve_strategy("bm25")], embedder)
    assert value(outcome.figures, Metric.RECALL, 5, "answerable").value == 1
    assert value(outcome.figures, Metric.NDCG, 10, "answerable").value == 1
    assert (outcome.spaces, outcome.episodes) == (1, 3)


def test_spaces_do_not_see_each_other(embedder: CachingEmbedder) -> None:
    here = Case("a", (Episode("The ferry is blue.", "1"),), (question("q1", "What colour is the ferry?", "1"),))
    there = Case("b", (Episode("A ferry, a blue ferry!", "2"),), (question("q2", "Is the ferry blue?", "2"),))
    outcome = recall_run.run("set", [here, there], [strategies.resolve_strategy("bm25")], embedder)
    assert value(outcome.figures, Metric.NDCG, 10, "answerable").value == 1


def test_the_clock_stands_at_the_question_or_at_the_end_of_its_space(embedder: CachingEmbedder) -> None:
    asked, last = datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)
    dated = Case(
        "s",
        (Episode("Snow.", "1", happened_at=last), Episode("Ice.", "2", happened_at=datetime(2023, 1, 1, tzinfo=UTC))),
        (question("q1", "Snow?", "1"), question("q2", "Ice?", "2", asked_at=asked), question("q3", "Rain?", "2")),
    )
    listening = Listening()
    recall_run.run("set", [dated], [listening], embedder)
    assert [cue.now for cue in listening.cues[1:]] == [last, asked, last]  # the first recall is to warm up
    assert {cue.as_of for cue in listening.cues} == {None}
    undated = Listening()
    recall_run.run("set", [Case("s", (Episode("Snow.", "1"),), (question("q", "Snow?", "1"),))], [undated], embedder)
    assert {cue.now for cue in undated.cues} == {recall_run.DEFAULT_NOW}


def test_every_step_is_told(embedder: CachingEmbedder) -> None:
    cases = [Case("s", (Episode("Snow.", "1"),), (question("q1", "Snow?", "1"), question("q2", "Ice?", "1")))]
    ways = [strategies.resolve_strategy("bm25"), strategies.resolve_strategy("dense")]
    told: list[int] = []
    recall_run.run("set", cases, ways, embedder, told.append)
    assert sum(told) == recall_run.count_steps(cases, ways) == 5


def test_what_writes_has_a_memory_of_its_own(embedder: CachingEmbedder) -> None:
    reading, stirring, dozing = Reading(), Stirring(), Dozing()
    ways: list[Strategy] = [
        stirring,
        reading,
        strategies.resolve_strategy("bm25"),
        dozing,
        replace(stirring, name="again"),
    ]
    assert [[way.name for way in home] for home in recall_run.group_by_memory(ways)] == [
        ["stirring"],
        ["reading", "bm25"],
        ["dozing"],
        ["again"],
    ]
    assert not recall_run.needs_own_memory(replace(stirring, writes_on_store=False))
    episodes = (Episode("Snow fell.", "1"), Episode("More snow.", "2"), Episode("Ice.", "3"))
    case = Case("s", episodes, (question("q1", "Snow?", "1", "2"), question("q2", "Ice?", "3")))
    told: list[int] = []
    outcome = recall_run.run("set", [case], ways[:-1], embedder, told.append)
    assert sum(told) == recall_run.count_steps([case], ways[:-1]) == 3 * 3 + 2 * 4
    asked = 2 + 1  # the first recall is to warm up
    assert stirring.logged == [0, 1, 3, *[4] * asked]  # the second turn stirred the first; no question left a trace
    assert dozing.marks == [3] * asked
    assert reading.logged == [3] * asked  # nothing of the others' is in the memory of those that read
    assert [one.strategies for one in outcome.indexing_times] == [("stirring",), ("reading", "bm25"), ("dozing",)]
    assert all(one.seconds > 0 for one in outcome.indexing_times)
    assert list(dict.fromkeys(figure.strategy for figure in outcome.figures)) == [way.name for way in ways[:-1]]
    took = [one for one in outcome.figures if one.metric is Metric.INDEX_S]
    assert [(one.n, one.k, one.category) for one in took] == [(3, None, "all")] * 4
    assert took[1].value == took[2].value == outcome.indexing_times[1].seconds


def answer(id_: str, ranked: str, *evidence: str, confidence: float = 0.5, **rest: object) -> recall_run.RecallResult:
    return recall_run.RecallResult(question(id_, "?", *evidence, **rest), "way", tuple(ranked), confidence, 2.0)


def test_only_answerable_questions_with_evidence_have_a_ranking() -> None:
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
    overall = value(found, Metric.RECALL, 5, "answerable")
    assert (overall.n, overall.value) == (3, 0.5)  # of questions: (1 + 0 + 1/2) / 3, not of categories: (1 + 1/4) / 2
    assert (value(found, Metric.RECALL, 30, "hard").n, value(found, Metric.RECALL, 30, "hard").value) == (2, 0.25)
    assert value(found, Metric.RECALL_ALL, 5, "answerable").value == pytest.approx(1 / 3)
    area = value(found, Metric.AUROC, None, "all")
    assert (area.n, area.value) == (6, (3 * 2 + 1.5) / 8)
    middle = value(found, Metric.MS_P50, None, "all")
    assert (middle.n, middle.value, middle.secondary_value) == (6, 3.0, 2.0)
    assert value(found, Metric.MS_P95, None, "all").value == 4.5  # between 3 and 5, a quarter from the last


def test_the_bands_of_answerable_and_unanswerable_questions_are_counted_apart() -> None:
    answers = [answer(str(place), "ab", "a", confidence=sure) for place, sure in enumerate((0.0, 0.4, 1.0, 1.0))]
    answers += [answer("none", "ab", confidence=0.0, is_answerable=False)]
    found = recall_run.measure("set", answers, np.ones(5))
    bands = (Metric.STRONG, Metric.WEAK, Metric.NONE)
    assert [band(sure).value for sure in (1.0, 0.4, 0.0)] == [one.value for one in bands]
    assert [value(found, band, None, "answerable").value for band in bands] == [0.5, 0.25, 0.25]
    assert [value(found, band, None, "unanswerable").value for band in bands] == [0.0, 0.0, 1.0]
    record = run_records.RunRecord(recall_run.make_run("model", "ecphora bench recall"), found)
    assert "| way | .500 | .250 | .250 | .000 | .000 | 1.000 |" in recall_tables.render_markdown([record])


def test_without_unanswerable_questions_there_is_no_area_and_no_band() -> None:
    found = recall_run.measure("set", [answer("q1", "ab", "a")], np.ones(1))
    assert not {Metric.AUROC, Metric.STRONG, Metric.NONE} & {f.metric for f in found}
    assert recall_run.measure("set", [], np.ones(0)) == []


def test_a_question_without_its_own_time_takes_that_of_a_neighbour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall_run, "EMBEDDING_SAMPLES", 2)
    times = recall_run.embedding_times(HashingEmbedder(), ["a", "b", "c", "d"])
    assert times.shape == (4,)
    assert times[0] == times[1] > 0 < times[2] == times[3]
    assert recall_run.embedding_times(HashingEmbedder(), []).shape == (0,)


def test_lines_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = recall_run.make_run("model", "ecphora bench recall")
    timed = Figure("set", "way", "all", Metric.MS_P50, None, 3, 2.0, 1.0, 3.0, 0.5)
    plain = Figure("set", "way", "多跳", Metric.NDCG, 10, 3, 0.5, 0.4, 0.6)
    path = tmp_path / "runs.jsonl"
    against = run_records.Difference("full", -0.1, -0.2, 0.0)
    ablated = replace(plain, strategy="no gate", model="synapse", difference=against)
    lines = (made, timed, plain, made, ablated)
    path.write_text("".join(f"{one.to_json_line()}\n" for one in lines), "utf-8")
    first, second = run_records.read_records(path)
    assert (first.run, first.figures, second.figures) == (made, [timed, plain], [ablated])
    assert json.loads(plain.to_json_line()) == {
        "dataset": "set", "strategy": "way", "category": "多跳", "metric": "ndcg", "k": 10, "n": 3, "value": 0.5,
        "low": 0.4, "high": 0.6,
    }  # fmt: skip
    assert json.loads(timed.to_json_line())["secondary_value"] == 0.5
    assert json.loads(ablated.to_json_line())["difference"] == {
        "reference": "full", "value": -0.1, "low": -0.2, "high": 0.0
    }  # fmt: skip
    assert set(json.loads(made.to_json_line())) == {"commit", "versions", "embedder", "machine", "date", "command"}


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
def test_what_is_no_run_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "runs"
    path.write_text(text)
    with pytest.raises(InvalidRecord, match=message):
        list(run_records.read_records(path))


def test_a_file_of_runs_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecord, match="cannot be read"):
        list(run_records.read_records(tmp_path / "missing"))


def test_outside_a_repository_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert recall_run.make_run("model", "").commit is None
