"""The index of engrams: the cosine of every engram with a vector, and the memories that mention it. EcphoryRAG, 4.1.

An engram's vector is the unit mean of the memories that mention it and of its descriptions, where an extractor wrote
some (``retrieval.entity_links``), so its cosine with any vector is the sum of their cosines over the length of the sum
of their vectors. The index keeps the lengths and no engram vectors: a search costs the cosines of the memories, of
which there are fewer, and one addition per mention.

Weights of engrams: specificity, importance, and the certainty that they are names. EcphoryRAG, 4.11 and 4.12.3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.graph.columns import Table
from ...model.graph.graph import CachedDerivation, Graph
from ...model.types import DEFAULT_IMPORTANCE, MAX_IMPORTANCE, MENTION_LINKS, Kind, Link, Mask, Rows, Vectors
from ...retrieval import dense
from ...retrieval.entity_links import BLOCK, MIN_NORM, rarity, sum_vectors, with_descriptions

Similarities = NDArray[np.float32]
"""One number for each engram of an index."""

Cosines = NDArray[np.float32]
"""One number for each stored vector."""


@dataclass(frozen=True, slots=True)
class EngramIndex:
    """The engrams of a graph, by place: their ``rows``, ascending, and the memories that mention them.

    ``sources`` has an entry for each mention by a memory with a vector, and for each description: the position of the
    vector, ``at``, and the place of the engram, ``of``. ``lengths`` has the length of the sum of each engram's vectors,
    0 where there is none. ``mention_counts`` counts the memories that mention an engram, memories about it twice;
    ``title_counts`` counts the memories about it. ``description_counts`` counts its descriptions, and
    ``importance_sums`` adds up their importance, in 0..1.
    """

    rows: Rows
    sources: Table
    lengths: Similarities
    mention_counts: NDArray[np.int64]
    title_counts: NDArray[np.int64]
    description_counts: NDArray[np.int64]
    importance_sums: Similarities

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, rows: Rows) -> Rows:
        """The places of the engrams of some rows."""
        return np.searchsorted(self.rows, rows)


@dataclass(frozen=True, slots=True)
class EngramSearch:
    """An engram index restricted to eligible memories.

    ``sources`` is the mask of the eligible memories and their descriptions. ``vector_places`` and ``engram_places`` are
    the entries of :class:`EngramIndex` that belong to them. ``scale`` turns sums into cosines; it is 0 for an engram
    without an entry. Cosines count from ``similarity_floor``.
    """

    index: EngramIndex
    sources: Mask
    vector_places: Rows
    engram_places: Rows
    scale: Similarities
    similarity_floor: float = 0.0

    def similarities(self, cosines: Cosines) -> Similarities:
        """The cosine of each engram with a vector, from the cosines of the stored vectors with it, clipped to 0..1."""
        sums = np.bincount(self.engram_places, cosines[self.vector_places], minlength=len(self.index))
        found: Similarities = (sums * self.scale).astype(np.float32)
        return np.clip(dense.above_floor(found, self.similarity_floor), 0, 1)


def engram_index(graph: Graph) -> EngramIndex:
    """The engram index of a graph, updated from the index of the earlier graph at the cost of the new mentions."""
    return graph.derive("engram index", _extend_index)


def prepare_search(graph: Graph, eligible: Mask, *, similarity_floor: float = 0.0) -> EngramSearch:
    """The engram index restricted to the mentions by eligible memories; cosines count from ``similarity_floor``.

    For an engram that other memories mention too, the mean cosine of its mentions is taken from all of them.
    """
    index, sources = engram_index(graph), with_descriptions(graph, eligible)
    at, of = index.sources["at"], index.sources["of"]
    scale = np.where(index.lengths > 0, 1 / np.maximum(index.lengths, MIN_NORM), 0).astype(np.float32)
    if not np.array_equal(eligible, graph.episodes):
        is_eligible = sources[graph.vector_rows["rows"]][at]
        m, h = np.bincount(of, minlength=len(index)), np.bincount(of, is_eligible, minlength=len(index))
        # |sum of h|² = h + h (h - 1) times their mean cosine with each other, which is taken from all m.
        mean_cosine = (index.lengths**2 - m) / np.maximum(1, m * (m - 1))
        scale = np.where(h > 0, 1 / np.sqrt(np.maximum(MIN_NORM, h + h * (h - 1) * mean_cosine)), 0).astype(np.float32)
        at, of = at[is_eligible], of[is_eligible]
    return EngramSearch(index, sources, at, of, scale, similarity_floor)


def cosines(graph: Graph, vectors: Vectors) -> Cosines:
    """The cosine of each of some unit vectors with each stored one, shape ``(len(vectors), stored)``."""
    if len(vectors) == 1:
        return graph.vectors.dot(vectors[0])[None, :]
    found: Cosines = vectors @ graph.vectors.view.T
    return found


def _extend_index(graph: Graph, cached: CachedDerivation[EngramIndex] | None) -> EngramIndex:
    first_node, first_edge = (cached.node_count, cached.edge_count) if cached is not None else (0, 0)
    old = cached.value if cached is not None else _EMPTY_INDEX
    rows = np.concatenate([old.rows, graph.rows_of_kind(Kind.ENTITY, first_node)])
    lengths, mention_counts, title_counts, description_counts, importance_sums = (
        np.concatenate([column, np.zeros(len(rows) - len(column), column.dtype)])
        for column in (
            old.lengths,
            old.mention_counts,
            old.title_counts,
            old.description_counts,
            old.importance_sums,
        )
    )
    edges = graph.edges
    new_edges = graph.edges_of_link(*MENTION_LINKS, Link.DESCRIBES, first=first_edge)
    of, at = np.searchsorted(rows, edges["dst"][new_edges]), graph.vector_positions[edges["src"][new_edges]]
    is_description = graph.has_link(Link.DESCRIBES, edges=new_edges)
    np.add.at(mention_counts, of[~is_description], 1)
    np.add.at(description_counts, of[is_description], 1)
    np.add.at(importance_sums, of[is_description], edges["weights"][new_edges[is_description]])
    np.add.at(title_counts, of[graph.has_link(Link.ABOUT, edges=new_edges)], 1)
    touched, sources = np.unique(of), with_descriptions(graph, graph.episodes)
    for start in range(0, len(touched), BLOCK):
        block = touched[start : start + BLOCK]
        lengths[block] = np.linalg.norm(sum_vectors(graph, rows[block], sources), axis=1)
    return EngramIndex(
        rows,
        old.sources.append(at=at[at >= 0], of=of[at >= 0]),
        lengths,
        mention_counts,
        title_counts,
        description_counts,
        importance_sums,
    )


_EMPTY_INDEX = EngramIndex(
    rows=np.empty(0, np.intp),
    sources=Table.empty(at=np.intp, of=np.intp),
    lengths=np.empty(0, np.float32),
    mention_counts=np.empty(0, np.int64),
    title_counts=np.empty(0, np.int64),
    description_counts=np.empty(0, np.int64),
    importance_sums=np.empty(0, np.float32),
)


SINGLE_CERTAINTY, DOUBLE_CERTAINTY = 0.5, 0.75
"""The certainty that an engram is a name, found in one way or in two. Inferred, EcphoryRAG, section 4.12.3."""


def specificity(graph: Graph, mention_counts: NDArray[np.int64]) -> Similarities:
    """The specificity of entities by their mention counts: their rarity among the memories, in 0..1."""
    values: Similarities = rarity(mention_counts, graph.episode_count).astype(np.float32)
    return values


def certainty(index: EngramIndex, places: Rows) -> Similarities:
    """The certainty that engrams are names: higher for engrams found both in texts and in titles."""
    title_counts = index.title_counts[places]
    found_twice = (title_counts > 0) & (index.mention_counts[places] > title_counts)
    return np.where(found_twice, DOUBLE_CERTAINTY, SINGLE_CERTAINTY).astype(np.float32)


def importance_factor(index: EngramIndex, places: Rows) -> Similarities:
    """0.8 + 0.04 importance (4.11), the mean of an engram's descriptions, over the value for the default importance.

    So it is 1 for an engram without a description.
    """
    counts = index.description_counts[places]
    mean = MAX_IMPORTANCE * index.importance_sums[places] / np.maximum(1, counts)
    importance = np.where(counts > 0, mean, DEFAULT_IMPORTANCE)
    factor: Similarities = ((0.8 + 0.04 * importance) / (0.8 + 0.04 * DEFAULT_IMPORTANCE)).astype(np.float32)
    return factor
