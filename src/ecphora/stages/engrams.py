"""Engrams: the entities of a memory, each where the memories that mention it lie. EcphoryRAG's E, SYNAPSE's concepts.

A published engram is embedded as "name: description", its description written by a language model. Ours is the mean of
what was said of it: the description in vector space. So it costs nothing to write, follows every new mention, and
keeps nothing of a memory that was forgotten.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Earlier, Graph
from ..model import MENTIONING, Kind, Rows, Vectors

_MENTIONING = np.array([LINKS.index(link) for link in MENTIONING])


@dataclass(frozen=True, slots=True)
class Engrams:
    """The entities of a graph: their rows, ascending, and the sum over the memories that mention each.

    ``sums`` has shape ``(entities, dim)``, ``mentions`` counts what was added: a memory twice
    that both mentions a name and is about it.
    """

    rows: Rows
    sums: Vectors
    mentions: NDArray[np.int64]

    @property
    def vectors(self) -> Vectors:
        """The mean of each entity's mentions as a unit vector, shape ``(entities, dim)``; 0 where none has one."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.sums, self.sums))
        unit: Vectors = self.sums / np.maximum(lengths, 1e-12)[:, None]
        return unit

    def places(self, rows: Rows) -> Rows:
        """Where entities of these rows stand here."""
        return np.searchsorted(self.rows, rows)


def engrams(graph: Graph) -> Engrams:
    """The engrams of a graph, grown from those of the graph before."""
    return graph.derived("engrams", _grown)


def unit(graph: Graph) -> Vectors:
    """The engrams' unit vectors, made once a graph."""
    return graph.derived("unit engrams", lambda grown, _: engrams(grown).vectors)


def _grown(graph: Graph, before: Earlier[Engrams] | None) -> Engrams:
    vectors, dim = graph.vectors.view, graph.vectors.view.shape[1]
    first, edge = (before.nodes, before.edges) if before is not None else (0, 0)
    fresh = np.flatnonzero(graph.of_kind(Kind.ENTITY)[first:]) + first
    sums, mentions = np.zeros((len(fresh), dim), np.float32), np.zeros(len(fresh), np.int64)
    rows = fresh
    if before is not None and before.value.sums.shape[1] == dim:
        rows = np.concatenate([before.value.rows, fresh])
        sums = np.concatenate([before.value.sums, sums])
        mentions = np.concatenate([before.value.mentions, mentions])
    elif before is not None:  # it had no vectors yet
        return _grown(graph, None)
    edges = graph.edges
    new = np.flatnonzero(np.isin(edges["links"][edge:], _MENTIONING)) + edge
    if len(new):
        order = new[np.argsort(edges["dst"][new], kind="stable")]
        place = np.searchsorted(rows, edges["dst"][order])
        starts = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
        at = graph.vector_places[edges["src"][order]]
        said = np.where((at >= 0)[:, None], vectors[at], 0) if len(vectors) else np.zeros((len(at), dim), np.float32)
        sums[place[starts]] += np.add.reduceat(said, starts, axis=0)
        np.add.at(mentions, place, 1)
    return Engrams(rows, sums, mentions)
