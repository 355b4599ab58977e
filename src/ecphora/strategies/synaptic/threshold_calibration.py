"""The similarity threshold of an embedder and a graph: a quantile of the cosines between episodes."""

import numpy as np

from ...model.graph.graph import CachedDerivation, Graph
from ...retrieval import dense

SAMPLE_SIZE = 256
"""How many episodes are sampled."""


def cosine_quantile(graph: Graph, quantile: float, floor: float = 0.0) -> float:
    """A quantile of the cosines of episodes with each other, counted from ``floor``, at least 0.

    From a sample spread evenly over the first episodes, as many as the highest power of two that is not above their
    number: so it depends on the episodes alone, not on when it was last asked for.
    """
    found = graph.derive(
        ("similarity threshold", quantile), lambda grown, before: _sample_quantile(grown, before, quantile)
    )[1]
    return float(np.maximum(0, dense.above_floor(np.asarray(found, np.float32), floor)))


def _sample_quantile(
    graph: Graph, before: CachedDerivation[tuple[int, float]] | None, quantile: float
) -> tuple[int, float]:
    positions = np.flatnonzero(graph.episodes[graph.vector_rows["rows"]])
    if len(positions) < 2:
        return 0, 0.0
    count = 1 << (len(positions).bit_length() - 1)
    if before is not None and before.value[0] == count:
        return before.value
    sample = graph.vectors.rows(positions[np.arange(min(count, SAMPLE_SIZE)) * count // min(count, SAMPLE_SIZE)])
    cosines = (sample @ sample.T)[np.triu_indices(len(sample), 1)]
    return count, float(np.quantile(cosines, quantile))
