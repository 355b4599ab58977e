"""The objective of a synthesis, equation 6 of Cognitive Weave: what a summary leaves unsaid, and what it costs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...language.token_count import estimate_tokens
from ...model import Node, Vectors

Floats = NDArray[np.float64]


def objective(sentence_vectors: Vectors, source_vectors: Vectors, weights: Floats, cost: float) -> float:
    """Equation 6 made computable: L = - sum_i w_i max_s cos(s, i) + cost, over the sentences s of a summary.

    ``source_vectors`` has the unit vectors of the sources, shape ``(sources, dim)``, ``weights`` their w_i. ``cost`` is
    lambda Comp: the tokens of the summary, times the cost of a token.
    """
    if not len(sentence_vectors):
        return cost
    relevance = np.maximum(0, source_vectors @ sentence_vectors.T).max(axis=1)
    return float(-(weights * relevance).sum() + cost)


def token_costs(sources: Sequence[Node], token_cost: float) -> Floats:
    """The cost of quoting each source: Comp of equation 6 as its tokens, times lambda."""
    return np.array([token_cost * max(1, estimate_tokens(node.text)) for node in sources])
