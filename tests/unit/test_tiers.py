"""Tiers: the order is first by tier, then as before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.strategies.fused.boosts import TIER_STEP, raise_tiers

ROWS = st.lists(
    st.tuples(
        st.one_of(st.just(0.0), st.floats(2**-10, 2**10, width=32), st.sampled_from([20.000002, 20.000004, 1e-6])),
        st.booleans(),
        st.integers(0, 3),
    ),
    max_size=40,
)


def columns(rows: list[tuple[float, bool, int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scores = np.array([score for score, _, _ in rows], np.float32)
    return scores, np.array([eligible for _, eligible, _ in rows], np.bool_), np.array([t for _, _, t in rows], np.intp)


@given(ROWS)
def test_order_is_that_of_the_reference(rows: list[tuple[float, bool, int]]) -> None:
    scores, eligible, tiers = columns(rows)
    raised = raise_tiers(scores, eligible, tiers)
    ranked = [row for row in range(len(rows)) if eligible[row] and (scores[row] > 0 or tiers[row])]
    expected = sorted(ranked, key=lambda row: (-tiers[row], -scores[row], row))
    order = [row for row in np.argsort(-raised, kind="stable").tolist() if eligible[row] and raised[row] > 0]
    assert order == expected


@given(ROWS)
def test_other_rows_keep_their_scores(rows: list[tuple[float, bool, int]]) -> None:
    scores, eligible, tiers = columns(rows)
    raised = raise_tiers(scores, eligible, tiers)
    same = ~eligible | (tiers == 0)
    assert raised[same].tolist() == scores[same].tolist()
    assert raised.dtype == np.float32
    assert (raised >= scores).all()


def test_row_without_a_score_gets_one() -> None:
    raised = raise_tiers(np.zeros(2, np.float32), np.ones(2, np.bool_), np.array([0, 1]))
    assert raised.tolist() == [0.0, pytest.approx(TIER_STEP)]


def test_tier_that_ranks_first_already_keeps_its_scores() -> None:
    scores = np.array([3, 9, 5], np.float32)
    assert raise_tiers(scores, np.ones(3, np.bool_), np.array([0, 2, 1])).tolist() == [3, 9, 5]
