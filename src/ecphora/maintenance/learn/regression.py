"""Logistic regression, pointwise and listwise, by Newton's method."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MAX_NEWTON_STEPS = 60
"""The maximum of Newton steps; about ten are needed."""
TOLERANCE = 1e-6
"""A step that changes no weight by more than this is the last."""


def fit_logistic(features: Numbers, labels: Numbers, ridge: Numbers) -> Numbers:
    """Return the weights, one per feature, of a logistic regression with a ridge penalty.

    ``features`` has shape ``(examples, features)``, ``labels`` are 0 or 1, ``ridge`` is the penalty of each weight's
    square, halved. A column of ones with a small ridge serves as the bias.
    """
    free = np.zeros(features.shape[1])
    return fit_signed_logistic(features, labels, np.ones(len(labels)), ridge=ridge, sign=free, prior=free)


def fit_signed_logistic(
    features: Numbers, labels: Numbers, sample_weights: Numbers, *, ridge: Numbers, sign: Numbers, prior: Numbers
) -> Numbers:
    """Fit a logistic regression whose weights keep a sign: not below 0 for +1, not above for -1, any for 0.

    ``sample_weights`` weighs the examples. The ridge pulls weights to ``prior``, which must have the signs.
    """

    def loss(weights: Numbers) -> float:
        odds = features @ weights
        return float(sample_weights @ (np.logaddexp(0, odds) - labels * odds))

    def curvature(weights: Numbers) -> tuple[Numbers, Numbers]:
        probabilities = 1 / (1 + np.exp(-np.clip(features @ weights, -60, 60)))
        gradient = features.T @ (sample_weights * (probabilities - labels))
        hessian = (features.T * (sample_weights * probabilities * (1 - probabilities))) @ features
        return gradient, hessian

    return _minimize(_Objective(loss, curvature), ridge=ridge, sign=sign, prior=prior)


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceSet:
    """Items of which some are right: ``features`` of shape ``(items, features)``, ``is_right`` of shape ``(items,)``.

    ``weight`` says how much it counts.
    """

    features: Numbers
    is_right: NDArray[np.bool_]
    weight: float = 1.0


def fit_signed_choice(choice_sets: list[ChoiceSet], *, ridge: Numbers, sign: Numbers, prior: Numbers) -> Numbers:
    """Fit a conditional logit: each right item is to have a high softmax probability among itself and all wrong ones.

    Daniel McFadden, "Conditional Logit Analysis of Qualitative Choice Behavior", 1973. A set counts the same however
    many right items it has. Sets without a right or a wrong item say nothing. The arguments are the same as for
    :func:`fit_signed_logistic`.
    """
    usable = [one for one in choice_sets if one.is_right.any() and not one.is_right.all()]

    def loss(weights: Numbers) -> float:
        total = 0.0
        for one in usable:
            odds = one.features @ weights
            right, wrong = odds[one.is_right], odds[~one.is_right]
            highest = wrong.max()
            log_wrong = highest + np.log(np.exp(wrong - highest).sum())
            total += one.weight * float(np.logaddexp(0, log_wrong - right).mean())
        return total

    def curvature(weights: Numbers) -> tuple[Numbers, Numbers]:
        gradient, hessian = np.zeros(len(weights)), np.zeros((len(weights), len(weights)))
        for one in usable:
            odds = one.features @ weights
            right, wrong = odds[one.is_right], odds[~one.is_right]
            highest = wrong.max()
            shares = np.exp(wrong - highest)
            log_wrong = highest + np.log(shares.sum())
            shares /= shares.sum()
            mean_wrong = shares @ one.features[~one.is_right]
            centered = one.features[~one.is_right] - mean_wrong
            spread = (centered.T * shares) @ centered
            chance_wrong = 1 / (1 + np.exp(np.clip(right - log_wrong, -60, 60)))
            differences = one.features[one.is_right] - mean_wrong
            scale = one.weight / len(right)
            gradient -= scale * (chance_wrong @ differences)
            hessian += scale * (
                float(chance_wrong.sum()) * spread + (differences.T * (chance_wrong * (1 - chance_wrong))) @ differences
            )
        return gradient, hessian

    return _minimize(_Objective(loss, curvature), ridge=ridge, sign=sign, prior=prior)


@dataclass(frozen=True, slots=True, eq=False)
class _Objective:
    """A convex loss of weights, and its gradient and Hessian."""

    loss: Callable[[Numbers], float]
    curvature: Callable[[Numbers], tuple[Numbers, Numbers]]


def _minimize(objective: _Objective, *, ridge: Numbers, sign: Numbers, prior: Numbers) -> Numbers:
    """The weights of least loss with a ridge to ``prior``, within their signs.

    Newton's method runs on the weights that their sign does not hold at 0, each step halved until the loss falls.
    """

    def loss_of(weights: Numbers) -> float:
        return objective.loss(weights) + float(0.5 * ridge @ (weights - prior) ** 2)

    weights = prior.copy()
    loss = loss_of(weights)
    for _ in range(MAX_NEWTON_STEPS):
        gradient, hessian = objective.curvature(weights)
        gradient = gradient + ridge * (weights - prior)
        is_held = (sign != 0) & (weights * sign <= 0) & (gradient * sign >= 0)
        free = np.flatnonzero(~is_held)
        direction = np.zeros_like(weights)
        direction[free] = np.linalg.solve(hessian[np.ix_(free, free)] + np.diag(ridge[free]), gradient[free])
        step, candidate, candidate_loss = 1.0, weights, loss
        while step > TOLERANCE:
            candidate = weights - step * direction
            candidate = np.where((sign != 0) & (candidate * sign < 0), 0, candidate)
            candidate_loss = loss_of(candidate)
            if candidate_loss <= loss:
                break
            step /= 2
        is_done = step <= TOLERANCE or float(np.abs(candidate - weights).max(initial=0)) < TOLERANCE
        if candidate_loss <= loss:
            weights, loss = candidate, candidate_loss
        if is_done:
            break
    return weights
