"""Groups of equal keys, compared with loops over lists."""

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.graph import columns

keys = st.lists(st.integers(0, 5), max_size=20)


def groups(sorted_keys: list[int]) -> list[list[int]]:
    indexes = iter(range(len(sorted_keys)))
    return [[next(indexes) for _ in group] for _, group in groupby(sorted_keys)]


@given(keys)
def test_group_starts_are_the_first_entries_of_equal_keys(keys: list[int]) -> None:
    found = columns.group_starts(np.array(sorted(keys), np.intp))
    assert found.tolist() == [group[0] for group in groups(sorted(keys))]


@given(keys)
def test_rank_in_group_counts_from_zero_in_each_group(keys: list[int]) -> None:
    found = columns.rank_in_group(np.array(sorted(keys), np.intp))
    assert found.tolist() == [rank for group in groups(sorted(keys)) for rank in range(len(group))]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 2), st.integers(0, 2)), max_size=20))
def test_best_of_group_is_the_first_of_the_highest_or_that_with_the_smallest_tie(
    entries: list[tuple[int, int, int]],
) -> None:
    keys, values, ties = np.array(entries, np.intp).reshape(-1, 3).T
    first = [min((-value, place) for place, (k, value, _) in enumerate(entries) if k == key) for key in sorted({*keys})]
    least = [min((-v, tie, place) for place, (k, v, tie) in enumerate(entries) if k == key) for key in sorted({*keys})]
    scores = values.astype(np.float32)
    assert columns.best_of_group(keys, scores).tolist() == [best[-1] for best in first]
    assert columns.best_of_group(keys, scores, ties=ties).tolist() == [best[-1] for best in least]


@given(st.sets(st.integers(0, 9)), st.lists(st.integers(0, 9), max_size=20))
def test_find_keys_returns_presence_and_index(known: set[int], wanted: list[int]) -> None:
    ascending = sorted(known)
    index, is_found = columns.find_keys(np.array(ascending, np.intp), np.array(wanted, np.intp))
    assert is_found.tolist() == [key in known for key in wanted]
    assert [ascending[place] for place in index[is_found].tolist()] == [key for key in wanted if key in known]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 4)), max_size=10))
def test_concatenated_ranges_are_those_of_range(ranges: list[tuple[int, int]]) -> None:
    starts, counts = np.array(ranges, np.intp).reshape(-1, 2).T
    expected = [number for start, count in ranges for number in range(start, start + count)]
    assert columns.concatenate_ranges(starts, counts).tolist() == expected


@given(keys, keys)
def test_join_pairs_every_two_entries_of_a_key(keys: list[int], others: list[int]) -> None:
    first, second = columns.join_by_key(np.array(keys, np.intp), np.array(others, np.intp), 6)
    expected = [(i, j) for i, key in enumerate(keys) for j, other in enumerate(others) if key == other]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
