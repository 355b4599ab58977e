"""Clusters: what is near, what belongs together, and what may be told together."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Edge, Kind, Link, Vectors, WriteBatch
from ecphora.stages.weave import clustering, extractive_summary
from ecphora.stages.weave.clustering import ClusteringConfig
from ecphora.testing.samples import sample_entity, sample_node

HOW = ClusteringConfig(min_cosine=0.5, tau=0.6)


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
    graph: Graph, rows: Sequence[int], how: ClusteringConfig, *, earlier: bool = False
) -> dict[int, list[int]]:
    found = clustering.nearest_neighbors(
        graph, graph.vectors.view, np.array(rows, np.intp), graph.episodes, how, earlier_only=earlier
    )
    return {row: others.tolist() for row, others, _ in found}


# ---- what is near


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 360)), min_size=1, max_size=12),
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 5),
    st.data(),
)
def test_nearest_is_what_a_plain_search_finds(
    angles: list[int | None], earlier: bool, k: int, block: int, data: st.DataObject
) -> None:
    graph, n = _graph(angles), len(angles)
    rows = sorted(data.draw(st.sets(st.integers(0, n - 1))))
    among = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    vectors = {row: _unit([angle])[0] for row, angle in enumerate(angles) if angle is not None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "BLOCK", block)
        how = ClusteringConfig(k=k, min_cosine=0.5)
        found = list(
            clustering.nearest_neighbors(
                graph, graph.vectors.view, np.array(rows, np.intp), among, how, earlier_only=earlier
            )
        )
    assert [row for row, _, _ in found] == [row for row in rows if row in vectors]
    for row, others, cosines in found:
        may = [other for other in vectors if other != row and among[other] and not (earlier and other > row)]
        expected = sorted((float(vectors[row] @ vectors[other]) for other in may), reverse=True)
        expected = [cosine for cosine in expected if cosine >= 0.5 + 1e-6][:k]
        assert set(others.tolist()) <= set(may)
        assert len(others) <= k
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
        assert cosines[: len(expected)] == pytest.approx(expected, abs=1e-5)
        for other, cosine in zip(others.tolist(), cosines, strict=True):
            assert cosine == pytest.approx(float(vectors[row] @ vectors[other]), abs=1e-5)


def test_nearest_in_an_empty_graph_is_nothing() -> None:
    graph = Graph()
    assert (
        list(clustering.nearest_neighbors(graph, graph.vectors.view, np.empty(0, np.intp), graph.episodes, HOW)) == []
    )


def test_a_row_embedded_later_is_found_in_its_place() -> None:
    graph = apply_batch(_graph([0, None, 10]), WriteBatch(vectors={"n1": _unit([5])[0]}, revision=2))
    assert _nearest(graph, [0, 1], HOW) == {0: [1, 2], 1: [0, 2]}
    assert _nearest(graph, [2], HOW, earlier=True) == {2: [1, 0]}


# ---- what belongs together


@given(st.lists(st.integers(0, 120), min_size=1, max_size=9), st.data())
def test_what_is_joined_is_alike(angles: list[int], data: st.DataObject) -> None:
    """Every member but a single one has a neighbour of cosine tau in the cluster; it does not hang on the order."""
    graph = _graph(angles)
    row = data.draw(st.integers(0, len(angles) - 1))
    rows = np.arange(len(angles))
    found = clustering.grow_cluster(graph, graph.vectors.view, row, rows, HOW)
    assert row in found
    assert found.tolist() == sorted(set(found.tolist()))
    vectors = _unit([angles[member] for member in found])
    cosines = vectors @ vectors.T - 2 * np.eye(len(found), dtype=np.float32)
    assert len(found) == 1 or (cosines.max(axis=1) >= HOW.tau - 1e-5).all()
    for member in found.tolist():
        assert clustering.grow_cluster(graph, graph.vectors.view, member, rows, HOW).tolist() == found.tolist()


def test_time_decides_among_equals() -> None:
    """With one neighbour each, those told together are joined."""
    graph = _graph([0, 0, 0, 0], days=[0, 300, 1, 301])
    found = clustering.grow_cluster(graph, graph.vectors.view, 0, np.arange(4), replace(HOW, k=1))
    assert found.tolist() == [0, 2]


def test_shared_names_decide_among_equals() -> None:
    names = [sample_entity(name) for name in ("Porto", "Mia")]
    links = [Edge(f"n{place}", names[place % 2].id, Link.MENTIONS) for place in range(4)]
    graph = _graph([0, 0, 0, 0])
    named = tuple(replace(name, seq=10 + place) for place, name in enumerate(names))
    graph = apply_batch(graph, WriteBatch(nodes=named, edges=tuple(links), revision=2))
    found = clustering.grow_cluster(graph, graph.vectors.view, 1, np.arange(4), replace(HOW, k=1))
    assert found.tolist() == [1, 3]


def test_potential_clusters_follow_strands_and_come_once() -> None:
    """What a neighbour has a strand to may join; a cluster that two rows lead to comes once, too small ones never."""
    links = [Edge("n1", "n0", Link.ASSOCIATION, 0.7)]
    graph = _graph([0, 20, 40, 60, 200], links=links)
    near = [
        (2, np.array([1]), np.array([0.9], np.float32)),
        (1, np.array([0, 2]), np.array([0.9, 0.9], np.float32)),
        (4, np.array([], np.intp), np.array([], np.float32)),
    ]
    assert [rows.tolist() for rows in clustering.potential_clusters(graph, near, HOW)] == [[0, 1, 2]]


# ---- what may be told


def test_a_good_cluster_is_alike_and_has_no_successor_in_it() -> None:
    graph = _graph([0, 10, 20, 120])
    space = graph.vectors.view
    assert clustering.passes_quality_check(graph, space, np.array([0, 1, 2]), HOW)
    assert not clustering.passes_quality_check(graph, space, np.array([0, 1, 2, 3]), HOW)
    assert extractive_summary.cohesion(space[:3]) >= HOW.tau > extractive_summary.cohesion(space)
    after = apply_batch(graph, WriteBatch(edges=(Edge("n1", "n0", Link.SUPERSEDES),), revision=2))
    assert not clustering.passes_quality_check(after, space, np.array([0, 1, 2]), HOW)
    assert clustering.passes_quality_check(after, space, np.array([0, 2]), HOW)


def test_told_is_the_largest_part_of_one_insight() -> None:
    graph = _graph([0, 1, 2, 3])
    assert clustering.insight_coverage(graph, np.arange(4)) == 0
    tellers = tuple(
        replace(sample_node(f"insight:{name}", seq=10 + place), kind=Kind.INSIGHT) for place, name in enumerate("ab")
    )
    links = [Edge("insight:a", f"n{place}", Link.DERIVED_FROM) for place in (0, 1, 2)]
    links += [Edge("insight:b", "n3", Link.DERIVED_FROM)]
    graph = apply_batch(graph, WriteBatch(nodes=tellers, edges=tuple(links), revision=2))
    assert clustering.insight_coverage(graph, np.arange(4)) == 0.75
    assert clustering.insight_coverage(graph, np.array([2, 3])) == 0.5
