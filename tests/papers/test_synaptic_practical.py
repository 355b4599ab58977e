"""The practical ``synaptic``: memories that fire pass their stimulus on. By hand, and against plain loops."""
# ruff: noqa: N806  # the paper's symbols

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import InvalidInput, Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import Activation
from ecphora.model.types import Access, AccessKind, Query, Vector, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.baselines import Dense
from ecphora.strategies.synaptic.lif_neuron import stimulate
from ecphora.strategies.synaptic.network_state import network_state
from ecphora.strategies.synaptic.propagation import Coupling, keep_strongest
from ecphora.strategies.synaptic.strategy import PublishedSynaptic, Synaptic
from ecphora.testing import NOON, FakeClock, sample_node

PRACTICAL = Synaptic()
KEPT = replace(PRACTICAL, keeps_potential=True)
NEURON, SCALE = KEPT.neuron, PRACTICAL.bond_scale
T1 = 2 / (1 + math.exp(-math.exp(-1 / 3))) - 1
"""The temporal score of two turns next to each other."""
LATER = NOON + timedelta(minutes=1)


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
    kept = KEPT.activate(_at(0), graph)
    assert np.flatnonzero(kept.contributions["fired"]).tolist() == [0, 1]
    assert np.flatnonzero(kept.stimulus).tolist() == [0, 1]


def test_stimulus_below_the_threshold_leaves_a_potential_that_changes_a_later_recall() -> None:
    """Memory 1, at a cosine of .77, does not fire at the first cue, whose threshold is .9; at the second it does.

    Scaled so that the threshold is e v_th, the stimulus is .77 / .9 of it. It decays with the time constant of a neuron
    stimulated once; memory 2, which fired instead, begins anew at 0. It is the same with another floor, as of another
    embedder, if the cosine counted from it is. Nothing is passed on here.
    """
    alone = replace(KEPT, max_generations=1)
    for floor, angle in ((0.0, 40), (0.5, math.degrees(math.acos(0.5 + math.cos(math.radians(40)) / 2)))):
        graph, cue = _successive([90, angle, 0]), replace(_at(0), similarity_floor=floor)
        first = alone.activate(cue, graph)
        assert np.flatnonzero(first.contributions["fired"]).tolist() == [2]
        grown = _log_stimuli(graph, first)
        state, rows = network_state(grown, NEURON), np.arange(3)
        later = stimulate(NEURON, state.neurons, np.zeros(3), state.turns_since_spike(rows) + 10).state.V
        t = NEURON.time_constant.of_neuron(state.neurons.tau)[1] + NEURON.time_constant.tau_scale  # it grows by 1
        S = math.cos(math.radians(40)) / 0.9 * math.e * NEURON.v_th
        assert later.tolist() == pytest.approx([0, S * 10 / t * math.exp(-10 / t), 0], rel=1e-3)
        assert 0 < later[1] < NEURON.v_th
        assert np.flatnonzero(alone.activate(cue, grown).contributions["fired"]).tolist() == [1, 2]
        for counts_past_spikes in (False, True):
            without = replace(alone, keeps_potential=False, counts_past_spikes=counts_past_spikes)
            found = without.activate(cue, grown)
            assert np.flatnonzero(found.contributions["fired"]).tolist() == [2]
        before, after = (KEPT.activate(cue, one).contributions["adjacent turn"] for one in (graph, grown))
        assert after[0] >= before[0]
        assert after[2] > before[2]  # memory 1 fires, and passes its stimulus on


def test_strongest_that_do_not_fire_are_logged_too() -> None:
    """Of 40 that are as similar, 20 count, since 1 is .05 of 20; more if they fire, fewer if epsilon is higher."""
    graph = _successive([0.0, *[40.0] * 40])
    assert np.count_nonzero(KEPT.activate(_at(0), graph).stimulus) == 20
    assert np.count_nonzero(replace(KEPT, epsilon=0.1).activate(_at(0), graph).stimulus) == 10
    assert np.count_nonzero(replace(KEPT, firing_fraction=0.7).activate(_at(0), graph).stimulus) == 41
    assert not PRACTICAL.activate(_at(0), graph).stimulus.any()


def test_weak_stimulus_that_does_not_count_makes_no_charged_memory_fire() -> None:
    """Memory 0 is nearly at the threshold, and 20 others are far more similar to the cue."""
    graph = _successive([80.0, *[0.0] * 25], stimulated=0, strength=0.99 * math.e * NEURON.v_th)
    found = KEPT.activate(_at(0), graph)
    assert found.scores[0] > 0.01
    assert not found.contributions["fired"][0]
    assert not found.stimulus[0]


def test_memory_that_fired_is_logged_though_others_are_stronger_in_the_end() -> None:
    """Memory 0 fires with what it kept. Then the turn beside the best gets more, so that memory 0 no longer counts.

    By the cue, these three have 1.11, .38 and .345 of the threshold; what is passed on makes .345 about .4.
    """
    graph = _successive([70, *[90] * 20, 0, 71.9], stimulated=0, strength=0.99 * math.e * NEURON.v_th)
    found = replace(KEPT, epsilon=0.3).activate(_at(0), graph)
    assert np.flatnonzero(found.contributions["fired"]).tolist() == [0, 21]
    assert found.scores[22] > found.scores[0]
    assert np.flatnonzero(found.stimulus).tolist() == [0, 21, 22]


def test_memories_that_all_fire_keep_nothing() -> None:
    with pytest.raises(InvalidInput, match="firing_fraction above 0"):
        replace(KEPT, firing_fraction=0.0)


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


def _log_stimuli(graph: Graph, activation: Activation) -> Graph:
    """The graph after a cue at the next turn, with what it stimulated."""
    stimulated = np.flatnonzero(activation.stimulus).tolist()
    accesses = tuple(
        Access(f"t{row}", LATER, AccessKind.STIMULATED, float(activation.stimulus[row]), seq=len(graph) + 1 + count)
        for count, row in enumerate(stimulated)
    )
    return apply_batch(graph, WriteBatch(accesses=accesses, revision=2))


def _successive(angles: list[int] | list[float], stimulated: int | None = None, strength: float = 0.2) -> Graph:
    """Turns at some angles in the plane; one of them was stimulated just after the last."""
    nodes = tuple(sample_node(f"t{place}", seq=place + 1) for place in range(len(angles)))
    vectors = {node.id: _point(angle) for node, angle in zip(nodes, angles, strict=True)}
    accesses = (
        ()
        if stimulated is None
        else (Access(f"t{stimulated}", NOON, AccessKind.STIMULATED, strength, seq=len(nodes) + 1),)
    )
    return apply_batch(Graph(), WriteBatch(nodes=nodes, vectors=vectors, accesses=accesses, revision=1))


def _at(degrees: float) -> Query:
    return Query("x", NOON, vector=_point(degrees))


def _point(degrees: float) -> Vector:
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))], np.float32)


def test_stimulus_that_is_logged_is_the_cues_and_what_was_passed_on() -> None:
    """In units of the threshold, .9 of the highest that the cue sends, which becomes e v_th."""
    found = replace(PRACTICAL, counts_past_spikes=True).activate(_at(0), _successive([0, 5, 90]))
    assert found.contributions["adjacent turn"][:2].all()
    expected = found.contributions["fired"] + found.contributions["adjacent turn"]
    scale = math.e * NEURON.v_th / (0.9 * SCALE)
    assert found.stimulus == pytest.approx(np.where(found.contributions["fired"] > 0, expected * scale, 0), rel=1e-5)


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
    expected = 0.5 * SCALE / math.e / (2 * NEURON.v_th)
    assert PRACTICAL.activate(cue, graph).confidence == pytest.approx(expected, abs=1e-6)
    remedied = PublishedSynaptic(cos_th=0.0)
    assert remedied.activate(cue, graph).confidence == pytest.approx(expected, abs=1e-6)
    just_fires = math.e * NEURON.v_th / SCALE
    assert PRACTICAL.activate(_at(math.degrees(math.acos(just_fires))), _successive([0])).confidence == pytest.approx(
        0.5
    )


def test_memory_that_is_stored_again_keeps_its_first_spike() -> None:
    """It is at the turn at which the memory was encoded."""
    graph = _successive([0, 45])
    again = apply_batch(graph, WriteBatch(accesses=(Access("t0", NOON, AccessKind.ENCODED, seq=9),), revision=2))
    first, second = (network_state(one, NEURON).spike_trains(np.array([0])) for one in (graph, again))
    assert first.times.tolist() == second.times.tolist() == [1]
