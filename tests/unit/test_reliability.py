"""The reliability curve of a confidence, compared with values computed by hand."""

import numpy as np
import pytest

from ecphora.maintenance.learn import metrics
from ecphora_bench.recall import intervals
from ecphora_bench.recall.reliability import calibration_error, reliability_bins


def test_bins_have_equally_many_questions() -> None:
    confidence = np.arange(100) / 100
    bins = reliability_bins(confidence, np.arange(100) % 2 == 0)
    assert [one.n for one in bins] == [10] * 10
    assert [one.confidence for one in bins] == pytest.approx(np.arange(10) / 10 + 0.045)
    assert [one.answerable for one in bins] == pytest.approx([0.5] * 10)
    assert sum(one.weight for one in bins) == pytest.approx(1)


@pytest.mark.parametrize(("questions", "bins"), [(2, 1), (19, 1), (20, 2), (99, 9), (100, 10), (300, 10)])
def test_few_questions_have_few_bins(questions: int, bins: int) -> None:
    numbers = np.arange(questions)
    assert len(reliability_bins(numbers / questions, numbers % 2 == 0)) == bins


def test_questions_of_equal_confidence_share_a_bin() -> None:
    confidence = np.array([0.2] * 50 + [0.8] * 50)
    bins = reliability_bins(confidence, np.arange(100) >= 60)
    assert [one.n for one in bins] == [50, 50]
    assert [one.confidence for one in bins] == pytest.approx([0.2, 0.8])
    shuffled = np.random.default_rng(1).permutation(100)  # noqa: TID251  # any fixed order but the sorted one
    assert [one.answerable for one in reliability_bins(confidence[shuffled], shuffled >= 60)] == pytest.approx(
        [one.answerable for one in bins]
    )


def test_both_kinds_of_questions_have_the_same_weight() -> None:
    """Of 18 answerable and 2 unanswerable questions at one confidence, half is answerable, as calibrated."""
    [one, other] = reliability_bins(np.array([0.3] * 10 + [0.6] * 10), np.array(([True] * 9 + [False]) * 2))
    assert [one.answerable, other.answerable] == pytest.approx([0.5, 0.5])
    assert [one.weight, other.weight] == pytest.approx([0.5, 0.5])
    assert calibration_error([one, other]) == pytest.approx((0.2 + 0.1) / 2)


def test_interval_of_a_bin_is_that_of_its_weighted_share() -> None:
    [one] = reliability_bins(np.full(10, 0.4), np.array([True] * 8 + [False] * 2))
    assert one.low < 0.5 < one.high
    assert one.answerable == pytest.approx(0.5)


def test_brier_score_equals_worked_example() -> None:
    positives, negatives = np.array([1.0, 0.8, 0.5]), np.array([0.0, 0.4])
    expected = ((0 + 0.04 + 0.25) / 3 + (0 + 0.16) / 2) / 2
    assert metrics.brier_score(positives, negatives) == pytest.approx(expected)
    assert metrics.brier_score(np.full(3, 0.5), np.full(9, 0.5)) == 0.25
    low, high = intervals.brier_bootstrap_interval(positives, negatives)
    assert 0 <= low < expected < high
