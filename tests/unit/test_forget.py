"""Forgetting: what goes with a memory, and tombstones that recognize it if it is remembered again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ecphora.documents import check_episode
from ecphora.forget import content_digest, is_tombstoned, kept_mask
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Edge, Episode, Kind, Link, Node, NodeId, Tombstone, WriteBatch
from ecphora.testing import NOON
from ecphora.testing.samples import sample_entity, sample_node


def node(text: Any = "Ana moved.", **fields: Any) -> Node:
    return check_episode(Episode(text, **fields), NOON).chunks[0]


def test_what_was_forgotten_is_known_again() -> None:
    told = node(id="a", speaker="Ana", happened_at="2026-05-01")
    tombstones: set[NodeId | bytes] = {"a", content_digest(told)}
    assert is_tombstoned(told, tombstones)
    assert is_tombstoned(node(id="a"), tombstones)  # by its id
    assert is_tombstoned(node(id="b", speaker="Ana", happened_at="2026-05-01"), tombstones)  # by its content
    assert not is_tombstoned(node(id="b", speaker="Ben", happened_at="2026-05-01"), tombstones)
    assert not is_tombstoned(node(id="b", speaker="Ana", happened_at="2026-05-02"), tombstones)


def test_the_digest_tells_times_texts_and_speakers_apart() -> None:
    digests = {
        content_digest(one) for one in (node(), node("Ben moved."), node(speaker="Ana"), node(happened_at="2026-05-01"))
    }
    assert len(digests) == 4
    assert {len(digest) for digest in digests} == {16}


def graph_of(*nodes: Node, edges: Sequence[Edge] = ()) -> Graph:
    numbered = tuple(replace(one, seq=seq) for seq, one in enumerate(nodes, 1))
    return apply_batch(Graph(), WriteBatch(nodes=numbered, edges=tuple(edges), revision=1))


def kept(graph: Graph, *gone: str, edges: Sequence[Edge] = ()) -> list[str]:
    batch = WriteBatch(tombstones=tuple(Tombstone(id_, b"") for id_ in gone), edges=tuple(edges))
    return [graph.id(row) for row in np.flatnonzero(kept_mask(graph, batch)).tolist()]


def test_derived_node_is_deleted_with_the_first_of_its_sources_at_every_level() -> None:
    edges = [
        Edge("low", "a", Link.DERIVED_FROM), Edge("low", "b", Link.DERIVED_FROM), Edge("high", "low", Link.DERIVED_FROM)
    ]  # fmt: skip
    insights = [sample_node(id_, kind=Kind.INSIGHT) for id_ in ("low", "high")]
    graph = graph_of(sample_node("a"), sample_node("b"), sample_node("c"), *insights, edges=edges)
    assert kept(graph, "b") == ["a", "c"]
    assert kept(graph, "c") == ["a", "b", "low", "high"]
    assert kept(graph, "low") == ["a", "b", "c"]


def test_entity_is_deleted_with_its_last_mention_and_a_mention_with_its_provenance() -> None:
    ana, mia, bo = (sample_entity(name) for name in ("Ana", "Mia", "Bo"))
    edges = [
        Edge("a", ana.id, Link.MENTIONS), Edge("b", ana.id, Link.ABOUT), Edge("a", mia.id, Link.MENTIONS),
        Edge("b", bo.id, Link.MENTIONS, provenance="a"),
    ]  # fmt: skip
    graph = graph_of(sample_node("a"), sample_node("b"), ana, mia, bo, edges=edges)
    assert kept(graph, "a") == ["b", ana.id]
    assert kept(graph, "b") == ["a", ana.id, mia.id]
    assert kept(graph, "a", edges=[Edge("b", mia.id, Link.MENTIONS)]) == ["b", ana.id, mia.id]
