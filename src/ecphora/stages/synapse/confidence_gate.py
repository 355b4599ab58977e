"""SYNAPSE's gate: if the highest activation is below it, nothing is known; and its calibration by false refusals."""

from math import ceil

import numpy as np

from ...model import Floats
from ..retrieval.confidence import MIN_WEAK


def from_activation(max_activation: float, tau_gate: float) -> float:
    """The activation of the highest node as a confidence; below SYNAPSE's gate the band is NONE.

    Rises linearly from 0 to the lower edge of WEAK below the gate, and from there to 1 above it. The paper has two
    outcomes; the mapping to three bands is ours.
    """
    if max_activation < tau_gate:
        return min(MIN_WEAK * max_activation / tau_gate, float(np.nextafter(MIN_WEAK, 0)))
    above = (min(1.0, max_activation) - tau_gate) / (1 - tau_gate) if tau_gate < 1 else 1.0
    return MIN_WEAK + (1 - MIN_WEAK) * above


def calibrate_gate(answerable: Floats, max_false_refusals: float = 0.025) -> Floats:
    """The largest gate that refuses fewer answerable questions than ``max_false_refusals``: SYNAPSE's criterion.

    ``answerable`` has the gated values of answerable questions along its last axis, at least one.
    """
    rank = max(0, ceil(max_false_refusals * answerable.shape[-1]) - 1)
    gates: Floats = np.sort(answerable, axis=-1)[..., rank]
    return gates
