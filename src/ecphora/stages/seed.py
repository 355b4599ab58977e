"""What the cue touches directly: by meaning and by words, each row alone and read together with the row before it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue, Mask, Rows, Scores, Vector

Numbers = NDArray[np.floating] | NDArray[np.integer]

CONTEXT = 0.4
"""How much the vector of the row before weighs in a row's context vector. Measured: see docs/decisions.md."""
K1, B = 1.2, 0.75
"""BM25's saturation and length normalisation, at their textbook values."""


def meaning(graph: Graph, cue: Cue) -> Scores:
    """Cosine of the cue with each row's vector; 0 for rows without one."""
    return cosines(graph, cue.vector)


def cosines(graph: Graph, vector: Vector | None) -> Scores:
    """Cosine of a vector with each row's; 0 for rows without one, or if there is none to compare with."""
    scores = graph.zeros()
    vectors = graph.vectors.view
    if vector is not None and len(vectors):
        # Not vectors @ vector: BLAS wakes a second thread for it, which on a busy machine can cost 10 ms.
        scores[graph.vectored["rows"]] = np.einsum("ij,j->i", vectors, vector)
    return scores


def in_context(graph: Graph, scores: Scores, *, share: float = CONTEXT) -> Scores:
    """Cosine of the cue with each row's vector plus ``share`` times that of the row before it.

    Computed from the rows' own cosines: (d_i + s d_p) / |v_i + s v_p|, |v_i + s v_p|² = 1 + s² + 2 s cos(i, p). So no
    second vector is stored, and a turn that is backfilled later changes the context of the turn after it.
    """
    before = graph.previous
    places = graph.vector_places
    linked = (before >= 0) & (places >= 0) & (places[before] >= 0)
    together = (scores + share * scores[before]) / np.sqrt(1 + share * share + 2 * share * graph.kinship)
    return np.where(linked, together, scores)


@dataclass(frozen=True, slots=True)
class Postings:
    """Where the words of a cue stand in a graph: an entry for each word that a row holds, by word and then by row.

    ``which`` is the place of an entry's word in the cue, ``counts`` how often its row holds that word. ``weights`` is
    the idf of each word of the cue, ``known`` says whether any row holds it.
    """

    graph: Graph
    rows: Rows
    which: Rows
    counts: Rows
    weights: NDArray[np.float64]
    known: Mask

    @staticmethod
    def of(graph: Graph, cue: Cue) -> "Postings":
        """Look the words of a cue up, once for all that reads them."""
        places, which = graph.postings(cue.words)
        order = np.argsort(which * len(graph) + graph.words["rows"][places], kind="stable")
        places, which = places[order], which[order]
        documents = np.bincount(which, minlength=len(cue.words))
        return Postings(
            graph=graph,
            rows=graph.words["rows"][places].astype(np.intp),
            which=which,
            counts=graph.words["counts"][places].astype(np.intp),
            weights=idf(graph, documents).astype(np.float64),
            known=documents > 0,
        )

    def words(self, *, k1: float = K1, b: float = B) -> Scores:
        """See :func:`words`."""
        length = self.graph.nodes["lengths"][self.rows] / self.graph.mean_length
        return self._summed(self.rows, self.weights[self.which] * _saturated(self.counts, length, k1, b))

    def words_in_context(self, *, k1: float = K1, b: float = B) -> Scores:
        """See :func:`words_in_context`."""
        graph, rows, which, counts = self.graph, self.rows, self.which, self.counts
        if not len(rows):
            return graph.zeros()
        before = graph.previous[rows]
        keys, wanted = which * len(graph) + rows, which * len(graph) + before
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        both = (before >= 0) & (keys[place] == wanted)  # the row before holds the same word
        alone = graph.following[rows] >= 0
        alone[place[both]] = False  # the row after does not
        together = np.concatenate([counts + np.where(both, counts[place], 0), counts[alone]])
        rows = np.concatenate([rows, graph.following[rows[alone]]])
        which = np.concatenate([which, which[alone]])
        weights = idf(graph, np.bincount(which, minlength=len(self.weights)))
        lengths, mean = graph.lengths_in_context
        return self._summed(rows, weights[which] * _saturated(together, lengths[rows] / mean, k1, b))

    def covered(self) -> Scores:
        """See :func:`covered`."""
        whole = float(self.weights.sum())
        return self._summed(self.rows, self.weights[self.which] / whole) if whole > 0 else self.graph.zeros()

    def _summed(self, rows: Rows, values: Numbers) -> Scores:
        return np.bincount(rows, values, minlength=len(self.graph)).astype(np.float32)


def words(graph: Graph, cue: Cue, *, k1: float = K1, b: float = B) -> Scores:
    """Okapi BM25 of each row's words, with the idf of Robertson and Walker that is never negative.

    Stephen Robertson, Hugo Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, equation 3.15.
    """
    return Postings.of(graph, cue).words(k1=k1, b=b)


def words_in_context(graph: Graph, cue: Cue, *, k1: float = K1, b: float = B) -> Scores:
    """BM25 of each row's words together with those of the row before it, as if both were one text."""
    return Postings.of(graph, cue).words_in_context(k1=k1, b=b)


def covered(graph: Graph, cue: Cue) -> Scores:
    """The part of the cue's words that each row holds, in 0..1, rare words counting more."""
    return Postings.of(graph, cue).covered()


def most(graph: Graph, cue: Cue, *, k1: float = K1) -> float:
    """The BM25 score that no text can exceed: every word of the cue, endlessly often."""
    _, which = graph.postings(cue.words)
    return float(idf(graph, np.bincount(which, minlength=len(cue.words))).sum()) * (k1 + 1)


def idf(graph: Graph, documents: Numbers) -> Numbers:
    """The weights of words that stand in so many episodes each."""
    n = int(graph.episodes.sum())
    return np.log1p((n - documents + 0.5) / (documents + 0.5))


def _saturated(counts: Numbers, length: Numbers, k1: float, b: float) -> Numbers:
    """The part of BM25 that grows ever less with repetition; ``length`` is relative to the mean."""
    return counts * (k1 + 1) / (counts + k1 * (1 - b + b * length))
