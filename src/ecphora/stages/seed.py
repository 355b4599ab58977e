"""What the cue touches directly: by meaning and by words, each row alone and read together with the row before it."""

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph
from ..model import Cue, Rows, Scores

Numbers = NDArray[np.floating] | NDArray[np.integer]

CONTEXT = 0.4
"""How much the vector of the row before weighs in a row's context vector. Measured: see docs/decisions.md."""
K1, B = 1.2, 0.75
"""BM25's saturation and length normalisation, at their textbook values."""


def meaning(graph: Graph, cue: Cue) -> Scores:
    """Cosine of the cue with each row's vector; 0 for rows without one."""
    scores = graph.zeros()
    vectors = graph.vectors.view
    if cue.vector is not None and len(vectors):
        # Not vectors @ cue.vector: BLAS wakes a second thread for it, which on a busy machine can cost 10 ms.
        scores[graph.vectored["rows"]] = np.einsum("ij,j->i", vectors, cue.vector)
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


def words(graph: Graph, cue: Cue, *, k1: float = K1, b: float = B) -> Scores:
    """Okapi BM25 of each row's words, with the idf of Robertson and Walker that is never negative.

    Stephen Robertson, Hugo Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, equation 3.15.
    """
    places, which = graph.postings(cue.words)
    rows, counts = graph.words["rows"][places], graph.words["counts"][places]
    lengths = graph.nodes["lengths"][rows]
    weights = idf(graph, np.bincount(which, minlength=len(cue.words)))
    return _summed(graph, rows, weights[which] * _saturated(counts, lengths / graph.mean_length, k1, b))


def words_in_context(graph: Graph, cue: Cue, *, k1: float = K1, b: float = B) -> Scores:
    """BM25 of each row's words together with those of the row before it, as if both were one text."""
    n, after = len(graph), graph.following
    places, which = graph.postings(cue.words)
    rows, counts = graph.words["rows"][places], graph.words["counts"][places]
    next_ = after[rows]
    followed = next_ >= 0
    # One number for each pair of a word and a row; the counts of a pair that occurs twice are added.
    pairs = np.concatenate([which * n + rows, which[followed] * n + next_[followed]])
    pairs, of = np.unique(pairs, return_inverse=True)
    together = np.bincount(of, np.concatenate([counts, counts[followed]]))
    which, rows = np.divmod(pairs, max(1, n))
    lengths, mean = graph.lengths_in_context
    weights = idf(graph, np.bincount(which, minlength=len(cue.words)))
    return _summed(graph, rows, weights[which] * _saturated(together, lengths[rows] / mean, k1, b))


def covered(graph: Graph, cue: Cue) -> Scores:
    """The part of the cue's words that each row holds, in 0..1, rare words counting more."""
    places, which = graph.postings(cue.words)
    weights = idf(graph, np.bincount(which, minlength=len(cue.words)))
    whole = float(weights.sum())
    if whole <= 0:
        return graph.zeros()
    return _summed(graph, graph.words["rows"][places], weights[which] / whole)


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


def _summed(graph: Graph, rows: Rows, values: Numbers) -> Scores:
    return np.bincount(rows, values, minlength=len(graph)).astype(np.float32)
