"""Logistic regression, by Newton's method. Pure numbers; it knows nothing of memories."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

NEWTON = 60
"""Steps after which a logistic regression is given up; it takes ten."""
STILL = 1e-6
"""A step that moves no weight further than this is the last."""


def logistic(features: Numbers, labels: Numbers, ridge: Numbers) -> Numbers:
    """The weights, one a feature, of a logistic regression with a ridge on each.

    ``features`` has shape ``(examples, features)``, ``labels`` are 0 or 1, ``ridge`` is the penalty of each weight's
    square, halved. A column of ones with a small ridge serves as the bias.
    """
    free = np.zeros(features.shape[1])
    return bounded(features, labels, np.ones(len(labels)), ridge=ridge, sign=free, prior=free)


def bounded(
    features: Numbers, labels: Numbers, counts: Numbers, *, ridge: Numbers, sign: Numbers, prior: Numbers
) -> Numbers:
    """Logistic regression whose weights keep a sign: not below 0 for +1, not above for -1, any for 0.

    ``counts`` says how much each example counts. The ridge draws to ``prior``, which keeps the signs. Newton's method
    on the weights that are not held at 0 by their sign, each step halved until the loss falls.
    """

    def loss_of(given: Numbers) -> float:
        odds = features @ given
        return float(counts @ (np.logaddexp(0, odds) - labels * odds) + 0.5 * ridge @ (given - prior) ** 2)

    weights = prior.copy()
    loss = loss_of(weights)
    for _ in range(NEWTON):
        p = 1 / (1 + np.exp(-np.clip(features @ weights, -60, 60)))
        slope = features.T @ (counts * (p - labels)) + ridge * (weights - prior)
        held = (sign != 0) & (weights * sign <= 0) & (slope * sign >= 0)
        free = np.flatnonzero(~held)
        part = features[:, free]
        curve = (part.T * (counts * p * (1 - p))) @ part + np.diag(ridge[free])
        move = np.zeros_like(weights)
        move[free] = np.linalg.solve(curve, slope[free])
        step, moved, better = 1.0, weights, loss
        while step > STILL:
            moved = weights - step * move
            moved = np.where((sign != 0) & (moved * sign < 0), 0, moved)
            better = loss_of(moved)
            if better <= loss:
                break
            step /= 2
        done = step <= STILL or float(np.abs(moved - weights).max(initial=0)) < STILL
        if better <= loss:
            weights, loss = moved, better
        if done:
            break
    return weights
