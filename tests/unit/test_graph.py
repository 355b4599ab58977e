"""The graph: previous turns, vectors, lookups and accesses."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Access, AccessKind, Edge, Kind, Link, Mark, Node, WriteBatch
from ecphora.testing import (
    NOON,
    graph_differences,
    sample_batch,
    sample_entity,
    sample_graph,
    sample_node,
    sample_vector,
)


def graph_of(*nodes: Node, batch: WriteBatch | None = None) -> Graph:
    numbered = tuple(replace(node, seq=place) for place, node in enumerate(nodes, 1))
    return apply_batch(Graph(), replace(batch or sample_batch(*numbered), nodes=numbered, revision=1))


def before(graph: Graph) -> dict[str, str | None]:
    return {graph.id(row): graph.id(p) if p >= 0 else None for row, p in enumerate(graph.previous_rows.tolist())}


# ---- previous turns


def test_previous_turn_is_by_session_and_time() -> None:
    graph = graph_of(
        sample_node("a3", minutes=3, session="a"),
        sample_node("b1", minutes=0, session="b"),
        sample_node("a1", minutes=1, session="a"),
        sample_node("b2", minutes=90, session="b"),  # within a session any time may pass
        sample_node("a2", minutes=2, session="a"),  # backfilled
    )
    assert before(graph) == {"a1": None, "a2": "a1", "a3": "a2", "b1": None, "b2": "b1"}
    after = {graph.id(row): graph.id(f) for row, f in enumerate(graph.next_rows.tolist()) if f >= 0}
    assert after == {"a1": "a2", "a2": "a3", "b1": "b2"}


def test_previous_turn_of_equal_times_is_by_order_of_storing() -> None:
    graph = graph_of(*(sample_node(id_, session="a") for id_ in "zax"))
    assert before(graph) == {"z": None, "a": "z", "x": "a"}


def test_previous_turn_without_session_is_within_an_hour() -> None:
    graph = graph_of(
        sample_node("one", minutes=0, speaker="Ana"),
        sample_node("two", minutes=60, speaker="Ben"),
        sample_node("three", minutes=120.1, speaker="Ana"),
        sample_node("no speaker", minutes=61),
    )
    assert before(graph) == {"one": None, "two": "one", "three": None, "no speaker": None}


def test_previous_chunk_is_of_the_same_document() -> None:
    graph = graph_of(
        *(sample_node(f"d#{place}", document="d", position=place, speaker="Ana") for place in (1, 2, 3)),
        sample_node("e#1", document="e", position=1),
        sample_node("loose", speaker="Ana"),
    )
    assert before(graph) == {"d#1": None, "d#2": "d#1", "d#3": "d#2", "e#1": None, "loose": None}
    assert graph.document_rows("d").tolist() == [0, 1, 2]
    assert graph.document_rows("nothing").tolist() == []


def test_entities_are_not_turns() -> None:
    graph = graph_of(sample_node("a", session="s"), sample_entity("Ana"), sample_node("b", session="s"))
    assert before(graph) == {"a": None, "entity:ana": None, "b": "a"}


turns = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b"]), st.sampled_from([None, "Ana"]), st.sampled_from([None, "d", "e"]),
        st.sampled_from([0, 1, 50, 61, 120, 500]),
    ),
    max_size=12,
)  # fmt: skip


@pytest.mark.medium
@given(turns)
def test_previous_rows_equal_a_plain_search(drawn_turns: list[tuple[str | None, str | None, str | None, int]]) -> None:
    nodes = [
        sample_node(f"n{place}", session=session, speaker=speaker, document=document, minutes=minutes)
        for place, (session, speaker, document, minutes) in enumerate(drawn_turns)
    ]

    def stream(node: Node) -> object:
        if node.session or node.document:
            return ("session", node.session) if node.session else ("document", node.document)
        return "loose" if node.speaker else None

    for place, node in enumerate(nodes):
        earlier = [
            (other.happened_at, number)
            for number, other in enumerate(nodes)
            if stream(node) is not None
            and stream(other) == stream(node)
            and (other.happened_at, number) < (node.happened_at, place)
        ]
        when, expected = max(earlier, default=(NOON, -1))
        if stream(node) == "loose" and node.happened_at - when > timedelta(hours=1):
            expected = -1
        assert graph_of(*nodes).previous_rows[place] == expected


# ---- vectors


def test_previous_cosine_is_that_of_the_previous_turn() -> None:
    texts = ["river boat", "boat", "school by the river"]
    nodes = [sample_node(text, minutes=place, session="s") for place, text in enumerate(texts)]
    graph = graph_of(*nodes)
    a, b, c = map(sample_vector, texts)
    assert a @ c > 0.1  # the last turn stands before none
    assert graph.previous_cosine == pytest.approx([0, a @ b, b @ c], abs=1e-6)
    without_vector = apply_batch(Graph(), replace(sample_batch(*nodes, without_vectors=["boat"]), revision=1))
    assert without_vector.previous_cosine.tolist() == [0, 0, 0]
    assert without_vector.vector_positions.tolist() == [0, -1, 1]


def test_backfilled_turn_changes_the_previous_cosine_of_the_next() -> None:
    first, late = sample_node("river boat", session="s"), sample_node("boat", session="s", minutes=2)
    graph = graph_of(first, late)
    assert graph.previous_cosine[1] == pytest.approx(sample_vector("river boat") @ sample_vector("boat"), abs=1e-6)
    grown = apply_batch(graph, replace(sample_batch(sample_node("school", session="s", minutes=1, seq=3)), revision=2))
    assert grown.previous_rows.tolist() == [-1, 2, 0]
    assert grown.previous_cosine[1] == pytest.approx(sample_vector("school") @ sample_vector("boat"), abs=1e-6)
    assert graph.previous_cosine[1] == pytest.approx(sample_vector("river boat") @ sample_vector("boat"), abs=1e-6)


# ---- lookups


def test_unknown_ids_have_no_row() -> None:
    graph = sample_graph()
    assert graph.row("nothing") is None
    assert graph.rows(["nothing", "t1", "t0"]).tolist() == [1, 0]
    assert len(Graph()) == 0
    assert Graph().previous_rows.tolist() == Graph().previous_cosine.tolist() == []
    assert Graph().mean_length == 1


def test_accesses_are_returned_unchanged() -> None:
    graph = sample_graph()
    access = Access("t0", NOON + timedelta(seconds=1.5), AccessKind.RECALLED, 0.5, 99)
    grown = apply_batch(graph, WriteBatch(accesses=(access, Access("gone", NOON, AccessKind.USED)), revision=2))
    assert grown.accesses_of(0)[-1] == access
    assert graph.accesses_of(0) == grown.accesses_of(0)[:-1]


def test_kinds_are_counted() -> None:
    graph = sample_graph()
    assert graph.of_kind(Kind.ENTITY).sum() == 2
    assert graph.episodes.sum() == len(graph) - 2
    assert graph_differences(graph, sample_graph(3))


def test_episodes_are_counted() -> None:
    graph = graph_of(sample_entity("Ana"), sample_node("a"), sample_node("b"))
    assert graph.episode_count == 2
    assert Graph().episode_count == 0
    assert graph.no_rows().tolist() == [-1, -1, -1]


def test_rows_of_a_kind_start_at_a_row() -> None:
    graph = graph_of(sample_entity("Ana"), sample_node("a"), sample_entity("Porto"), sample_node("b"))
    assert graph.rows_of_kind(Kind.ENTITY).tolist() == [0, 2]
    assert graph.rows_of_kind(Kind.ENTITY, 1).tolist() == [2]
    assert graph.rows_of_kind(Kind.CLAIM).tolist() == []


def graph_of_links(*links: Link) -> Graph:
    """Edges with these links from one node to another, an entity."""
    nodes = (sample_node("a"), replace(sample_node("b"), kind=Kind.ENTITY))
    return graph_of(*nodes, batch=sample_batch(*nodes, edges=tuple(Edge("a", "b", link) for link in links)))


def test_edges_of_a_link_are_found() -> None:
    graph = graph_of_links(*Link, Link.ABOUT)
    links = [*Link, Link.ABOUT]
    assert [graph.link(edge) for edge in range(len(links))] == links
    for link in Link:
        assert graph.edges_of_link(link).tolist() == [edge for edge, other in enumerate(links) if other == link]
    assert graph.edges_of_link(Link.ABOUT, Link.MENTIONS).tolist() == [0, 1, len(Link)]
    assert graph.edges_of_link(Link.ABOUT, Link.MENTIONS, first=1).tolist() == [1, len(Link)]
    assert graph.has_link(Link.ABOUT, edges=np.array([2, 1, 0])).tolist() == [False, True, False]
    assert not graph.has_link().any()


def test_edges_of_a_row_are_found_by_link() -> None:
    graph = graph_of_links(Link.MENTIONS, Link.SUPERSEDES, Link.ABOUT)
    a, b = graph.rows(["a", "b"])
    for find, rows in ((graph.edges_from, [b, a]), (graph.edges_to, [a, b])):
        assert [found.tolist() for found in find(np.array(rows))] == [[0, 1, 2], [1, 1, 1]]
        assert [found.tolist() for found in find(np.array(rows), Link.SUPERSEDES)] == [[1], [1]]
        assert [found.tolist() for found in find(np.array(rows), Link.ABOUT, Link.MENTIONS)] == [[0, 2], [1, 1]]


def test_accesses_are_found_by_kind() -> None:
    kinds = (*AccessKind, *Mark)
    accesses = tuple(Access("a", NOON, kind, seq=2 + place) for place, kind in enumerate(kinds))
    graph = graph_of(sample_node("a"), batch=WriteBatch(accesses=accesses))
    logged = [AccessKind.ENCODED, *kinds]  # the first by storing the node
    for kind in kinds:
        expected = [entry for entry, other in enumerate(logged) if other == kind]
        assert graph.accesses_of_kind(kind).tolist() == expected
        assert graph.accesses_of_kind(kind, first=1).tolist() == [entry for entry in expected if entry]
    assert graph.has_access_kind(*Mark, accesses=np.array([1, len(logged) - 1])).tolist() == [False, True]
