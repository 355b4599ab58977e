"""The concept nodes of SYNAPSE's graph: the entities that episodes mention, by window; near-equal ones are merged."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import MENTION_LINKS, Kind, Link, Mask, Rows, Scores, Vector, Vectors
from ...retrieval import dense
from ...retrieval.entity_links import EntityVectors, entity_vectors, with_descriptions

BLOCK = 512
"""How many concepts are compared with all others in one matrix product."""


@dataclass(frozen=True, slots=True)
class Concepts:
    """The concepts of some episodes: ``rows`` of the graph, each with the vector sum of its mentions and descriptions.

    ``mention_episodes[i]``, the number of an episode, mentions ``mention_concepts[i]``, the place of a concept; pairs
    are distinct.
    """

    rows: Rows
    sums: Vectors
    mention_episodes: Rows
    mention_concepts: Rows

    def cosines(self, vector: Vector) -> tuple[Rows, Scores]:
        """The rows of the concepts that these episodes mention, and the cosine of each with a unit vector."""
        places = np.unique(self.mention_concepts)  # without concepts that were merged into others
        return self.rows[places], normalize(self.sums[places]) @ vector

    def by_window(self, window_size: int) -> tuple[Rows, Rows]:
        """Each window of ``window_size`` episodes with each of its concepts, by window."""
        return _distinct_pairs(self.mention_episodes // window_size, self.mention_concepts, len(self.rows))


def find_concepts(graph: Graph, episodes: Rows, tau_dup: float, *, similarity_floor: float = 0.0) -> Concepts:
    """The concepts of some episodes; concepts of cosine ``tau_dup`` or more are merged, none at 1.

    The cosine is between the concepts' mean vectors, counted from ``similarity_floor``.
    """
    entities, edges = entity_vectors(graph), graph.edges
    number = graph.no_rows()
    number[episodes] = np.arange(len(episodes))
    is_mention = graph.has_link(*MENTION_LINKS) & graph.of_kind(Kind.ENTITY)[edges["dst"]]
    src, concepts = edges["src"][is_mention], entities.index_of(edges["dst"][is_mention])
    later = np.flatnonzero(number[src] < 0)
    later = later[graph.vector_positions[src[later]] >= 0]
    sums = entities.sums.copy() if len(later) or tau_dup < 1 else entities.sums
    if len(later):  # entity vectors include mentions that are not consolidated yet
        np.subtract.at(sums, concepts[later], graph.vectors.rows(graph.vector_positions[src[later]]))
    is_consolidated = number[src] >= 0
    mention_episodes, concepts = _distinct_pairs(
        number[src[is_consolidated]], concepts[is_consolidated], len(entities.rows)
    )
    merged_into = np.arange(len(entities.rows))
    if tau_dup < 1:
        merged_into = merge_duplicates(normalize(sums), mention_episodes, concepts, tau_dup, similarity_floor)
        merged = np.flatnonzero(merged_into != np.arange(len(merged_into)))
        np.add.at(sums, merged_into[merged], sums[merged])
        mention_episodes, concepts = _distinct_pairs(mention_episodes, merged_into[concepts], len(merged_into))
    positions, described = _descriptions(graph, entities, number >= 0)
    if len(positions):
        sums = sums.copy()
        np.add.at(sums, merged_into[described], graph.vectors.rows(positions))
    return Concepts(entities.rows, sums, mention_episodes, concepts)


def _descriptions(graph: Graph, entities: EntityVectors, is_consolidated: Mask) -> tuple[Rows, Rows]:
    """The vectors of the descriptions in consolidated episodes, by position, and the place of the concept of each.

    A language model wrote them: the paper's h_i is the embedding of such a text.
    """
    edges, described = graph.edges, graph.edges_of_link(Link.DESCRIBES)
    if not len(described):
        return described, described
    positions = graph.vector_positions[edges["src"][described]]
    is_used = with_descriptions(graph, is_consolidated)[edges["src"][described]] & (positions >= 0)
    return positions[is_used], entities.index_of(edges["dst"][described[is_used]])


def _distinct_pairs(a: Rows, b: Rows, size: int) -> tuple[Rows, Rows]:
    """The distinct pairs of two columns, ascending; ``b`` is below ``size``."""
    return np.divmod(np.unique(a * max(1, size) + b), max(1, size))


def normalize(sums: Vectors) -> Vectors:
    """Vectors as unit rows; 0 stays 0."""
    return sums / np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), 1e-12)[:, None]


def merge_duplicates(
    vectors: Vectors, episode_numbers: Rows, concept_places: Rows, tau_dup: float, similarity_floor: float = 0.0
) -> Rows:
    """For each concept the oldest concept it is merged into, often itself.

    A concept is merged with the nearest older concept of cosine ``tau_dup`` or more, and with all concepts that were
    merged with that concept. Two concepts that one text mentions are never merged. ``vectors`` are unit rows, or 0 for
    concepts that are not compared, in order of age; ``episode_numbers[i]`` mentions ``concept_places[i]``. Cosines
    count from ``similarity_floor``.
    """
    merged_into = np.arange(len(vectors))
    order = np.argsort(concept_places, kind="stable")
    ends = np.searchsorted(concept_places[order], np.arange(len(vectors) + 1))
    episodes = [set(episode_numbers[order[start:end]].tolist()) for start, end in pairwise(ends.tolist())]
    for newer, older_concepts in _near_older_concepts(vectors, tau_dup, similarity_floor):
        for older in older_concepts:
            oldest = int(merged_into[older])
            if episodes[oldest].isdisjoint(episodes[newer]):
                merged_into[newer] = oldest
                episodes[oldest] |= episodes[newer]
                break
    return merged_into


def _near_older_concepts(vectors: Vectors, tau_dup: float, similarity_floor: float) -> Iterator[tuple[int, list[int]]]:
    """Each row with the rows before it of cosine ``tau_dup`` or more, the nearest first, if there are any."""
    rows = np.flatnonzero(np.einsum("ij,ij->i", vectors, vectors) > 0)
    compared = vectors[rows]
    for start in range(0, len(rows), BLOCK):
        cosines = dense.above_floor(compared[start : start + BLOCK] @ compared[: start + BLOCK].T, similarity_floor)
        for place, row_cosines in enumerate(cosines, start):
            near = np.flatnonzero(row_cosines[:place] >= tau_dup)
            if len(near):
                yield int(rows[place]), rows[near[np.argsort(-row_cosines[near], kind="stable")]].tolist()
