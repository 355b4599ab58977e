"""The next graph of a batch: what is added, replaced, forgotten and left as it was."""

from dataclasses import replace

import numpy as np
import pytest

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Edge, Link, Node, Tombstone, ValidityEnd, WriteBatch
from ecphora.retrieval import dense
from ecphora.testing import (
    NOON,
    graph_differences,
    sample_batch,
    sample_english_vector,
    sample_graph,
    sample_node,
    sample_vector,
)


def graph_of(*nodes: Node, batch: WriteBatch | None = None) -> Graph:
    numbered = tuple(replace(node, seq=place) for place, node in enumerate(nodes, 1))
    return apply_batch(Graph(), replace(batch or sample_batch(*numbered), nodes=numbered, revision=1))


def test_new_vector_of_a_row_replaces_the_old() -> None:
    graph = graph_of(sample_node("a", session="s"), sample_node("b", session="s"))
    assert graph.previous_cosine[1] != 0
    grown = apply_batch(graph, WriteBatch(vectors={"a": sample_vector("b")}, revision=2))
    assert len(grown.vector_rows) == len(grown.vectors) == 2
    assert grown.previous_cosine[1] == pytest.approx(1, abs=1e-3)


def test_new_english_vector_of_a_row_replaces_the_old() -> None:
    graph = graph_of(sample_node("a", session="s"), sample_node("b", session="s"))
    assert graph.english_previous_cosine[1] < 0.99
    assert dense.with_previous_turn(graph, graph.zeros() + 1, use_english=True)[1] > 1
    late = WriteBatch(english_vectors={"a": sample_english_vector("b")}, revision=2)
    grown = apply_batch(graph, late)
    assert len(grown.english_vector_rows) == len(grown.english_vectors) == 2
    assert grown.english_previous_cosine[1] == pytest.approx(1, abs=1e-3)
    assert dense.with_previous_turn(grown, grown.zeros() + 1, use_english=True)[1] == pytest.approx(1, abs=1e-3)
    assert grown.previous_cosine.tolist() == graph.previous_cosine.tolist()


def test_grown_graph_takes_over_the_cosines_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(sample_node("a", session="s"), sample_node("b", session="s"))
    cosines = graph.english_previous_cosine
    batch = replace(sample_batch(sample_node("c", session="s", minutes=1, seq=3)), revision=2)
    with monkeypatch.context() as patch:
        patch.setattr("ecphora.model.graph.graph.np.vecdot", lambda rows, _others: np.full(len(rows), 0.5))
        grown = apply_batch(graph, batch).english_previous_cosine
    assert (grown[:2].tolist(), grown[2]) == (cosines.tolist(), 0.5)


def test_two_updates_of_one_graph_are_independent() -> None:
    parent = sample_graph()
    differences = graph_differences(parent, sample_graph())
    left = apply_batch(parent, replace(sample_batch(sample_node("left", session="monday", seq=90)), revision=2))
    right = apply_batch(
        parent, replace(sample_batch(sample_node("right", seq=90), sample_node("two", seq=91)), revision=2)
    )
    assert [left.row("left"), left.row("right"), parent.row("left")] == [len(parent), None, None]
    assert [right.row("right"), right.row("two"), right.row("left")] == [len(parent), len(parent) + 1, None]
    assert (len(left), len(right)) == (len(parent) + 1, len(parent) + 2)
    assert graph_differences(parent, sample_graph()) == differences == []


def test_update_does_not_change_the_parent_graph() -> None:
    parent = sample_graph()
    accesses = (Access("t0", NOON, AccessKind.USED, 1.0, 99),)
    for batch in (
        WriteBatch(tombstones=(Tombstone("t0", b"x"), Tombstone("entity:ana", b"")), revision=2),
        WriteBatch(validity_ends=(ValidityEnd("t1", NOON, NOON),), revision=2),
        WriteBatch(accesses=accesses, revision=2),
        WriteBatch(edges=(Edge("t1", "t2", Link.SUPPORTS),), revision=2),
        WriteBatch(vectors={"t1": sample_vector("x")}, revision=2),
        WriteBatch(revision=2),
    ):
        assert graph_differences(parent, apply_batch(parent, batch)) != []
        assert graph_differences(parent, sample_graph()) == []


def test_tombstone_of_an_unknown_id_is_kept() -> None:
    graph = apply_batch(sample_graph(), WriteBatch(tombstones=(Tombstone("never", b"digest"),), revision=2))
    assert graph.tombstones == {"never", b"digest"}
    assert len(graph) == len(sample_graph())


def test_tombstone_removes_names_from_the_vocabularies() -> None:
    graph = graph_of(sample_node("a", speaker="Ana", session="x"), sample_node("b", speaker="Ben", session="y"))
    smaller = apply_batch(graph, WriteBatch(tombstones=(Tombstone("a", b""),), revision=2))
    assert smaller.speakers.names == ("Ben",)
    assert smaller.nodes["sessions"].tolist() == [0]
