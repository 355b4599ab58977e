"""Rarity: an entity that many memories mention says little about each of them.

It is the specificity of Karen Spärck Jones, "A statistical interpretation of term specificity and its application in
retrieval", 1972, smoothed, and divided by that of an entity with a single mention. HippoRAG's node specificity 1 / m
falls too steeply for dialogue, where the entities that matter are mentioned often. Terms have BM25's own idf instead
(:func:`.bm25.idf`).
"""

import numpy as np
from numpy.typing import NDArray


def rarity(mention_counts: NDArray[np.float64] | NDArray[np.int64], memory_count: int) -> NDArray[np.float64]:
    """ln(1 + n / m) / ln(1 + n) of entities with m mentions in n memories, in 0..1: 1 for one mention."""
    n = max(1, memory_count)
    return np.log1p(n / np.maximum(1, mention_counts)) / np.log1p(n)
