"""Forgetting: nodes deleted with a memory, and tombstones that recognize it when it is remembered again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import (
    apply_batch,
    content_digest,
    forget,
    has_content_tombstone,
    has_memory_tombstone,
    is_tombstoned,
    kept_mask,
)
from ecphora.model.types import Edge, Episode, Kind, Link, Node, NodeId, Tombstone, WriteBatch
from ecphora.remember.documents import check_episode
from ecphora.testing import NOON
from ecphora.testing.samples import sample_entity, sample_node


def node(text: Any = "Ana moved.", **fields: Any) -> Node:
    return check_episode(Episode(text, **fields), NOON).chunks[0]


def test_tombstone_matches_by_id_or_content() -> None:
    forgotten = node(id="a", speaker="Ana", happened_at="2026-05-01")
    tombstones: set[NodeId | bytes] = {"a", content_digest(forgotten)}
    assert is_tombstoned(forgotten, tombstones)
    assert is_tombstoned(node(id="a"), tombstones)  # by its id
    assert is_tombstoned(node(id="b", speaker="Ana", happened_at="2026-05-01"), tombstones)  # by its content
    assert not is_tombstoned(node(id="b", speaker="Ben", happened_at="2026-05-01"), tombstones)
    assert not is_tombstoned(node(id="b", speaker="Ana", happened_at="2026-05-02"), tombstones)


def test_chunks_have_the_digest_of_their_text() -> None:
    text = "Ana moved to Porto, and Ben stayed in Ghent. " * 60
    chunks = check_episode(Episode(text, "a"), NOON).chunks
    whole = replace(chunks[0], id="b", text=text, document=None)
    assert content_digest(*chunks) == content_digest(*reversed(chunks)) == content_digest(whole)
    found = forget((*chunks, node(id="c"))).tombstones
    assert found == (
        *(Tombstone(one.id, content_digest(whole)) for one in chunks),
        Tombstone("c", content_digest(node())),
    )
    tombstones: set[NodeId | bytes] = {tombstone.digest for tombstone in found}
    assert has_content_tombstone(chunks, tombstones)
    assert has_memory_tombstone([whole], tombstones)
    assert not has_content_tombstone(chunks[:-1], tombstones)
    assert not any(is_tombstoned(chunk, tombstones) for chunk in chunks)
    assert not has_content_tombstone(chunks, {content_digest(chunk) for chunk in chunks})


def test_memory_of_uncertain_date_has_a_digest_with_and_one_without_it() -> None:
    replaced = replace(node(id="a"), happened_at=NOON - timedelta(days=1))
    dated, undated = content_digest(replaced), content_digest(node())
    assert forget([replaced]).tombstones == (Tombstone("a", dated),)
    for id_ in ("a", "a#1"):
        assert forget([replaced], {id_}).tombstones == (Tombstone("a", dated), Tombstone("a", undated))
    assert forget([node(id="a")], {"a"}).tombstones == (Tombstone("a", undated),)


def test_content_digest_differs_by_time_text_and_speaker() -> None:
    digests = {
        content_digest(item)
        for item in (node(), node("Ben moved."), node(speaker="Ana"), node(happened_at="2026-05-01"))
    }
    assert len(digests) == 4
    assert {len(digest) for digest in digests} == {16}


def graph_of(*nodes: Node, edges: Sequence[Edge] = ()) -> Graph:
    numbered = tuple(replace(item, seq=seq) for seq, item in enumerate(nodes, 1))
    return apply_batch(Graph(), WriteBatch(nodes=numbered, edges=tuple(edges), revision=1))


def remaining_ids(graph: Graph, *deleted: str, edges: Sequence[Edge] = ()) -> list[str]:
    batch = WriteBatch(tombstones=tuple(Tombstone(id_, b"") for id_ in deleted), edges=tuple(edges))
    return [graph.id(row) for row in np.flatnonzero(kept_mask(graph, batch)).tolist()]


def test_derived_node_is_deleted_with_the_first_of_its_sources_at_every_level() -> None:
    edges = [
        Edge("low", "a", Link.DERIVED_FROM), Edge("low", "b", Link.DERIVED_FROM), Edge("high", "low", Link.DERIVED_FROM)
    ]  # fmt: skip
    insights = [sample_node(id_, kind=Kind.INSIGHT) for id_ in ("low", "high")]
    graph = graph_of(sample_node("a"), sample_node("b"), sample_node("c"), *insights, edges=edges)
    assert remaining_ids(graph, "b") == ["a", "c"]
    assert remaining_ids(graph, "c") == ["a", "b", "low", "high"]
    assert remaining_ids(graph, "low") == ["a", "b", "c"]


def test_memory_stays_when_a_memory_it_links_to_is_deleted() -> None:
    graph = graph_of(sample_node("a"), sample_node("b"), edges=[Edge("b", "a", Link.DERIVED_FROM)])
    assert remaining_ids(graph, "a") == ["b"]


def test_entity_is_deleted_with_its_last_mention_and_a_mention_with_its_provenance() -> None:
    ana, mia, bo = (sample_entity(name) for name in ("Ana", "Mia", "Bo"))
    edges = [
        Edge("a", ana.id, Link.MENTIONS), Edge("b", ana.id, Link.ABOUT), Edge("a", mia.id, Link.MENTIONS),
        Edge("b", bo.id, Link.MENTIONS, provenance="a"),
    ]  # fmt: skip
    graph = graph_of(sample_node("a"), sample_node("b"), ana, mia, bo, edges=edges)
    assert remaining_ids(graph, "a") == ["b", ana.id]
    assert remaining_ids(graph, "b") == ["a", ana.id, mia.id]
    assert remaining_ids(graph, "a", edges=[Edge("b", mia.id, Link.MENTIONS)]) == ["b", ana.id, mia.id]
