"""What likeness of two episodes is nothing special, by the embedder and by what is stored: a quantile of cosines."""

import numpy as np

from ..graph import Earlier, Graph

SAMPLE = 256
"""Episodes whose cosines with each other stand for those of all."""


def background(graph: Graph, quantile: float) -> float:
    """A quantile of the cosines of episodes with each other, at least 0.

    From a sample spread evenly over the first episodes, as many as the highest power of two that is not above their
    number: so it depends on the episodes alone, not on when it was last asked for.
    """
    return graph.derived(("background", quantile), lambda grown, before: _sampled(grown, before, quantile))[1]


def _sampled(graph: Graph, before: Earlier[tuple[int, float]] | None, quantile: float) -> tuple[int, float]:
    told = np.flatnonzero(graph.episodes[graph.vectored["rows"]])
    if len(told) < 2:
        return 0, 0.0
    count = 1 << (len(told).bit_length() - 1)
    if before is not None and before.value[0] == count:
        return before.value
    some = graph.vectors.view[told[np.arange(min(count, SAMPLE)) * count // min(count, SAMPLE)]]
    cosines = (some @ some.T)[np.triu_indices(len(some), 1)]
    return count, max(0.0, float(np.quantile(cosines, quantile)))
