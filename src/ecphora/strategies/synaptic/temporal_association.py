"""SynapticRAG's temporal association score: how well the spike trains of two neurons align in time.

Many pairs at once, trains of any length. A single spike against a train needs no table: the score is an exponentially
discounted count of the train's spikes (papers.md 1.5 and 6.1).
"""
# ruff: noqa: N803, N806  # the paper's symbols

from collections.abc import Callable

import numpy as np

from ...model.types import Floats, Rows
from .spike_trains import SpikeTrains

MAX_CELLS = 1 << 20
"""How many table cells are held at once, pairs times spikes of the longest train."""


def cumulative_similarity(
    senders: SpikeTrains, receivers: SpikeTrains, tau: Floats, *, band: int | None = None
) -> Floats:
    """L(n - 1, m - 1) of each pair: the least sum of W(i, j) = exp(-|A_i - B_j| / tau) along a path.

    The accumulating table of SynapticRAG's ACL version. With a Sakoe-Chiba ``band`` paths stay within ``band`` cells of
    the diagonal, plus the difference of the lengths.
    """
    return _compute_tables(senders, receivers, tau, lambda *table: _accumulation_table(*table, band=band))


def dtw_similarity(senders: SpikeTrains, receivers: SpikeTrains, tau: Floats) -> Floats:
    """Sum of exp(-|A_i - B_j| / tau) along the path of least total distance: dynamic time warping, arXiv version 1."""
    return _compute_tables(senders, receivers, tau, _dtw_table)


def temporal_score(L: Floats) -> Floats:
    """T = σ(L), in 0.5..1."""
    T: Floats = 1 / (1 + np.exp(-L))
    return T


def discounted_count(now: Floats, trains: SpikeTrains, tau: Floats) -> Floats:
    """Σ_j exp(-|now - B_j| / tau): the one row of a table with a single spike."""
    train_index = np.repeat(np.arange(len(trains)), trains.lengths)
    weights = np.exp(-np.abs(now[train_index] - trains.times) / tau[train_index])
    sums: Floats = np.bincount(train_index, weights, minlength=len(trains)).astype(
        np.float64
    )  # bincount gives ints for no weights
    return sums


_TableFunction = Callable[[Floats, Rows, Floats, Rows, Floats], Floats]


def _compute_tables(senders: SpikeTrains, receivers: SpikeTrains, tau: Floats, table: _TableFunction) -> Floats:
    """Pairs with a single spike in one row; the other pairs in tables, pairs of similar sizes together."""
    n, m = senders.lengths, receivers.lengths
    L = np.zeros(len(tau))
    for one, many, single in ((senders, receivers, n == 1), (receivers, senders, (m == 1) & (n > 1))):
        rows = np.flatnonzero(single)
        if len(rows):
            L[rows] = discounted_count(one.select(rows).times, many.select(rows), tau[rows])
    several = np.flatnonzero((n > 1) & (m > 1))
    longest = np.maximum(n, m)
    several = several[np.argsort(-longest[several], kind="stable")]
    start = 0
    while start < len(several):
        block = several[start : start + max(1, MAX_CELLS // int(longest[several[start]]) ** 2)]
        L[block] = table(
            senders.select(block).to_columns(), n[block], receivers.select(block).to_columns(), m[block], tau[block]
        )
        start += len(block)
    return L


def _accumulation_table(A: Floats, n: Rows, B: Floats, m: Rows, tau: Floats, *, band: int | None = None) -> Floats:
    """L(i, j) = W(i, j) + min(L(i-1, j), L(i, j-1), L(i-1, j-1)), for all pairs at once."""
    L, pairs = np.zeros(len(tau)), np.arange(len(tau))
    above = np.empty_like(B)
    for i, spikes in enumerate(A):
        row = np.exp(-np.abs(spikes - B) / tau)
        if band is not None:
            row[np.abs(i - np.arange(len(B)))[:, None] > band + np.abs(n - m)] = np.inf
        if i == 0:
            row = np.cumsum(row, axis=0)
        else:
            row[0] += above[0]
            best = np.minimum(above[1:], above[:-1])
            for j in range(1, len(B)):
                row[j] += np.minimum(best[j - 1], row[j - 1])
        ended = n == i + 1
        L[ended] = row[m[ended] - 1, pairs[ended]]
        above = row
    return L


def _dtw_table(A: Floats, n: Rows, B: Floats, m: Rows, tau: Floats) -> Floats:
    """The least total distance to each cell, and the sum along that path; of equal paths up, left, diagonal."""
    sums, pairs = np.zeros(len(tau)), np.arange(len(tau))
    above = above_sum = np.empty_like(B)
    for i, spikes in enumerate(A):
        distance = np.abs(spikes - B)
        row, row_sum = distance.copy(), np.exp(-np.trunc(distance) / tau)  # SR-code: int(d)
        if i == 0:
            row, row_sum = np.cumsum(row, axis=0), np.cumsum(row_sum, axis=0)
        else:
            row[0] += above[0]
            row_sum[0] += above_sum[0]
            for j in range(1, len(B)):
                up, left, diagonal = above[j], row[j - 1], above[j - 1]
                best, summed = up, above_sum[j]
                for other, its in ((left, row_sum[j - 1]), (diagonal, above_sum[j - 1])):
                    best, summed = np.where(other < best, other, best), np.where(other < best, its, summed)
                row[j] += best
                row_sum[j] += summed
        ended = n == i + 1
        sums[ended] = row_sum[m[ended] - 1, pairs[ended]]
        above, above_sum = row, row_sum
    return sums
