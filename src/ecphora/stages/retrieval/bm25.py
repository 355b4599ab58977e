"""BM25: lexical scores of each row alone, and of each row together with the row before it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...grouping import find_keys
from ...model import Mask, Query, Rows, Scores

Numbers = NDArray[np.floating] | NDArray[np.integer]

K1, B = 1.2, 0.75
"""BM25's saturation and length normalization, at their textbook values."""


@dataclass(frozen=True, slots=True)
class Postings:
    """The postings of a query's terms: an entry for each term that a row contains, by term and then by row.

    ``term_index`` is the index of an entry's term in the query, ``term_counts`` how often its row contains that term.
    ``idf`` has the idf of each query term, and ``in_corpus`` is True for each query term that any row contains.
    """

    graph: Graph
    rows: Rows
    term_index: Rows
    term_counts: Rows
    idf: NDArray[np.float64]
    in_corpus: Mask

    @staticmethod
    def for_query(graph: Graph, query: Query) -> "Postings":
        """Look up the terms of a query."""
        entries, term_index = graph.postings(query.term_hashes)
        order = np.argsort(term_index * len(graph) + graph.terms["rows"][entries], kind="stable")
        entries, term_index = entries[order], term_index[order]
        documents = np.bincount(term_index, minlength=len(query.term_hashes))
        return Postings(
            graph=graph,
            rows=graph.terms["rows"][entries].astype(np.intp),
            term_index=term_index,
            term_counts=graph.terms["counts"][entries].astype(np.intp),
            idf=idf(graph, documents).astype(np.float64),
            in_corpus=documents > 0,
        )

    def bm25(self, *, k1: float = K1, b: float = B) -> Scores:
        """See :func:`bm25`."""
        length = self.graph.nodes["lengths"][self.rows] / self.graph.mean_length
        return self._sum_by_row(self.rows, self.idf[self.term_index] * _saturate(self.term_counts, length, k1, b))

    def bm25_with_previous_turn(self, *, k1: float = K1, b: float = B) -> Scores:
        """See :func:`bm25_with_previous_turn`."""
        graph, rows, term_index, term_counts = self.graph, self.rows, self.term_index, self.term_counts
        if not len(rows):
            return graph.zeros()
        before = graph.previous_rows[rows]
        keys, previous_keys = term_index * len(graph) + rows, term_index * len(graph) + before
        place, is_found = find_keys(keys, previous_keys)
        in_both = (before >= 0) & is_found  # the row before has the same term
        only_previous = graph.next_rows[rows] >= 0
        only_previous[place[in_both]] = False  # the row after does not have it
        joint_counts = np.concatenate(
            [term_counts + np.where(in_both, term_counts[place], 0), term_counts[only_previous]]
        )
        rows = np.concatenate([rows, graph.next_rows[rows[only_previous]]])
        term_index = np.concatenate([term_index, term_index[only_previous]])
        weights = idf(graph, np.bincount(term_index, minlength=len(self.idf)))
        lengths, mean = graph.lengths_with_previous
        return self._sum_by_row(rows, weights[term_index] * _saturate(joint_counts, lengths[rows] / mean, k1, b))

    def idf_coverage(self) -> Scores:
        """See :func:`idf_coverage`."""
        idf_sum = float(self.idf.sum())
        return self._sum_by_row(self.rows, self.idf[self.term_index] / idf_sum) if idf_sum > 0 else self.graph.zeros()

    def _sum_by_row(self, rows: Rows, values: Numbers) -> Scores:
        return np.bincount(rows, values, minlength=len(self.graph)).astype(np.float32)


def bm25(graph: Graph, query: Query, *, k1: float = K1, b: float = B) -> Scores:
    """Okapi BM25 of each row's terms, with the idf of Robertson and Walker that is never negative.

    Stephen Robertson, Hugo Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, equation 3.15.
    """
    return Postings.for_query(graph, query).bm25(k1=k1, b=b)


def bm25_with_previous_turn(graph: Graph, query: Query, *, k1: float = K1, b: float = B) -> Scores:
    """BM25 of each row and the row before it, as if both were one text."""
    return Postings.for_query(graph, query).bm25_with_previous_turn(k1=k1, b=b)


def idf_coverage(graph: Graph, query: Query) -> Scores:
    """The idf-weighted fraction of the query's terms that each row contains, in 0..1."""
    return Postings.for_query(graph, query).idf_coverage()


def max_score(graph: Graph, query: Query, *, k1: float = K1) -> float:
    """The upper bound of a BM25 score: every query term, repeated without limit."""
    _, term_index = graph.postings(query.term_hashes)
    return float(idf(graph, np.bincount(term_index, minlength=len(query.term_hashes))).sum()) * (k1 + 1)


def idf(graph: Graph, document_counts: Numbers) -> Numbers:
    """The idf of terms by how many episodes contain each."""
    n = graph.episode_count
    return np.log1p((n - document_counts + 0.5) / (document_counts + 0.5))


def _saturate(term_counts: Numbers, relative_length: Numbers, k1: float, b: float) -> Numbers:
    """BM25's term-frequency factor; ``relative_length`` is the length over the mean length."""
    return term_counts * (k1 + 1) / (term_counts + k1 * (1 - b + b * relative_length))
