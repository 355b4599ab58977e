"""Figures of variants, compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ecphora import strategies
from ecphora.model.graph.graph import Graph
from ecphora.model.ports import Activation
from ecphora.model.types import Query
from ecphora_bench.ablation import ablation_run, ablations
from ecphora_bench.ablation.ablations import BASELINES, DENSE, Model, PaperMeasurement, Variant
from ecphora_bench.ablation.comparison import compare
from ecphora_bench.ablation.result_columns import QuestionColumns, ResultColumns
from ecphora_bench.ablation.synapse_metrics import LOW_SIMILARITY
from ecphora_bench.recall import intervals
from ecphora_bench.recall.run_records import UNANSWERABLE, Difference, Figure, Metric


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


def only_figure(
    found: Sequence[Figure], strategy: str, metric: Metric, k: int | None = None, category: str = ""
) -> Figure:
    [figure] = [
        f for f in found if (f.strategy, f.metric, f.k) == (strategy, metric, k) and category in ("", f.category)
    ]
    return figure


def result_columns(
    *ranks: tuple[float, ...], confidence: Sequence[float] = (), fired: Sequence[int] = ()
) -> ResultColumns:
    counts = np.array(fired or [0] * len(ranks), np.float64)
    fired_gold = [
        sum(rank <= count for rank in gold_ranks) for gold_ranks, count in zip(ranks, counts.tolist(), strict=True)
    ]
    confidences = np.array(confidence or [0.5] * len(ranks), np.float64)
    return ResultColumns(ranks, confidences, counts, np.array(fired_gold, np.float64))


def question_columns(
    gold: Sequence[int], *, answerable: Sequence[int] = (), far: Sequence[int] = (), multi_hop: Sequence[int] = ()
) -> QuestionColumns:
    return QuestionColumns(
        np.array(answerable or [1] * len(gold), np.bool_),
        np.array(gold, np.float64),
        np.array(far or [0] * len(gold), np.bool_),
        np.array(multi_hop or [0] * len(gold), np.bool_),
    )


FULL = Variant("full", PartialBM25())


LESS = Variant("less", PartialBM25())


def test_recall_all_and_multi_hop_recall() -> None:
    results = {FULL: result_columns((1, 6), (2, 12), (5,))}
    found = list(compare("set", Model("m", FULL), results, question_columns([2, 2, 1], multi_hop=[0, 1, 0])))
    assert only_figure(found, "full", Metric.RECALL_ALL, 5).value == pytest.approx(1 / 3)
    assert only_figure(found, "full", Metric.RECALL, 10, category="multi-hop").value == 0.5


@pytest.mark.medium
def test_recall_uses_answerable_questions_with_gold_only() -> None:
    model = Model("m", FULL, (LESS,))
    results = {
        FULL: result_columns((1, 7), (3,), (), (1,), confidence=(0.9, 0.1, 0.3, 0.15)),
        LESS: result_columns((1, 40), (np.inf,), (), (1,), confidence=(0.9, 0.9, 0.9, 0.9)),
    }
    found = list(compare("set", model, results, question_columns([2, 1, 0, 1], answerable=[1, 1, 1, 0])))
    assert [only_figure(found, "full", Metric.RECALL, k).value for k in (5, 10, 30)] == [0.75, 1, 1]
    less = only_figure(found, "less", Metric.RECALL, 10, "answerable")
    assert (less.n, less.value) == (2, 0.25)
    assert less.difference is not None
    assert less.difference.value == -0.75  # the mean of -1/2 and -1
    assert (less.difference.low, less.difference.high) == (-1, -0.5)
    false_refusal, true_refusal = (
        only_figure(found, "full", metric) for metric in (Metric.FALSE_REFUSAL, Metric.TRUE_REFUSAL)
    )
    assert (false_refusal.n, false_refusal.value, false_refusal.category) == (3, 1 / 3, "answerable")
    assert (true_refusal.n, true_refusal.value, true_refusal.category) == (1, 1, UNANSWERABLE)
    area = only_figure(found, "full", Metric.AUROC)
    assert (area.n, area.value) == (4, 2 / 3)
    assert only_figure(found, "less", Metric.AUROC).value == 0.5


def test_variant_is_compared_with_its_reference() -> None:
    least = Variant("least", PartialBM25(), reference=LESS)
    results = {FULL: result_columns((1,), (1,)), LESS: result_columns((1,), (7,)), least: result_columns((7,), (7,))}
    found = list(compare("set", Model("m", FULL, (LESS, least)), results, question_columns([1, 1])))
    first = [f for f in found if f.metric is Metric.RECALL and f.k == 5]
    assert [f.difference and (f.difference.reference, f.difference.value) for f in first] == [
        None, ("full", -0.5), ("less", -0.5),
    ]  # fmt: skip


def test_refusal_metrics_need_questions_of_their_kind() -> None:
    found = list(compare("set", Model("m", FULL), {FULL: result_columns((1,))}, question_columns([1])))
    assert {f.metric for f in found} == {Metric.RECALL, Metric.RECALL_ALL, Metric.FALSE_REFUSAL}
    unanswerable = list(
        compare("set", Model("m", FULL), {FULL: result_columns(())}, question_columns([0], answerable=[0]))
    )
    assert {f.metric for f in unanswerable} == {Metric.TRUE_REFUSAL}


@pytest.mark.medium
def test_equal_count_metrics_equal_values_computed_by_hand() -> None:
    """ERC by hand: the fired rows against as many first hits of the others, and at least as many as there is gold."""
    model = Model("m", FULL, (LESS,), frozenset({PaperMeasurement.EQUAL_COUNT}))
    results = {
        FULL: result_columns((1, 2), (2,), (5,), fired=(1, 2, 9)),
        LESS: result_columns((1, 2), (1,), (5,), fired=(2, 1, 0)),
        DENSE: result_columns((1, 2), (3,), (9,)),
    }
    found = list(compare("set", model, results, question_columns([2, 1, 1], answerable=[1, 1, 0])))
    erc = only_figure(found, "full", Metric.ERC)
    assert (erc.n, erc.value) == (2, 2 / 3)  # 1 of 2 and 1 of 1; the third is unanswerable
    assert only_figure(found, "full", Metric.ERC_MG).value == erc.value
    assert only_figure(found, "full", Metric.PRECISION).value == pytest.approx(2 / 3)
    assert only_figure(found, "full", Metric.FIRED_COUNT).value == 1.5
    assert only_figure(found, "full", Metric.ERC_GAIN).value == pytest.approx((2 - 1) / 3)
    less = only_figure(found, "less", Metric.ERC)
    assert less.value == 1
    assert less.difference is not None
    assert less.difference.value == pytest.approx(1 / 3)
    assert only_figure(found, "less", Metric.FIRED_COUNT).value == 1.5
    gain = only_figure(found, "less", Metric.ERC_GAIN)
    assert gain.value == pytest.approx((3 - 2) / 3)  # dense at the fired counts of "less"
    assert only_figure(found, "dense", Metric.ERC).value == pytest.approx(1 / 3)
    assert only_figure(found, "dense", Metric.ERC_MG).value == pytest.approx(2 / 3)
    assert only_figure(found, "dense", Metric.PRECISION).value == pytest.approx(1 / 3)
    assert not [f for f in found if f.strategy == "dense" and f.metric is Metric.FIRED_COUNT]


def test_no_fired_rows_give_no_equal_count_metrics() -> None:
    model = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.EQUAL_COUNT}))
    found = list(
        compare("set", model, {FULL: result_columns((1,)), DENSE: result_columns((1,))}, question_columns([1]))
    )
    assert Metric.ERC not in {f.metric for f in found}


def test_low_similarity_metrics_equal_values_computed_by_hand() -> None:
    """Where the gold is far from the question, ``full`` loses half of the recall and ``less`` all."""
    model = Model("m", FULL, (LESS,), frozenset({PaperMeasurement.LOW_SIMILARITY}))
    near, far = [(1.0,)] * 10, [(1.0,), (31.0,)] * 5
    results = {FULL: result_columns(*near, *far), LESS: result_columns(*near, *[(np.inf,)] * 10)}
    found = list(compare("set", model, results, question_columns([1] * 20, far=[0] * 10 + [1] * 10)))
    low = only_figure(found, "full", Metric.RECALL, 30, LOW_SIMILARITY)
    assert (low.n, low.value) == (10, 0.5)
    loss = only_figure(found, "full", Metric.LOSS, 30)
    assert (loss.n, loss.value) == (10, 1 - 0.5 / 0.75)
    assert loss.low < loss.value < loss.high
    assert only_figure(found, "less", Metric.LOSS, 30).value == 1
    too_few = list(compare("set", model, results, question_columns([1] * 20, far=[0] * 11 + [1] * 9)))
    assert Metric.LOSS not in {f.metric for f in too_few}
    none_found = {FULL: result_columns(*[(np.inf,)] * 20)}
    assert (
        only_figure(
            list(compare("set", model, none_found, question_columns([1] * 20, far=[1] * 20))), "full", Metric.LOSS, 30
        ).value
        == 0
    )


@pytest.mark.medium
def test_gate_metrics_equal_values_computed_by_hand() -> None:
    """The largest threshold below which fewer than 1 of 40 answerable questions lie, and the refusals at it."""
    model = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.GATE}))
    confidences = [0.4] + [0.5 + n / 100 for n in range(39)]
    results = {FULL: result_columns(*[(1,)] * 44, confidence=(*confidences, 0.1, 0.39, 0.4, 0.9))}
    found = list(compare("set", model, results, question_columns([1] * 44, answerable=[1] * 40 + [0] * 4)))
    threshold = only_figure(found, "full", Metric.THRESHOLD)
    assert (threshold.n, threshold.value) == (40, 0.4)
    refusals = only_figure(found, "full", Metric.GATE_REFUSAL)
    assert (refusals.n, refusals.value, refusals.category) == (4, 0.5, UNANSWERABLE)
    reordered = {FULL: result_columns(*[(1,)] * 44, confidence=(0.1, *confidences, 0.39, 0.4, 0.9))}
    found = list(compare("set", model, reordered, question_columns([1] * 44, answerable=[1] * 41 + [0] * 3)))
    assert only_figure(found, "full", Metric.THRESHOLD).value == 0.4  # 1 of 41 is less than 2.5%
    answerable_only = list(compare("set", model, {FULL: result_columns((1,))}, question_columns([1])))
    assert Metric.THRESHOLD not in {f.metric for f in answerable_only}


@pytest.mark.medium
def test_rivals_have_paper_metrics_only(monkeypatch: pytest.MonkeyPatch) -> None:
    gated = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.GATE}))
    rival = Model("other", LESS)
    monkeypatch.setattr(ablations, "MODELS", {"m": gated, "other": rival})
    assert ablation_run.variants_to_run([gated]) == [FULL, LESS, *BASELINES]
    assert ablation_run.variants_to_run([rival]) == [LESS, *BASELINES]
    results = {variant: result_columns((1,), (1,), confidence=(0.5, 0.4)) for variant in (FULL, LESS)}
    found = list(compare("set", gated, results, question_columns([1, 1], answerable=[1, 0])))
    assert {f.metric for f in found if f.strategy == "less"} == {Metric.THRESHOLD, Metric.GATE_REFUSAL}
    assert {f.metric for f in found if f.strategy == "full"} > {Metric.THRESHOLD, Metric.RECALL}


def test_equal_results_have_zero_difference() -> None:
    results = {variant: result_columns(*[(float(n % 7 + 1),) for n in range(50)]) for variant in (FULL, LESS)}
    found = list(compare("set", Model("m", FULL, (LESS,)), results, question_columns([1] * 50)))
    recall_figure = only_figure(found, "less", Metric.RECALL, 5)
    assert recall_figure.low < recall_figure.value < recall_figure.high
    assert recall_figure.difference == Difference("full", 0, 0, 0)
    assert intervals.bootstrap_interval(np.array([n % 7 < 5 for n in range(50)], np.float64)) == (
        recall_figure.low,
        recall_figure.high,
    )
