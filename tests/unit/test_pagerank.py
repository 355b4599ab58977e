"""PageRank compared with its equation and values computed by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora.strategies.synapse import pagerank
from ecphora.strategies.synapse.layer_edges import EdgeList


@st.composite
def graphs(draw: st.DrawFn) -> tuple[EdgeList, NDArray[np.bool_]]:
    nodes = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=10)))
    members = np.flatnonzero(nodes).tolist()
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(members)] * 2), max_size=20)) if members else []
    weights = np.array([draw(st.sampled_from([0.25, 0.5, 1.0])) for _ in pairs], np.float32)
    src, dst = (np.array([pair[end] for pair in pairs], np.intp) for end in (0, 1))
    return EdgeList(src, dst, weights), nodes


@pytest.mark.medium
@given(graphs())
def test_pagerank_solves_its_equation(graph: tuple[EdgeList, NDArray[np.bool_]]) -> None:
    """The reference solves p = (1 - d) / n + d · P p as linear equations instead of iterating."""
    edges, nodes = graph
    rank = pagerank.pagerank(edges, nodes)
    assert not rank[~nodes].any()
    if not nodes.any():
        return
    members = np.flatnonzero(nodes).tolist()
    n, index = len(members), {row: number for number, row in enumerate(members)}
    step = np.zeros((n, n))
    for src, dst, weight in zip(edges.src.tolist(), edges.dst.tolist(), edges.weights.tolist(), strict=True):
        step[index[dst], index[src]] += weight
    step[:, step.sum(axis=0) == 0] = 1
    step /= step.sum(axis=0)
    solved = np.linalg.solve(np.eye(n) - pagerank.DAMPING * step, np.full(n, (1 - pagerank.DAMPING) / n))
    assert rank[nodes] == pytest.approx(solved / solved.max(), abs=1e-4)


def test_precision_does_not_depend_on_the_number_of_nodes() -> None:
    """A ring of 3,000 nodes, in which one has a second edge: the few that differ converge slowest."""
    size = 3000
    src = np.array([*range(size), *[0] * 40])
    dst = np.array([*[(row + 1) % size for row in range(size)], *range(100, 140)])
    rank = pagerank.pagerank(EdgeList(src, dst, np.ones(len(src), np.float32)), np.ones(size, np.bool_)).astype(float)
    incoming = np.bincount(dst, rank[src] / np.bincount(src)[src], minlength=size)
    change = (1 - pagerank.DAMPING) * rank.mean() + pagerank.DAMPING * incoming - rank
    assert np.abs(change).max() < pagerank.TOLERANCE * rank.mean() * 2


def test_pagerank_equals_values_computed_by_hand() -> None:
    """One edge, a to b, d = .85: p_a = .15/2 + .85 p_b/2 and p_a + p_b = 1, so p_a = .5/1.425, p_a/p_b = .540541."""
    link = EdgeList(np.array([0]), np.array([1]), np.ones(1, np.float32))
    assert pagerank.pagerank(link, np.ones(2, np.bool_)) == pytest.approx([0.540541, 1.0], abs=1e-5)
