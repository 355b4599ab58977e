"""Baselines on the same nodes and vectors: dense, BM25, their reciprocal rank fusion, dense and reranker, recency."""

from dataclasses import dataclass

import numpy as np

from ..model.graph.graph import Graph
from ..model.ports import Activation, RowReranker
from ..model.types import PRIOR, Mask, Query, Scores
from ..retrieval import bm25, dense, filters, fusion


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
class DenseEnglish:
    """Cosine of the query's English vector with each memory's; nothing for a query without an English vector."""

    name: str = "dense-english"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory that has an English vector; confidence is the best cosine."""
        eligible = filters.eligible(graph, query)
        scores = _mask_ineligible(dense.cosine_with(graph, query.english_vector, use_english=True), eligible)
        confidence = min(1.0, float(scores.max(initial=0.0)))  # the query's similarity floor is of the other vectors
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
class Simple:
    """z + ``rerank_weight`` r for the best ``max_candidates`` memories by z; the others rank behind them, by z.

    z is the cosine of the query with a memory, as a z-score over the scope's episodes. If the query has an English
    vector, memories with an English vector are compared by it, and z-scores are taken of them and of the other memories
    separately. r is the log-odds that the reranker's first model gives a memory; it is asked even if there is no doubt.
    A memory that was not read counts as the worst memory that was read.
    """

    max_candidates: int = 24
    rerank_weight: float = 0.25
    name: str = "simple"

    def activate(self, query: Query, graph: Graph, /) -> Activation:
        """Score every memory that has a vector, by z alone."""
        return self._activate(query, graph, None)

    def activate_with_reranker(self, query: Query, graph: Graph, reranker: RowReranker, /) -> Activation:
        """Have the best by z read, and score every memory that has a vector."""
        return self._activate(query, graph, reranker)

    def _activate(self, query: Query, graph: Graph, reranker: RowReranker | None) -> Activation:
        eligible = filters.eligible(graph, query)
        zscores, has_vector = _cosine_zscores(graph, query)
        active = eligible & has_vector
        confidence = dense.confidence(_mask_ineligible(dense.cosine(graph, query), eligible), query)
        similarity = _mask_ineligible(zscores, active)
        reranking, prior = np.zeros((2, len(active)), np.float32)
        rows = np.flatnonzero(active)
        best = rows[fusion.top_k(similarity[rows], self.max_candidates)]
        if reranker is not None and len(best):
            log_odds = reranker(best, eligible)
            is_read = np.isfinite(log_odds)
            if is_read.any():
                reranking[rows] = self.rerank_weight * log_odds[is_read].min()
                reranking[best[is_read]] = self.rerank_weight * log_odds[is_read]
        prior[rows] = 1 - (similarity + reranking)[rows].min(initial=0.0)  # a score must be positive
        contributions = {PRIOR: prior, "dense similarity z-score": similarity, "reranking": reranking}
        scores = fusion.sum_contributions(contributions)
        return Activation(scores, contributions, confidence=confidence, eligible=eligible)


def _cosine_zscores(graph: Graph, query: Query) -> tuple[Scores, Mask]:
    """The cosine of the query with each episode as a z-score, as :class:`Simple` says, and which have a vector."""
    zscores, has_vector = graph.zeros(), np.zeros(len(graph), np.bool_)
    for vector, use_english in ((query.english_vector, True), (query.vector, False)):
        if vector is not None:
            positions = graph.text_vectors(use_english=use_english).positions
            rows = np.flatnonzero(graph.episodes & (positions >= 0) & ~has_vector)
            cosines = dense.cosine_with(graph, vector, use_english=use_english)[rows]
            zscores[rows] = _standardize(cosines)
            has_vector[rows] = True
    return zscores, has_vector


def _standardize(scores: Scores) -> Scores:
    """Scores with the mean 0 and the deviation 1; 0 if they do not vary."""
    deviation = float(scores.std()) if len(scores) else 0.0
    if deviation < 1e-6:
        return np.zeros_like(scores)
    return ((scores - scores.mean()) / deviation).astype(np.float32)


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
