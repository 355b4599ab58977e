"""Term coverage: which query terms some rows contain, themselves or among the turns around them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...model import Mask, Rows, Scores
from .bm25 import Postings

WINDOW_SIZE = 3
"""How many turns before and after a row belong to its window."""


@dataclass(frozen=True, slots=True)
class TermCoverage:
    """The distinct terms of a query against some rows.

    ``idf`` is the idf of each term, and ``in_corpus`` is True for a term that any memory contains. ``in_row`` and
    ``in_window`` say which rows contain a term, themselves or in their window; both have shape ``(rows, terms)``.
    """

    idf: NDArray[np.float64]
    in_corpus: Mask
    in_row: NDArray[np.bool_]
    in_window: NDArray[np.bool_]

    def weighted_fraction(self, mask: NDArray[np.bool_]) -> Scores:
        """The idf-weighted fraction of the query's terms under each row of ``mask``, in 0..1."""
        fractions: Scores = (mask @ self.idf / max(float(self.idf.sum()), 1e-6)).astype(np.float32)
        return fractions

    def rarest_term(self) -> Scores:
        """The idf of the rarest term that each row contains itself, divided by the highest idf."""
        highest = max(float(self.idf.max(initial=0)), 1e-6)
        return np.max(self.in_row * (self.idf / highest), axis=1, initial=0).astype(np.float32)


def term_coverage(postings: Postings, rows: Rows) -> TermCoverage:
    """Look up the query terms in some rows and in their windows."""
    graph = postings.graph
    window = window_rows(graph, rows)
    index = np.full(len(graph) + 1, -1, np.intp)  # its last entry stands for no row
    index[window.ravel()] = np.arange(window.size)
    index[-1] = window.size
    entry_index = index[postings.rows]
    in_any_window = entry_index >= 0
    contains = np.zeros((window.size + 1, len(postings.idf)), np.bool_)
    contains[entry_index[in_any_window], postings.term_index[in_any_window]] = True
    in_window = contains[index[window]]
    return TermCoverage(postings.idf, postings.in_corpus, in_window[0], np.logical_or.reduce(in_window, axis=0))


def window_rows(graph: Graph, rows: Rows) -> Rows:
    """Each row, the turns before it, then those after it, nearest first; -1 for none.

    The shape is ``(1 + 2 * WINDOW_SIZE, len(rows))``.
    """
    window = [rows]
    for neighbors in (graph.previous_rows, graph.next_rows):
        step = rows
        for _ in range(WINDOW_SIZE):
            step = np.where(step >= 0, neighbors[step], -1)
            window.append(step)
    return np.stack(window)
