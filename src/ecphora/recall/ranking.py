"""The ranked memories of a question, with lookups that the clauses of reasons share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..language.question import question_terms, vague_terms
from ..language.terms import SharedTerm, hash_terms, shared_terms
from ..model.graph.graph import Graph
from ..model.lazy import cached_property
from ..model.ports import Activation
from ..model.types import Mask, Node, Query, Rows, Vector
from ..retrieval.bm25 import Postings, TermCoverage, term_coverage, window_rows
from ..retrieval.dense import term_zscores
from ..retrieval.speakers import named_speakers, speaker_index

MAX_QUOTED_WORDS = 2
"""The most words that are quoted from a memory."""
MIN_RELATIVE_IDF = 0.4
"""The smallest idf of a quoted word, as a fraction of the highest idf among the ranked memories' words."""

NEIGHBOR_COUNT = 3
"""How many of the memories ranked after a hit, and before it, are compared with it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PathSteps:
    """The parent rows and entities by which a feature reached rows, -1 for none; ``grandparents`` are the parents'."""

    parents: Rows
    via_entities: Rows
    grandparents: Rows


@dataclass(frozen=True)
class Ranking:
    """A query with its ranked rows, best first, and lookups that they share.

    ``eligible`` are the rows that may be returned. ``contributions`` and ``path_steps`` belong to the rows in
    ``order``, by feature.
    """

    graph: Graph
    query: Query
    eligible: Mask
    order: Rows
    contributions: Mapping[str, NDArray[np.float64]]
    path_steps: Mapping[str, PathSteps]

    @staticmethod
    def from_activation(graph: Graph, query: Query, activation: Activation, eligible: Mask, order: Rows) -> "Ranking":
        """Copy the needed parts of an activation, which is large; a ranking lives as long as its recollection."""
        steps = {}
        for feature, path in activation.paths.items():
            parents = path.parent[order]
            steps[feature] = PathSteps(
                parents, path.via_entity[order], np.where(parents >= 0, path.parent[parents], -1)
            )
        contributions = {
            feature: values[order].astype(np.float64) for feature, values in activation.contributions.items()
        }
        return Ranking(graph, query, eligible, order, contributions, steps)

    @cached_property
    def neighborhood(self) -> Rows:
        """The rows, then the eligible rows around each, -1 for none: shape ``(7, len(order))``."""
        near = window_rows(self.graph, self.order)
        return np.where((near >= 0) & self.eligible[near], near, -1)

    @cached_property
    def term_coverage(self) -> TermCoverage:
        """Which words of the question the rows of ``neighborhood`` contain, by ascending row."""
        return term_coverage(Postings.for_query(self.graph, self.query), self._neighborhood_rows)

    @cached_property
    def _neighborhood_rows(self) -> Rows:
        known = np.unique(self.neighborhood)
        return known[known >= 0]

    @cached_property
    def matches_term(self) -> Mask:
        """Which words of the question each row of ``neighborhood`` has in its text or title: ``(7, rows, words)``."""
        is_match = self.term_coverage.in_row.copy()
        speaker_codes = speaker_index(self.graph).by_term
        speakers = self.graph.nodes["speakers"][self._neighborhood_rows]
        for place, word in enumerate(self.query.term_hashes.tolist()):  # a memory is indexed with its speaker's name
            for code in speaker_codes.get(word, ()):
                is_match[speakers == code, place] = False
        in_neighborhood = is_match[
            np.searchsorted(self._neighborhood_rows, np.maximum(self.neighborhood, self._neighborhood_rows[0]))
        ]
        return in_neighborhood & (self.neighborhood >= 0)[..., None]

    @cached_property
    def question_words(self) -> list[str]:
        """The words of the question, in the order of ``query.term_hashes``."""
        found = list(question_terms(self.query.search_text))
        known = dict(zip(hash_terms(found).tolist(), found, strict=True))
        return [known.get(code, "") for code in self.query.term_hashes.tolist()]

    @cached_property
    def question_surfaces(self) -> dict[str, str]:
        """The terms of the question, each as the question writes it first."""
        found: dict[str, str] = {}
        for one in shared_terms(self.query.text, self.query.text):
            for term in one.terms:
                found.setdefault(term, one.question_surface)
        return found

    @cached_property
    def is_vague(self) -> Mask:
        """Which words of the question say nothing by themselves."""
        return np.array([word in vague_terms() for word in self.question_words], np.bool_)

    @cached_property
    def quotable_idf(self) -> NDArray[np.float64]:
        """The idf of each word of the question that is rare enough to be quoted, 0 for the others."""
        weights = self.term_coverage.idf
        highest = (weights * self.matches_term[0]).max(initial=0)
        return np.where(weights >= MIN_RELATIVE_IDF * highest, weights, 0)

    @cached_property
    def term_similarity_z(self) -> NDArray[np.float64]:
        """The z-score of each row's similarity to each word of the question: ``(rows, words)``."""
        terms = self.query.word_vectors
        if terms is None or not terms.any():
            return np.zeros((len(self.order), len(self.question_words)))
        has_vector = np.vecdot(terms, terms) > 0
        return term_zscores(self.graph, self.query, terms, (self.order,))[0].astype(np.float64) * has_vector

    @cached_property
    def contribution_values(self) -> NDArray[np.float64]:
        """The values of ``contributions``: ``(rows, features)``."""
        values = np.array(list(self.contributions.values())).reshape(-1, len(self.order))
        return np.ascontiguousarray(values.T)

    @cached_property
    def question_cosines(self) -> tuple[NDArray[np.float32], ...]:
        """The cosines of each row with the question, by English vectors if it has one, and by the scope's vectors.

        They are not a number for a row without a vector.
        """
        vectors = ((True, self.query.english_vector), (False, self._scope_vector))
        return tuple(
            self._cosines_with(vector, use_english=english) for english, vector in vectors if vector is not None
        )

    @property
    def _scope_vector(self) -> Vector | None:
        """The question's vector; None if the embedder does not read the question."""
        return self.query.vector if self.query.embedder_coverage else None

    def _cosines_with(self, vector: Vector, *, use_english: bool) -> NDArray[np.float32]:
        stored = self.graph.text_vectors(use_english=use_english)
        cosines = np.full(len(self.order), np.nan, np.float32)
        places = stored.positions[self.order]
        if len(stored.values):
            cosines[places >= 0] = np.vecdot(stored.values.rows(places[places >= 0]), vector)
        return cosines

    @cached_property
    def named_speakers(self) -> frozenset[int]:
        """The speakers that the question names."""
        return frozenset(named_speakers(self.graph, self.query).tolist())

    @cached_property
    def _shared_terms(self) -> dict[str, list[SharedTerm]]:
        return {}

    def shared_terms(self, text: str) -> list[SharedTerm]:
        """The terms that a text shares with the question; looked up once for each text."""
        found = self._shared_terms.get(text)
        if found is None:
            found = self._shared_terms[text] = shared_terms(text, self.query.search_text)
        return found

    def quote(self, text: str, weights: NDArray[np.float64]) -> str:
        """Quote the question words with the highest weights as the text writes them; "" if none has weight."""
        if not weights.any() or not (shared := self.shared_terms(text)):
            return ""
        weight_by_word = dict(zip(self.question_words, weights.tolist(), strict=True))
        found = [(max(weight_by_word.get(word, 0) for word in one.terms), one) for one in shared]
        best = sorted((one for one in found if one[0] > 0), key=lambda one: (-one[0], -len(one[1].surface)))[
            :MAX_QUOTED_WORDS
        ]
        chosen = {id(one) for _, one in best}
        quotes = [
            f"“{one.surface}”{f' (for “{one.question_surface}”)' if one.is_inflected else ''}"
            for _, one in found
            if id(one) in chosen
        ]
        return " and ".join(quotes)


@dataclass(frozen=True)
class Comparison:
    """One of the ranked memories, by its index, and the indices of those it is compared with, one after the other."""

    ranking: Ranking
    index: int
    node: Node
    other_indices: Sequence[int]
    _results: dict[Callable[["Comparison"], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def cached_result(self, function: Callable[["Comparison"], T]) -> T:
        """What a function returns for this comparison; it is called the first time only."""
        if function not in self._results:
            self._results[function] = function(self)
        result: T = self._results[function]
        return result

    @property
    def row(self) -> int:
        """Its row in the graph."""
        return int(self.ranking.order[self.index])

    @cached_property
    def contribution_leads(self) -> dict[str, float]:
        """Each contribution to its score minus the mean of the others' contributions."""
        values = self.ranking.contribution_values
        rest = self.mean_of_others(values) if self.other_indices else 0.0
        return dict(zip(self.ranking.contributions, (values[self.index] - rest).tolist(), strict=True))

    @cached_property
    def is_raised_by_goal(self) -> bool:
        """Whether a memory that is ranked after it would come before it without the goal."""
        goal = self.ranking.contributions.get("goal")
        if goal is None:
            return False
        rest = np.sum(list(self.ranking.contributions.values()), axis=0) - goal
        return bool((rest[self.index + 1 :] > rest[self.index]).any())

    @cached_property
    def distinctive_weights(self) -> NDArray[np.float64]:
        """The weight of each question word that it contains: the idf times the fraction of the others that lack it."""
        matches = self.ranking.matches_term[0]
        if not self.other_indices:
            return matches[self.index] * self.ranking.term_coverage.idf
        return matches[self.index] * self.ranking.quotable_idf * (1 - self.mean_of_others(matches))

    def lead_over_neighbors(self, features: Sequence[str]) -> float:
        """The sum of some contributions to its score minus the largest sum of a memory ranked near it.

        Near are the :data:`NEIGHBOR_COUNT` memories before it, and those after it. There must be one.
        """
        first = max(0, self.index - NEIGHBOR_COUNT)
        contributions = self.ranking.contributions
        near = slice(first, self.index + NEIGHBOR_COUNT + 1)
        sums = np.array([contributions[feature][near] for feature in features], np.float64).sum(axis=0)
        own = self.index - first
        return float(sums[own] - np.delete(sums, own).max())

    def mean_of_others(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """The mean of the others' values, of an array with an entry for each ranked row; there must be others."""
        others = values[self.other_indices[0] : self.other_indices[-1] + 1]  # a slice: nothing is copied
        mean: NDArray[np.float64] = np.add.reduce(others, axis=0, dtype=np.float64) / len(others)
        return mean
