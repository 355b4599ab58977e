"""Cognitive tunneling in SYNAPSE, §2.10, 2: hubs that suppress a detail; how it is detected, and a remedy."""

import numpy as np

from ...model.types import Rows, Scores
from .dual_trigger import TriggerResult
from .spreading_activation import Iteration

TOP_ANCHORS = 5
"""How many anchors of each trigger the tunneling index looks at."""


def anchor_floor(trigger: TriggerResult) -> Scores:
    """The floor of inhibition: anchors of both triggers are never inhibited below their initial activation."""
    floor = np.zeros_like(trigger.initial_activation)
    shared = np.intersect1d(trigger.lexical_anchors, trigger.dense_anchors)
    floor[shared] = trigger.initial_activation[shared]
    return floor


def top_anchors(trigger: TriggerResult) -> Rows:
    """The anchors that the tunneling index looks at: the best of both triggers."""
    return np.union1d(trigger.lexical_anchors[:TOP_ANCHORS], trigger.dense_anchors[:TOP_ANCHORS])


def tunneling_index(anchors: Rows, results: Rows, iteration: Iteration) -> float:
    """The share of anchors that lost more than half to inhibition and are missing from the results, in 0..1."""
    if not len(anchors):
        return 0.0
    loss = iteration.u[anchors] - iteration.u_hat[anchors]
    return float(((loss > iteration.u[anchors] / 2) & ~np.isin(anchors, results)).mean())
