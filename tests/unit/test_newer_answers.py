"""The newest of several answers: what passes from a candidate to a later one."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora.graph import Graph
from ecphora.graph_updates import apply_batch
from ecphora.language.name_normalization import entity_id
from ecphora.model import Edge, Link
from ecphora.stages.fused.newer_answers import MAX_SHARE, NewerAnswerModel, standardize_cosines, time_order
from ecphora.testing.samples import sample_batch, sample_entity, sample_node

MODEL = NewerAnswerModel(bias=-0.5, similarity=2.0, to_reading=1.5, from_reading=-1.0)


def gains(
    preference: float,
    *,
    log_odds: tuple[float, ...] = (2.0, 1.0, 0.0),
    readings: tuple[float, ...] = (1.0, 1.0, -6.0),
    order: tuple[int, ...] = (1, 2, 3),
    similarities: NDArray[np.float32] | None = None,
    model: NewerAnswerModel = MODEL,
) -> list[float]:
    count = len(log_odds)
    found = model.gains(
        np.array(log_odds, np.float32),
        np.array(readings, np.float32),
        np.zeros((count, count), np.float32) if similarities is None else similarities,
        np.array(order, np.intp),
        preference,
    )
    return [float(value) for value in found]


def test_gains_of_a_worked_example() -> None:
    share = 0.5 / (1 + math.exp(-(-0.5 + 2.0 * 0.25 + 1.5 * 1.0 - 1.0 * 2.0)))
    found = gains(
        0.5,
        log_odds=(1.0, 0.0),
        readings=(2.0, 1.0),
        order=(0, 1),
        similarities=np.array([[0, 0.25], [0.25, 0]], np.float32),
    )
    assert found == pytest.approx([math.log(1 - share), math.log(1 + math.e * share)], abs=1e-5)


def test_newer_answer_overtakes_and_text_that_does_not_answer_gains_little() -> None:
    old, new, chatter = np.array([2.0, 1.0, 0.0]) + gains(1.0)
    assert new > old > chatter


def test_former_state_reverses_the_direction() -> None:
    assert gains(-1.0, order=(3, 2, 1)) == pytest.approx(gains(1.0), abs=1e-6)


@pytest.mark.parametrize("preference", [1.0, -1.0])
def test_candidates_of_the_same_time_keep_their_chances(preference: float) -> None:
    assert gains(preference, order=(5, 5, 5)) == [0.0, 0.0, 0.0]


def test_candidates_keep_their_chances_without_a_preference() -> None:
    assert gains(0.0) == [0.0, 0.0, 0.0]


def test_similar_and_better_answers_gain_more() -> None:
    similar = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], np.float32)
    assert gains(1.0, similarities=similar)[1] > gains(1.0)[1] > gains(1.0, readings=(1.0, 0.0, -6.0))[1]
    assert gains(1.0)[0] < gains(1.0, readings=(2.0, 1.0, -6.0))[0]  # a better former answer keeps more


def test_share_has_a_limit() -> None:
    certain = replace(MODEL, bias=40.0)
    assert gains(1.0, log_odds=(0.0, 0.0), readings=(0.0, 0.0), order=(0, 1), model=certain) == pytest.approx(
        [math.log(1 - MAX_SHARE), math.log(1 + MAX_SHARE)], abs=1e-5
    )


def test_weak_preference_moves_less() -> None:
    assert 0 < gains(0.2)[1] < gains(0.9)[1]


@given(
    st.lists(st.tuples(st.floats(-60, 60), st.floats(-8, 8), st.integers(0, 3)), min_size=0, max_size=6),
    st.floats(-1, 1),
)
def test_gains_are_finite(rows: list[tuple[float, float, int]], preference: float) -> None:
    log_odds, readings, order = zip(*rows, strict=True) if rows else ((), (), ())
    extreme = replace(MODEL, bias=40.0)
    found = gains(preference, log_odds=log_odds, readings=readings, order=order, model=extreme)
    assert len(found) == len(rows)
    assert np.isfinite(found).all()


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
