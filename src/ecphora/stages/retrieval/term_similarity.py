"""Term similarity: query terms matched by vector, as a memory may say "my dog" for "pets". Reasons name such terms."""

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...model import Query, Rows, Scores, Vectors
from . import dense

SAMPLE_SIZE = 512
"""The size of the evenly spread sample of vectors that mean and deviation are taken from."""
MAX_ZSCORE = 6.0
"""The cap of z-scores."""


def term_zscores(
    graph: Graph, query: Query, word_vectors: NDArray[np.float32], row_groups: tuple[Rows, ...]
) -> list[Scores]:
    """The z-scores of each group's rows in similarity to the word vectors, shape ``(rows, len(word_vectors))``.

    A row of -1, or one without a vector, has 0.
    """
    positions = graph.vector_positions
    distinct, group_index = np.unique(np.concatenate(row_groups), return_inverse=True)
    zscores = np.zeros((len(distinct), len(word_vectors)), np.float32)
    sample_vectors = graph.derive("sample of vectors", _sample_vectors)
    if len(sample_vectors):
        sample = dense.above_floor(np.vecdot(sample_vectors[:, None], word_vectors), query.similarity_floor)
        has = (distinct >= 0) & (positions[distinct] >= 0)
        similarity = dense.above_floor(
            np.vecdot(graph.vectors.rows(positions[distinct[has]])[:, None], word_vectors), query.similarity_floor
        )
        raw = (similarity - sample.mean(axis=0)) / np.maximum(sample.std(axis=0), 1e-6)
        zscores[has] = query.embedder_coverage * np.clip(raw, 0, MAX_ZSCORE)
    return np.split(zscores[group_index], np.cumsum([len(group) for group in row_groups])[:-1])


def _sample_vectors(graph: Graph, _: object) -> Vectors:
    """The vectors of an evenly spread sample of the episodes."""
    positions = graph.vector_positions[graph.episodes]
    positions = positions[positions >= 0]
    return graph.vectors.rows(positions[:: max(1, len(positions) // SAMPLE_SIZE)])
