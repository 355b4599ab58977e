"""Columns that grow without being copied, and the index over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.model.graph.columns import Column, InvertedIndex, Table, Vocabulary

numbers = st.lists(st.integers(0, 9), max_size=40)


def column(*values: int) -> Column:
    return Column(np.array(values, np.int64))


def test_append_does_not_change_the_parent() -> None:
    parent = column(1, 2)
    child = parent.append(np.array([3]))
    assert parent.view.tolist() == [1, 2]
    assert child.view.tolist() == [1, 2, 3]
    assert (len(parent), len(child)) == (2, 3)


def test_appending_twice_gives_independent_columns() -> None:
    parent = column(1).append(np.array([2]))
    first, second = parent.append(np.array([3])), parent.append(np.array([4, 5]))
    assert first.append(np.array([6])).view.tolist() == [1, 2, 3, 6]
    assert first.view.tolist() == [1, 2, 3]
    assert second.view.tolist() == [1, 2, 4, 5]
    assert parent.view.tolist() == [1, 2]


def test_append_shares_memory() -> None:
    parent = column().append(np.arange(10))
    assert np.shares_memory(parent.view, parent.append(np.array([10])).view)


def test_appending_nothing_returns_the_same_column() -> None:
    parent = column(1)
    assert parent.append(np.array([], np.int64)) is parent


@given(st.lists(st.tuples(st.integers(0, 50), numbers), max_size=20))
def test_any_tree_of_appends_equals_lists(steps: list[tuple[int, list[int]]]) -> None:
    columns, lists = [column()], [list[int]()]
    for parent, more in steps:
        place = parent % len(columns)
        columns.append(columns[place].append(np.array(more, np.int64)))
        lists.append([*lists[place], *more])
    assert [one.view.tolist() for one in columns] == lists


def test_column_of_rows_appends_rows() -> None:
    parent = Column(np.zeros((0, 3), np.float32))
    assert parent.append(np.ones((2, 3), np.float32)).view.shape == (2, 3)


def table() -> Table:
    return Table.empty(number="i4", what=object).append(number=[1, 2, 3], what=["a", {"b": 1}, [2, 3]])


def test_table_keeps_the_types_of_its_schema() -> None:
    original = table()
    assert original.names() == ("number", "what")
    assert original["number"].dtype == np.int32
    assert original["what"].tolist() == ["a", {"b": 1}, [2, 3]]
    assert len(Table.empty(number="i4")) == 0


def test_replace_changes_a_copy() -> None:
    original = table()
    changed = original.replace(np.array([0, 2, 2]), number=[7, 8, 9])
    assert changed["number"].tolist() == [7, 2, 9]
    assert original["number"].tolist() == [1, 2, 3]
    assert changed["what"] is not None
    assert np.shares_memory(changed["what"], original["what"])


def test_replace_and_append_are_independent() -> None:
    original = table()
    changed = original.replace(np.array([0]), number=[7]).append(number=[4], what=[None])
    grown = original.append(number=[5], what=[None])
    assert changed["number"].tolist() == [7, 2, 3, 4]
    assert grown["number"].tolist() == [1, 2, 3, 5]


def test_keep_drops_masked_rows() -> None:
    original = table()
    shorter = original.keep(np.array([True, False, True]))
    assert shorter["number"].tolist() == [1, 3]
    assert shorter.append(number=[9], what=["z"])["what"].tolist() == ["a", [2, 3], "z"]
    assert original["number"].tolist() == [1, 2, 3]


sparse_numbers = st.lists(st.sampled_from([-1, 0, 3, 9, 12, 4_000_000]), max_size=9)


@given(numbers | sparse_numbers, numbers, st.sets(st.integers(-2, 12) | st.just(4_000_000)))
def test_inverted_index_equals_a_scan(base: list[int], tail: list[int], keys: set[int]) -> None:
    values = np.array([*base, *tail], np.int32)
    queried = np.array(list(keys), np.int32)
    places, query_numbers = InvertedIndex(values[: len(base)]).lookup(values, queried)
    for number, key in enumerate(queried):
        assert places[query_numbers == number].tolist() == np.flatnonzero(values == key).tolist()
    assert len(places) == len(query_numbers) == np.isin(values, queried).sum()


def test_inverted_index_has_a_short_tail_up_to_a_limit() -> None:
    index = InvertedIndex(np.zeros(10, np.int32))
    assert index.has_short_tail(np.zeros(2058, np.int32))
    assert not index.has_short_tail(np.zeros(2059, np.int32))
    assert InvertedIndex(np.zeros(100_000, np.int32)).has_short_tail(np.zeros(125_000, np.int32))


names = st.sampled_from([None, "a", "b", "c", "d", "é"])


@pytest.mark.medium
@given(st.lists(names), st.lists(names))
def test_vocabulary_numbers_names_by_first_appearance(first: list[str | None], second: list[str | None]) -> None:
    vocabulary = Vocabulary().append(first)
    grown = vocabulary.append(second)
    assert grown.names == tuple(dict.fromkeys(name for name in [*first, *second] if name is not None))
    assert vocabulary.names == grown.names[: len(vocabulary.names)]
    assert [None if number < 0 else grown.names[number] for number in grown.codes(second)] == second
    assert all(vocabulary.code(name) == -1 for name in grown.names[len(vocabulary.names) :])


@given(st.lists(names), st.lists(st.booleans(), min_size=99, max_size=99))
def test_vocabulary_of_kept_names_equals_a_new_one(all_names: list[str | None], mask: list[bool]) -> None:
    kept = [name for name, keep in zip(all_names, mask, strict=False) if keep]
    vocabulary = Vocabulary().append(all_names)
    fewer, renumbered = vocabulary.keep(vocabulary.codes(kept))
    expected = Vocabulary().append(kept)
    assert fewer.names == expected.names
    assert renumbered.tolist() == expected.codes(kept).tolist()


def test_table_append_needs_all_columns() -> None:
    with pytest.raises(KeyError):
        table().append(number=[1])
