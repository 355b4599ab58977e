"""Cognitive tunneling in SYNAPSE, §2.10, 2: hubs that suppress a detail; how it is detected, and the remedies."""

from dataclasses import replace

import numpy as np

from ...model import Rows, Scores
from .dual_trigger import TriggerResult
from .layer_edges import EdgeList
from .spreading_activation import Dynamics, Iteration, inhibit_and_activate

MAX_TUNNELING = 0.2
"""The tunneling index above which the last iteration is repeated with less inhibition. inferred."""
TOP_ANCHORS = 5
"""How many anchors of each trigger the tunneling index looks at."""


def anchor_floor(trigger: TriggerResult) -> Scores:
    """The floor of inhibition: anchors of both triggers are never inhibited below their initial activation."""
    floor = np.zeros_like(trigger.initial_activation)
    shared = np.intersect1d(trigger.lexical_anchors, trigger.dense_anchors)
    floor[shared] = trigger.initial_activation[shared]
    return floor


def has_tunneling(trigger: TriggerResult, results: Rows, iteration: Iteration) -> bool:
    """Whether too many of the best anchors are suppressed and missing from the results."""
    return tunneling_index(top_anchors(trigger), results, iteration) > MAX_TUNNELING


def top_anchors(trigger: TriggerResult) -> Rows:
    """The anchors that the tunneling index looks at: the best of both triggers."""
    return np.union1d(trigger.lexical_anchors[:TOP_ANCHORS], trigger.dense_anchors[:TOP_ANCHORS])


def tunneling_index(anchors: Rows, results: Rows, iteration: Iteration) -> float:
    """The share of anchors that lost more than half to inhibition and are missing from the results, in 0..1."""
    if not len(anchors):
        return 0.0
    loss = iteration.u[anchors] - iteration.u_hat[anchors]
    return float(((loss > iteration.u[anchors] / 2) & ~np.isin(anchors, results)).mean())


def repeat_with_less_inhibition(iteration: Iteration, edges: EdgeList, dynamics: Dynamics, floor: Scores) -> Iteration:
    """The last iteration with half of β, and with each inhibitor's part divided by ``1 + ln fan``.

    ``edges`` are all edges that leave the rows that the iteration reached.
    """
    fan = edges.fan(len(iteration.u))
    halved = replace(dynamics, beta=dynamics.beta / 2)
    return inhibit_and_activate(iteration, halved, floor, divisor=1 + np.log(np.maximum(1, fan)))
