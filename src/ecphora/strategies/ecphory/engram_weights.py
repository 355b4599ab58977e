"""Weights of engrams: specificity, importance, and the certainty that they are names. EcphoryRAG, 4.11 and 4.12.3."""

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import Graph
from ...model.types import DEFAULT_IMPORTANCE, MAX_IMPORTANCE, Rows
from ...retrieval.entity_links import rarity
from .engram_index import EngramIndex, Similarities

SINGLE_CERTAINTY, DOUBLE_CERTAINTY = 0.5, 0.75
"""The certainty that an engram is a name, found in one way or in two. Inferred, EcphoryRAG, section 4.12.3."""


def specificity(graph: Graph, mention_counts: NDArray[np.int64]) -> Similarities:
    """The specificity of entities by their mention counts: their rarity among the memories, in 0..1."""
    values: Similarities = rarity(mention_counts, graph.episode_count).astype(np.float32)
    return values


def certainty(index: EngramIndex, places: Rows) -> Similarities:
    """The certainty that engrams are names: higher for engrams found both in texts and in titles."""
    title_counts = index.title_counts[places]
    found_twice = (title_counts > 0) & (index.mention_counts[places] > title_counts)
    return np.where(found_twice, DOUBLE_CERTAINTY, SINGLE_CERTAINTY).astype(np.float32)


def importance_factor(index: EngramIndex, places: Rows) -> Similarities:
    """0.8 + 0.04 importance (4.11), the mean of an engram's descriptions, over the value for the default importance.

    So it is 1 for an engram without a description.
    """
    counts = index.description_counts[places]
    mean = MAX_IMPORTANCE * index.importance_sums[places] / np.maximum(1, counts)
    importance = np.where(counts > 0, mean, DEFAULT_IMPORTANCE)
    factor: Similarities = ((0.8 + 0.04 * importance) / (0.8 + 0.04 * DEFAULT_IMPORTANCE)).astype(np.float32)
    return factor
