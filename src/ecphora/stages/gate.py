"""Whether what came back is good enough to say."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue, Evidence, Scores
from . import people, seed

CONSIDERED = 5
"""How many of the best memories are asked whether they answer the cue."""
FAR, NEAR = 0.2, 0.7
"""Cosines at which the default embedder finds two texts unrelated, and at which it finds them close."""

STRONG = 0.5
WEAK = 0.2
"""Confidence from which evidence is strong, and from which it is weak rather than none."""


def band(confidence: float) -> Evidence:
    """The evidence band of a confidence in 0..1."""
    if confidence >= STRONG:
        return Evidence.STRONG
    return Evidence.WEAK if confidence >= WEAK else Evidence.NONE


def confidence(graph: Graph, cue: Cue, scores: Scores, meaning: Scores, direct: Scores) -> float:
    """How sure it is that the memory holds the answer, in 0..1; hand-set, not yet calibrated.

    The mean of how close the best memories come in meaning and how much of the cue's words they cover together with
    the turn before them. Where the cue names a person, only what that person said counts, and it counts the less the
    better somebody else's words fit: the same story may be told of another. ``direct`` are scores in parts of the best.
    """
    mask = graph.episodes & (scores > 0)
    meant = people.speaks(graph, cue)
    theirs = 1.0
    if meant.any():
        mask &= meant > 0
        theirs = float(direct[mask].max(initial=0.0))
    rows = np.flatnonzero(mask)
    if not len(rows):
        return 0.0
    rows = rows[np.argsort(-scores[rows], kind="stable")][:CONSIDERED]
    before = graph.previous[rows]
    covered = seed.covered(graph, cue)
    words = np.maximum(covered[rows], np.where(before >= 0, covered[before], 0)).max()
    near = np.clip((meaning[rows].max() - FAR) / (NEAR - FAR), 0, 1) * cue.meaning
    return float(theirs**2 * (words + near) / (1 + cue.meaning))


def banded(highest: float, tau_gate: float) -> float:
    """The activation of the highest node as a confidence, rising with it; below SYNAPSE's gate evidence is NONE.

    Linear from 0 to the lower edge of WEAK below the gate, and from there to 1 above it. The paper knows two outcomes;
    how they lie in three bands is ours.
    """
    if highest < tau_gate:
        return min(WEAK * highest / tau_gate, float(np.nextafter(WEAK, 0)))
    above = (min(1.0, highest) - tau_gate) / (1 - tau_gate) if tau_gate < 1 else 1.0
    return WEAK + (1 - WEAK) * above


def calibrated(answerable: NDArray[np.float64], false_refusals: float = 0.025) -> NDArray[np.float64]:
    """The largest gate below which less than this part of some answerable questions lies: SYNAPSE's criterion.

    ``answerable`` has their values of what is gated along its last axis, at least one.
    """
    most = max(0, ceil(false_refusals * answerable.shape[-1]) - 1)
    gates: NDArray[np.float64] = np.sort(answerable, axis=-1)[..., most]
    return gates
