"""What every recall must beat, on the same nodes and vectors: dense, BM25, their reciprocal rank fusion, recency."""

from dataclasses import dataclass

import numpy as np

from ..graph import Graph
from ..model import Cue, Scores
from ..ports import Activation
from ..stages import choose, fuse, seed


def _alone(stage: str, scores: Scores) -> Activation:
    return Activation(scores, {stage: scores}, confidence=float(np.clip(scores.max(initial=0.0), 0, 1)))


def _may(graph: Graph, cue: Cue, scores: Scores) -> Scores:
    return np.where(choose.allowed(graph, cue), scores, 0).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Dense:
    """Cosine of the cue's vector with each memory's."""

    name: str = "dense"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score every memory that has a vector."""
        return _alone("meaning", _may(graph, cue, seed.meaning(graph, cue)))


@dataclass(frozen=True, slots=True)
class Bm25:
    """Okapi BM25 over the words of each memory."""

    k1: float = 1.2
    b: float = 0.75
    name: str = "bm25"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score every memory that shares a word with the cue; confidence is the share of the best possible score."""
        scores = _may(graph, cue, seed.words(graph, cue, k1=self.k1, b=self.b))
        best = seed.most(graph, cue, k1=self.k1)
        return Activation(scores, {"words": scores}, confidence=float(scores.max(initial=0.0)) / best if best else 0.0)


@dataclass(frozen=True, slots=True)
class Rrf:
    """Reciprocal rank fusion of ``dense`` and ``bm25``.

    Gordon V. Cormack, Charles L. A. Clarke, Stefan Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and
    individual Rank Learning Methods", SIGIR 2009; k = 60 as published.
    """

    k: int = 60
    name: str = "rrf"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score every memory by the sum of its reciprocal ranks."""
        meaning, words = _may(graph, cue, seed.meaning(graph, cue)), _may(graph, cue, seed.words(graph, cue))
        shares = {"meaning": fuse.reciprocal_rank(meaning, k=self.k), "words": fuse.reciprocal_rank(words, k=self.k)}
        scores = np.add(shares["meaning"], shares["words"])
        return Activation(scores, shares, confidence=float(np.clip(meaning.max(initial=0.0), 0, 1)))


@dataclass(frozen=True, slots=True)
class Recency:
    """The newest first, whatever is asked."""

    name: str = "recency"

    def activate(self, cue: Cue, graph: Graph, /) -> Activation:
        """Score every episode by its rank in event time."""
        rows = np.flatnonzero(choose.allowed(graph, cue))
        order = rows[np.lexsort((rows, graph.nodes["happened"][rows]))]
        scores = graph.zeros()
        scores[order] = np.arange(1, len(order) + 1) / max(1, len(order))
        return Activation(scores, {"recency": scores})
