"""The search of EcphoryRAG, 4.5: E_0 nearest to the cues, hops over co-occurrence, ranking by the original cues."""

from dataclasses import dataclass

import numpy as np

from ...model.graph.columns import best_of_group
from ...model.graph.graph import Graph
from ...model.types import MENTION_LINKS, Mask, Rows, Scores, Vector, Vectors
from ...retrieval.entity_links import MIN_NORM, unit_vectors
from ...retrieval.fusion import top_k
from .engram_index import EngramIndex, EngramSearch, Similarities, certainty, cosines, importance_factor, specificity


@dataclass(frozen=True, slots=True)
class CoOccurrences:
    """Engrams by place, the strength of each, and the row of the memory that mentions it."""

    places: Rows
    strengths: Similarities
    episodes: Rows


def co_occurring_engrams(graph: Graph, index: EngramIndex, episodes: Rows, strengths: Scores) -> CoOccurrences:
    """The engrams that some memories mention, each once.

    ``strengths`` has an entry for each row. An engram is as strong as the strongest memory that mentions it, times its
    specificity. As these memories were recalled for engrams in them, this is a step along co-occurrence.
    """
    edges, episode_index = graph.edges_from(episodes, *MENTION_LINKS)
    places = index.places(graph.edges["dst"][edges])
    sources = episodes[episode_index]
    values = (strengths[sources] * specificity(graph, index.mention_counts[places])).astype(np.float32)
    best = best_of_group(places, values, ties=sources)
    return CoOccurrences(places[best], values[best], sources[best])


@dataclass(frozen=True, slots=True)
class ActiveEngrams:
    """The active engrams by place, the rank score of all, and the row by which each was reached, -1 for the cue."""

    is_active: Mask
    ranks: Similarities
    parent: Rows

    @classmethod
    def empty(cls, ranks: Similarities) -> "ActiveEngrams":
        """No active engrams; ``ranks`` say how well each engram matches the question."""
        return cls(np.zeros(len(ranks), np.bool_), ranks, np.full(len(ranks), -1, np.intp))

    def activate(self, places: Rows, parent: Rows | int = -1, strengths: Similarities | float = 0.0) -> "ActiveEngrams":
        """Activate distinct engrams; one reached with a strength above its rank score takes that and its parent."""
        better = ~self.is_active[places] | (strengths > self.ranks[places])
        is_active, ranks, parents = self.is_active.copy(), self.ranks.copy(), self.parent.copy()
        is_active[places] = True
        ranks[places] = np.maximum(ranks[places], strengths)
        parents[places] = np.where(better, parent, parents[places])
        return ActiveEngrams(is_active, ranks, parents)

    def top(self, k: int) -> Rows:
        """The places of the k active engrams with the highest positive rank scores, best first."""
        places = np.flatnonzero(self.is_active & (self.ranks > 0))
        return places[top_k(self.ranks[places], k)]

    def nearest_inactive(self, similarities: Similarities, k: int) -> Rows:
        """The places of the k inactive engrams of highest positive similarity, best first."""
        places = np.flatnonzero(~self.is_active & (similarities > 0))
        return places[top_k(similarities[places], k)]


def nearest_to_cues(ranks: Similarities, scores: Similarities, k: int) -> ActiveEngrams:
    """E_0: the ``k`` engrams that match the cues best by ``scores``; ``ranks`` say how they rank among others later."""
    active = ActiveEngrams.empty(ranks)
    return active.activate(active.nearest_inactive(scores, k))


def hop(
    graph: Graph,
    search: EngramSearch,
    active: ActiveEngrams,
    neighbors: CoOccurrences | None,
    *,
    k_seeds: int,
    k_initial: int,
) -> ActiveEngrams:
    """One hop from the ``k_seeds`` best active engrams.

    E_new: the ``k_initial`` engrams nearest to the centroid of the seeds, not yet in E; and graph ``neighbors``.
    """
    index, seeds = search.index, active.top(k_seeds)
    if len(seeds):
        center = centroid(unit_vectors(graph, index.rows[seeds], search.sources), active.ranks[seeds])
        near = search.similarities(cosines(graph, normalize(center)[None, :])[0])
        active = active.activate(active.nearest_inactive(near, k_initial), parent=int(index.rows[seeds[0]]))
    if neighbors is not None:
        active = active.activate(neighbors.places, neighbors.episodes, neighbors.strengths)
    return active


def centroid(vectors: Vectors, weights: Similarities) -> Vector:
    """sum_i s_i h_i / sum_i s_i over the seeds' vectors h and weights s >= 0; 0 where all weights are."""
    total = float(weights.sum())
    mean: Vector = (weights @ vectors / (total if total > 0 else 1.0)).astype(np.float32)
    return mean


def normalize(vector: Vector) -> Vector:
    """A vector at length 1; a vector of length 0 unchanged."""
    length = float(np.linalg.norm(vector))
    return vector if length < MIN_NORM else (vector / length).astype(np.float32)


def rank_by_cues(
    index: EngramIndex, active: ActiveEngrams, k: int, *, use_certainty: bool, use_importance: bool
) -> tuple[Rows, Similarities]:
    """The ``k`` best active engrams, and the score of each.

    They rank by the original cues, not by the centroid that led to them: no drift. ``use_certainty`` weighs a score by
    the certainty that the engram is a name, ``use_importance`` by its importance.
    """
    kept = active.top(k)
    scores = active.ranks[kept]
    if use_certainty:
        scores = scores * certainty(index, kept)
    return kept, scores * importance_factor(index, kept) if use_importance else scores
