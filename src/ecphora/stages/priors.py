"""What makes a memory worth recalling before anything is asked: that it says something."""

import numpy as np

from ..graph import Graph
from ..model import Rows, Scores

FULL_LENGTH = 60
"""Words from which a longer turn says no more."""
DOCUMENT = 0.7
"""What a text without a speaker counts, whatever its length: about a good turn, so that neither drowns the other."""


def length(graph: Graph, rows: Rows) -> Scores:
    """How much some turns say, in 0..1, by the logarithm of their words: "Haha!" says little."""
    words = np.minimum(graph.nodes["lengths"][rows], FULL_LENGTH)
    said = np.log1p(words) / np.log1p(FULL_LENGTH)
    return np.where(graph.nodes["speakers"][rows] >= 0, said, DOCUMENT).astype(np.float32)
