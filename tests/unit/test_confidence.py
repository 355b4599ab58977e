"""Bands of evidence and confidence."""

import numpy as np

from ecphora.model import Evidence
from ecphora.stages.retrieval import confidence
from ecphora.testing import sample_graph, sample_query


def test_confidence_falls_into_bands_of_evidence() -> None:
    assert [confidence.band(value) for value in (0, 0.199, 0.2, 0.499, 0.5, 1)] == [
        Evidence.NONE, Evidence.NONE, Evidence.WEAK, Evidence.WEAK, Evidence.STRONG, Evidence.STRONG,
    ]  # fmt: skip


def test_confidence_rises_with_covered_terms() -> None:
    graph = sample_graph()
    queries = [sample_query(text, vector=None) for text in ("river lovely", "river zorro", "zorro")]
    ones = graph.episodes.astype(np.float32)
    found = [confidence.heuristic_confidence(graph, query, ones, graph.zeros(), ones) for query in queries]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[1] > found[2] == 0
    assert confidence.heuristic_confidence(graph, queries[0], graph.zeros(), graph.zeros(), ones) == 0
