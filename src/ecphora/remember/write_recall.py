"""A write that recalls: a new episode runs as a query, and the earlier memories that it stimulates are logged.

SynapticRAG, docs/explanation/papers.md 1.3: every write runs the read path.
Strategies ask for it with ``WritesOnStore``.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from ..model.graph.graph import Graph
from ..model.ports import Activation, Embedder, Strategy, WritesOnStore, embedder_coverage, similarity_floor
from ..model.types import Access, AccessKind, Node, NodeId, Vector
from ..retrieval.query import build_query


def writes_on_store(strategy: Strategy) -> bool:
    """Whether storing an episode activates earlier episodes, as a query does."""
    return isinstance(strategy, WritesOnStore) and strategy.writes_on_store


def store_accesses(
    nodes: Sequence[Node],
    graph: Graph,
    strategy: Strategy,
    *,
    embedder: Embedder,
    vectors: Mapping[NodeId, Vector],
    now: datetime,
) -> Iterator[Access]:
    """The accesses of the earlier nodes of the graph that new nodes stimulate when they are used as queries."""
    for node in nodes:
        query = build_query(
            node.text,
            now,
            vector=vectors[node.id],
            embedder=embedder.name,
            embedder_coverage=embedder_coverage(embedder, node.text),
            similarity_floor=similarity_floor(embedder),
        )
        yield from stimulus_accesses(graph, strategy.activate(query, graph), now)


def stimulus_accesses(graph: Graph, activation: Activation, now: datetime) -> Iterator[Access]:
    """The ``STIMULATED`` accesses of the rows that a query stimulated, in row order."""
    for row in np.flatnonzero(activation.stimulus).tolist():
        yield Access(graph.id(row), now, AccessKind.STIMULATED, float(activation.stimulus[row]))
