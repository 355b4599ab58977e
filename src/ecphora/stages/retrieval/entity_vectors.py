"""Entity vectors: each entity as the mean of the memories that mention it. EcphoryRAG's E, SYNAPSE's concepts.

A published engram is embedded as "name: description", its description written by a language model. Ours is the mean of
the vectors of the memories that mention the entity. So it costs nothing to write, follows every new mention, and keeps
nothing of a memory that was forgotten.
"""

from dataclasses import dataclass

import numpy as np

from ...graph import CachedDerivation, Graph
from ...grouping import group_starts
from ...model import MENTION_LINKS, Kind, Rows, Vectors


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


def _update(graph: Graph, before: CachedDerivation[EntityVectors] | None) -> EntityVectors:
    vectors, dim = graph.vectors.view, graph.vectors.view.shape[1]
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
            np.where((positions >= 0)[:, None], vectors[positions], 0)
            if len(vectors)
            else np.zeros((len(positions), dim), np.float32)
        )
        sums[index[starts]] += np.add.reduceat(added, starts, axis=0)
    return EntityVectors(rows, sums)
