"""Personas, equation 9 of Cognitive Weave: what stands out in a speaker's particles, their insights and their use.

P_user = f({I_user}, {IA_user}, history) made computable: the names that the user's particles mention, weighted by the
importance of the particles, which grows with their use and with the insights drawn from them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import find_keys
from ...model.graph.graph import Graph
from ...model.types import MENTION_LINKS, Mask, Rows, Scores

MAX_KEYS = 20
"""A persona has at most so many names. Inferred."""


@dataclass(frozen=True, slots=True)
class Persona:
    """The names that stand out for some speakers: entity rows, ascending, and weights that sum to 1."""

    keys: Rows
    weights: NDArray[np.float64]


def persona(graph: Graph, speakers: Rows, importance: Scores, eligible: Mask) -> Persona:
    """The persona of some speakers, codes of ``graph.speakers``, from their eligible particles."""
    rows = np.flatnonzero(eligible & np.isin(graph.nodes["speakers"], speakers))
    edges, of_row = graph.edges_from(rows, *MENTION_LINKS)
    keys, index = np.unique(graph.edges["dst"][edges], return_inverse=True)
    weights = np.bincount(index, importance[rows[of_row]].astype(np.float64), len(keys)).astype(np.float64)
    best = np.sort(np.argsort(-weights, kind="stable")[:MAX_KEYS])
    total = weights[best].sum()
    return Persona(keys[best].astype(np.intp), weights[best] / total if total > 0 else weights[best])


def affinity(graph: Graph, found: Persona, rows: Rows) -> Scores:
    """How much of a persona each of some distinct rows mentions, in 0..1."""
    edges, of_row = graph.edges_from(rows, *MENTION_LINKS)
    index, is_key = find_keys(found.keys, graph.edges["dst"][edges])
    scores = np.bincount(of_row[is_key], found.weights[index[is_key]], len(rows))
    return np.minimum(1, scores).astype(np.float32)
