"""What makes a spoken turn worth recalling before anything is asked. Documents have no such priors."""

import numpy as np

from ..graph import Graph
from ..model import Scores

FULL_LENGTH = 60
"""Words from which a longer turn says no more."""


def length(graph: Graph) -> Scores:
    """How much a spoken turn says, in 0..1, by the logarithm of its words: "Haha!" says little."""
    words = np.minimum(graph.nodes["lengths"], FULL_LENGTH)
    return (np.log1p(words) / np.log1p(FULL_LENGTH) * _spoken(graph)).astype(np.float32)


def statement(graph: Graph) -> Scores:
    """1 for each spoken turn that does not end by asking."""
    return (_spoken(graph) & ~graph.nodes["questions"]).astype(np.float32)


def _spoken(graph: Graph) -> Scores:
    return np.greater_equal(graph.nodes["speakers"], 0)
