"""Baselines on the same nodes and vectors: dense, BM25, their reciprocal rank fusion, recency."""

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Mask, Query, Scores
from ..ports import Activation
from ..stages.retrieval import bm25, dense, filters, fusion


def _mask_ineligible(scores: Scores, eligible: Mask) -> Scores:
    return np.where(eligible, scores, 0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Dense:
    """Cosine of the query's vector with each memory's."""

    name: str = "dense"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory that has a vector."""
        eligible = filters.eligible(graph, query)
        scores = _mask_ineligible(dense.cosine(graph, query), eligible)
        confidence = dense.confidence(scores, query)
        return Activation(scores, {"dense similarity": scores}, confidence=confidence, eligible=eligible)


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 over the terms of each memory."""

    k1: float = 1.2
    b: float = 0.75
    name: str = "bm25"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory that shares a term with the query; confidence is the best score over the maximum."""
        eligible = filters.eligible(graph, query)
        scores = _mask_ineligible(bm25.bm25(graph, query, k1=self.k1, b=self.b), eligible)
        maximum = bm25.max_score(graph, query, k1=self.k1)
        confidence = float(scores.max(initial=0.0)) / maximum if maximum else 0.0
        return Activation(scores, {"bm25": scores}, confidence=confidence, eligible=eligible)


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion of ``dense`` and ``bm25``.

    Gordon V. Cormack, Charles L. A. Clarke, Stefan Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and
    individual Rank Learning Methods", SIGIR 2009; k = 60 as published.
    """

    k: int = 60
    name: str = "rrf"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory by the sum of its reciprocal ranks."""
        eligible = filters.eligible(graph, query)
        dense_scores = _mask_ineligible(dense.cosine(graph, query), eligible)
        lexical_scores = _mask_ineligible(bm25.bm25(graph, query), eligible)
        contributions = {
            "dense similarity": fusion.reciprocal_rank(dense_scores, k=self.k),
            "bm25": fusion.reciprocal_rank(lexical_scores, k=self.k),
        }
        scores = np.add(contributions["dense similarity"], contributions["bm25"])
        confidence = dense.confidence(dense_scores, query)
        return Activation(scores, contributions, confidence=confidence, eligible=eligible)


@dataclass(frozen=True, slots=True)
class Recency:
    """The newest first, whatever the query."""

    name: str = "recency"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every episode by its rank in event time."""
        eligible = filters.eligible(graph, query)
        rows = np.flatnonzero(eligible)
        order = rows[np.lexsort((rows, graph.nodes["happened"][rows]))]
        scores = graph.zeros()
        scores[order] = np.arange(1, len(order) + 1) / max(1, len(order))
        return Activation(scores, {"recency": scores}, eligible=eligible)
