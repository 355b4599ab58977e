"""EISA's similarity gate θ_sim: a memory is retrieved if its cosine is at least a quantile of random pairs' cosines."""

import math

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Mask, Rows, Scores
from .side_network import SideNet, map_vectors

MAX_SAMPLE_PAIRS = 2_048
"""How many pairs of stored vectors the threshold is set from."""
_PLASTIC_NUMBER = 1.32471795724474602596


def is_similar(cosine: Scores, theta_sim: float) -> Mask:
    """R = { e : cos(v, e.v) ≥ θ_sim }: the gate is on the cosine alone, without the order (§3.6)."""
    mask: Mask = cosine >= theta_sim
    return mask


def cosine_quantile(graph: Graph, quantile: float, net: SideNet | None) -> float:
    """A quantile of the cosines of stored pairs, both mapped by the net; -inf if there is no pair.

    Derived once per graph.
    """
    key = ("theta_sim", quantile, net)
    found: float = graph.derive(key, lambda grown, _: _sample_quantile(grown, quantile, net))
    return found


def _sample_quantile(graph: Graph, quantile: float, net: SideNet | None) -> float:
    positions = np.flatnonzero(graph.episodes[graph.vector_rows["rows"]])
    first, second = sample_pairs(len(positions))
    if not len(first):
        return -math.inf
    first_vectors, second_vectors = (
        map_vectors(net, graph.vectors.view[positions[indices]]) for indices in (first, second)
    )
    return float(np.quantile(np.einsum("ij,ij->i", first_vectors, second_vectors), quantile))


def sample_pairs(count: int) -> tuple[Rows, Rows]:
    """Pairs of n items, spread evenly without randomness: all, or ``MAX_SAMPLE_PAIRS`` of a low-discrepancy sequence.

    Martin Roberts' R2: multiples of the powers of the inverse plastic number, modulo 1.
    """
    if count * (count - 1) // 2 <= MAX_SAMPLE_PAIRS:
        first, second = np.triu_indices(count, 1)
        return first, second
    steps = np.arange(1, MAX_SAMPLE_PAIRS + 1)
    first, second = (np.floor(steps * _PLASTIC_NUMBER**-power % 1 * count).astype(np.intp) for power in (1, 2))
    return first[first != second], second[first != second]
