"""Ablation runs: the memory that each variant recalls from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from ecphora import strategies
from ecphora.maintenance.learn import query_spaces
from ecphora.maintenance.learn import temporary_memory as temporary_memories
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import Episode, Query
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.testing.samples import sample_batch, sample_node, sample_query
from ecphora_bench.ablation import ablation_run
from ecphora_bench.ablation.ablation_run import question_result
from ecphora_bench.ablation.ablations import BASELINES, Model, TrainedPerFold, Variant
from ecphora_bench.ablation.synapse_metrics import max_gold_cosine
from ecphora_bench.recall import recall_run
from ecphora_bench.recall.run_records import Figure, Metric

LONG = "".join(f"The {n}th barrel holds plum brandy and stands in the cellar. " for n in range(60))


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


@dataclass(frozen=True)
class PartialBM25:
    """Ranks the turns from ``first`` on as BM25 does."""

    name: str = "partial"
    first: int = 0
    writes_on_store: bool = False

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        found = strategies.resolve_strategy("bm25").activate(query, graph)
        scores = found.scores.copy()
        scores[: self.first] = 0
        return replace(found, scores=scores, contributions={}, stimulus=scores)


def ferry_case(space: str, *colours: str) -> Case:
    episodes = tuple(
        Episode(f"Ferry number {n} is {colour}.", f"{space}{n}", happened_at=f"2024-05-0{n + 1}")
        for n, colour in enumerate(colours)
    )
    questions = tuple(
        Question(f"{space}q{n}", f"Which ferry is {colour}?", "plain", frozenset({f"{space}{n}"}))
        for n, colour in enumerate(colours)
    )
    return Case(space, episodes, questions)


CASES = [ferry_case("a", "blue", "red"), ferry_case("b", "green", "white", "black")]


def only_figure(
    found: Sequence[Figure], strategy: str, metric: Metric, k: int | None = None, category: str = ""
) -> Figure:
    [figure] = [
        f for f in found if (f.strategy, f.metric, f.k) == (strategy, metric, k) and category in ("", f.category)
    ]
    return figure


# ---- runs


@pytest.mark.medium
def test_run_creates_each_memory_once(embedder: CachingEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[tuple[str, str]] = []
    temporary_memory = temporary_memories.temporary_memory

    def counting_memory(opener: object, case: Case, strategy: PartialBM25, *rest: object, **options: object) -> object:
        created.append((case.space, strategy.name))
        return temporary_memory(opener, case, strategy, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(query_spaces, "temporary_memory", counting_memory)
    writing = Variant("writing", PartialBM25("writing", writes_on_store=True))
    variants = (
        Variant("reading", PartialBM25()),
        Variant("second reading", PartialBM25(first=1)),
        Variant("same memory", PartialBM25(first=1, writes_on_store=True), memory_owner=writing),
        Variant("writing the same", PartialBM25("writing alike", writes_on_store=True)),
        Variant("other writing", PartialBM25("other", first=2, writes_on_store=True)),
    )
    model = Model("writing", writing, variants)
    progress: list[int] = []
    outcome = ablation_run.run("set", CASES, [model], embedder, progress.append)
    assert created == [(space, name) for name in ("writing", "dense", "other") for space in ("a", "b")]
    assert sum(progress) == ablation_run.count_steps(CASES, [model]) == 3 * 5 + 5 * (6 + len(BASELINES))
    assert [item.strategies for item in outcome.indexing_times] == [
        ("writing", "same memory", "writing the same"),
        ("reading", "second reading", *(variant.label for variant in BASELINES)),
        ("other writing",),
    ]
    assert (outcome.spaces, outcome.episodes) == (2, 5)
    labels = [variant.label for variant in (*model.all_variants, *BASELINES)]
    assert list(dict.fromkeys(figure.strategy for figure in outcome.figures)) == labels
    assert {figure.model for figure in outcome.figures} == {"writing"}
    full = only_figure(outcome.figures, "writing", Metric.RECALL, 5)
    assert (full.n, full.value, full.difference) == (5, 1.0, None)
    shared = only_figure(outcome.figures, "same memory", Metric.RECALL, 5)
    assert shared.value == 3 / 5  # the first turn of both spaces is left out
    assert shared.difference is not None
    assert shared.difference.value == pytest.approx(-2 / 5)
    assert -0.85 < shared.difference.low < -2 / 5 < shared.difference.high <= 0


@pytest.mark.medium
def test_undated_passages_share_one_memory(embedder: CachingEmbedder) -> None:
    undated = [
        replace(case, episodes=tuple(replace(episode, happened_at=None) for episode in case.episodes)) for case in CASES
    ]
    model = Model("writing", Variant("writing", PartialBM25("writing", writes_on_store=True)))
    assert [item.strategies[0] for item in ablation_run.run("set", CASES, [model], embedder).indexing_times] == [
        "writing",
        "dense",
    ]
    [shared] = ablation_run.run("set", undated, [model], embedder).indexing_times
    assert shared.strategies == ("writing", *(variant.label for variant in BASELINES))
    assert ablation_run.count_steps(undated, [model]) == ablation_run.count_steps(CASES, [model]) - 5


@pytest.mark.medium
def test_variants_that_need_dates_skip_undated_cases(embedder: CachingEmbedder) -> None:
    model = Model("m", Variant("full", PartialBM25()), (Variant("dated", PartialBM25(first=1), requires_dates=True),))
    undated = [
        replace(case, episodes=tuple(replace(episode, happened_at=None) for episode in case.episodes)) for case in CASES
    ]
    for cases, is_run in ((CASES, True), (undated, False)):
        found = ablation_run.run("set", cases, [model], embedder).figures
        assert ("dated" in {figure.strategy for figure in found}) is is_run


@pytest.mark.medium
def test_trained_variant_learns_from_the_other_spaces(embedder: CachingEmbedder) -> None:
    training_spaces: list[list[str]] = []

    def train(spaces: Sequence[QuerySpace]) -> PartialBM25:
        training_spaces.append([space.case.space for space in spaces])
        assert all(len(space.queries) == len(space.case.questions) for space in spaces)
        return PartialBM25("trained")

    model = Model(
        "side",
        Variant("plain", PartialBM25()),
        (Variant("trained", TrainedPerFold(train), requires_other_spaces=True),),
    )
    two_spaces = ablation_run.run("set", CASES, [model], embedder)
    assert training_spaces == [["b"], ["a"]]
    assert only_figure(two_spaces.figures, "trained", Metric.RECALL, 5).value == 1
    one_space = ablation_run.run("set", CASES[:1], [model], embedder)
    assert training_spaces == [["b"], ["a"]]
    assert {figure.strategy for figure in one_space.figures} == {"plain", *(variant.label for variant in BASELINES)}
    assert ablation_run.count_steps(CASES[:1], [model]) == 2 + 2 * (1 + len(BASELINES))


@pytest.mark.medium
def test_training_folds_split_questions_of_few_spaces(embedder: CachingEmbedder) -> None:
    training_spaces: list[list[str]] = []

    def train(spaces: Sequence[QuerySpace]) -> PartialBM25:
        training_spaces.append([question.id for space in spaces for question in space.case.questions])
        return PartialBM25("trained")

    model = Model("side", Variant("plain", PartialBM25()), (Variant("trained", TrainedPerFold(train)),))
    found = ablation_run.run("set", CASES[1:], [model], embedder).figures
    assert training_spaces == [["bq1", "bq2"], ["bq0", "bq2"], ["bq0", "bq1"]]
    assert only_figure(found, "trained", Metric.RECALL, 5).value == 1


def test_empty_set_has_no_figures(embedder: CachingEmbedder) -> None:
    assert ablation_run.run("set", [], [Model("m", Variant("m", PartialBM25()))], embedder).figures == ()


@pytest.mark.medium
def test_ablation_figures_equal_those_of_a_recall_run(embedder: CachingEmbedder) -> None:
    cases = [*CASES, Case("c", (Episode(LONG, "long"), Episode("Plum brandy.", "short")), CASES[0].questions[:0])]
    cases[2] = replace(cases[2], questions=(Question("q", "Where is the brandy?", "x", frozenset({"long", "short"})),))
    ablation = ablation_run.run(
        "set", cases, [Model("partial", Variant("partial", PartialBM25(first=1)))], embedder
    ).figures
    recall = recall_run.run(
        "set", cases, [PartialBM25(first=1), *map(strategies.resolve_strategy, ("dense", "fused"))], embedder
    ).figures
    for name in ("partial", "dense", "fused"):
        for k in (5, 10, 30):
            actual, expected = (
                only_figure(figures, name, Metric.RECALL, k, "answerable") for figures in (ablation, recall)
            )
            assert (actual.n, actual.value, actual.low, actual.high) == (
                expected.n,
                expected.value,
                expected.low,
                expected.high,
            )


def test_question_result_ranks_documents_and_counts_fired_rows() -> None:
    nodes = [sample_node(f"n{n}", seq=n + 1) for n in range(4)]
    nodes += [sample_node(f"d#{n}", document="d", position=n, seq=n + 5) for n in (1, 2)]
    graph = apply_batch(Graph(), replace(sample_batch(*nodes), revision=1))
    question = Question("q", "?", "plain", frozenset({"n0", "n2", "n3", "d"}))
    space = QuerySpace.from_graph(Case("s", (), (question,)), graph, [sample_query("?")])
    scores = np.array([0.5, 0.9, 0.4, 0, 0.8, 0.7], np.float32)
    fired = np.array([1, 0, 0, 0, 1, 1], np.float32)
    reply = question_result(space, 0, Activation(scores, {"fired": fired, "rest": scores - fired}, confidence=0.7))
    assert reply.gold_ranks == (3, 4, np.inf, 2)  # the second chunk of d has no rank of its own
    assert (reply.confidence, reply.fired_count, reply.fired_gold_count) == (0.7, 2, 2)
    empty = question_result(space, 0, Activation(graph.zeros(), confidence=0.7))
    assert (set(empty.gold_ranks), empty.confidence, empty.fired_count, empty.fired_gold_count) == (
        {np.inf},
        0,
        0,
        0,
    )


def test_max_gold_cosine_is_that_of_the_nearest_gold() -> None:
    graph = apply_batch(
        Graph(), replace(sample_batch(*(sample_node(f"n{n}", f"text {n}") for n in range(3))), revision=1)
    )
    gold = [frozenset({"n0"}), frozenset({"n0", "n2"}), frozenset[str]()]
    questions = tuple(Question(str(n), "?", "plain", ids) for n, ids in enumerate(gold))
    vector = graph.vectors.view[2]
    queries = [sample_query("?", vector=vector)] * 3
    space = QuerySpace.from_graph(Case("s", (), questions), graph, queries)
    assert max_gold_cosine(space, 0) == pytest.approx(float(graph.vectors.view[0] @ vector))
    assert max_gold_cosine(space, 1) == pytest.approx(1, abs=1e-3)
    assert max_gold_cosine(space, 2) == 1
    assert max_gold_cosine(replace(space, queries=(sample_query("?", vector=None),) * 3), 1) == 1
