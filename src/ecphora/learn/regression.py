"""Logistic regression by Newton's method."""

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

    ``sample_weights`` weighs the examples. The ridge pulls weights to ``prior``, which must have the signs. Newton's
    method runs on the weights that their sign does not hold at 0, each step halved until the loss falls.
    """

    def loss_of(weights: Numbers) -> float:
        odds = features @ weights
        return float(sample_weights @ (np.logaddexp(0, odds) - labels * odds) + 0.5 * ridge @ (weights - prior) ** 2)

    weights = prior.copy()
    loss = loss_of(weights)
    for _ in range(MAX_NEWTON_STEPS):
        probabilities = 1 / (1 + np.exp(-np.clip(features @ weights, -60, 60)))
        gradient = features.T @ (sample_weights * (probabilities - labels)) + ridge * (weights - prior)
        is_held = (sign != 0) & (weights * sign <= 0) & (gradient * sign >= 0)
        free = np.flatnonzero(~is_held)
        free_features = features[:, free]
        hessian = (free_features.T * (sample_weights * probabilities * (1 - probabilities))) @ free_features + np.diag(
            ridge[free]
        )
        direction = np.zeros_like(weights)
        direction[free] = np.linalg.solve(hessian, gradient[free])
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
