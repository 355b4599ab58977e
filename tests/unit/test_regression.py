"""Logistic regression and the conditional logit: optimal within the signs of the weights."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.maintenance.learn.regression import ChoiceSet, fit_logistic, fit_signed_choice, fit_signed_logistic

# ---- logistic regression


def examples(count: int = 400, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed
    features = np.column_stack([rng.normal(size=(count, 3)), np.ones(count)])
    log_odds = features @ np.array([1.5, -2.0, 0.0, 0.5])
    return features, (rng.random(count) < 1 / (1 + np.exp(-log_odds))).astype(float)


def test_inactive_sign_constraints_change_nothing() -> None:
    features, labels = examples()
    ridge = np.full(4, 0.1)
    unconstrained = fit_logistic(features, labels, ridge)
    sign = np.array([1.0, -1.0, 0.0, 0.0])
    constrained = fit_signed_logistic(features, labels, np.ones(len(labels)), ridge=ridge, sign=sign, prior=np.zeros(4))
    assert constrained == pytest.approx(unconstrained, abs=1e-4)
    assert unconstrained[0] > 1 > -1 > unconstrained[1]


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=4, max_size=4), st.integers(0, 3))
def test_signed_weights_are_optimal_within_their_signs(signs: list[float], seed: int) -> None:
    features, labels = examples(80, seed)
    sign, ridge, ones = np.array(signs), np.full(4, 0.5), np.ones(80)
    found = fit_signed_logistic(features, labels, ones, ridge=ridge, sign=sign, prior=np.zeros(4))
    assert (found * sign >= 0).all()

    def loss(point: np.ndarray) -> float:
        log_odds = features @ point
        return float(np.sum(np.logaddexp(0, log_odds) - labels * log_odds) + 0.25 * point @ point)

    for place in range(4):  # no step along an axis within the signs is better
        for step in (-1e-2, 1e-2):
            other = found.copy()
            other[place] += step
            assert other[place] * sign[place] < 0 or loss(other) >= loss(found) - 1e-6


def test_sample_weights_count_as_repetitions() -> None:
    features, labels = examples(60)
    counts = np.where(np.arange(60) < 20, 3.0, 1.0)
    repeated = np.repeat(np.arange(60), counts.astype(int))
    unconstrained, ridge = np.zeros(4), np.full(4, 0.3)
    weighted = fit_signed_logistic(features, labels, counts, ridge=ridge, sign=unconstrained, prior=unconstrained)
    assert weighted == pytest.approx(fit_logistic(features[repeated], labels[repeated], ridge), abs=1e-4)


def test_uninformative_examples_keep_the_prior() -> None:
    prior = np.array([0.5, -0.25, 0.0, 0.0])
    features = np.zeros((4, 4))
    found = fit_signed_logistic(features, np.ones(4), np.ones(4), ridge=np.ones(4), sign=np.zeros(4), prior=prior)
    assert found == pytest.approx(prior)


# ---- conditional logit


def choice_sets(count: int = 60, seed: int = 3) -> list[ChoiceSet]:
    """Sets of three to eight items, of which one or two are right: those with the best noisy sums of features."""
    rng = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed
    found = []
    for number in range(count):
        features = rng.normal(size=(3 + number % 6, 3))
        scores = features @ np.array([1.5, -1.0, 0.0]) + rng.gumbel(size=len(features))
        is_right = scores >= np.sort(scores)[-1 - number % 2]
        found.append(ChoiceSet(features, is_right, weight=0.5 + number % 3))
    return found


def choice_loss(sets: list[ChoiceSet], weights: np.ndarray) -> float:
    """The mean of -log p over the right items of each set; p is the softmax of one of them among all wrong ones."""
    total = 0.0
    for one in sets:
        exponentials = np.exp(one.features @ weights)
        wrong = exponentials[~one.is_right].sum()
        total += one.weight * np.mean([-np.log(value / (value + wrong)) for value in exponentials[one.is_right]])
    return float(total)


def fit(sets: list[ChoiceSet], ridge: float = 0.5, sign: tuple[float, ...] = (0.0,) * 3) -> np.ndarray:
    return fit_signed_choice(sets, ridge=np.full(3, ridge), sign=np.array(sign), prior=np.zeros(3))


@pytest.mark.medium
@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=3, max_size=3), st.integers(0, 3))
def test_choice_weights_are_optimal_within_their_signs(signs: list[float], seed: int) -> None:
    sets, sign = choice_sets(20, seed), np.array(signs)
    prior = np.where(sign == 0, 0.3, 0.3 * sign)
    found = fit_signed_choice(sets, ridge=np.full(3, 0.5), sign=sign, prior=prior)
    assert (found * sign >= 0).all()

    def loss(point: np.ndarray) -> float:
        return choice_loss(sets, point) + 0.25 * float((point - prior) @ (point - prior))

    for place in range(3):  # no step along an axis within the signs is better
        for step in (-1e-2, 1e-2):
            other = found.copy()
            other[place] += step
            assert other[place] * sign[place] < 0 or loss(other) >= loss(found) - 1e-6


@pytest.mark.medium
def test_choice_finds_the_weights_that_made_the_choices() -> None:
    found = fit([replace(one, weight=1.0) for one in choice_sets(600)], ridge=1e-3)
    assert found == pytest.approx([1.5, -1.0, 0.0], abs=0.35)
    assert fit(choice_sets(), sign=(-1.0, 0.0, 0.0))[0] == 0


def test_choice_between_two_is_a_logistic_regression_of_the_difference() -> None:
    rng = np.random.default_rng(5)  # noqa: TID251  # a fixed seed
    features, is_first = rng.normal(size=(40, 2, 3)), rng.random(40) < 0.5
    sets = [ChoiceSet(two, np.array([first, not first])) for two, first in zip(features, is_first, strict=True)]
    expected = fit_logistic(features[:, 0] - features[:, 1], is_first.astype(float), np.full(3, 0.5))
    assert fit(sets) == pytest.approx(expected, abs=1e-4)


@pytest.mark.medium
def test_choice_is_between_items_of_a_set_alone() -> None:
    """What all items of a set have in common changes nothing, be it ever so large."""
    shifted = [replace(one, features=one.features + 50.0 * place) for place, one in enumerate(choice_sets())]
    assert fit(shifted) == pytest.approx(fit(choice_sets()), abs=1e-4)


@pytest.mark.medium
def test_sets_of_right_or_of_wrong_items_say_nothing() -> None:
    features = np.arange(12.0).reshape(4, 3)
    silent = [ChoiceSet(features, np.full(4, is_right)) for is_right in (True, False)]
    prior = np.array([0.5, -0.25, 0.0])
    assert fit_signed_choice(silent, ridge=np.ones(3), sign=np.zeros(3), prior=prior) == pytest.approx(prior)
    assert fit([*choice_sets(), *silent]) == pytest.approx(fit(choice_sets()), abs=1e-6)


def test_weights_of_sets_count_as_repetitions() -> None:
    sets = [replace(one, weight=1.0 + 2 * (place < 5)) for place, one in enumerate(choice_sets(20))]
    repeated = [replace(one, weight=1.0) for one in sets for _ in range(round(one.weight))]
    assert fit(sets) == pytest.approx(fit(repeated), abs=1e-4)


def test_set_counts_the_same_however_many_of_its_items_are_right() -> None:
    one = ChoiceSet(np.array([[1.0, 0, 0], [0, 0, 0], [0, 1.0, 0]]), np.array([True, False, False]))
    twice = ChoiceSet(one.features[[0, 0, 1, 2]], np.array([True, True, False, False]))
    assert fit([twice]) == pytest.approx(fit([one]), abs=1e-5)


def test_items_without_differences_keep_the_prior() -> None:
    prior = np.array([0.5, -0.25, 0.0])
    same = [ChoiceSet(np.ones((4, 3)), np.array([True, False, False, False]))]
    assert fit_signed_choice(same, ridge=np.ones(3), sign=np.zeros(3), prior=prior) == pytest.approx(prior)


def test_far_apart_log_odds_do_not_overflow() -> None:
    features = np.array([[900.0, 0, 0], [-900.0, 0, 0], [0, 0, 0]])
    found = fit([ChoiceSet(features, np.array([False, True, False]))], ridge=1e-6)
    assert np.isfinite(found).all()
    assert found[0] < 0
