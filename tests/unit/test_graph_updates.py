"""The next graph of a batch: what is added, replaced, forgotten and left as it was."""

from dataclasses import replace

import pytest

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Access, AccessKind, Edge, Link, Node, Tombstone, ValidityEnd, WriteBatch
from ecphora.testing import (
    NOON,
    graph_differences,
    sample_batch,
    sample_graph,
    sample_node,
    sample_vector,
)


def graph_of(*nodes: Node, change: WriteBatch | None = None) -> Graph:
    numbered = tuple(replace(node, seq=place) for place, node in enumerate(nodes, 1))
    return apply_batch(Graph(), replace(change or sample_batch(*numbered), nodes=numbered, revision=1))


def test_a_vector_that_comes_again_replaces_the_first() -> None:
    graph = graph_of(sample_node("a", session="s"), sample_node("b", session="s"))
    assert graph.previous_cosine[1] != 0
    grown = apply_batch(graph, WriteBatch(vectors={"a": sample_vector("b")}, revision=2))
    assert len(grown.vector_rows) == len(grown.vectors) == 2
    assert grown.previous_cosine[1] == pytest.approx(1, abs=1e-3)


def test_a_graph_grown_twice_gives_two_that_stand() -> None:
    parent = sample_graph()
    whole = graph_differences(parent, sample_graph())
    left = apply_batch(parent, replace(sample_batch(sample_node("left", session="monday", seq=90)), revision=2))
    right = apply_batch(
        parent, replace(sample_batch(sample_node("right", seq=90), sample_node("two", seq=91)), revision=2)
    )
    assert [left.row("left"), left.row("right"), parent.row("left")] == [len(parent), None, None]
    assert [right.row("right"), right.row("two"), right.row("left")] == [len(parent), len(parent) + 1, None]
    assert (len(left), len(right)) == (len(parent) + 1, len(parent) + 2)
    assert graph_differences(parent, sample_graph()) == whole == []


def test_every_growth_leaves_the_parent_as_it_was() -> None:
    parent = sample_graph()
    accesses = (Access("t0", NOON, AccessKind.USED, 1.0, 99),)
    for change in (
        WriteBatch(tombstones=(Tombstone("t0", b"x"), Tombstone("entity:ana", b"")), revision=2),
        WriteBatch(validity_ends=(ValidityEnd("t1", NOON, NOON),), revision=2),
        WriteBatch(accesses=accesses, revision=2),
        WriteBatch(edges=(Edge("t1", "t2", Link.SUPPORTS),), revision=2),
        WriteBatch(vectors={"t1": sample_vector("x")}, revision=2),
        WriteBatch(revision=2),
    ):
        assert graph_differences(parent, apply_batch(parent, change)) != []
        assert graph_differences(parent, sample_graph()) == []


def test_forgetting_what_is_not_there_bars_it() -> None:
    graph = apply_batch(sample_graph(), WriteBatch(tombstones=(Tombstone("never", b"digest"),), revision=2))
    assert graph.tombstones == {"never", b"digest"}
    assert len(graph) == len(sample_graph())


def test_forgetting_takes_names_out_of_the_codes() -> None:
    graph = graph_of(sample_node("a", speaker="Ana", session="x"), sample_node("b", speaker="Ben", session="y"))
    less = apply_batch(graph, WriteBatch(tombstones=(Tombstone("a", b""),), revision=2))
    assert less.speakers.names == ("Ben",)
    assert less.nodes["sessions"].tolist() == [0]
