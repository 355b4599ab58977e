"""Hits that fit a token budget."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecphora.stages.retrieval import token_budget
from ecphora.stages.retrieval.term_coverage import TermCoverage


def held(*words: tuple[int, ...]) -> TermCoverage:
    """Which of three words of a cue, the first as rare as the others together, each place holds."""
    own = np.array([[word in some for word in range(3)] for some in words], np.bool_).reshape(-1, 3)
    return TermCoverage(np.array([2.0, 1.0, 1.0]), np.ones(3, np.bool_), own, own)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9), st.sets(st.integers(0, 2)))), st.integers(0, 120))
def test_a_budget_is_used_up_and_never_exceeded(found: list[tuple[int, int, set[int]]], budget: int) -> None:
    sizes = [size for size, _, _ in found]
    scores = np.array(sorted((score for _, score, _ in found), reverse=True), np.float32)
    covers = held(*(tuple(words) for *_, words in found))
    chosen = token_budget.select_within(scores, sizes, budget, covers)
    left = budget - sum(sizes[place] for place in chosen)
    assert left >= 0
    assert all(size > left for place, size in enumerate(sizes) if place not in chosen)
    assert token_budget.select_within(scores, sizes, np.inf, held(*[()] * len(sizes))) == list(range(len(sizes)))
    whole = token_budget.select_within(scores, sizes, np.inf, covers)
    for count in range(len(whole) + 1):  # what is chosen first is chosen whenever there is room for it
        room = sum(sizes[place] for place in whole[:count])
        assert token_budget.select_within(scores, sizes, room, covers)[:count] == whole[:count]


def test_what_covers_more_of_a_cue_is_preferred_to_what_scores_a_little_more() -> None:
    sizes, words = [10, 10, 10, 10], held((0,), (0,), (1, 2), ())
    assert token_budget.select_within(np.array([5, 4.9, 4.8, 1], np.float32), sizes, 20, words) == [0, 2]
    assert token_budget.select_within(np.array([5, 4.9, 2.0, 1], np.float32), sizes, 20, words) == [0, 1]
