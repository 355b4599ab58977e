"""Alignment of spike trains, each routine compared with a reference implementation."""
# ruff: noqa: N803, N806  # the paper's symbols

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.strategies.synaptic import temporal_association
from ecphora.strategies.synaptic.spike_trains import SpikeTrains

Train = Sequence[int]

trains = st.lists(st.integers(0, 300), min_size=1, max_size=9, unique=True).map(sorted)
pairs = st.lists(st.tuples(trains, trains, st.floats(5, 500)), min_size=1, max_size=12)


def spike_trains(train_list: Sequence[Train]) -> SpikeTrains:
    return SpikeTrains(
        np.array([t for train in train_list for t in train], float), np.cumsum([0, *map(len, train_list)])
    )


def accumulate(A: Train, B: Train, tau: float, band: float = math.inf) -> float:
    """The reference implementation: the table of the ACL version, cell by cell."""
    L: dict[tuple[int, int], float] = {}
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            if abs(i - j) <= band + abs(len(A) - len(B)):
                predecessors = [L[cell] for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in L]
                L[i, j] = math.exp(-abs(a - b) / tau) + min(predecessors, default=0.0)
    return L[len(A) - 1, len(B) - 1]


def warped(A: Train, B: Train, tau: float) -> float:
    """The reference implementation: dynamic time warping traced back from the end; ties prefer up, left, diagonal."""
    cost: dict[tuple[int, int], int] = {}
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            predecessors = [cost[cell] for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in cost]
            cost[i, j] = abs(a - b) + min(predecessors, default=0)
    i, j, total = len(A) - 1, len(B) - 1, 0.0
    while True:
        total += math.exp(-abs(A[i] - B[j]) / tau)
        if i == j == 0:
            return total
        i, j = min((cell for cell in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if cell in cost), key=lambda c: cost[c])


@pytest.mark.medium
@given(pairs, st.sampled_from([None, 0, 1, 4]))
def test_cumulative_similarity_equals_the_reference(
    train_list: list[tuple[Train, Train, float]], band: int | None
) -> None:
    A, B, tau = zip(*train_list, strict=True)
    L = temporal_association.cumulative_similarity(spike_trains(A), spike_trains(B), np.array(tau), band=band)
    expected = [accumulate(a, b, t, math.inf if band is None else band) for a, b, t in train_list]
    assert pytest.approx(expected) == L


@pytest.mark.medium
@given(pairs)
def test_dtw_similarity_equals_the_reference(train_list: list[tuple[Train, Train, float]]) -> None:
    A, B, tau = zip(*train_list, strict=True)
    sums = temporal_association.dtw_similarity(spike_trains(A), spike_trains(B), np.array(tau))
    assert sums == pytest.approx([warped(a, b, t) for a, b, t in train_list])


def test_tables_of_very_different_lengths_equal_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are computed a few at a time, the largest first."""
    monkeypatch.setattr(temporal_association, "MAX_CELLS", 50)
    A, B = [[0, 9], list(range(40)), [5], [1, 2, 3]], [[3, 4], [7, 8], [1, 2], list(range(30))]
    L = temporal_association.cumulative_similarity(spike_trains(A), spike_trains(B), np.full(4, 20.0))
    assert pytest.approx([accumulate(a, b, 20.0) for a, b in zip(A, B, strict=True)]) == L


@given(trains, st.integers(0, 300), st.floats(5, 500))
def test_single_spike_gives_a_discounted_count(train: Train, now: int, tau: float) -> None:
    """papers.md 1.5: the one row is an exponentially discounted count, in both versions and either order of trains."""
    expected = sum(math.exp(-abs(now - t) / tau) for t in train)
    one, many, taus = spike_trains([[now]]), spike_trains([train]), np.array([tau])
    for L in (
        temporal_association.cumulative_similarity(one, many, taus),
        temporal_association.cumulative_similarity(many, one, taus),
        temporal_association.dtw_similarity(one, many, taus),
        temporal_association.discounted_count(np.array([float(now)]), many, taus),
    ):
        assert pytest.approx([expected]) == L


def test_no_pairs_give_empty_results() -> None:
    none = SpikeTrains(np.zeros(0), np.zeros(1, np.intp))
    assert temporal_association.cumulative_similarity(none, none, np.zeros(0)).shape == (0,)
    assert temporal_association.discounted_count(np.zeros(0), none, np.zeros(0)).shape == (0,)
