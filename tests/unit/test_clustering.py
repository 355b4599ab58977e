"""Clusters: nearest neighbors, cluster growth, and quality."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.consolidation.insights import clustering
from ecphora.consolidation.insights.clustering import ClusteringConfig
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Kind, Link, Vectors, WriteBatch
from ecphora.strategies.weave.potential_clusters import insight_coverage, potential_clusters
from ecphora.testing.samples import sample_entity, sample_node

CONFIG = ClusteringConfig(min_cosine=0.5, tau=0.6)


def _unit(angles: Sequence[float]) -> Vectors:
    radians = np.radians(np.array(angles, np.float64))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def _graph(angles: Sequence[float | None], *, links: Sequence[Edge] = (), days: Sequence[float] = ()) -> Graph:
    """Memories n0, n1 and so on by the angles of their vectors; None has no vector."""
    at = days or [0.0] * len(angles)
    nodes = [sample_node(f"n{place}", minutes=1440 * day, seq=place + 1) for place, day in enumerate(at)]
    vectors = {f"n{place}": _unit([angle])[0] for place, angle in enumerate(angles) if angle is not None}
    return apply_batch(Graph(), WriteBatch(nodes=tuple(nodes), vectors=vectors, edges=tuple(links), revision=1))


def _nearest(
    graph: Graph, rows: Sequence[int], config: ClusteringConfig, *, earlier: bool = False
) -> dict[int, list[int]]:
    found = clustering.nearest_neighbors(
        graph, graph.vectors.view, np.array(rows, np.intp), graph.episodes, config, earlier_only=earlier
    )
    return {row: others.tolist() for row, others, _ in found}


# ---- nearest neighbors


@pytest.mark.medium
@given(
    st.lists(st.one_of(st.none(), st.integers(0, 360)), min_size=1, max_size=12),
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 5),
    st.data(),
)
def test_nearest_neighbors_equal_a_plain_search(
    angles: list[int | None], earlier: bool, k: int, block: int, data: st.DataObject
) -> None:
    graph, n = _graph(angles), len(angles)
    rows = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    vectors = {row: _unit([angle])[0] for row, angle in enumerate(angles) if angle is not None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "BLOCK", block)
        config = ClusteringConfig(k=k, min_cosine=0.5)
        found = list(
            clustering.nearest_neighbors(
                graph, graph.vectors.view, np.array(rows, np.intp), allowed, config, earlier_only=earlier
            )
        )
    assert [row for row, _, _ in found] == [row for row in rows if row in vectors]
    for row, others, cosines in found:
        may = [other for other in vectors if other != row and allowed[other] and not (earlier and other > row)]
        expected = sorted((float(vectors[row] @ vectors[other]) for other in may), reverse=True)
        expected = [cosine for cosine in expected if cosine >= 0.5 + 1e-6][:k]
        assert set(others.tolist()) <= set(may)
        assert len(others) <= k
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
        assert cosines[: len(expected)] == pytest.approx(expected, abs=1e-5)
        for other, cosine in zip(others.tolist(), cosines, strict=True):
            assert cosine == pytest.approx(float(vectors[row] @ vectors[other]), abs=1e-5)


def test_nearest_neighbors_of_an_empty_graph_are_empty() -> None:
    graph = Graph()
    assert (
        list(clustering.nearest_neighbors(graph, graph.vectors.view, np.empty(0, np.intp), graph.episodes, CONFIG))
        == []
    )


def test_row_embedded_later_is_found() -> None:
    graph = apply_batch(_graph([0, None, 10]), WriteBatch(vectors={"n1": _unit([5])[0]}, revision=2))
    assert _nearest(graph, [0, 1], CONFIG) == {0: [1, 2], 1: [0, 2]}
    assert _nearest(graph, [2], CONFIG, earlier=True) == {2: [1, 0]}


# ---- growth


def test_cluster_has_no_member_below_tau() -> None:
    graph = _graph([0, 100])
    assert clustering.grow_cluster(graph, graph.vectors.view, 0, np.arange(2), CONFIG).tolist() == [0]


@given(st.lists(st.integers(0, 120), min_size=1, max_size=9), st.data())
def test_cluster_members_are_similar(angles: list[int], data: st.DataObject) -> None:
    """Every member of a cluster of several has a neighbor of cosine tau in it, in any order of the rows."""
    graph = _graph(angles)
    row = data.draw(st.integers(0, len(angles) - 1))
    rows = np.arange(len(angles))
    found = clustering.grow_cluster(graph, graph.vectors.view, row, rows, CONFIG)
    assert row in found
    assert found.tolist() == sorted(set(found.tolist()))
    vectors = _unit([angles[member] for member in found])
    cosines = vectors @ vectors.T - 2 * np.eye(len(found), dtype=np.float32)
    assert len(found) == 1 or (cosines.max(axis=1) >= CONFIG.tau - 1e-5).all()
    for member in found.tolist():
        assert clustering.grow_cluster(graph, graph.vectors.view, member, rows, CONFIG).tolist() == found.tolist()


def test_time_breaks_ties_between_neighbors() -> None:
    """With one neighbor each, memories of the same time are joined."""
    graph = _graph([0, 0, 0, 0], days=[0, 300, 1, 301])
    found = clustering.grow_cluster(graph, graph.vectors.view, 0, np.arange(4), replace(CONFIG, k=1))
    assert found.tolist() == [0, 2]


def test_shared_names_break_ties_between_neighbors() -> None:
    names = [sample_entity(name) for name in ("Porto", "Mia")]
    links = [Edge(f"n{place}", names[place % 2].id, Link.MENTIONS) for place in range(4)]
    graph = _graph([0, 0, 0, 0])
    entities = tuple(replace(name, seq=10 + place) for place, name in enumerate(names))
    graph = apply_batch(graph, WriteBatch(nodes=entities, edges=tuple(links), revision=2))
    found = clustering.grow_cluster(graph, graph.vectors.view, 1, np.arange(4), replace(CONFIG, k=1))
    assert found.tolist() == [1, 3]


def test_potential_clusters_follow_strands_and_are_unique() -> None:
    """Strands of a neighbor extend a cluster; a cluster found from two rows is returned once, a small one never."""
    links = [Edge("n1", "n0", Link.ASSOCIATION, 0.7)]
    graph = _graph([0, 20, 40, 60, 200], links=links)
    near = [
        (2, np.array([1]), np.array([0.9], np.float32)),
        (1, np.array([0, 2]), np.array([0.9, 0.9], np.float32)),
        (4, np.array([], np.intp), np.array([], np.float32)),
    ]
    assert [rows.tolist() for rows in potential_clusters(graph, near, CONFIG)] == [[0, 1, 2]]


# ---- quality


def test_quality_check_needs_similarity_and_no_superseded_member() -> None:
    graph = _graph([0, 10, 20, 120])
    vectors = graph.vectors.view
    assert clustering.passes_quality_check(graph, vectors, np.array([0, 1, 2]), CONFIG)
    assert not clustering.passes_quality_check(graph, vectors, np.array([0, 1, 2, 3]), CONFIG)
    assert clustering.cohesion(vectors[:3]) >= CONFIG.tau > clustering.cohesion(vectors)
    after = apply_batch(graph, WriteBatch(edges=(Edge("n1", "n0", Link.SUPERSEDES),), revision=2))
    assert not clustering.passes_quality_check(after, vectors, np.array([0, 1, 2]), CONFIG)
    assert clustering.passes_quality_check(after, vectors, np.array([0, 2]), CONFIG)


def test_insight_coverage_is_the_largest_fraction_of_one_insight() -> None:
    graph = _graph([0, 1, 2, 3])
    assert insight_coverage(graph, np.arange(4)) == 0
    insights = tuple(
        replace(sample_node(f"insight:{name}", seq=10 + place), kind=Kind.INSIGHT) for place, name in enumerate("ab")
    )
    links = [Edge("insight:a", f"n{place}", Link.DERIVED_FROM) for place in (0, 1, 2)]
    links += [Edge("insight:b", "n3", Link.DERIVED_FROM)]
    graph = apply_batch(graph, WriteBatch(nodes=insights, edges=tuple(links), revision=2))
    assert insight_coverage(graph, np.arange(4)) == 0.75
    assert insight_coverage(graph, np.array([2, 3])) == 0.5


def test_chunks_of_one_text_count_as_one_source_of_a_cluster() -> None:
    nodes = [sample_node(f"d#{n}", document="d", position=n) for n in (1, 2)] + [sample_node(id_) for id_ in "abcd"]
    numbered = tuple(replace(node, seq=seq) for seq, node in enumerate(nodes, 1))
    graph = apply_batch(Graph(), WriteBatch(nodes=numbered, revision=1))
    config = ClusteringConfig(min_size=3, max_size=4)
    assert clustering.has_valid_size(graph, np.array([1, 2, 3]), config)
    assert not clustering.has_valid_size(graph, np.array([0, 1, 2]), config)
    assert not clustering.has_valid_size(graph, np.arange(1, 6), config)


def test_chunks_of_a_second_text_count_as_one_source_too() -> None:
    nodes = [sample_node(f"{document}#{n}", document=document, position=n) for document in "de" for n in (1, 2, 3)]
    graph = apply_batch(
        Graph(), WriteBatch(nodes=tuple(replace(node, seq=seq) for seq, node in enumerate(nodes, 1)), revision=1)
    )
    assert not clustering.has_valid_size(graph, np.array([3, 4, 5]), ClusteringConfig(min_size=2))
    assert clustering.has_valid_size(graph, np.array([2, 3]), ClusteringConfig(min_size=2))


def test_cluster_has_at_most_twelve_rows() -> None:
    nodes = tuple(sample_node(f"n{seq}", seq=seq) for seq in range(1, 14))
    graph = apply_batch(Graph(), WriteBatch(nodes=nodes, revision=1))
    assert clustering.has_valid_size(graph, np.arange(12), ClusteringConfig())
    assert not clustering.has_valid_size(graph, np.arange(13), ClusteringConfig())
