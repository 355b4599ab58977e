"""Groups of equal keys in arrays: where they start, ranks within them, the best of each, and joins of two columns."""

import numpy as np
from numpy.typing import NDArray

from ..types import Mask, Rows

Keys = NDArray[np.integer]
"""A key for each entry; entries of equal keys are a group."""
Numbers = NDArray[np.floating] | NDArray[np.signedinteger]


def group_starts(sorted_keys: NDArray[np.generic]) -> Rows:
    """The index at which each group starts, where equal keys are adjacent."""
    is_start = np.ones(len(sorted_keys), np.bool_)
    is_start[1:] = sorted_keys[1:] != sorted_keys[:-1]
    return np.flatnonzero(is_start)


def rank_in_group(sorted_keys: NDArray[np.generic]) -> Rows:
    """The position of each entry in its group, from 0, where equal keys are adjacent."""
    starts = group_starts(sorted_keys)
    return np.arange(len(sorted_keys)) - np.repeat(starts, np.diff(np.append(starts, len(sorted_keys))))


def best_of_group(keys: Keys, values: Numbers, ties: Numbers | None = None) -> Rows:
    """The index of the highest value of each key, keys ascending; of equal values the first.

    With ``ties`` it is the one with the least entry of ``ties`` instead.
    """
    order = np.lexsort((-values, keys) if ties is None else (ties, -values, keys))
    return order[group_starts(keys[order])]


def find_keys(sorted_keys: Keys, wanted: Keys) -> tuple[Rows, Mask]:
    """The index of each of some keys among distinct ascending keys, and whether it is there; else the index is void."""
    if not len(sorted_keys):
        return np.zeros(len(wanted), np.intp), np.zeros(len(wanted), np.bool_)
    index = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
    return index, np.equal(sorted_keys[index], wanted)


def concatenate_ranges(starts: Rows, counts: Rows) -> Rows:
    """The ranges of ``counts[i]`` consecutive integers from ``starts[i]`` on, one after the other."""
    return np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)


def join_by_key(keys: Keys, other_keys: Keys, key_count: int) -> tuple[Rows, Rows]:
    """Every pair of entries of two columns with the same key, as indices into both: by the first, then the second.

    Keys are below ``key_count``.
    """
    counts = np.bincount(other_keys, minlength=key_count)
    order = np.argsort(other_keys, kind="stable")
    pair_counts = counts[keys]
    return (
        np.repeat(np.arange(len(keys)), pair_counts),
        order[concatenate_ranges((np.cumsum(counts) - counts)[keys], pair_counts)],
    )
