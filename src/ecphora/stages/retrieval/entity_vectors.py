"""Entity vectors: each entity as the mean of the memories that mention it. EcphoryRAG's E, SYNAPSE's concepts.

A published engram is embedded as "name: description", its description written by a language model. Ours is the mean of
the vectors of the memories that mention the entity. So it costs nothing to write, follows every new mention, and keeps
nothing of a memory that was forgotten.

:func:`entity_vectors` keeps the vectors of all entities of a graph; :func:`unit_vectors` makes those of a few, from
some of the memories.
"""

from dataclasses import dataclass

import numpy as np

from ...graph import CachedDerivation, Graph
from ...grouping import group_starts
from ...model import MENTION_LINKS, Kind, Link, Mask, Rows, Vectors

BLOCK = 8192
"""How many vectors are summed at a time."""
MIN_NORM = 1e-6
"""Vectors shorter than this have no direction."""


@dataclass(frozen=True, slots=True)
class EntityVectors:
    """The entities of a graph: their rows, ascending, and the vector sum of the memories that mention each.

    ``sums`` has shape ``(entities, dim)``. A memory that both mentions an entity and is about it counts twice.
    """

    rows: Rows
    sums: Vectors

    def index_of(self, rows: Rows) -> Rows:
        """The index of each entity row in ``rows``."""
        return np.searchsorted(self.rows, rows)


def entity_vectors(graph: Graph) -> EntityVectors:
    """The entity vectors of a graph, updated from those of the earlier graph."""
    return graph.derive("entity vectors", _update)


def sum_vectors(graph: Graph, rows: Rows, mask: Mask) -> Vectors:
    """The sum of the vectors of the memories under a mask that mention each of some distinct entities.

    Descriptions of an entity that are under the mask count like memories.
    """
    vectors, positions = graph.vectors, graph.vector_positions
    sums = np.zeros((len(rows), vectors.dim), np.float32)
    edges, entity_index = graph.edges_to(rows, *MENTION_LINKS, Link.DESCRIBES)
    memories = graph.edges["src"][edges]
    is_used = (positions[memories] >= 0) & mask[memories]
    order = np.argsort(entity_index[is_used], kind="stable")
    entity_index, used_positions = entity_index[is_used][order], positions[memories[is_used][order]]
    for start in range(0, len(entity_index), BLOCK):
        part = entity_index[start : start + BLOCK]
        first = group_starts(part)
        sums[part[first]] += np.add.reduceat(vectors.rows(used_positions[start : start + BLOCK]), first, axis=0)
    return sums


def with_descriptions(graph: Graph, memories: Mask) -> Mask:
    """A mask of memories with the descriptions of entities in them."""
    edges = graph.edges_of_link(Link.DESCRIBED_IN)
    if not len(edges):
        return memories
    mask: Mask = memories.copy()
    mask[graph.edges["src"][edges]] = memories[graph.edges["dst"][edges]]
    return mask


def unit_vectors(graph: Graph, rows: Rows, mask: Mask) -> Vectors:
    """The unit vectors of some distinct entities, from the memories under a mask; 0 where none mentions one."""
    sums = sum_vectors(graph, rows, mask)
    unit: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1), MIN_NORM)[:, None]
    return unit


def _update(graph: Graph, before: CachedDerivation[EntityVectors] | None) -> EntityVectors:
    vectors, dim = graph.vectors, graph.vectors.dim
    first_node, first_edge = (before.node_count, before.edge_count) if before is not None else (0, 0)
    new_rows = graph.rows_of_kind(Kind.ENTITY, first_node)
    rows, sums = new_rows, np.zeros((len(new_rows), dim), np.float32)
    if before is not None and before.value.sums.shape[1] == dim:
        rows = np.concatenate([before.value.rows, new_rows])
        sums = np.concatenate([before.value.sums, sums])
    elif before is not None:  # the earlier graph had no vectors
        return _update(graph, None)
    edges = graph.edges
    new_edges = graph.edges_of_link(*MENTION_LINKS, first=first_edge)
    if len(new_edges):
        order = new_edges[np.argsort(edges["dst"][new_edges], kind="stable")]
        index = np.searchsorted(rows, edges["dst"][order])
        starts = group_starts(index)
        positions = graph.vector_positions[edges["src"][order]]
        added = (
            np.where((positions >= 0)[:, None], vectors.rows(positions), 0)
            if len(vectors)
            else np.zeros((len(positions), dim), np.float32)
        )
        sums[index[starts]] += np.add.reduceat(added, starts, axis=0)
    return EntityVectors(rows, sums)
