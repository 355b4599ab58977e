"""SYNAPSE's gate: if the highest activation is below it, nothing is known; and its calibration by false refusals.

A small graph has no gate (docs/explanation/papers.md 2.8 and 2.10).
"""

from math import ceil

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Floats, Kind
from ...retrieval.confidence import DEFAULT_BANDS

MIN_NODES = 10
"""A graph with fewer nodes is too small for the gate and for spreading: the paper's cold start."""

GATE_CONFIDENCE = DEFAULT_BANDS.weak
"""The confidence of an activation at the gate: by default the lowest that is not NONE."""


def is_cold_start(graph: Graph) -> bool:
    """Whether a graph has too few nodes; stored questions, descriptions and exchanges do not count."""
    return len(graph) - int(graph.of_kind(Kind.QUESTION, Kind.DESCRIPTION, Kind.EXCHANGE).sum()) < MIN_NODES


def from_activation(max_activation: float, tau_gate: float) -> float:
    """The activation of the highest node as a confidence; below SYNAPSE's gate the default band is NONE.

    Rises linearly from 0 to :data:`GATE_CONFIDENCE` below the gate, and from there to 1 above it. The paper has two
    outcomes; the mapping to three bands is ours.
    """
    if max_activation < tau_gate:
        return min(GATE_CONFIDENCE * max_activation / tau_gate, float(np.nextafter(GATE_CONFIDENCE, 0)))
    above = (min(1.0, max_activation) - tau_gate) / (1 - tau_gate) if tau_gate < 1 else 1.0
    return GATE_CONFIDENCE + (1 - GATE_CONFIDENCE) * above


def calibrate_gate(answerable: Floats, max_false_refusals: float = 0.025) -> Floats:
    """The largest gate that refuses fewer answerable questions than ``max_false_refusals``: SYNAPSE's criterion.

    ``answerable`` has the gated values of answerable questions along its last axis, at least one.
    """
    rank = max(0, ceil(max_false_refusals * answerable.shape[-1]) - 1)
    gates: Floats = np.sort(answerable, axis=-1)[..., rank]
    return gates
