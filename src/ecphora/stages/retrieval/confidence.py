"""Confidence that the recalled memories hold the answer, and its bands."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...model import Evidence, Query, Scores
from . import bm25, speakers

TOP_HITS = 5
"""How many of the best memories the confidence is computed from."""
UNRELATED_COSINE, CLOSE_COSINE = 0.2, 0.7
"""Cosines of the default embedder for two unrelated texts and for two close ones."""

MIN_STRONG = 0.5
MIN_WEAK = 0.2
"""The lowest confidences of the bands STRONG and WEAK; below both the band is NONE."""


def band(confidence: float) -> Evidence:
    """The answerability band of a confidence in 0..1."""
    if confidence >= MIN_STRONG:
        return Evidence.STRONG
    return Evidence.WEAK if confidence >= MIN_WEAK else Evidence.NONE


def heuristic_confidence(graph: Graph, query: Query, scores: Scores, cosine: Scores, first_stage: Scores) -> float:
    """The confidence that the memory holds the answer, in 0..1; hand-set, not calibrated.

    The mean of two numbers: how close the best memories are by cosine, and how much of the query's terms they cover
    together with the turn before them. If the query names one speaker, only that speaker's turns count, and they count
    less the better another speaker's turns match: the same story may be told of somebody else. ``first_stage`` are
    scores divided by the best.
    """
    mask = graph.episodes & (scores > 0)
    named = speakers.named_speaker_scores(graph, query)
    speaker_fit = 1.0
    if named.any():
        mask &= named > 0
        speaker_fit = float(first_stage[mask].max(initial=0.0))
    rows = np.flatnonzero(mask)
    if not len(rows):
        return 0.0
    rows = rows[np.argsort(-scores[rows], kind="stable")][:TOP_HITS]
    previous = graph.previous_rows[rows]
    coverage = bm25.idf_coverage(graph, query)
    lexical = np.maximum(coverage[rows], np.where(previous >= 0, coverage[previous], 0)).max()
    closeness = (
        np.clip((cosine[rows].max() - UNRELATED_COSINE) / (CLOSE_COSINE - UNRELATED_COSINE), 0, 1)
        * query.embedder_coverage
    )
    return float(speaker_fit**2 * (lexical + closeness) / (1 + query.embedder_coverage))


def from_activation(max_activation: float, tau_gate: float) -> float:
    """The activation of the highest node as a confidence; below SYNAPSE's gate the band is NONE.

    Rises linearly from 0 to the lower edge of WEAK below the gate, and from there to 1 above it. The paper has two
    outcomes; the mapping to three bands is ours.
    """
    if max_activation < tau_gate:
        return min(MIN_WEAK * max_activation / tau_gate, float(np.nextafter(MIN_WEAK, 0)))
    above = (min(1.0, max_activation) - tau_gate) / (1 - tau_gate) if tau_gate < 1 else 1.0
    return MIN_WEAK + (1 - MIN_WEAK) * above


def calibrate_gate(answerable: NDArray[np.float64], max_false_refusals: float = 0.025) -> NDArray[np.float64]:
    """The largest gate that refuses fewer answerable questions than ``max_false_refusals``: SYNAPSE's criterion.

    ``answerable`` has the gated values of answerable questions along its last axis, at least one.
    """
    rank = max(0, ceil(max_false_refusals * answerable.shape[-1]) - 1)
    gates: NDArray[np.float64] = np.sort(answerable, axis=-1)[..., rank]
    return gates
