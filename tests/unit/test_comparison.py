"""Figures of variants, compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ecphora import strategies
from ecphora.bench.ablation import ablation_run, ablations
from ecphora.bench.ablation.ablations import BASELINES, DENSE, Model, PaperMeasurement, Variant
from ecphora.bench.ablation.comparison import compare
from ecphora.bench.ablation.result_columns import QuestionColumns, ResultColumns
from ecphora.bench.ablation.synapse_metrics import LOW_SIMILARITY
from ecphora.bench.recall import metrics
from ecphora.bench.recall.run_records import UNANSWERABLE, Difference, Figure, Metric
from ecphora.graph import Graph
from ecphora.model import Query
from ecphora.ports import Activation


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


def of(found: Sequence[Figure], strategy: str, metric: Metric, k: int | None = None, category: str = "") -> Figure:
    [one] = [f for f in found if (f.strategy, f.metric, f.k) == (strategy, metric, k) and category in ("", f.category)]
    return one


def replies(*places: tuple[float, ...], confidence: Sequence[float] = (), fired: Sequence[int] = ()) -> ResultColumns:
    counts = np.array(fired or [0] * len(places), np.float64)
    caught = [sum(place <= count for place in some) for some, count in zip(places, counts.tolist(), strict=True)]
    sure = np.array(confidence or [0.5] * len(places), np.float64)
    return ResultColumns(places, sure, counts, np.array(caught, np.float64))


def asked(
    gold: Sequence[int], *, answerable: Sequence[int] = (), far: Sequence[int] = (), several: Sequence[int] = ()
) -> QuestionColumns:
    return QuestionColumns(
        np.array(answerable or [1] * len(gold), np.bool_),
        np.array(gold, np.float64),
        np.array(far or [0] * len(gold), np.bool_),
        np.array(several or [0] * len(gold), np.bool_),
    )


FULL = Variant("full", Way())


LESS = Variant("less", Way())


def test_all_of_the_evidence_and_questions_of_several_hops() -> None:
    given = {FULL: replies((1, 6), (2, 12), (5,))}
    found = list(compare("set", Model("m", FULL), given, asked([2, 2, 1], several=[0, 1, 0])))
    assert of(found, "full", Metric.RECALL_ALL, 5).value == pytest.approx(1 / 3)
    assert of(found, "full", Metric.RECALL, 10, category="multi-hop").value == 0.5


def test_only_answerable_questions_with_gold_are_ranked() -> None:
    model = Model("m", FULL, (LESS,))
    given = {
        FULL: replies((1, 7), (3,), (), (1,), confidence=(0.9, 0.1, 0.3, 0.15)),
        LESS: replies((1, 40), (np.inf,), (), (1,), confidence=(0.9, 0.9, 0.9, 0.9)),
    }
    found = list(compare("set", model, given, asked([2, 1, 0, 1], answerable=[1, 1, 1, 0])))
    assert [of(found, "full", Metric.RECALL, k).value for k in (5, 10, 30)] == [0.75, 1, 1]
    less = of(found, "less", Metric.RECALL, 10, "answerable")
    assert (less.n, less.value) == (2, 0.25)
    assert less.difference is not None
    assert less.difference.value == -0.75  # the mean of -1/2 and -1
    assert (less.difference.low, less.difference.high) == (-1, -0.5)
    false, right = (of(found, "full", metric) for metric in (Metric.FALSE_REFUSAL, Metric.TRUE_REFUSAL))
    assert (false.n, false.value, false.category) == (3, 1 / 3, "answerable")
    assert (right.n, right.value, right.category) == (1, 1, UNANSWERABLE)
    area = of(found, "full", Metric.AUROC)
    assert (area.n, area.value) == (4, 2 / 3)
    assert of(found, "less", Metric.AUROC).value == 0.5


def test_a_variant_may_be_compared_with_another_than_the_whole() -> None:
    least = Variant("least", Way(), reference=LESS)
    given = {FULL: replies((1,), (1,)), LESS: replies((1,), (7,)), least: replies((7,), (7,))}
    found = list(compare("set", Model("m", FULL, (LESS, least)), given, asked([1, 1])))
    first = [f for f in found if f.metric is Metric.RECALL and f.k == 5]
    assert [f.difference and (f.difference.reference, f.difference.value) for f in first] == [
        None, ("full", -0.5), ("less", -0.5),
    ]  # fmt: skip


def test_without_unanswerable_questions_nothing_can_be_refused_rightly() -> None:
    found = list(compare("set", Model("m", FULL), {FULL: replies((1,))}, asked([1])))
    assert {f.metric for f in found} == {Metric.RECALL, Metric.RECALL_ALL, Metric.FALSE_REFUSAL}
    none = list(compare("set", Model("m", FULL), {FULL: replies(())}, asked([0], answerable=[0])))
    assert {f.metric for f in none} == {Metric.TRUE_REFUSAL}


def test_equal_counts() -> None:
    """ERC by hand: what fired against the first as many of others, and at least as many as there is gold."""
    model = Model("m", FULL, (LESS,), frozenset({PaperMeasurement.EQUAL_COUNT}))
    given = {
        FULL: replies((1, 2), (2,), (5,), fired=(1, 2, 9)),
        LESS: replies((1, 2), (1,), (5,), fired=(2, 1, 0)),
        DENSE: replies((1, 2), (3,), (9,)),
    }
    found = list(compare("set", model, given, asked([2, 1, 1], answerable=[1, 1, 0])))
    erc = of(found, "full", Metric.ERC)
    assert (erc.n, erc.value) == (2, 2 / 3)  # 1 of 2 and 1 of 1; the third is unanswerable
    assert of(found, "full", Metric.ERC_MG).value == erc.value
    assert of(found, "full", Metric.PRECISION).value == pytest.approx(2 / 3)
    assert of(found, "full", Metric.FIRED_COUNT).value == 1.5
    assert of(found, "full", Metric.ERC_GAIN).value == pytest.approx((2 - 1) / 3)
    less = of(found, "less", Metric.ERC)
    assert less.value == 1
    assert less.difference is not None
    assert less.difference.value == pytest.approx(1 / 3)
    assert of(found, "less", Metric.FIRED_COUNT).value == 1.5
    assert of(found, "less", Metric.ERC_GAIN).value == pytest.approx((3 - 2) / 3)  # dense by what fired in "less"
    assert of(found, "dense", Metric.ERC).value == pytest.approx(1 / 3)
    assert of(found, "dense", Metric.ERC_MG).value == pytest.approx(2 / 3)
    assert of(found, "dense", Metric.PRECISION).value == pytest.approx(1 / 3)
    assert not [f for f in found if f.strategy == "dense" and f.metric is Metric.FIRED_COUNT]


def test_nothing_fired_leaves_no_equal_counts() -> None:
    model = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.EQUAL_COUNT}))
    found = list(compare("set", model, {FULL: replies((1,)), DENSE: replies((1,))}, asked([1])))
    assert Metric.ERC not in {f.metric for f in found}


def test_low_similarity() -> None:
    """Where the gold is far from the question, ``full`` loses a half, ``less`` everything."""
    model = Model("m", FULL, (LESS,), frozenset({PaperMeasurement.LOW_SIMILARITY}))
    near, far = [(1.0,)] * 10, [(1.0,), (31.0,)] * 5
    given = {FULL: replies(*near, *far), LESS: replies(*near, *[(np.inf,)] * 10)}
    found = list(compare("set", model, given, asked([1] * 20, far=[0] * 10 + [1] * 10)))
    there = of(found, "full", Metric.RECALL, 30, LOW_SIMILARITY)
    assert (there.n, there.value) == (10, 0.5)
    loss = of(found, "full", Metric.LOSS, 30)
    assert (loss.n, loss.value) == (10, 1 - 0.5 / 0.75)
    assert loss.low < loss.value < loss.high
    assert of(found, "less", Metric.LOSS, 30).value == 1
    few = list(compare("set", model, given, asked([1] * 20, far=[0] * 11 + [1] * 9)))
    assert Metric.LOSS not in {f.metric for f in few}
    lost = {FULL: replies(*[(np.inf,)] * 20)}
    assert of(list(compare("set", model, lost, asked([1] * 20, far=[1] * 20))), "full", Metric.LOSS, 30).value == 0


def test_the_gate() -> None:
    """The largest threshold below which fewer than 1 of 40 answerable questions lie, and what else lies there."""
    model = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.GATE}))
    sure = [0.4] + [0.5 + n / 100 for n in range(39)]
    given = {FULL: replies(*[(1,)] * 44, confidence=(*sure, 0.1, 0.39, 0.4, 0.9))}
    found = list(compare("set", model, given, asked([1] * 44, answerable=[1] * 40 + [0] * 4)))
    at = of(found, "full", Metric.THRESHOLD)
    assert (at.n, at.value) == (40, 0.4)
    refused = of(found, "full", Metric.GATE_REFUSAL)
    assert (refused.n, refused.value, refused.category) == (4, 0.5, UNANSWERABLE)
    more = {FULL: replies(*[(1,)] * 44, confidence=(0.1, *sure, 0.39, 0.4, 0.9))}
    found = list(compare("set", model, more, asked([1] * 44, answerable=[1] * 41 + [0] * 3)))
    assert of(found, "full", Metric.THRESHOLD).value == 0.4  # 1 of 41 is less than 2.5%
    without = list(compare("set", model, {FULL: replies((1,))}, asked([1])))
    assert Metric.THRESHOLD not in {f.metric for f in without}


def test_rivals_stand_only_in_the_special_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Model("m", FULL, paper_measurements=frozenset({PaperMeasurement.GATE}))
    theirs = Model("other", LESS)
    monkeypatch.setattr(ablations, "MODELS", {"m": ours, "other": theirs})
    assert ablation_run.variants_to_run([ours]) == [FULL, LESS, *BASELINES]
    assert ablation_run.variants_to_run([theirs]) == [LESS, *BASELINES]
    given = {way: replies((1,), (1,), confidence=(0.5, 0.4)) for way in (FULL, LESS)}
    found = list(compare("set", ours, given, asked([1, 1], answerable=[1, 0])))
    assert {f.metric for f in found if f.strategy == "less"} == {Metric.THRESHOLD, Metric.GATE_REFUSAL}
    assert {f.metric for f in found if f.strategy == "full"} > {Metric.THRESHOLD, Metric.RECALL}


def test_equal_answers_differ_by_nothing() -> None:
    given = {way: replies(*[(float(n % 7 + 1),) for n in range(50)]) for way in (FULL, LESS)}
    found = list(compare("set", Model("m", FULL, (LESS,)), given, asked([1] * 50)))
    same = of(found, "less", Metric.RECALL, 5)
    assert same.low < same.value < same.high
    assert same.difference == Difference("full", 0, 0, 0)
    assert metrics.bootstrap_interval(np.array([n % 7 < 5 for n in range(50)], np.float64)) == (same.low, same.high)
