"""Turn length: how much a turn says, whatever the query."""

import numpy as np

from ...graph import Graph
from ...model import Rows, Scores

SATURATION_LENGTH = 60
"""The length in terms from which a longer turn scores no more."""
DOCUMENT_SCORE = 0.7
"""The score of a text without a speaker, whatever its length: about that of a good turn, so that both can rank."""


def turn_length_score(graph: Graph, rows: Rows) -> Scores:
    """The logarithm of each turn's length in terms, scaled to 0..1: "Haha!" says little."""
    length = np.minimum(graph.nodes["lengths"][rows], SATURATION_LENGTH)
    score = np.log1p(length) / np.log1p(SATURATION_LENGTH)
    return np.where(graph.nodes["speakers"][rows] >= 0, score, DOCUMENT_SCORE).astype(np.float32)
