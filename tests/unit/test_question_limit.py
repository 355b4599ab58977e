"""Spaces cut to what a limited number of questions needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.model.types import Episode
from ecphora_bench.question_limit import cut_episodes


def space(length: int, *gold: int) -> Case:
    episodes = tuple(Episode(f"Turn {n}.", str(n)) for n in range(length))
    return Case("s", episodes, (Question("q", "Which?", "plain", frozenset(map(str, gold))),))


@pytest.mark.parametrize(
    ("gold", "distractors", "kept"),
    [
        ((4,), 0, [4]),
        ((4,), 3, [2, 3, 4, 5]),
        ((0, 9), 2, [0, 1, 8, 9]),
        ((), 3, [0, 1, 2]),
        ((4,), 100, list(range(10))),
    ],
)
def test_evidence_is_kept_with_nearest_episodes(gold: tuple[int, ...], distractors: int, kept: list[int]) -> None:
    assert [int(episode.id or "") for episode in cut_episodes(space(10, *gold), distractors).episodes] == kept


@given(st.integers(1, 40), st.sets(st.integers(0, 39), max_size=6), st.integers(0, 50))
def test_cut_space_has_all_evidence_and_the_stated_number_of_others(
    length: int, gold: set[int], distractors: int
) -> None:
    gold = {place for place in gold if place < length}
    case = space(length, *gold)
    ids = [episode.id for episode in cut_episodes(case, distractors).episodes]
    assert {str(place) for place in gold} <= set(ids)
    assert len(ids) == len(gold) + min(distractors, length - len(gold))
    assert ids == [episode.id for episode in case.episodes if episode.id in ids]
