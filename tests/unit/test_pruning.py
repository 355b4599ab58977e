"""Pruning: which memories may be archived, and in which order."""

from datetime import timedelta

import pytest

from ecphora.model.graph.graph import DAY, Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Edge, Kind, Link, Mark, NodeId, Rows, WriteBatch
from ecphora.retrieval.importance import DecayPolicy, decayed_rows
from ecphora.testing import NOON, sample_graph, sample_node


def marked(graph: Graph, *marks: tuple[NodeId, AccessKind | Mark], days: float = 0.0) -> Graph:
    """A graph with more accesses, ``days`` after noon."""
    seq = int(max(graph.nodes["seq"].max(), graph.accesses["seq"].max())) + 1
    at = NOON + timedelta(days=days)
    accesses = tuple(Access(node, at, kind, seq=seq + index) for index, (node, kind) in enumerate(marks))
    return apply_batch(graph, WriteBatch(accesses=accesses, revision=graph.revision + 1))


def ids(graph: Graph, rows: Rows) -> list[NodeId]:
    return [graph.id(row) for row in rows.tolist()]


def time_after(days: float) -> float:
    return NOON.timestamp() + days * DAY


def test_memory_unused_for_long_may_be_archived() -> None:
    graph = sample_graph(3)
    assert ids(graph, decayed_rows(graph, DecayPolicy(), time_after(89))) == []
    assert ids(graph, decayed_rows(graph, DecayPolicy(), time_after(101))) == ["t0", "t1", "t2"]
    assert ids(graph, decayed_rows(graph, DecayPolicy(max_importance=0.2), time_after(91))) == ["t0", "t1", "t2"]
    assert ids(graph, decayed_rows(graph, DecayPolicy(max_importance=0.2), time_after(89))) == []


def test_least_important_comes_first_and_access_delays_pruning() -> None:
    graph = marked(sample_graph(3), ("t0", AccessKind.USED), days=10)
    assert ids(graph, decayed_rows(graph, DecayPolicy(), time_after(120))) == ["t1", "t2", "t0"]
    accessed = marked(graph, ("t1", AccessKind.STIMULATED), ("t2", AccessKind.ENCODED), days=100)
    assert ids(accessed, decayed_rows(accessed, DecayPolicy(), time_after(120))) == ["t0"]


def test_pinned_and_archived_memories_are_left_out() -> None:
    graph = marked(sample_graph(3), ("t0", Mark.PINNED), ("t1", Mark.ARCHIVED))
    assert ids(graph, decayed_rows(graph, DecayPolicy(), time_after(200))) == ["t2"]
    repeated = marked(graph, ("t0", Mark.UNPINNED), ("t1", Mark.UNARCHIVED), days=200)
    assert ids(repeated, decayed_rows(repeated, DecayPolicy(), time_after(200))) == ["t0", "t2"]
    assert ids(repeated, decayed_rows(repeated, DecayPolicy(), time_after(291))) == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    ("kinds", "edges", "expected"),
    [
        ([Kind.INSIGHT], [("a", "t0", Link.DERIVED_FROM)], ["t1", "t2"]),
        ([Kind.CLAIM], [("a", "t0", Link.CLAIMED_IN)], ["t0", "t1", "t2"]),
        (
            [Kind.CLAIM, Kind.CLAIM],
            [("a", "t0", Link.CLAIMED_IN), ("b", "t1", Link.CLAIMED_IN), ("b", "a", Link.SUPERSEDES)],
            ["t0", "t2"],
        ),
        ([], [("t2", "t0", Link.SUPERSEDES)], ["t0", "t1"]),
        ([Kind.QUESTION], [("a", "t0", Link.ANSWERED_BY)], ["t0", "t1", "t2"]),
    ],
)
def test_memory_that_another_node_depends_on_stays(
    kinds: list[Kind], edges: list[tuple[str, str, Link]], expected: list[NodeId]
) -> None:
    nodes = [sample_node(id_, kind=kind, seq=50 + n) for n, (id_, kind) in enumerate(zip("ab", kinds, strict=False))]
    graph = apply_batch(
        sample_graph(3), WriteBatch(nodes=tuple(nodes), edges=tuple(Edge(*edge) for edge in edges), revision=2)
    )
    assert ids(graph, decayed_rows(graph, DecayPolicy(), time_after(200))) == expected
