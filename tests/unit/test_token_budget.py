"""Hits that fit a token budget."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecphora.recall import recall
from ecphora.retrieval.bm25 import TermCoverage


def term_coverage(*hits: tuple[int, ...]) -> TermCoverage:
    """Which of three terms of a query each hit contains; the first term weighs as much as the others together."""
    own = np.array([[word in words for word in range(3)] for words in hits], np.bool_).reshape(-1, 3)
    return TermCoverage(np.array([2.0, 1.0, 1.0]), np.ones(3, np.bool_), own, own)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9), st.sets(st.integers(0, 2)))), st.integers(0, 120))
def test_budget_is_filled_and_never_exceeded(found: list[tuple[int, int, set[int]]], budget: int) -> None:
    sizes = [size for size, _, _ in found]
    scores = np.array(sorted((score for _, score, _ in found), reverse=True), np.float32)
    coverage = term_coverage(*(tuple(words) for *_, words in found))
    chosen = recall.select_within(scores, sizes, budget, coverage)
    left = budget - sum(sizes[index] for index in chosen)
    assert left >= 0
    assert all(size > left for index, size in enumerate(sizes) if index not in chosen)
    assert recall.select_within(scores, sizes, np.inf, term_coverage(*[()] * len(sizes))) == list(range(len(sizes)))
    unbounded = recall.select_within(scores, sizes, np.inf, coverage)
    for count in range(len(unbounded) + 1):  # the first choices are chosen under any budget that has room for them
        room = sum(sizes[index] for index in unbounded[:count])
        assert recall.select_within(scores, sizes, room, coverage)[:count] == unbounded[:count]


def test_term_coverage_outweighs_slightly_higher_scores() -> None:
    sizes, coverage = [10, 10, 10, 10], term_coverage((0,), (0,), (1, 2), ())
    assert recall.select_within(np.array([5, 4.9, 4.8, 1], np.float32), sizes, 20, coverage) == [0, 2]
    assert recall.select_within(np.array([5, 4.9, 2.0, 1], np.float32), sizes, 20, coverage) == [0, 1]


def test_bonus_depends_on_the_lead_over_the_tenth_score() -> None:
    """.15 of the lead, for the half of the terms that the third hit adds, must exceed .03."""
    sizes, coverage = [10] * 11, term_coverage((0,), (0,), (1, 2), *[()] * 8)

    def chosen(ninth: float, tenth: float, last: float) -> list[int]:
        scores = np.array([1, 0.97, 0.94, *[0.9] * 5, ninth, tenth, last], np.float32)
        return recall.select_within(scores, sizes, 20, coverage)

    assert chosen(0.9, 0.5, 0.5) == [0, 2]
    assert chosen(0.9, 0.9, 0.0) == [0, 1]
