"""Alignment of spike trains, each routine beside its readable twin."""
# ruff: noqa: N803, N806  # the paper's symbols

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.stages.synaptic import temporal_association
from ecphora.stages.synaptic.spike_trains import SpikeTrains

Train = Sequence[int]

trains = st.lists(st.integers(0, 300), min_size=1, max_size=9, unique=True).map(sorted)
pairs = st.lists(st.tuples(trains, trains, st.floats(5, 500)), min_size=1, max_size=12)


def together(some: Sequence[Train]) -> SpikeTrains:
    return SpikeTrains(np.array([t for train in some for t in train], float), np.cumsum([0, *map(len, some)]))


def accumulated(A: Train, B: Train, tau: float, band: float = math.inf) -> float:
    """The readable twin: the table of the ACL version, cell by cell."""
    L: dict[tuple[int, int], float] = {}
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            if abs(i - j) <= band + abs(len(A) - len(B)):
                ways = [L[cell] for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in L]
                L[i, j] = math.exp(-abs(a - b) / tau) + min(ways, default=0.0)
    return L[len(A) - 1, len(B) - 1]


def warped(A: Train, B: Train, tau: float) -> float:
    """The readable twin: dynamic time warping, and its way traced back from the end; of equal ways up, left, across."""
    cost: dict[tuple[int, int], int] = {}
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            ways = [cost[cell] for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in cost]
            cost[i, j] = abs(a - b) + min(ways, default=0)
    i, j, total = len(A) - 1, len(B) - 1, 0.0
    while True:
        total += math.exp(-abs(A[i] - B[j]) / tau)
        if i == j == 0:
            return total
        i, j = min((cell for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in cost), key=lambda c: cost[c])


@given(pairs, st.sampled_from([None, 0, 1, 4]))
def test_many_tables_at_once(some: list[tuple[Train, Train, float]], band: int | None) -> None:
    A, B, tau = zip(*some, strict=True)
    L = temporal_association.cumulative_similarity(together(A), together(B), np.array(tau), band=band)
    expected = [accumulated(a, b, t, math.inf if band is None else band) for a, b, t in some]
    assert pytest.approx(expected) == L


@given(pairs)
def test_many_warpings_at_once(some: list[tuple[Train, Train, float]]) -> None:
    A, B, tau = zip(*some, strict=True)
    sums = temporal_association.dtw_similarity(together(A), together(B), np.array(tau))
    assert sums == pytest.approx([warped(a, b, t) for a, b, t in some])


def test_tables_of_very_different_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are held a few at a time, the largest first."""
    monkeypatch.setattr(temporal_association, "MAX_CELLS", 50)
    A, B = [[0, 9], list(range(40)), [5], [1, 2, 3]], [[3, 4], [7, 8], [1, 2], list(range(30))]
    L = temporal_association.cumulative_similarity(together(A), together(B), np.full(4, 20.0))
    assert pytest.approx([accumulated(a, b, 20.0) for a, b in zip(A, B, strict=True)]) == L


@given(trains, st.integers(0, 300), st.floats(5, 500))
def test_a_single_spike_needs_no_table(train: Train, now: int, tau: float) -> None:
    """papers.md 1.5: the one row is an exponentially discounted count, in both versions and both ways round."""
    expected = sum(math.exp(-abs(now - t) / tau) for t in train)
    one, many, taus = together([[now]]), together([train]), np.array([tau])
    for L in (
        temporal_association.cumulative_similarity(one, many, taus),
        temporal_association.cumulative_similarity(many, one, taus),
        temporal_association.dtw_similarity(one, many, taus),
        temporal_association.discounted_count(np.array([float(now)]), many, taus),
    ):
        assert pytest.approx([expected]) == L


def test_no_pairs_give_nothing() -> None:
    none = SpikeTrains(np.zeros(0), np.zeros(1, np.intp))
    assert temporal_association.cumulative_similarity(none, none, np.zeros(0)).shape == (0,)
    assert temporal_association.discounted_count(np.zeros(0), none, np.zeros(0)).shape == (0,)
