"""What was of use together: bound by feedback, beside its readable twin, and what it changes in a rank."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.embedders.hashing import HashingEmbedder
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.memory import Memory
from ecphora.model import Edge, Filter, Kind, Link, WriteBatch
from ecphora.stages.fused import candidate_pool
from ecphora.stages.fused.feedback_boost import CO_USE_SEEDS, co_use_boost
from ecphora.stages.retrieval import filters, top_k
from ecphora.strategies.fused import CO_USE, Fused
from ecphora.testing import NOON, FakeClock, sample_graph, sample_node, sample_query

SIZE = 8
CUE = sample_query("Did Mia find a school in Porto?")
Asked = Sequence[tuple[int, bool]]
"""What came back for a question, and whether it was of use."""


def taught(graph: Graph, questions: Sequence[Asked]) -> Graph:
    """A graph that keeps questions with feedback."""
    for number, answers in enumerate(questions):
        node = sample_node(f"question:{number}", kind=Kind.QUESTION, seq=1000 + number)
        edges = tuple(Edge(node.id, f"t{row}", Link.ANSWERED_BY, float(used)) for row, used in answers)
        graph = apply_batch(graph, WriteBatch(nodes=(node,), edges=edges, revision=graph.revision + 1))
    return graph


def twin(questions: Sequence[Asked], seeds: Sequence[int], strengths: Sequence[float]) -> dict[int, tuple[float, int]]:
    """Each partner's value, and the seed that it is bound to."""
    found: dict[int, tuple[float, int]] = {}
    for seed, strength in zip(seeds, strengths, strict=True):
        bonds = {}
        for other in range(SIZE):
            met = [dict(answers) for answers in questions if {seed, other} <= dict(answers).keys() and other != seed]
            both = sum(answers[seed] and answers[other] for answers in met)
            either = sum(answers[seed] or answers[other] for answers in met)
            if both:
                bonds[other] = (1 - math.exp(-both / 2)) * both / either
        for other, bond in bonds.items():
            value = bond / len(bonds) * strength
            if value > found.get(other, (-1.0, -1))[0]:
                found[other] = (value, seed)
    return found


rows = st.integers(0, SIZE - 1)
asked = st.lists(st.lists(st.tuples(rows, st.booleans()), max_size=5, unique_by=lambda one: one[0]), max_size=6)


@given(asked, st.lists(st.tuples(rows, st.integers(1, 9)), max_size=4, unique_by=lambda one: one[0]))
def test_together_as_loops(questions: list[Asked], seeds: list[tuple[int, int]]) -> None:
    graph = taught(sample_graph(SIZE), questions)
    chosen, strengths = [seed for seed, _ in seeds], [strength / 4 for _, strength in seeds]
    found = co_use_boost(graph, np.array(chosen, np.intp), np.array(strengths, np.float32))
    expected = twin(questions, chosen, strengths)
    assert found.rows.tolist() == sorted(expected)
    for row, value, by in zip(found.rows.tolist(), found.strengths.tolist(), found.parent.tolist(), strict=True):
        assert value == pytest.approx(expected[row][0], rel=1e-5)
        among = twin(questions, [by], [strengths[chosen.index(by)]])
        assert among[row][0] == pytest.approx(value, rel=1e-5)


def bond(*questions: Asked) -> float:
    """How strongly t1 is bound to t0."""
    found = co_use_boost(taught(sample_graph(SIZE), questions), np.array([0]), np.array([1], np.float32))
    return float(dict(zip(found.rows.tolist(), found.strengths.tolist(), strict=True)).get(1, 0.0))


def test_a_bond_grows_with_use_and_shrinks_with_what_was_in_vain() -> None:
    both, vain, neither = [(0, True), (1, True)], [(0, True), (1, False)], [(0, False), (1, False)]
    grown = [bond(*[both] * count) for count in range(5)]
    assert grown[0] == 0
    assert all(less < more for less, more in pairwise(grown))
    assert bond(both, vain) == pytest.approx(bond(both) / 2)
    assert bond(both, neither) == bond(both)
    assert bond(vain) == 0
    assert bond([*both, (2, True)]) == pytest.approx(bond(both) / 2)  # of two partners each has half


# ---- in a rank


def ranked(graph: Graph, strategy: Fused) -> list[int]:
    found: list[int] = top_k.top_rows(strategy.activate(CUE, graph).scores, filters.eligible(graph, CUE), SIZE).tolist()
    return found


def test_one_that_comes_back_brings_its_company() -> None:
    graph = sample_graph(SIZE)
    order = ranked(graph, Fused())
    best, far = order[0], order[-1]
    graph = taught(graph, [[(best, True), (far, True)]])
    found, alone = Fused().activate(CUE, graph), Fused(co_use_weight=0.0).activate(CUE, graph)
    assert CO_USE not in alone.contributions
    share = found.contributions[CO_USE]
    assert share[far] == pytest.approx(0.3 * (1 - math.exp(-0.5)) * alone.scores[best], rel=1e-5)
    assert found.paths[CO_USE].parent[far] == best
    assert set(np.flatnonzero(share).tolist()) <= {best, far}
    active = found.scores > 0
    assert sum(found.contributions.values())[active] == pytest.approx(found.scores[active], abs=1e-4)  # type: ignore[index]
    assert found.scores[far] > alone.scores[far]


def test_only_the_first_bring_company() -> None:
    graph = sample_graph(20)
    order = ranked(graph, Fused())
    last = [row for row in range(20) if row not in order[:CO_USE_SEEDS]][:2]
    taught_ = taught(graph, [[(row, True) for row in last]])
    np.testing.assert_array_equal(Fused().activate(CUE, taught_).scores[:20], Fused().activate(CUE, graph).scores[:20])


def test_company_comes_from_outside_the_pool_where_it_may() -> None:
    graph = sample_graph(400)
    best = ranked(graph, Fused())[0]
    outside = np.setdiff1d(np.flatnonzero(graph.episodes), candidate_pool.build_pool(graph, CUE).rows)[0]
    graph = taught(graph, [[(best, True), (int(outside), True)]])
    found = Fused().activate(CUE, graph)
    assert found.scores[outside] == found.contributions[CO_USE][outside] > 0
    assert [name for name, share in found.contributions.items() if share[outside]] == [CO_USE]
    cue = replace(CUE, where=Filter(before=NOON))
    assert not Fused().activate(cue, graph).scores.any()


def test_feedback_binds_through_a_memory(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=FakeClock()) as memory:
        texts = ["Ana bought a kayak.", "The blue shed has a green lock.", "Ben bakes bread.", "It rained in May."]
        kayak, shed, *_ = memory.remember(texts).ids
        found = memory.recall("Where is the kayak: in the shed?", log_access=False)
        memory.feedback(found, [kayak, shed])
        after = {hit.id: hit for hit in memory.recall("Who bought a kayak?", log_access=False)}
        share = next(share for share in after[shed].why.contributions if share.feature == CO_USE)
        assert share.path == (kayak, shed)
        assert sum(one.value for one in after[shed].why.contributions) == pytest.approx(after[shed].score, abs=1e-4)
