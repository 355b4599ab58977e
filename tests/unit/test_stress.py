"""SYNAPSE's stress test for any strategies: which questions are far, and what is lost there."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.model.types import Episode
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies import resolve_strategy
from ecphora_bench.ablation import stress
from ecphora_bench.ablation.ablation_run import QuestionResult
from ecphora_bench.ablation.strategy_results import StrategyResults, build_spaces
from ecphora_bench.ablation.synapse_metrics import gold_cosines, max_gold_cosine
from ecphora_bench.recall.run_records import Figure, Metric
from ecphora_bench.spaces import build_query_space

COUNT = 20
SAME, OTHER = "ana sails her boat", "loud trains leave"


@pytest.fixture
def embedder(tmp_path: Path) -> Iterator[CachingEmbedder]:
    with CachingEmbedder(HashingEmbedder(64), tmp_path / "cache") as cached:
        yield cached


def case() -> Case:
    """The first half of the questions have the same words as their evidence, the other half has none in common."""
    episodes = (Episode(SAME, id="same"), Episode(OTHER, id="other"))
    questions = tuple(
        Question(f"q{n}", SAME, "plain", frozenset({"same" if n < COUNT // 2 else "other"})) for n in range(COUNT)
    )
    return Case("s", episodes, questions)


def space_with_both(embedder: CachingEmbedder, floor: float = 0.0) -> QuerySpace:
    """A space with one question whose evidence is both episodes."""
    asked = Question("q", SAME, "plain", frozenset({"same", "other"}))
    space = build_query_space(replace(case(), questions=(asked,)), resolve_strategy("dense"), embedder)
    return replace(space, queries=(replace(space.queries[0], similarity_floor=floor),))


def test_gold_cosines_are_one_per_document(embedder: CachingEmbedder) -> None:
    space = space_with_both(embedder)
    query = space.queries[0].vector
    assert query is not None
    expected = sorted(float(vector @ query) for vector in space.graph.vectors.view)
    assert sorted(gold_cosines(space, 0)) == pytest.approx(expected, abs=1e-6)
    assert max_gold_cosine(space, 0) == max(gold_cosines(space, 0)) > 0.99


def test_gold_cosines_count_from_the_similarity_floor(embedder: CachingEmbedder) -> None:
    plain, floored = (gold_cosines(space_with_both(embedder, floor), 0) for floor in (0.0, 0.5))
    assert floored == pytest.approx(np.maximum(-1, (plain - 0.5) / 0.5), abs=1e-6)


def test_gold_cosines_without_a_vector_are_none(embedder: CachingEmbedder) -> None:
    space = space_with_both(embedder)
    unread = replace(space, queries=(replace(space.queries[0], vector=None),))
    assert not len(gold_cosines(unread, 0))
    assert max_gold_cosine(unread, 0) == 1
    assert not any(one.is_far(unread, 0) for one in stress.FILTERS)


def test_filters_read_the_highest_the_mean_and_the_lowest_cosine(
    embedder: CachingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = space_with_both(embedder)

    def far(*cosines: float) -> list[bool]:
        monkeypatch.setattr(stress, "gold_cosines", lambda *_: np.array(cosines))
        return [one.is_far(space, 0) for one in stress.FILTERS]

    assert far(0.2, 0.29) == [True, True, True, True]
    assert far(0.1, 0.4) == [False, True, True, True]
    assert far(0.1, 0.6) == [False, False, True, False]
    assert far(0.3, 0.44) == [False, False, False, True]
    assert far(0.45) == [False, False, False, False]


def run(embedder: CachingEmbedder, ranks: dict[str, tuple[float, float]]) -> list[Figure]:
    """The figures of strategies that rank the evidence of near and of far questions so."""
    chosen = [resolve_strategy(name) for name in ranks]
    spaces = build_spaces([case()], chosen, embedder)
    results = {
        name: [QuestionResult((near if n < COUNT // 2 else far,), 0, 0, 0) for n in range(COUNT)]
        for name, (near, far) in ranks.items()
    }
    return list(stress.stress_figures("set", spaces, chosen, StrategyResults(results), "dense"))


@pytest.mark.medium
def test_loss_is_the_part_of_near_recall_that_far_questions_lack(embedder: CachingEmbedder) -> None:
    """And its difference is to the loss of the reference; evidence that did not come back is counted."""
    figures = run(embedder, {"dense": (1, np.inf), "bm25": (1, 30)})
    label = stress.FILTERS[0].label
    found = {(one.strategy, one.category, one.metric): one for one in figures}
    assert found["dense", label, Metric.RECALL].value == 0
    assert found["dense", f"{label}, the others", Metric.RECALL].value == 1
    assert found["dense", label, Metric.LOSS].value == 1
    assert found["dense", label, Metric.LOSS].difference is None
    assert found["dense", label, Metric.NOT_RETURNED].value == 1
    bm25 = found["bm25", label, Metric.LOSS]
    assert (bm25.value, bm25.n) == (0, COUNT // 2)
    assert bm25.difference is not None
    assert (bm25.difference.reference, bm25.difference.value) == ("dense", -1)
    assert found["bm25", label, Metric.NOT_RETURNED].value == 0
    difference = found["bm25", label, Metric.RECALL].difference
    assert difference is not None
    assert difference.value == 1


@pytest.mark.medium
def test_loss_of_a_strategy_that_finds_nothing_is_zero(embedder: CachingEmbedder) -> None:
    figures = run(embedder, {"dense": (np.inf, np.inf)})
    assert {one.value for one in figures if one.metric is Metric.LOSS} == {0}


def test_filter_with_few_far_questions_has_no_figures(
    embedder: CachingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stress, "MIN_LOW_SIMILARITY_QUESTIONS", COUNT // 2 + 1)
    assert not run(embedder, {"dense": (1, 1)})


@pytest.mark.medium
def test_synapse_without_spreading_is_compared_with_synapse(embedder: CachingEmbedder) -> None:
    figures = run(embedder, {"dense": (1, 1), "synapse": (31, 31)})
    unspread = [one for one in figures if one.strategy == stress.WITHOUT_SPREADING and one.difference is not None]
    assert {one.difference.reference for one in unspread if one.difference} == {"synapse"}
    changes = {one.category: one.difference.value for one in unspread if one.difference and one.metric is Metric.RECALL}
    label = stress.FILTERS[0].label
    assert (changes[label], changes[f"{label}, the others"]) == (0, 1)  # what is far and not reached does not come back
