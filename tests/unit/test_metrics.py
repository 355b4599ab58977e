"""The measures, compared with values computed by hand."""

from math import log2

import numpy as np
import pytest

from ecphora.maintenance.learn import metrics
from ecphora_bench.recall import intervals

RANKED = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize(
    ("gold", "k", "fraction", "any_", "all_"),
    [
        ({"a"}, 1, 1, 1, 1),
        ({"b"}, 1, 0, 0, 0),
        ({"b"}, 2, 1, 1, 1),
        ({"a", "d"}, 3, 1 / 2, 1, 0),
        ({"a", "d"}, 4, 1, 1, 1),
        ({"a", "x", "y"}, 5, 1 / 3, 1, 0),
        ({"x"}, 5, 0, 0, 0),
        ({"a", "b", "c"}, 2, 2 / 3, 1, 0),
        ({"e"}, 30, 1, 1, 1),
    ],
)
def test_recall_equals_worked_examples(gold: set[str], k: int, fraction: float, any_: float, all_: float) -> None:
    found = frozenset(gold)
    assert metrics.recall_at_k(RANKED, found, k) == pytest.approx(fraction)
    assert metrics.recall_any_at_k(RANKED, found, k) == any_
    assert metrics.recall_all_at_k(RANKED, found, k) == all_


@pytest.mark.parametrize(
    ("gold", "k", "expected"),
    [
        ({"a"}, 10, 1.0),
        ({"b"}, 10, 1 / log2(3)),
        ({"a", "b"}, 10, 1.0),
        ({"b", "c"}, 10, (1 / log2(3) + 1 / 2) / (1 + 1 / log2(3))),
        ({"a", "x"}, 10, 1 / (1 + 1 / log2(3))),
        ({"a", "b", "c"}, 2, 1.0),  # no order of two could be better
        ({"c"}, 2, 0.0),
        ({"x"}, 10, 0.0),
    ],
)
def test_ndcg_equals_worked_examples(gold: set[str], k: int, expected: float) -> None:
    assert metrics.ndcg(RANKED, frozenset(gold), k) == pytest.approx(expected)


def test_metrics_without_hits_are_zero() -> None:
    gold = frozenset({"a"})
    assert [
        measure((), gold, 5)
        for measure in (metrics.recall_at_k, metrics.recall_any_at_k, metrics.recall_all_at_k, metrics.ndcg)
    ] == [0] * 4


@pytest.mark.parametrize(
    ("positives", "negatives", "expected"),
    [
        ([2, 3], [0, 1], 1.0),
        ([0, 1], [2, 3], 0.0),
        ([1, 1], [1, 1, 1], 0.5),
        ([1, 3], [2], 0.5),
        ([1, 2, 3], [2, 0], (1 + 1.5 + 2) / 6),  # 1 beats 0; 2 beats 0 and ties with 2; 3 beats both
    ],
)
def test_auroc_equals_worked_examples(positives: list[float], negatives: list[float], expected: float) -> None:
    assert metrics.auroc(np.array(positives, float), np.array(negatives, float)) == pytest.approx(expected)


def test_interval_of_equal_values_is_their_value() -> None:
    assert intervals.bootstrap_interval(np.full(7, 0.25)) == (0.25, 0.25)
    assert intervals.bootstrap_interval(np.array([0.5])) == (0.5, 0.5)


def test_interval_of_a_mean_is_near_the_normal_one() -> None:
    values = np.repeat([0.0, 1.0], 200)
    low, high = intervals.bootstrap_interval(values)
    error = 1.96 * 0.5 / 20  # of a mean of 400 with deviation 1/2
    assert low == pytest.approx(0.5 - error, abs=0.01)
    assert high == pytest.approx(0.5 + error, abs=0.01)
    assert intervals.bootstrap_interval(values) == (low, high)


def test_interval_of_a_percentile_contains_it() -> None:
    values = np.arange(101, dtype=float)
    low, high = intervals.bootstrap_interval(values, intervals.percentile(50))
    assert low < intervals.percentile(50)(values) == 50 < high


@pytest.mark.medium
def test_interval_of_auroc_contains_it() -> None:
    assert intervals.auroc_bootstrap_interval(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == (1.0, 1.0)
    low, high = intervals.auroc_bootstrap_interval(np.array([1.0, 2.0, 3.0] * 9), np.array([2.0, 0.0] * 9))
    assert 0 < low < 0.75 < high < 1


@pytest.mark.medium
def test_resamples_of_equally_many_questions_use_the_same_draws() -> None:
    values = np.modf(np.arange(40) * 0.618)[0]
    np.testing.assert_allclose(intervals.resample(values + 0.25) - intervals.resample(values), 0.25)
    low, high = intervals.percentile_interval(intervals.resample(values))
    assert (low, high) == intervals.bootstrap_interval(values)
    positive = np.array([0.9, 0.8, 0.7] * 5)
    negative = np.array([0.6, 0.1] * 5)
    np.testing.assert_array_equal(
        intervals.resample_auroc(positive, negative), intervals.resample_auroc(positive * 2, negative * 2)
    )


def test_ratio_of_sums_differs_from_the_mean_ratio() -> None:
    numerators, denominators = np.array([1.0, 0.0, 0.0] * 20), np.array([1.0, 1.0, 4.0] * 20)
    samples = intervals.resample_ratios(numerators, denominators)
    assert 0 < samples.min() < samples.max() < 1
    assert samples.mean() == pytest.approx(1 / 6, abs=0.01)  # the mean of the ratios would be 1 / 3
    assert (intervals.resample_ratios(np.ones(3), np.zeros(3)) == 0).all()


def test_gate_refusals_count_questions_below_the_threshold() -> None:
    positive, negative = np.full(60, 0.5), np.array([0.1] * 30 + [0.9] * 10)
    samples = intervals.resample_gate_refusals(positive, negative, 0.025)
    assert samples.shape == (intervals.RESAMPLES,)
    assert samples.mean() == pytest.approx(0.75, abs=0.02)
