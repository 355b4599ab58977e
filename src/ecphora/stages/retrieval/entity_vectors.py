"""Entity vectors: each entity as the mean of the memories that mention it. EcphoryRAG's E, SYNAPSE's concepts.

A published engram is embedded as "name: description", its description written by a language model. Ours is the mean of
the vectors of the memories that mention the entity. So it costs nothing to write, follows every new mention, and keeps
nothing of a memory that was forgotten.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import CachedDerivation, Graph
from ...grouping import group_starts
from ...model import MENTION_LINKS, Kind, Rows, Vectors


@dataclass(frozen=True, slots=True)
class EntityVectors:
    """The entities of a graph: their rows, ascending, and the vector sum of the memories that mention each.

    ``sums`` has shape ``(entities, dim)``. ``mention_counts`` counts the vectors added; a memory that both mentions an
    entity and is about it counts twice.
    """

    rows: Rows
    sums: Vectors
    mention_counts: NDArray[np.int64]

    @property
    def vectors(self) -> Vectors:
        """The mean of each entity's mentions as a unit vector, shape ``(entities, dim)``; 0 without any vector."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.sums, self.sums))
        unit: Vectors = self.sums / np.maximum(lengths, 1e-12)[:, None]
        return unit

    def index_of(self, rows: Rows) -> Rows:
        """The index of each entity row in ``rows``."""
        return np.searchsorted(self.rows, rows)


def entity_vectors(graph: Graph) -> EntityVectors:
    """The entity vectors of a graph, updated from those of the earlier graph."""
    return graph.derive("entity vectors", _update)


def unit_entity_vectors(graph: Graph) -> Vectors:
    """The entities' unit vectors, derived once per graph."""
    return graph.derive("unit entity vectors", lambda grown, _: entity_vectors(grown).vectors)


def _update(graph: Graph, before: CachedDerivation[EntityVectors] | None) -> EntityVectors:
    vectors, dim = graph.vectors.view, graph.vectors.view.shape[1]
    first_node, first_edge = (before.node_count, before.edge_count) if before is not None else (0, 0)
    new_rows = graph.rows_of_kind(Kind.ENTITY, first_node)
    sums, mentions = np.zeros((len(new_rows), dim), np.float32), np.zeros(len(new_rows), np.int64)
    rows = new_rows
    if before is not None and before.value.sums.shape[1] == dim:
        rows = np.concatenate([before.value.rows, new_rows])
        sums = np.concatenate([before.value.sums, sums])
        mentions = np.concatenate([before.value.mention_counts, mentions])
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
            np.where((positions >= 0)[:, None], vectors[positions], 0)
            if len(vectors)
            else np.zeros((len(positions), dim), np.float32)
        )
        sums[index[starts]] += np.add.reduceat(added, starts, axis=0)
        np.add.at(mentions, index, 1)
    return EntityVectors(rows, sums, mentions)
