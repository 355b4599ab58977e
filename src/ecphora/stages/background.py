"""What likeness of two memories is nothing special, by the embedder and by what is stored: a quantile of cosines."""

import numpy as np

from ..graph import Earlier, Graph

SAMPLE = 256
"""Memories whose cosines with each other stand for those of all."""


def background(graph: Graph, quantile: float) -> float:
    """A quantile of the cosines of memories with each other, at least 0.

    From a sample spread evenly over the first memories, as many as the highest power of two that is not above their
    number: so it depends on the memories alone, not on when it was last asked for.
    """
    return graph.derived(("background", quantile), lambda grown, before: _sampled(grown, before, quantile))[1]


def _sampled(graph: Graph, before: Earlier[tuple[int, float]] | None, quantile: float) -> tuple[int, float]:
    vectors = graph.vectors.view
    if len(vectors) < 2:
        return 0, 0.0
    count = 1 << (len(vectors).bit_length() - 1)
    if before is not None and before.value[0] == count:
        return before.value
    some = vectors[np.arange(min(count, SAMPLE)) * count // min(count, SAMPLE)]
    cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
    return count, max(0.0, float(np.quantile(cosines, quantile)))
