"""The newest of several answers: what passes from a candidate to a later one."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.model import Edge, Link
from ecphora.stages.fused.newer_answers import (
    MAX_SHARE,
    CandidatePairs,
    NewerAnswerModel,
    Preferences,
    ShareModel,
    comparable_pairs,
    standardize_cosines,
    time_order,
)
from ecphora.testing.samples import sample_batch, sample_entity, sample_node

MODEL = NewerAnswerModel(
    compared=ShareModel(bias=-0.5, pair_score=0.5, to_reading=1.5, from_reading=-1.0),
    uncompared=ShareModel(bias=0.5, pair_score=2.0, to_reading=1.0, from_reading=-0.5),
)
APART = math.nan
"""Of two candidates that were not compared."""
NONE_COMPARED = [[APART] * 3] * 3


def gains(
    preference: float,
    *,
    log_odds: tuple[float, ...] = (2.0, 1.0, 0.0),
    readings: tuple[float, ...] = (1.0, 1.0, -6.0),
    similarity: float = 1.0,
    order: tuple[int, ...] = (0, 1, 2),
    updates: Sequence[Sequence[float]] = ((APART, 3.0, 3.0), (APART, APART, 3.0), (APART, APART, APART)),
    uncompared: float | None = None,
    model: NewerAnswerModel = MODEL,
) -> list[float]:
    count = len(log_odds)
    pairs = CandidatePairs(
        np.full((count, count), similarity, np.float32),
        np.array(order[:count], np.intp),
        np.array(updates, np.float32).reshape(count, count),
    )
    preferences = Preferences(preference, preference if uncompared is None else uncompared)
    found = model.gains(np.array(log_odds, np.float32), np.array(readings, np.float32), pairs, preferences)
    return [float(value) for value in found]


@pytest.mark.parametrize(
    ("update", "share_log_odds"),
    [(3.0, -0.5 + 0.5 * 3.0 + 1.5 * 1.0 - 1.0 * 2.0), (APART, 0.5 + 2.0 * 1.0 + 1.0 * 1.0 - 0.5 * 2.0)],
)
def test_gains_of_a_worked_example(update: float, share_log_odds: float) -> None:
    share = 0.5 / (1 + math.exp(-share_log_odds))
    found = gains(0.5, log_odds=(1.0, 0.0), readings=(2.0, 1.0), updates=((APART, update), (APART, APART)))
    assert found == pytest.approx([math.log(1 - share), math.log(1 + math.e * share)], abs=1e-5)


def test_update_overtakes_and_text_that_does_not_answer_gains_little() -> None:
    old, new, chatter = np.array([2.0, 1.0, 0.0]) + gains(1.0)
    assert new > old > chatter


def test_statement_that_updates_no_other_gains_little_though_it_is_similar() -> None:
    assert gains(1.0, updates=((APART, -8.0, APART), (APART,) * 3, (APART,) * 3))[1] < 0.1
    assert gains(1.0, updates=NONE_COMPARED)[1] > 0.5


@pytest.mark.parametrize("update", [3.0, APART])
def test_former_state_reverses_the_direction(update: float) -> None:
    now, former = ((APART, update), (APART, APART)), ((APART, APART), (update, APART))

    def gains_of_two(preference: float, order: tuple[int, int], updates: Sequence[Sequence[float]]) -> list[float]:
        return gains(preference, log_odds=(2.0, 1.0), readings=(1.0, 1.0), order=order, updates=updates)

    backward, forward = gains_of_two(-1.0, (1, 0), former), gains_of_two(1.0, (0, 1), now)
    assert backward == pytest.approx(forward, abs=1e-6)
    assert gains_of_two(1.0, (1, 0), former)[0] > 0 > forward[0]


def test_candidates_of_the_same_time_keep_their_chances() -> None:
    assert gains(1.0, order=(0, 0, 0)) == [0.0, 0.0, 0.0]


def test_candidates_keep_their_chances_without_a_preference() -> None:
    assert gains(0.0) == [0.0, 0.0, 0.0]


def test_each_kind_of_pair_has_its_own_preference() -> None:
    both, compared = gains(1.0), gains(1.0, uncompared=-1.0)
    assert both == compared  # all pairs were compared, and none passes anything back
    assert gains(1.0, uncompared=0.0, updates=NONE_COMPARED) == [0.0, 0.0, 0.0]
    assert gains(0.0, uncompared=1.0) == [0.0, 0.0, 0.0]
    assert gains(0.0, uncompared=1.0, updates=NONE_COMPARED)[1] > 0.5


def test_surer_updates_and_better_answers_gain_more() -> None:
    surer = ((APART, 5.0, 3.0), (APART, APART, 3.0), (APART, APART, APART))
    assert gains(1.0, updates=surer)[1] > gains(1.0)[1] > gains(1.0, readings=(1.0, 0.0, -6.0))[1]
    assert gains(1.0)[0] < gains(1.0, readings=(2.0, 1.0, -6.0))[0]  # a better former answer keeps more


def test_candidates_that_are_more_alike_gain_more() -> None:
    more, less = (gains(1.0, similarity=similarity, updates=NONE_COMPARED) for similarity in (1.0, 0.0))
    assert more[1] > less[1]


def test_share_has_a_limit() -> None:
    certain = replace(MODEL, compared=replace(MODEL.compared, bias=40.0))
    pair = ((APART, 0.0), (APART, APART))
    assert gains(1.0, log_odds=(0.0, 0.0), readings=(0.0, 0.0), updates=pair, model=certain) == pytest.approx(
        [math.log(1 - MAX_SHARE), math.log(1 + MAX_SHARE)], abs=1e-5
    )


def test_weak_preference_moves_less() -> None:
    assert 0 < gains(0.2)[1] < gains(0.9)[1]


@pytest.mark.medium
@given(
    st.lists(
        st.tuples(
            st.floats(-60, 60),
            st.floats(-8, 8),
            st.integers(0, 3),
            st.lists(st.floats(-8, 8) | st.just(APART), min_size=6, max_size=6),
        ),
        max_size=6,
    ),
    st.floats(-1, 1),
)
def test_gains_are_finite(rows: list[tuple[float, float, int, list[float]]], preference: float) -> None:
    log_odds, readings, order, updates = zip(*rows, strict=True) if rows else ((), (), (), ())
    found = gains(
        preference,
        log_odds=log_odds,
        readings=readings,
        order=order,
        updates=[row[: len(rows)] for row in updates],
        model=replace(MODEL, compared=replace(MODEL.compared, bias=40.0)),
    )
    assert len(found) == len(rows)
    assert np.isfinite(found).all()


def test_best_candidates_about_one_matter_are_compared_the_earlier_first() -> None:
    limit, count = 3, 4
    alike = np.ones((count, count), np.float32)
    order = np.arange(count)[::-1]
    log_odds = np.arange(count, dtype=np.float32)[::-1]  # the first is the best, and the newest
    pairs = comparable_pairs(log_odds, alike, order, limit)
    best = range(limit)
    assert sorted(pairs) == [(earlier, later) for earlier in best for later in best if later < earlier]
    assert comparable_pairs(log_odds, -alike, order, limit) == []
    assert comparable_pairs(log_odds, alike, np.zeros(count, np.intp), limit) == []
    assert set(pairs) - set(comparable_pairs(log_odds, alike, order, limit, known={(2, 1)})) == {(2, 1)}
    alike[1, 2] = alike[2, 1] = -1
    assert (2, 1) not in comparable_pairs(log_odds, alike, order, limit)


def test_two_candidates_are_compared_also_if_there_are_no_others() -> None:
    similarities = standardize_cosines(np.array([[1, 0.2], [0.2, 1]], np.float32))
    assert comparable_pairs(np.zeros(2, np.float32), similarities, np.array([1, 0]), 2) == [(1, 0)]


def test_turns_and_plain_texts_of_the_same_time_are_in_the_order_of_remembering() -> None:
    graph = apply_batch(
        Graph(),
        sample_batch(
            sample_node("titled", "A text.", seq=1),
            sample_node("other", "Another text.", seq=2),
            sample_node("turn", "A turn.", speaker="Ana", seq=3),
            sample_node("part", "Part 1.", session="chat", document="long", position=0, seq=4),
            sample_node("end", "Part 2.", session="chat", document="long", position=1, seq=5),
            sample_node("reply", "A reply.", session="chat", seq=6),
            sample_node("former", "A turn before.", speaker="Ana", minutes=-5, seq=7),
            sample_node("plain", "A plain text.", seq=8),
            sample_node("next", "The plain text after it.", seq=9),
            sample_entity("Title"),
            edges=tuple(Edge(id_, entity_id("Title"), Link.ABOUT) for id_ in ("titled", "other")),
            revision=1,
        ),
    )
    order = time_order(graph, np.array([8, 7, 6, 5, 4, 3, 2, 1, 0])).tolist()
    assert order == [6, 5, 0, 4, 3, 3, 2, 1, 1]


def test_titled_texts_of_a_session_are_in_the_order_of_remembering() -> None:
    texts = [sample_node(f"t{number}", "A text.", session=f"s{number // 2}", seq=number + 1) for number in range(4)]
    edges = tuple(Edge(text.id, entity_id("Title"), Link.ABOUT) for text in texts)
    graph = apply_batch(Graph(), sample_batch(*texts, sample_entity("Title"), edges=edges, revision=1))
    assert time_order(graph, np.arange(4)).tolist() == [0, 1, 2, 3]


def test_cosines_become_zscores_over_pairs() -> None:
    cosines = np.array([[1, 0.8, 0.6], [0.8, 1, 0.7], [0.6, 0.7, 1]], np.float32)
    found = standardize_cosines(cosines)
    pairs = found[np.triu_indices(3, 1)]
    assert pairs.mean() == pytest.approx(0, abs=1e-5)
    assert pairs == pytest.approx(np.array([0.1, -0.1, 0]) / (math.sqrt(0.02 / 3) + 0.005), abs=1e-4)
    assert (found == found.T).all()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_candidates_have_no_spread(count: int) -> None:
    cosines = np.full((count, count), 0.9, np.float32)
    assert not standardize_cosines(cosines)[np.triu_indices(count, 1)].any()


def test_turns_of_every_speaker_are_in_the_order_of_remembering() -> None:
    """Also with a title, which plain texts do not have."""
    titled = tuple(Edge(id_, entity_id("Title"), Link.ABOUT) for id_ in ("one", "two", "three"))
    nodes = [sample_node(id_, speaker=name, seq=seq) for seq, (id_, name) in
             enumerate((("one", "Ana"), ("two", "Ben"), ("three", "Ben")), 1)]  # fmt: skip
    graph = apply_batch(Graph(), sample_batch(*nodes, sample_entity("Title"), edges=titled, revision=1))
    assert time_order(graph, np.arange(3)).tolist() == [0, 1, 2]
