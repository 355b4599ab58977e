"""Ablation runs: which variant is asked from which memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import strategies
from ecphora.bench import query_spaces
from ecphora.bench.ablation import ablation_run
from ecphora.bench.ablation.ablation_run import question_result
from ecphora.bench.ablation.ablations import BASELINES, Model, TrainedPerFold, Variant
from ecphora.bench.ablation.synapse_metrics import max_gold_cosine
from ecphora.bench.datasets import Case, Question
from ecphora.bench.embedding_cache import CachingEmbedder
from ecphora.bench.query_spaces import QuerySpace
from ecphora.bench.recall import recall_run
from ecphora.bench.recall.run_records import Figure, Metric
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Episode, Query
from ecphora.ports import Activation
from ecphora.testing.samples import sample_batch, sample_node, sample_query

LONG = "".join(f"The {n}th barrel holds plum brandy and stands in the cellar. " for n in range(60))


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


@dataclass(frozen=True)
class Way:
    """Ranks as BM25 does from the turn ``first`` on."""

    name: str = "way"
    first: int = 0
    writes_on_store: bool = False

    def activate(self, cue: Query, graph: Graph, /) -> Activation:
        found = strategies.resolve_strategy("bm25").activate(cue, graph)
        scores = found.scores.copy()
        scores[: self.first] = 0
        return replace(found, scores=scores, contributions={}, stimulus=scores)


def village(space: str, *colours: str) -> Case:
    episodes = tuple(
        Episode(f"Ferry number {n} is {colour}.", f"{space}{n}", happened_at=f"2024-05-0{n + 1}")
        for n, colour in enumerate(colours)
    )
    questions = tuple(
        Question(f"{space}q{n}", f"Which ferry is {colour}?", "plain", frozenset({f"{space}{n}"}))
        for n, colour in enumerate(colours)
    )
    return Case(space, episodes, questions)


CASES = [village("a", "blue", "red"), village("b", "green", "white", "black")]


def of(found: Sequence[Figure], strategy: str, metric: Metric, k: int | None = None, category: str = "") -> Figure:
    [one] = [f for f in found if (f.strategy, f.metric, f.k) == (strategy, metric, k) and category in ("", f.category)]
    return one


# ---- asking


def test_each_memory_is_filled_once(embedder: CachingEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[tuple[str, str]] = []
    remembered = recall_run.temporary_memory

    def counted(case: Case, strategy: Way, *rest: object) -> object:
        filled.append((case.space, strategy.name))
        return remembered(case, strategy, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(query_spaces, "temporary_memory", counted)
    writing = Variant("writing", Way("writing", writes_on_store=True))
    variants = (
        Variant("reading", Way()),
        Variant("another reading", Way(first=1)),
        Variant("from the same", Way(first=1, writes_on_store=True), memory_owner=writing),
        Variant("writing otherwise", Way("other", writes_on_store=True)),
    )
    model = Model("stirring", writing, variants)
    told: list[int] = []
    outcome = ablation_run.run("set", CASES, [model], embedder, told.append)
    assert filled == [(space, name) for name in ("writing", "dense", "other") for space in ("a", "b")]
    assert sum(told) == ablation_run.count_steps(CASES, [model]) == 3 * 5 + 5 * (5 + len(BASELINES))
    assert [one.strategies for one in outcome.indexing_times] == [
        ("writing", "from the same"),
        ("reading", "another reading", *(way.label for way in BASELINES)),
        ("writing otherwise",),
    ]
    assert (outcome.spaces, outcome.episodes) == (2, 5)
    labels = [way.label for way in (*model.all_variants, *BASELINES)]
    assert list(dict.fromkeys(figure.strategy for figure in outcome.figures)) == labels
    assert {figure.model for figure in outcome.figures} == {"stirring"}
    whole = of(outcome.figures, "writing", Metric.RECALL, 5)
    assert (whole.n, whole.value, whole.difference) == (5, 1.0, None)
    cut = of(outcome.figures, "from the same", Metric.RECALL, 5)
    assert cut.value == 3 / 5  # the first turn of both spaces is left out
    assert cut.difference is not None
    assert cut.difference.value == pytest.approx(-2 / 5)
    assert -0.85 < cut.difference.low < -2 / 5 < cut.difference.high <= 0


def test_passages_of_a_library_stir_nothing(embedder: CachingEmbedder) -> None:
    library = [replace(case, episodes=tuple(replace(one, happened_at=None) for one in case.episodes)) for case in CASES]
    model = Model("stirring", Variant("writing", Way("writing", writes_on_store=True)))
    assert [one.strategies[0] for one in ablation_run.run("set", CASES, [model], embedder).indexing_times] == [
        "writing",
        "dense",
    ]
    [shared] = ablation_run.run("set", library, [model], embedder).indexing_times
    assert shared.strategies == ("writing", *(way.label for way in BASELINES))
    assert ablation_run.count_steps(library, [model]) == ablation_run.count_steps(CASES, [model]) - 5


def test_what_is_for_talk_is_not_asked_of_a_library(embedder: CachingEmbedder) -> None:
    model = Model("m", Variant("whole", Way()), (Variant("talk", Way(first=1), requires_dates=True),))
    library = [replace(case, episodes=tuple(replace(one, happened_at=None) for one in case.episodes)) for case in CASES]
    for cases, there in ((CASES, True), (library, False)):
        found = ablation_run.run("set", cases, [model], embedder).figures
        assert ("talk" in {figure.strategy for figure in found}) is there


def test_what_is_trained_learns_from_the_other_spaces(embedder: CachingEmbedder) -> None:
    seen: list[list[str]] = []

    def train(spaces: Sequence[QuerySpace]) -> Way:
        seen.append([space.case.space for space in spaces])
        assert all(len(space.queries) == len(space.case.questions) for space in spaces)
        return Way("trained")

    model = Model(
        "side", Variant("plain", Way()), (Variant("trained", TrainedPerFold(train), requires_other_spaces=True),)
    )
    both = ablation_run.run("set", CASES, [model], embedder)
    assert seen == [["b"], ["a"]]
    assert of(both.figures, "trained", Metric.RECALL, 5).value == 1
    alone = ablation_run.run("set", CASES[:1], [model], embedder)
    assert seen == [["b"], ["a"]]
    assert {figure.strategy for figure in alone.figures} == {"plain", *(way.label for way in BASELINES)}
    assert ablation_run.count_steps(CASES[:1], [model]) == 2 + 2 * (1 + len(BASELINES))


def test_questions_are_dealt_where_spaces_are_few(embedder: CachingEmbedder) -> None:
    seen: list[list[str]] = []

    def train(spaces: Sequence[QuerySpace]) -> Way:
        seen.append([question.id for space in spaces for question in space.case.questions])
        return Way("trained")

    model = Model("side", Variant("plain", Way()), (Variant("trained", TrainedPerFold(train)),))
    found = ablation_run.run("set", CASES[1:], [model], embedder).figures
    assert seen == [["bq1", "bq2"], ["bq0", "bq2"], ["bq0", "bq1"]]
    assert of(found, "trained", Metric.RECALL, 5).value == 1


def test_an_empty_set_has_no_figures(embedder: CachingEmbedder) -> None:
    assert ablation_run.run("set", [], [Model("m", Variant("m", Way()))], embedder).figures == ()


def test_the_same_figures_as_a_run_of_recalls(embedder: CachingEmbedder) -> None:
    cases = [*CASES, Case("c", (Episode(LONG, "long"), Episode("Plum brandy.", "short")), CASES[0].questions[:0])]
    cases[2] = replace(cases[2], questions=(Question("q", "Where is the brandy?", "x", frozenset({"long", "short"})),))
    ours = ablation_run.run("set", cases, [Model("way", Variant("way", Way(first=1)))], embedder).figures
    theirs = recall_run.run(
        "set", cases, [Way(first=1), *map(strategies.resolve_strategy, ("dense", "fused"))], embedder
    ).figures
    for name in ("way", "dense", "fused"):
        for k in (5, 10, 30):
            mine, other = (of(some, name, Metric.RECALL, k, "answerable") for some in (ours, theirs))
            assert (mine.n, mine.value, mine.low, mine.high) == (other.n, other.value, other.low, other.high)


def test_places_of_documents_and_what_fired() -> None:
    nodes = [sample_node(f"n{n}", seq=n + 1) for n in range(4)]
    nodes += [sample_node(f"d#{n}", document="d", position=n, seq=n + 5) for n in (1, 2)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    asked = Question("q", "?", "plain", frozenset({"n0", "n2", "n3", "d"}))
    space = QuerySpace.from_graph(Case("s", (), (asked,)), graph, [sample_query("?")])
    scores = np.array([0.5, 0.9, 0.4, 0, 0.8, 0.7], np.float32)
    fired = np.array([1, 0, 0, 0, 1, 1], np.float32)
    reply = question_result(space, 0, Activation(scores, {"fired": fired, "rest": scores - fired}, confidence=0.7))
    assert reply.gold_ranks == (3, 4, np.inf, 2)  # d's second piece takes no place of its own
    assert (reply.confidence, reply.fired_count, reply.fired_gold_count) == (0.7, 2, 2)
    nothing = question_result(space, 0, Activation(graph.zeros(), confidence=0.7))
    assert (set(nothing.gold_ranks), nothing.confidence, nothing.fired_count, nothing.fired_gold_count) == (
        {np.inf},
        0,
        0,
        0,
    )


def test_how_near_the_gold_is() -> None:
    graph = apply_batch(
        Graph(), replace(sample_batch(*(sample_node(f"n{n}", f"text {n}") for n in range(3))), revision=1)
    )
    gold = [frozenset({"n0"}), frozenset({"n0", "n2"}), frozenset[str]()]
    questions = tuple(Question(str(n), "?", "plain", one) for n, one in enumerate(gold))
    vector = graph.vectors.view[2]
    cues = [sample_query("?", vector=vector)] * 3
    space = QuerySpace.from_graph(Case("s", (), questions), graph, cues)
    assert max_gold_cosine(space, 0) == pytest.approx(float(graph.vectors.view[0] @ vector))
    assert max_gold_cosine(space, 1) == pytest.approx(1, abs=1e-3)
    assert max_gold_cosine(space, 2) == 1
    assert max_gold_cosine(replace(space, queries=(sample_query("?", vector=None),) * 3), 1) == 1
