"""The practical ``synaptic``: memories that fire pass their stimulus on. By hand, and against plain loops."""
# ruff: noqa: N806  # the paper's symbols

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import Memory
from ecphora.embedders.hashing import HashingEmbedder
from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.model import Access, AccessKind, Query, Vector, WriteBatch
from ecphora.stages.synaptic.network_state import network_state
from ecphora.stages.synaptic.propagation import Coupling, keep_strongest
from ecphora.strategies.baselines import Dense
from ecphora.strategies.synaptic import PHYSIOLOGICAL, PublishedSynaptic, Synaptic
from ecphora.testing import NOON, FakeClock, sample_node

PRACTICAL = Synaptic()
SCALE = PRACTICAL.bond_scale
T1 = 2 / (1 + math.exp(-math.exp(-1 / 3))) - 1
"""The temporal score of two turns next to each other."""


def test_memory_that_fires_stimulates_the_turns_beside_it() -> None:
    """By hand: the cue equals memory 4, which alone fires."""
    graph = _successive([90, 90, 90, 60, 0, 45, 90])
    found = PRACTICAL.activate(_at(0), graph)
    assert np.flatnonzero(found.contributions["fired"]).tolist() == [4]
    assert found.contributions["stimulus"][[3, 5]] == pytest.approx([SCALE * 0.5, SCALE * 0.5**0.5])
    passed = [SCALE * SCALE * cos * T1 for cos in (0.5, 0.5**0.5)]
    assert found.contributions["adjacent turn"][[3, 5]] == pytest.approx(passed)
    assert found.paths["adjacent turn"].parent[[3, 4, 5]].tolist() == [4, -1, 4]
    assert found.scores[3] == pytest.approx(SCALE * 0.5 + passed[0])


def test_memory_that_fires_by_what_was_passed_on_passes_on_itself() -> None:
    """Memory 1 is below the threshold, until memory 0 passes its stimulus on; then it reaches memory 2."""
    graph, cue = _successive([0, 27, 54]), _at(0)
    strategy = replace(PRACTICAL, tau=0.5, firing_fraction=0.9)  # at 0.5, next to nothing passes over two turns
    assert math.cos(math.radians(27)) < 0.9
    found = strategy.activate(cue, graph)
    assert np.flatnonzero(found.contributions["fired"]).tolist() == [0, 1]
    assert found.paths["adjacent turn"].parent[2] == 1
    once = replace(strategy, max_generations=2).activate(cue, graph)
    assert once.paths["adjacent turn"].parent[2] != 1
    assert found.contributions["adjacent turn"][2] > once.contributions["adjacent turn"][2]


def test_strongest_parent_counts_whenever_it_fires() -> None:
    """Memory 1 fires first and memory 0 by what it passes on; to memory 2, memory 0 passes less than memory 1 did."""
    found = PRACTICAL.activate(_at(0), _successive([27, 0, -60]))
    assert np.flatnonzero(found.contributions["fired"]).tolist() == [0, 1]
    assert found.contributions["adjacent turn"][2] == pytest.approx(SCALE * SCALE * 0.5 * T1)
    assert found.paths["adjacent turn"].parent.tolist() == [1, 0, 1]


def test_every_mechanism_changes_the_scores_alone() -> None:
    """Each switch of the ablation changes something, and leaves what the cue sends as it is."""
    graph, cue = _successive([80, 5, 30, 60, 85, 40, 12, 70]), _at(0)
    whole = PRACTICAL.activate(cue, graph)
    sent = whole.scores - whole.contributions["adjacent turn"]
    for without in (
        replace(PRACTICAL, use_temporal_score=False),
        replace(PRACTICAL, max_generations=1),
        replace(PRACTICAL, firing_fraction=0.0),
    ):
        found = without.activate(cue, graph)
        assert np.abs(found.scores - whole.scores).max() > 0.005
        assert found.scores - found.contributions["adjacent turn"] == pytest.approx(sent)


def test_cosine_alone_ranks_without_propagation(tmp_path: Path) -> None:
    strategy = replace(PRACTICAL, max_generations=1)
    with Memory(tmp_path / "m.db", embedder=HashingEmbedder(32), strategy=strategy, clock=FakeClock()) as memory:
        memory.remember([f"Boat {n} left harbour {n % 5} in {n % 3} knots." for n in range(20)])
        query, graph = memory.build_query("Which boat left harbour 3?"), memory.graph()
        dense, ours = Dense().activate(query, graph).scores, strategy.activate(query, graph).scores
        assert np.argsort(-ours, kind="stable").tolist() == np.argsort(-dense, kind="stable").tolist()
        assert not memory.graph().has_access_kind(AccessKind.STIMULATED).any()


def test_cosines_count_from_the_similarity_floor() -> None:
    graph = _successive([0, 60, 30])
    found = PRACTICAL.activate(replace(_at(0), similarity_floor=0.5), graph)
    near = (math.cos(math.radians(30)) - 0.5) / 0.5
    assert found.contributions["stimulus"][1] == 0
    assert found.contributions["fired"].tolist() == pytest.approx([SCALE, 0, 0])
    T2 = 2 / (1 + math.exp(-math.exp(-2 / 3))) - 1
    assert found.scores[2] == pytest.approx(SCALE * near + SCALE * SCALE * near * T2)


def test_kept_potential_lets_a_weaker_memory_fire() -> None:
    """Memory 1 was stimulated just before: what is left of it adds to the cue's stimulus."""
    graph = _successive([0, 40, 90], stimulated=1)
    assert np.flatnonzero(PRACTICAL.activate(_at(0), graph).contributions["fired"]).tolist() == [0]
    kept = replace(PRACTICAL, keeps_potential=True).activate(_at(0), graph)
    assert np.flatnonzero(kept.contributions["fired"]).tolist() == [0, 1]
    assert np.flatnonzero(kept.stimulus).tolist() == [0, 1]


def test_past_spikes_count_for_the_temporal_score() -> None:
    """Memories 0 and 9 were encoded far apart, but memory 0 was stimulated at the turn after memory 9."""
    angles = [0.0, *[90] * 8, 10]
    without = PRACTICAL.activate(_at(0), _successive(angles, stimulated=0))
    assert without.contributions["adjacent turn"][9] < 0.02
    strategy = replace(PRACTICAL, counts_past_spikes=True)
    found = strategy.activate(_at(0), _successive(angles, stimulated=0))
    assert found.contributions["adjacent turn"][9] > 0.05
    assert strategy.activate(_at(0), _successive(angles)).contributions["adjacent turn"][9] < 0.02
    assert found.stimulus.any()
    assert not without.stimulus.any()


@given(
    st.lists(st.integers(0, 359), min_size=1, max_size=12),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.sampled_from([1, 2, 3, math.inf]),
    st.booleans(),
)
def test_cascade_equals_plain_loops(angles: list[int], fraction: float, generations: float, timed: bool) -> None:
    strategy = replace(
        PRACTICAL, firing_fraction=fraction, max_generations=generations, use_temporal_score=timed, tau=2.0
    )
    found = strategy.activate(_at(0), _successive(angles))
    cos = [[math.cos(math.radians(a - b)) for b in angles] for a in angles]
    sent = [max(0.0, math.cos(math.radians(a))) * SCALE for a in angles]
    sent = [s if s > 1e-6 else 0.0 for s in sent]
    passed, fired, generation = [0.0] * len(angles), set[int](), 1
    while True:
        total = [a + b for a, b in zip(sent, passed, strict=True)]
        threshold = fraction * max(sent)
        margin = min((abs(s - threshold) for s in total if s > 0), default=1.0)
        new = {n for n, s in enumerate(total) if s > 1e-6 and s >= threshold and n not in fired}
        if fraction and margin < 1e-6:
            return  # rounding decides
        fired |= new
        if not new or generation >= generations:
            break
        for p in new:
            for c in range(len(angles)):
                away = abs(p - c)
                T = 2 / (1 + math.exp(-math.exp(-away / 2))) - 1 if away <= 10 else 0.0
                T = T if timed else 1.0
                if p != c:
                    passed[c] = max(passed[c], total[p] * max(0.0, cos[p][c]) * T * SCALE)
        generation += 1
    assert found.contributions["adjacent turn"] == pytest.approx(passed, abs=1e-5)


def _successive(angles: list[int] | list[float], stimulated: int | None = None) -> Graph:
    """Turns at some angles in the plane; one of them was stimulated just after the last."""
    nodes = tuple(sample_node(f"t{place}", seq=place + 1) for place in range(len(angles)))
    vectors = {node.id: _point(angle) for node, angle in zip(nodes, angles, strict=True)}
    accesses = (
        () if stimulated is None else (Access(f"t{stimulated}", NOON, AccessKind.STIMULATED, 0.2, seq=len(nodes) + 1),)
    )
    return apply_batch(Graph(), WriteBatch(nodes=nodes, vectors=vectors, accesses=accesses, revision=1))


def _at(degrees: float) -> Query:
    return Query("x", NOON, vector=_point(degrees))


def _point(degrees: float) -> Vector:
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))], np.float32)


def test_stimulus_that_is_logged_is_the_cues_and_what_was_passed_on() -> None:
    found = replace(PRACTICAL, counts_past_spikes=True).activate(_at(0), _successive([0, 5, 90]))
    assert found.contributions["adjacent turn"][:2].all()
    expected = found.contributions["fired"] + found.contributions["adjacent turn"]
    assert found.stimulus == pytest.approx(np.where(found.contributions["fired"] > 0, expected, 0))


def test_later_parent_of_equal_stimuli_is_kept() -> None:
    best, parents = np.array([0.5, 0.5, 0.5]), np.array([3, 7, 3])
    keep_strongest(best, parents, np.arange(3), np.array([0.5, 0.5, 0.6]), np.array([5, 5, 1]))
    assert best.tolist() == [0.5, 0.5, 0.6]
    assert parents.tolist() == [5, 7, 1]


def test_trains_are_aligned_by_the_accumulating_table_unless_told_otherwise() -> None:
    assert Coupling(1.0).alignment_version == 2


def test_confidence_is_a_half_where_a_memory_at_rest_just_fires() -> None:
    """The stimulus S causes a potential of S / e, and fires at v_th: .5 S / e over 2 v_th at a cosine of .5."""
    graph, cue = _successive([60]), _at(0)
    expected = 0.5 * SCALE / math.e / (2 * PHYSIOLOGICAL.v_th)
    assert PRACTICAL.activate(cue, graph).confidence == pytest.approx(expected, abs=1e-6)
    remedied = PublishedSynaptic(cos_th=0.0)
    assert remedied.activate(cue, graph).confidence == pytest.approx(expected, abs=1e-6)
    just_fires = math.e * PHYSIOLOGICAL.v_th / SCALE
    assert PRACTICAL.activate(_at(math.degrees(math.acos(just_fires))), _successive([0])).confidence == pytest.approx(
        0.5
    )


def test_memory_that_is_stored_again_keeps_its_first_spike() -> None:
    """It is at the turn at which the memory was encoded."""
    graph = _successive([0, 45])
    again = apply_batch(graph, WriteBatch(accesses=(Access("t0", NOON, AccessKind.ENCODED, seq=9),), revision=2))
    first, second = (network_state(one, PHYSIOLOGICAL).spike_trains(np.array([0])) for one in (graph, again))
    assert first.times.tolist() == second.times.tolist() == [1]
