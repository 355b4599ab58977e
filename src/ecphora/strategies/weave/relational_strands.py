"""Associations: strands between similar memories. Cognitive Weave, 5.3."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ...consolidation.insights.clustering import Floats32, key_overlap
from ...model.graph.graph import Graph
from ...model.types import Edge, Link, Rows, Scores


def new_strands(
    graph: Graph,
    neighbors: Iterable[tuple[int, Rows, Scores]],
    strength: Callable[[Floats32, Floats32], Floats32],
) -> Iterator[Edge]:
    """Strands from rows to similar ones that have no link yet: pattern-based creation, 3.4.2; equation 8 linear.

    ``neighbors`` are rows, each with others that are similar and their cosines; ``strength`` weighs cosines and the
    overlap of keys.
    """
    for row, others, cosines in neighbors:
        overlap = key_overlap(graph, np.concatenate([[row], others]))[0, 1:]
        for other, weight in zip(others.tolist(), strength(cosines, overlap).tolist(), strict=True):
            yield Edge(graph.id(row), graph.id(other), Link.ASSOCIATION, weight)
