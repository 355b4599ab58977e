"""Spreading activation: the published equations to their printed digits, and the frontier compared with a matrix."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora.strategies.synapse import spreading_activation
from ecphora.strategies.synapse.layer_edges import EdgeList

Numbers = NDArray[np.float64]
S, DELTA, BETA, M, GAMMA, THETA = 0.8, 0.5, 0.15, 7, 5.0, 0.5
GATE = 0.12


def edge_list(edges: Iterable[tuple[int, int, float]]) -> EdgeList:
    src, dst, weights = list(zip(*edges, strict=True)) or ((), (), ())
    return EdgeList(np.array(src, np.intp), np.array(dst, np.intp), np.array(weights, np.float32))


def ring(size: int, degree: int) -> EdgeList:
    steps = [step for half in range(1, degree // 2 + 1) for step in (half, -half)]
    return edge_list((row, (row + step) % size, 1.0) for row in range(size) for step in steps)


def iterations(
    start: Numbers, edges: EdgeList, *, beta: float = BETA, use_fan_effect: bool = True
) -> list[spreading_activation.Iteration]:
    """Three iterations, each with only the edges that leave active rows."""
    iteration = spreading_activation.initial(start.astype(np.float32))
    all_iterations = [iteration]
    for _ in range(3):
        leaving = edges.select(iteration.activation[edges.src] > 0)
        is_awake = np.ones(len(start), np.bool_)
        iteration = spreading_activation.propagate(
            iteration, leaving, is_awake, S=S, delta=DELTA, use_fan_effect=use_fan_effect
        )
        iteration = spreading_activation.apply_sigmoid(
            iteration, spreading_activation.inhibit(iteration.u, beta=beta, M=M), gamma=GAMMA, theta=THETA
        )
        all_iterations.append(iteration)
    return all_iterations


def highest_activations(start: Numbers, edges: EdgeList) -> list[float]:
    return [float(iteration.activation.max()) for iteration in iterations(start, edges)]


def reference(start: Numbers, edges: EdgeList, *, sparse: bool = True) -> Numbers:
    """The reference implementation: the graph as one matrix, every row in every step."""
    size = len(start)
    weights, fan = np.zeros((size, size)), np.zeros(size)
    for src, dst, weight in zip(edges.src, edges.dst, edges.weights.astype(np.float64), strict=True):
        weights[dst, src] += weight
        fan[src] += 1
    active = start.astype(np.float32).astype(np.float64)
    for _ in range(3):
        u = np.zeros(size)
        for i in range(size):
            u[i] = (1 - DELTA) * active[i] + sum(
                S * weights[i, j] * active[j] / fan[j] for j in range(size) if weights[i, j]
            )
        strongest = sorted(range(size), key=lambda i: (-u[i], i))[:M]
        fired = np.zeros(size)
        for i in range(size):
            inhibited = max(0.0, u[i] - BETA * sum(u[k] - u[i] for k in strongest if u[k] > u[i]))
            if not sparse or inhibited > 0 or active[i] > 0:
                fired[i] = 1 / (1 + np.exp(-GAMMA * (inhibited - THETA)))
        active = fired
    return active


NO_EDGES = edge_list([])


def anchors(size: int, rows: Sequence[int], cosine: float) -> Numbers:
    start = np.zeros(size)
    start[list(rows)] = cosine
    return start


@pytest.mark.parametrize(
    ("start", "edges", "expected"),
    [
        pytest.param(anchors(1, [0], 0.3), NO_EDGES, (0.3, 0.1480, 0.1062, 0.0967), id="alone .3"),
        pytest.param(anchors(1, [0], 0.6), NO_EDGES, (0.6, 0.2689, 0.1385, 0.1040), id="alone .6"),
        pytest.param(anchors(1, [0], 0.8), NO_EDGES, (0.8, 0.3775, 0.1742, 0.1126), id="alone .8"),
        pytest.param(anchors(1, [0], 1.0), NO_EDGES, (1.0, 0.5, 0.2227, 0.1253), id="alone 1"),
        pytest.param(anchors(200, range(5), 0.3), ring(200, 4), (0.3, 0.3659, 0.3574, 0.3311), id="ring, side by side"),
        pytest.param(
            anchors(200, range(0, 100, 20), 0.7), ring(200, 4), (0.7, 0.3208, 0.1547, 0.1078), id="ring, apart"
        ),
    ],
)
def test_activations_equal_the_table_of_the_paper(start: Numbers, edges: EdgeList, expected: tuple[float, ...]) -> None:
    assert highest_activations(start, edges) == pytest.approx(expected, abs=5e-5)


def test_sigmoid_applies_only_to_active_rows() -> None:
    """200 rows without an anchor reach .151 after three iterations, above the gate of .12."""
    no_anchors = np.zeros(200)
    assert reference(no_anchors, ring(200, 4), sparse=False).max() == pytest.approx(0.151, abs=5e-4)
    assert highest_activations(no_anchors, ring(200, 4)) == [0, 0, 0, 0]


def test_single_anchor_passes_the_gate_from_a_cosine_of_925() -> None:
    assert (
        highest_activations(anchors(1, [0], 0.924), NO_EDGES)[-1]
        < GATE
        < highest_activations(anchors(1, [0], 0.926), NO_EDGES)[-1]
    )


@given(st.floats(1e-6, 1), st.booleans())
def test_two_connected_rows_pass_the_gate_from_any_start(cosine: float, has_two_anchors: bool) -> None:
    start = anchors(2, [0, 1] if has_two_anchors else [0], cosine)
    assert highest_activations(start, edge_list([(0, 1, 1.0), (1, 0, 1.0)]))[-1] > GATE


@st.composite
def random_graphs(draw: st.DrawFn) -> tuple[Numbers, EdgeList]:
    size = draw(st.integers(1, 14))
    row = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(row, row), max_size=40, unique=True))
    weights = draw(st.lists(st.sampled_from([0.125, 0.25, 0.5, 0.75, 1.0]), min_size=len(pairs), max_size=len(pairs)))
    start = np.zeros(size)
    for place in draw(st.lists(row, max_size=4)):
        start[place] = draw(st.sampled_from([0.0625, 0.25, 0.375, 0.5, 0.8125, 1.0]))
    return start, edge_list((src, dst, weight) for (src, dst), weight in zip(pairs, weights, strict=True))


@pytest.mark.medium
@given(random_graphs())
def test_frontier_equals_the_matrix(start_and_edges: tuple[Numbers, EdgeList]) -> None:
    start, edges = start_and_edges
    assert iterations(start, edges)[-1].activation == pytest.approx(reference(start, edges), abs=1e-4)


@pytest.mark.medium
@given(random_graphs())
def test_unreached_rows_stay_at_zero(start_and_edges: tuple[Numbers, EdgeList]) -> None:
    start, edges = start_and_edges
    reached = start > 0
    for _ in range(3):
        reached[edges.dst[reached[edges.src]]] = True
    assert not iterations(start, edges)[-1].activation[~reached].any()


def test_delta_is_the_loss_of_a_row() -> None:
    """(1 - δ)·a with δ = .2 is .8 of .5; the published δ = .5 would hide a swap."""
    iteration = spreading_activation.initial(anchors(1, [0], 0.5).astype(np.float32))
    assert spreading_activation.propagate(
        iteration, edge_list([]), np.ones(1, np.bool_), S=S, delta=0.2
    ).u == pytest.approx([0.4])


@pytest.mark.parametrize("fan", [1, 4, 20])
def test_fan_effect_divides_the_output_of_a_hub(fan: int) -> None:
    star = edge_list((0, row, 1.0) for row in range(1, fan + 1))
    iteration = spreading_activation.initial(anchors(fan + 1, [0], 0.5).astype(np.float32))
    is_awake = np.ones(fan + 1, np.bool_)
    result = spreading_activation.propagate(iteration, star, is_awake, S=S, delta=DELTA)
    assert result.u[1:] == pytest.approx([S * 0.5 / fan] * fan)
    assert result.u[0] == pytest.approx(0.25)
    assert spreading_activation.propagate(iteration, star, is_awake, S=S, delta=DELTA, use_fan_effect=False).u[
        1:
    ] == pytest.approx([0.4] * fan)


def test_dormant_rows_neither_send_nor_receive_but_count_in_the_fan() -> None:
    edges = edge_list([(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0)])
    iteration = spreading_activation.initial(anchors(3, [0, 1], 0.5).astype(np.float32))
    u = spreading_activation.propagate(iteration, edges, np.array([True, False, True]), S=S, delta=DELTA).u
    assert u == pytest.approx([0.25, 0.25, 0.2])


def test_strongest_rows_inhibit_the_others() -> None:
    """û_i = u_i - .15 · Σ (u_k - u_i) over the two strongest; the weakest ends at 0."""
    inhibited = spreading_activation.inhibit(np.array([0.9, 0.7, 0.6, 0.1, 0], np.float32), beta=BETA, M=2)
    assert inhibited == pytest.approx([0.9, 0.7 - 0.15 * 0.2, 0.6 - 0.15 * (0.3 + 0.1), 0, 0], abs=1e-6)


@given(st.lists(st.floats(0, 2, width=32), min_size=1, max_size=20))
def test_inhibition_never_raises_and_keeps_the_order(values: list[float]) -> None:
    u = np.array(values, np.float32)
    inhibited = spreading_activation.inhibit(u, beta=BETA, M=M)
    assert (inhibited <= u).all()
    order = np.argsort(u, kind="stable")
    assert (np.diff(inhibited[order]) >= -1e-6).all()
    assert (spreading_activation.inhibit(u, beta=0, M=M) == u).all()


def test_activation_path_leads_back_to_the_anchor_through_concepts() -> None:
    """Rows 0, 3, 4 are turns, 1 and 2 concepts: 0 -> 1 -> 2 -> 3 -> 4 needs four iterations, 3 is reached in three."""
    edges = edge_list([(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)])
    iteration = iterations(anchors(5, [0], 1.0), edges, beta=0)[-1]
    assert iteration.parent.tolist() == [-1, 0, 1, 2, -1]
    found = spreading_activation.activation_path(np.array([True, False, False, True, True]), iteration.parent)
    assert (found.parent[3], found.via_entity[3]) == (0, 2)
    assert (found.parent[0], found.via_entity[0]) == (-1, -1)


def test_parent_is_the_strongest_sender() -> None:
    edges = edge_list([(0, 2, 0.5), (1, 2, 1.0), (2, 0, 1.0)])
    iteration = iterations(np.array([0.5, 0.5, 0]), edges)[-1]
    assert iteration.parent.tolist() == [-1, -1, 1]


def test_row_reached_again_keeps_its_first_sender() -> None:
    """Row 1 was reached from row 0 and silenced by inhibition; what row 2 sends now does not change its parent."""
    start = spreading_activation.initial(np.array([0, 0, 1, 0], np.float32))
    silenced = replace(start, parent=np.array([-1, 0, -1, -1], np.intp))
    edges = edge_list([(2, 1, 1.0), (2, 3, 1.0)])
    found = spreading_activation.propagate(silenced, edges, np.ones(4, np.bool_), S=S, delta=DELTA)
    assert found.parent.tolist() == [-1, 0, -1, 2]


def test_row_that_was_active_keeps_what_the_sigmoid_gives_at_nothing() -> None:
    """Inhibited to 0 it has σ(-γθ); a row that was never active stays at 0."""
    before = spreading_activation.initial(np.array([0.4, 0], np.float32))
    found = spreading_activation.apply_sigmoid(before, np.zeros(2, np.float32), gamma=GAMMA, theta=THETA)
    assert found.activation == pytest.approx([1 / (1 + np.exp(GAMMA * THETA)), 0])
