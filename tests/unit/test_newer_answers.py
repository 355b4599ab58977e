"""Newer and older answers: worked examples, invariants, and the order of candidates in time."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ecphora import Memory
from ecphora.language.dates.asked_time import asked_end
from ecphora.language.names.mentions import entity_id
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.types import Edge, Link
from ecphora.retrieval.temporal import time_order
from ecphora.strategies.fused.newer_answers import (
    CLOSEST,
    NEWER_ANSWER,
    OLDER_ANSWER,
    RELATIVE_SCALE,
    SERIES_END,
    AnswerPairs,
    answer_pairs,
    newer_answer_features,
    standardize_cosines,
)
from ecphora.testing.samples import sample_batch, sample_entity, sample_node, sample_query

EVEN = 0.0
"""Log-odds of the probability .5."""
LIKELY = math.log(4)
"""Log-odds of .8."""
UNLIKELY = -LIKELY
"""Log-odds of .2."""


def symmetric(closeness: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    """A matrix from its upper triangle."""
    upper = np.triu(np.array(closeness, np.float32), 1)
    return upper + upper.T


def features_of(
    closeness: NDArray[np.float32],
    order: Sequence[int],
    log_odds: Sequence[float],
    preference: float = 1.0,
    series: int = 0,
) -> dict[str, list[float]]:
    pairs = AnswerPairs(closeness, np.array(order, np.intp))
    found = newer_answer_features(pairs, np.array(log_odds, np.float32), preference, series)
    assert {values.dtype for values in found.values()} == {np.dtype(np.float32)}
    return {name: values.tolist() for name, values in found.items()}


def approx(values: Sequence[float]) -> list[float]:
    return pytest.approx(list(values), abs=1e-6)  # type: ignore[return-value]  # compares as a list does


TWO = symmetric([[0, 0.5], [0, 0]])
THREE = symmetric([[0, 1.0, 0.25], [0, 0, 0.5], [0, 0, 0]])
"""The first is as close to the second as can be, and far from the third."""


@pytest.mark.parametrize("preference", [1.0, 0.5, -1.0])
def test_features_of_two_answers(preference: float) -> None:
    found = features_of(TWO, (0, 1), (LIKELY, EVEN), preference)
    product = preference * 0.8 * 0.5 * 0.5
    assert found[OLDER_ANSWER] == approx([product, 0])
    assert found[NEWER_ANSWER] == approx([0, product])
    assert found[SERIES_END] == [0, 0]


def test_features_of_three_answers() -> None:
    found = features_of(THREE, (0, 1, 2), (EVEN, UNLIKELY, LIKELY))
    # the closeness to a rival times its probability: 1 · .2 and .25 · .8 for the first, .5 · .8 for the second
    assert found[OLDER_ANSWER] == approx([0.5 * 0.2, 0.2 * 0.4, 0])
    # 1 · .5 for the second; .25 · .5 and .5 · .2 for the third
    assert found[NEWER_ANSWER] == approx([0, 0.2 * 0.5, 0.8 * 0.125])
    later = features_of(THREE, (0, 1, 2), (EVEN, EVEN, LIKELY))  # 1 · .5, not .25 · .8
    assert later[OLDER_ANSWER] == approx([0.5 * 0.5, 0.5 * 0.4, 0])


def test_features_follow_the_order_in_time() -> None:
    found = features_of(THREE, (2, 0, 1), (EVEN, UNLIKELY, LIKELY))
    assert found[OLDER_ANSWER] == approx([0, 0.2 * 0.5, 0.8 * 0.125])
    assert found[NEWER_ANSWER] == approx([0.5 * 0.2, 0, 0.8 * 0.1])


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (1, [1.0 * 0.5**RELATIVE_SCALE, 0.5**RELATIVE_SCALE * 0.5 * 0.25**RELATIVE_SCALE, 0]),
        (-1, [0, 0.5**RELATIVE_SCALE * 1.0, 0.25**RELATIVE_SCALE * 0.5 * 0.5**RELATIVE_SCALE]),
        (0, [0, 0, 0]),
    ],
)
def test_other_end_of_a_series(series: int, expected: list[float]) -> None:
    """All answer badly; relative to the first, the second is half as likely and the third a quarter."""
    log_odds = (-5.0, -5.0 - math.log(2), -5.0 - math.log(4))
    assert features_of(THREE, (0, 1, 2), log_odds, series=series)[SERIES_END] == approx(expected)
    assert features_of(THREE, (0, 1, 2), log_odds, preference=0.0, series=series)[SERIES_END] == approx(expected)


def test_candidates_of_the_same_time_or_another_matter_are_no_rivals() -> None:
    for closeness, order in ((TWO, (0, 0)), (0 * TWO, (0, 1))):
        assert features_of(closeness, order, (LIKELY, LIKELY), series=1) == {
            OLDER_ANSWER: [0, 0],
            NEWER_ANSWER: [0, 0],
            SERIES_END: [0, 0],
        }


@st.composite
def candidates(draw: st.DrawFn, min_size: int = 0) -> tuple[NDArray[np.float32], list[int], list[float]]:
    """The closeness, the order and the log-odds of some candidates."""
    count = draw(st.integers(min_size, 6))
    row = st.lists(st.floats(0, 1, width=32), min_size=count, max_size=count)
    closeness = draw(st.lists(row, min_size=count, max_size=count))
    order = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    log_odds = draw(st.lists(st.floats(-8, 8, width=32), min_size=count, max_size=count))
    return symmetric(np.reshape(closeness, (count, count)).tolist()).reshape(count, count), order, log_odds


PREFERENCES, SERIES = st.floats(-1, 1), st.sampled_from((-1, 0, 1))


@pytest.mark.medium
@given(candidates(), PREFERENCES, SERIES)
def test_features_lie_between_minus_one_and_one(
    some: tuple[NDArray[np.float32], list[int], list[float]], preference: float, series: int
) -> None:
    found = features_of(*some, preference, series)
    assert found.keys() == {NEWER_ANSWER, OLDER_ANSWER, SERIES_END}
    for name, values in found.items():
        assert len(values) == len(some[1])
        assert all(abs(value) <= (1 if name == SERIES_END else abs(preference)) + 1e-6 for value in values)
    assert all(value >= 0 for value in found[SERIES_END])
    if len(some[1]) < 2:
        assert not any(value for values in found.values() for value in values)


@pytest.mark.medium
@given(candidates(min_size=2), PREFERENCES, SERIES, st.randoms(use_true_random=False))
def test_order_in_which_candidates_are_given_does_not_matter(
    some: tuple[NDArray[np.float32], list[int], list[float]], preference: float, series: int, random: Random
) -> None:
    closeness, order, log_odds = some
    places = list(range(len(order)))
    random.shuffle(places)
    found = features_of(closeness, order, log_odds, preference, series)
    shuffled = features_of(
        closeness[np.ix_(places, places)], [order[i] for i in places], [log_odds[i] for i in places], preference, series
    )
    for name, values in found.items():
        assert shuffled[name] == approx([values[i] for i in places])


@pytest.mark.medium
@given(candidates(), SERIES)
def test_preference_of_zero_leaves_only_the_end_of_a_series(
    some: tuple[NDArray[np.float32], list[int], list[float]], series: int
) -> None:
    found, preferring = features_of(*some, 0.0, series), features_of(*some, 1.0, series)
    assert not any(found[OLDER_ANSWER] + found[NEWER_ANSWER])
    assert found[SERIES_END] == preferring[SERIES_END]


@pytest.mark.medium
@given(candidates(), PREFERENCES, SERIES)
def test_reversed_time_exchanges_older_and_newer(
    some: tuple[NDArray[np.float32], list[int], list[float]], preference: float, series: int
) -> None:
    closeness, order, log_odds = some
    found = features_of(closeness, order, log_odds, preference, series)
    back = features_of(closeness, [-one for one in order], log_odds, preference, -series)
    assert back[NEWER_ANSWER] == found[OLDER_ANSWER]
    assert back[OLDER_ANSWER] == found[NEWER_ANSWER]
    assert back[SERIES_END] == found[SERIES_END]


@pytest.mark.parametrize(
    ("question", "end"),
    [
        ("What was my latest weight?", 1),
        ("What was my first weight?", -1),
        ("What did I weigh?", 0),
        ("What were my first and my latest weight?", 0),
    ],
)
def test_end_of_a_series_that_a_question_asks_for(question: str, end: int) -> None:
    assert asked_end(question) == end


@pytest.mark.parametrize("is_english", [False, True])
def test_closeness_is_the_cosine_in_standard_deviations(*, is_english: bool) -> None:
    """By the English vectors for an English question."""
    angles = {"a": 0.0, "b": 0.1, "c": 1.0, "d": 2.0}
    near, far = ({id_: unit(turn * angle) for id_, angle in angles.items()} for turn in (1.0, 0.5))
    nodes = [sample_node(id_, minutes=place, seq=place + 1) for place, id_ in enumerate(angles)]
    graph = apply_batch(Graph(), sample_batch(*nodes, vectors=near, english_vectors=far, revision=1))
    query = sample_query("Where does Ana live?", vector=unit(0.0))
    query = replace(query, english_vector=unit(0.0) if is_english else None)
    found = answer_pairs(graph, query, np.arange(4), np.zeros(4, np.bool_), np.zeros(4, np.bool_))
    vectors = np.array(list((far if is_english else near).values()))
    z = standardize_cosines(vectors @ vectors.T)
    assert found.closeness == pytest.approx(np.clip(z / CLOSEST, 0, 1), abs=2e-2)  # vectors are stored in few bits
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.closeness.min() == 0
    assert found.closeness[0, 1] > 0
    none, stating = np.zeros(4, np.bool_), np.array([True, False, False, True])
    with_stating = answer_pairs(graph, query, np.arange(4), none, stating).closeness
    assert with_stating[0, 3] == with_stating[3, 0] == 1
    assert with_stating[1, 2] == found.closeness[1, 2]
    with_stay = answer_pairs(
        graph, query, np.arange(4), np.array([False, True, False, False]), np.zeros(4, np.bool_)
    ).closeness
    assert not with_stay[1, [0, 2, 3]].any()
    assert not with_stay[[0, 2, 3], 1].any()
    assert (
        np.delete(np.delete(with_stay, 1, 0), 1, 1).tolist()
        == np.delete(np.delete(found.closeness, 1, 0), 1, 1).tolist()
    )


@pytest.mark.medium
def test_stay_is_no_newer_answer(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("I live in Hamburg.", speaker="user", happened_at="2026-02-01")
        memory.remember("I am staying in Kiel for the weekend.", speaker="user", happened_at="2026-05-20")
        assert memory.recall("Where do I live?")[0].text == "I live in Hamburg."
        assert memory.recall("Where am I staying?")[0].text == "I am staying in Kiel for the weekend."


def unit(angle: float) -> NDArray[np.float32]:
    """A unit vector."""
    return np.array([math.cos(angle), math.sin(angle)], np.float32)


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
