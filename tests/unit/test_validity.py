"""Which memories are superseded, and until when they are valid, by the claims of a graph."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from ecphora.language.terms import hash_terms
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Kind, Link, Node, Rows, ValidityEnd, WriteBatch
from ecphora.retrieval import validity
from ecphora.retrieval.validity import ClaimTopic
from ecphora.testing import NOON, sample_batch, sample_node, sample_query

MEMORIES = tuple(sample_node(f"m{number}", f"Statement {number}.", seq=number) for number in range(1, 4))


def graph_with_claims(
    *edges: Edge, claimed: Sequence[int] = (1, 2, 3), topics: Sequence[ClaimTopic] = (ClaimTopic(),) * 3
) -> Graph:
    """Memories m1, m2 and m3, and the claims c1, c2 and c3, which are those of the memories ``claimed``."""
    claims = [
        sample_node(f"c{number}", kind=Kind.CLAIM, seq=10 + number, metadata=topic.metadata)
        for number, topic in enumerate(topics, 1)
    ]
    sources = [Edge(f"c{number}", f"m{number}", Link.CLAIMED_IN) for number in claimed]
    return apply_batch(Graph(), sample_batch(*MEMORIES, *claims, edges=(*sources, *edges), revision=1))


def read(rows: Rows) -> list[Node]:
    return [MEMORIES[row] for row in rows.tolist()]


def test_declared_end_is_seen_once_it_has_happened() -> None:
    end = ValidityEnd("m1", NOON + timedelta(days=1), NOON)
    graph = apply_batch(Graph(), sample_batch(*MEMORIES, validity_ends=(end,), revision=1))
    found = validity.validity_of(graph, graph.rows(["m1"])[0], sample_query("?", now=NOON + timedelta(days=9)))
    assert found is not None
    assert (found.is_valid, found.valid_to) == (False, NOON + timedelta(days=1))
    before = sample_query("?", now=NOON + timedelta(days=9), as_of=NOON)
    assert validity.validity_of(graph, graph.rows(["m1"])[0], before) is None


def test_updates_of_the_same_memory_are_listed_by_confidence() -> None:
    graph = graph_with_claims(Edge("c3", "c1", Link.SUPERSEDES, 0.7), Edge("c3", "c2", Link.SUPERSEDES, 0.9))
    assert [(update.old.id, update.new.id) for update in validity.list_updates(graph, read, 5)] == [
        ("m2", "m3"),
        ("m1", "m3"),
    ]
    assert [update.old.id for update in validity.list_updates(graph, read, 1)] == ["m2"]


def test_updates_of_the_latest_memory_are_listed_first() -> None:
    graph = graph_with_claims(Edge("c2", "c1", Link.SUPERSEDES, 0.9), Edge("c3", "c2", Link.SUPERSEDES, 0.7))
    assert [update.new.id for update in validity.list_updates(graph, read, 5)] == ["m3", "m2"]
    assert [update.new.id for update in validity.list_updates(graph, read, 1)] == ["m3"]


def test_search_finds_a_supersession_that_is_newer_than_its_cache() -> None:
    graph = graph_with_claims(Edge("c2", "c1", Link.SUPERSEDES, 0.9))
    assert validity.supersessions(graph).new.tolist() == graph.rows(["m2"]).tolist()
    grown = apply_batch(graph, WriteBatch(edges=(Edge("c3", "c2", Link.SUPERSEDES, 0.9),), revision=2))
    assert validity.supersessions(grown).new.tolist() == graph.rows(["m2", "m3"]).tolist()


def test_topic_of_a_supersession_has_the_terms_of_both_claims() -> None:
    topics = (ClaimTopic(frozenset({"home", "lisbon"})), ClaimTopic(frozenset({"home", "porto"})), ClaimTopic())
    pairs = validity.supersessions(graph_with_claims(Edge("c2", "c1", Link.SUPERSEDES, 0.9), topics=topics))
    assert pairs.topic_terms == (frozenset(hash_terms(["home", "lisbon", "porto"]).tolist()),)


def test_claim_of_no_memory_supersedes_none() -> None:
    edges = (Edge("c3", "c1", Link.SUPERSEDES, 0.9), Edge("c2", "c1", Link.SUPERSEDES, 0.9))
    pairs = validity.supersessions(graph_with_claims(*edges, claimed=(1, 2)))
    assert (pairs.old.tolist(), pairs.new.tolist()) == ([0], [1])
    assert not len(validity.supersessions(graph_with_claims(*edges, claimed=(2, 3))).old)
    assert np.isinf(pairs.valid_to).all()


def test_supersession_is_in_force_only_for_a_query_that_may_see_it() -> None:
    pairs = validity.supersessions(graph_with_claims(Edge("c3", "c1", Link.SUPERSEDES, 0.9)))
    now = sample_query("?", now=NOON + timedelta(days=9))
    assert validity.in_force(pairs, now).tolist() == [True]
    before = sample_query("?", now=NOON + timedelta(days=9), known_at=NOON - timedelta(days=1))
    assert validity.in_force(pairs, before).tolist() == [False]
