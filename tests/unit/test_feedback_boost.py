"""Boosts by feedback: co-use compared with a reference implementation, similar questions, and their effect on ranks."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Filter, Kind, Link, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import filters, fusion
from ecphora.strategies.fused import candidate_pool
from ecphora.strategies.fused.feedback_boost import CO_USE_SEEDS, co_use_boost
from ecphora.strategies.fused.strategy import CO_USE, SIMILAR_QUESTION, Fused
from ecphora.testing import NOON, FakeClock, sample_graph, sample_node, sample_query, sample_question_batch

SIZE = 8
CUE = sample_query("Did Mia find a school in Porto?")
Answers = Sequence[tuple[int, bool]]
"""The rows that came back for a question, and whether each was used."""


def with_questions(graph: Graph, questions: Sequence[Answers]) -> Graph:
    """A graph with stored questions and their feedback."""
    for number, answers in enumerate(questions):
        node = sample_node(f"question:{number}", kind=Kind.QUESTION, seq=1000 + number)
        edges = tuple(Edge(node.id, f"t{row}", Link.ANSWERED_BY, float(used)) for row, used in answers)
        graph = apply_batch(graph, WriteBatch(nodes=(node,), edges=edges, revision=graph.revision + 1))
    return graph


def reference(
    questions: Sequence[Answers], seeds: Sequence[int], strengths: Sequence[float]
) -> dict[int, tuple[float, int]]:
    """The reference implementation: each row's boost, and the seed that it comes from."""
    found: dict[int, tuple[float, int]] = {}
    for seed, strength in zip(seeds, strengths, strict=True):
        boosts = {}
        for other in range(SIZE):
            shared_questions = [
                dict(answers) for answers in questions if {seed, other} <= dict(answers).keys() and other != seed
            ]
            both = sum(answers[seed] and answers[other] for answers in shared_questions)
            either = sum(answers[seed] or answers[other] for answers in shared_questions)
            if both:
                boosts[other] = (1 - math.exp(-both / 2)) * both / either
        for other, boost in boosts.items():
            value = boost / len(boosts) * strength
            if value > found.get(other, (-1.0, -1))[0]:
                found[other] = (value, seed)
    return found


rows = st.integers(0, SIZE - 1)
question_lists = st.lists(
    st.lists(st.tuples(rows, st.booleans()), max_size=5, unique_by=lambda one: one[0]), max_size=6
)


@pytest.mark.medium
@given(question_lists, st.lists(st.tuples(rows, st.integers(1, 9)), max_size=4, unique_by=lambda one: one[0]))
def test_co_use_boost_equals_the_reference(questions: list[Answers], seeds: list[tuple[int, int]]) -> None:
    graph = with_questions(sample_graph(SIZE), questions)
    chosen, strengths = [seed for seed, _ in seeds], [strength / 4 for _, strength in seeds]
    found = co_use_boost(graph, np.array(chosen, np.intp), np.array(strengths, np.float32))
    expected = reference(questions, chosen, strengths)
    assert found.rows.tolist() == sorted(expected)
    for row, value, by in zip(found.rows.tolist(), found.strengths.tolist(), found.parent.tolist(), strict=True):
        assert value == pytest.approx(expected[row][0], rel=1e-5)
        among = reference(questions, [by], [strengths[chosen.index(by)]])
        assert among[row][0] == pytest.approx(value, rel=1e-5)


def boost(*questions: Answers) -> float:
    """The boost of t1 by t0."""
    found = co_use_boost(with_questions(sample_graph(SIZE), questions), np.array([0]), np.array([1], np.float32))
    return float(dict(zip(found.rows.tolist(), found.strengths.tolist(), strict=True)).get(1, 0.0))


def test_co_use_boost_grows_with_use_and_shrinks_with_unused_answers() -> None:
    both, one_unused, neither = [(0, True), (1, True)], [(0, True), (1, False)], [(0, False), (1, False)]
    by_count = [boost(*[both] * count) for count in range(5)]
    assert by_count[0] == 0
    assert all(less < more for less, more in pairwise(by_count))
    assert boost(both, one_unused) == pytest.approx(boost(both) / 2)
    assert boost(both, neither) == boost(both)
    assert boost(one_unused) == 0
    assert boost([*both, (2, True)]) == pytest.approx(boost(both) / 2)  # two partners get half each


# ---- in a ranking


def rank(graph: Graph, strategy: Fused) -> list[int]:
    found: list[int] = fusion.top_rows(
        strategy.activate(CUE, graph).scores, filters.eligible(graph, CUE), SIZE
    ).tolist()
    return found


def test_co_use_lifts_the_partner_of_the_best_hit() -> None:
    graph = sample_graph(SIZE)
    order = rank(graph, Fused())
    best, last = order[0], order[-1]
    graph = with_questions(graph, [[(best, True), (last, True)]])
    found, without_co_use = Fused().activate(CUE, graph), Fused(co_use_weight=0.0).activate(CUE, graph)
    assert CO_USE not in without_co_use.contributions
    share = found.contributions[CO_USE]
    assert share[last] == pytest.approx(0.3 * (1 - math.exp(-0.5)) * without_co_use.scores[best], rel=1e-5)
    assert found.paths[CO_USE].parent[last] == best
    assert set(np.flatnonzero(share).tolist()) <= {best, last}
    active = found.scores > 0
    assert sum(found.contributions.values())[active] == pytest.approx(found.scores[active], abs=1e-4)  # type: ignore[index]
    assert found.scores[last] > without_co_use.scores[last]


@pytest.mark.parametrize(("cosine", "strength"), [(1.0, 1.0), (0.9, 0.5), (0.79, 0.0), (0.5, 0.0)])
def test_similar_question_adds_up_to_the_weight_to_what_was_used(cosine: float, strength: float) -> None:
    """From a cosine of .8 on, in proportion; only to active memories, and not to those that were not used."""
    graph = sample_graph(SIZE)
    order = rank(graph, Fused())
    used, unused = order[0], order[1]
    batch = sample_question_batch("before", f"t{used}", f"t{unused}")
    assert CUE.vector is not None
    other = np.zeros_like(CUE.vector)
    other[int(np.argmin(np.abs(CUE.vector)))] = 1
    other -= CUE.vector * (other @ CUE.vector)
    asked = cosine * CUE.vector + math.sqrt(1 - cosine**2) * other / np.linalg.norm(other)
    [question] = batch.nodes
    batch = replace(batch, vectors={question.id: asked.astype(np.float32)}, revision=graph.revision + 1)
    graph = apply_batch(graph, batch)
    found = Fused(feedback_weight=3.0).activate(CUE, graph)
    gain = found.contributions.get(SIMILAR_QUESTION, graph.zeros())
    assert gain[used] == pytest.approx(3.0 * strength, abs=0.05)  # stored vectors are rounded
    assert not np.delete(gain, used).any()
    if strength:
        assert found.paths[SIMILAR_QUESTION].parent[used] == graph.row(question.id)
    plain = Fused(feedback_weight=0.0).activate(CUE, graph)
    assert found.scores[used] == pytest.approx(plain.scores[used] + gain[used], abs=1e-4)


@pytest.mark.medium
def test_co_use_starts_from_the_first_hits_only() -> None:
    graph = sample_graph(20)
    order = rank(graph, Fused())
    last = [row for row in range(20) if row not in order[:CO_USE_SEEDS]][:2]
    with_feedback = with_questions(graph, [[(row, True) for row in last]])
    np.testing.assert_array_equal(
        Fused().activate(CUE, with_feedback).scores[:20], Fused().activate(CUE, graph).scores[:20]
    )


@pytest.mark.parametrize(("rank_of_seed", "is_raised"), [(4, True), (5, False)])
def test_partner_of_the_fifth_hit_gains_and_of_the_sixth_does_not(rank_of_seed: int, *, is_raised: bool) -> None:
    graph = sample_graph(20)
    order = rank(graph, Fused())
    graph = with_questions(graph, [[(order[rank_of_seed], True), (order[7], True)]])
    gain = Fused().activate(CUE, graph).contributions.get(CO_USE, graph.zeros())
    assert bool(gain[order[7]] > 0) == is_raised


def test_co_use_adds_eligible_memories_from_outside_the_pool() -> None:
    graph = sample_graph(400)
    best = rank(graph, Fused())[0]
    outside = np.setdiff1d(np.flatnonzero(graph.episodes), candidate_pool.build_pool(graph, CUE).rows)[0]
    graph = with_questions(graph, [[(best, True), (int(outside), True)]])
    found = Fused().activate(CUE, graph)
    assert found.scores[outside] == found.contributions[CO_USE][outside] > 0
    assert [name for name, column in found.contributions.items() if column[outside]] == [CO_USE]
    query = replace(CUE, where=Filter(before=NOON))
    assert not Fused().activate(query, graph).scores.any()


def test_feedback_of_a_memory_creates_co_use(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(64), clock=FakeClock()) as memory:
        texts = ["Ana bought a kayak.", "The blue shed has a green lock.", "Ben bakes bread.", "It rained in May."]
        kayak, shed, *_ = memory.remember(texts).ids
        found = memory.recall("Where is the kayak: in the shed?", options=RecallOptions(log_access=False))
        memory.feedback(found, [kayak, shed])
        after = {hit.id: hit for hit in memory.recall("Who bought a kayak?", options=RecallOptions(log_access=False))}
        contribution = next(part for part in after[shed].why.contributions if part.feature == CO_USE)
        assert contribution.path == (kayak, shed)
        assert sum(one.value for one in after[shed].why.contributions) == pytest.approx(after[shed].score, abs=1e-4)
