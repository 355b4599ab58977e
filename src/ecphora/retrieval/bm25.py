"""BM25: lexical scores of each row alone, and of each row together with the row before it; and counts of words.

Term coverage says which query terms some rows contain, themselves or among the turns around them.

The words of a memory or a question are counted in scripts with spaces and without: both have the terms of a text, not
the text. In a script without spaces, such as Chinese, each character and each pair of characters is a term.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..language.terms import count_unspaced, hash_terms
from ..model.graph.columns import find_keys
from ..model.graph.graph import CachedDerivation, Graph
from ..model.types import Mask, Query, Rows, Scores

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


CHARACTERS_PER_WORD = 5
"""How many characters and pairs of a script without spaces count as one word; inferred from translated texts."""
CHARACTERS_PER_QUESTION_WORD = 3
"""The same where a question may be too long: fewer, so that a dialogue of 50 characters is not taken for a question."""
START_SHIFT = 12
"""A hash without its last bits, so many, is its start."""
MIN_CHARACTER_SHARE = 0.25
"""The share of single characters of such a script among the distinct terms from which a text is written in it."""


def word_counts(graph: Graph) -> NDArray[np.float32]:
    """How many words each row has, stop words not counted; for a grown graph only new rows are read."""
    return graph.derive("word counts", _extend_word_counts)


def question_word_count(term_hashes: NDArray[np.uint32]) -> float:
    """How many different words a question has, stop words not counted, from its distinct terms."""
    count = len(term_hashes)
    return count / CHARACTERS_PER_QUESTION_WORD if lacks_spaces(term_hashes) else float(count)


def lacks_spaces(term_hashes: NDArray[np.uint32]) -> bool:
    """Whether a question of these distinct terms is written in a script without spaces."""
    return bool(is_mostly_characters(is_character(term_hashes).sum(keepdims=True), np.array([len(term_hashes)]))[0])


def _extend_word_counts(graph: Graph, cached: CachedDerivation[NDArray[np.float32]] | None) -> NDArray[np.float32]:
    start = 0 if cached is None else cached.node_count
    first = int(np.searchsorted(graph.terms["rows"], start))  # rows come in ascending order
    rows, hashes = graph.terms["rows"][first:] - start, graph.terms["hashes"][first:]
    new_count = len(graph) - start
    has_no_spaces = is_mostly_characters(
        np.bincount(rows[is_character(hashes)], minlength=new_count), np.bincount(rows, minlength=new_count)
    )
    lengths = graph.nodes["lengths"][start:]
    counts = np.where(has_no_spaces, lengths / CHARACTERS_PER_WORD, lengths).astype(np.float32)
    return counts if cached is None else np.concatenate([cached.value, counts])


def is_character(term_hashes: NDArray[np.uint32]) -> Mask:
    """Which term hashes are hashes of single characters of scripts without spaces."""
    hashes, starts = _character_hashes(), _character_starts()
    found = starts[term_hashes >> START_SHIFT]
    places = np.flatnonzero(found)  # few: the others begin as no character's hash does
    chosen = term_hashes[places]
    found[places] = hashes[np.minimum(np.searchsorted(hashes, chosen), len(hashes) - 1)] == chosen
    return found


@cache
def _character_hashes() -> NDArray[np.uint32]:
    """The hashes of those characters, ascending: kana, ideographs, hangul, Thai and so on."""
    return np.sort(hash_terms([char for char in map(chr, range(0xE00, 0xFB00)) if count_unspaced(char)]))


@cache
def _character_starts() -> Mask:
    """Which first bits the hash of one of those characters has."""
    starts = np.zeros(1 << 32 - START_SHIFT, np.bool_)
    starts[_character_hashes() >> START_SHIFT] = True
    return starts


def is_mostly_characters(character_counts: NDArray[np.int64], term_counts: NDArray[np.int64]) -> Mask:
    """Which texts are written in a script without spaces, from their distinct single characters and distinct terms."""
    return (term_counts > 0) & (character_counts >= MIN_CHARACTER_SHARE * term_counts)
