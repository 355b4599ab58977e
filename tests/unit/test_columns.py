"""Columns that grow without being copied, and the index over them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.columns import Column, InvertedIndex, Table, Vocabulary

numbers = st.lists(st.integers(0, 9), max_size=40)


def column(*values: int) -> Column:
    return Column(np.array(values, np.int64))


def test_a_column_grows_and_its_parent_stays() -> None:
    parent = column(1, 2)
    child = parent.append(np.array([3]))
    assert parent.view.tolist() == [1, 2]
    assert child.view.tolist() == [1, 2, 3]
    assert (len(parent), len(child)) == (2, 3)


def test_a_column_grown_twice_gives_two_that_stand() -> None:
    parent = column(1).append(np.array([2]))
    first, second = parent.append(np.array([3])), parent.append(np.array([4, 5]))
    assert first.append(np.array([6])).view.tolist() == [1, 2, 3, 6]
    assert first.view.tolist() == [1, 2, 3]
    assert second.view.tolist() == [1, 2, 4, 5]
    assert parent.view.tolist() == [1, 2]


def test_growing_shares_memory() -> None:
    parent = column().append(np.arange(10))
    assert np.shares_memory(parent.view, parent.append(np.array([10])).view)


def test_growing_by_nothing_is_the_same_column() -> None:
    parent = column(1)
    assert parent.append(np.array([], np.int64)) is parent


@given(st.lists(st.tuples(st.integers(0, 50), numbers), max_size=20))
def test_any_tree_of_growth_gives_what_lists_give(steps: list[tuple[int, list[int]]]) -> None:
    columns, lists = [column()], [list[int]()]
    for parent, more in steps:
        place = parent % len(columns)
        columns.append(columns[place].append(np.array(more, np.int64)))
        lists.append([*lists[place], *more])
    assert [one.view.tolist() for one in columns] == lists


def test_a_column_of_rows_grows_by_rows() -> None:
    parent = Column(np.zeros((0, 3), np.float32))
    assert parent.append(np.ones((2, 3), np.float32)).view.shape == (2, 3)


def table() -> Table:
    return Table.empty(number="i4", what=object).append(number=[1, 2, 3], what=["a", {"b": 1}, [2, 3]])


def test_a_table_keeps_the_types_of_its_schema() -> None:
    some = table()
    assert some.names() == ("number", "what")
    assert some["number"].dtype == np.int32
    assert some["what"].tolist() == ["a", {"b": 1}, [2, 3]]
    assert len(Table.empty(number="i4")) == 0


def test_put_changes_a_copy() -> None:
    some = table()
    changed = some.replace(np.array([0, 2, 2]), number=[7, 8, 9])
    assert changed["number"].tolist() == [7, 2, 9]
    assert some["number"].tolist() == [1, 2, 3]
    assert changed["what"] is not None
    assert np.shares_memory(changed["what"], some["what"])


def test_put_and_growth_stand_side_by_side() -> None:
    some = table()
    changed = some.replace(np.array([0]), number=[7]).append(number=[4], what=[None])
    grown = some.append(number=[5], what=[None])
    assert changed["number"].tolist() == [7, 2, 3, 4]
    assert grown["number"].tolist() == [1, 2, 3, 5]


def test_keep_leaves_out() -> None:
    some = table()
    shorter = some.keep(np.array([True, False, True]))
    assert shorter["number"].tolist() == [1, 3]
    assert shorter.append(number=[9], what=["z"])["what"].tolist() == ["a", [2, 3], "z"]
    assert some["number"].tolist() == [1, 2, 3]


@given(numbers, numbers, st.sets(st.integers(0, 12)))
def test_groups_find_what_a_scan_finds(base: list[int], tail: list[int], keys: set[int]) -> None:
    values = np.array([*base, *tail], np.int32)
    asked = np.array(list(keys), np.int32)
    places, which = InvertedIndex(values[: len(base)]).lookup(values, asked)
    for number, key in enumerate(asked):
        assert places[which == number].tolist() == np.flatnonzero(values == key).tolist()
    assert len(places) == len(which) == np.isin(values, asked).sum()


def test_groups_are_made_anew_when_the_tail_has_grown() -> None:
    groups = InvertedIndex(np.zeros(10, np.int32))
    assert groups.has_short_tail(np.zeros(2058, np.int32))
    assert not groups.has_short_tail(np.zeros(2059, np.int32))
    assert InvertedIndex(np.zeros(100_000, np.int32)).has_short_tail(np.zeros(125_000, np.int32))


names = st.sampled_from([None, "a", "b", "c", "d", "é"])


@given(st.lists(names), st.lists(names))
def test_codes_number_names_by_first_appearance(first: list[str | None], second: list[str | None]) -> None:
    codes = Vocabulary().append(first)
    grown = codes.append(second)
    assert grown.names == tuple(dict.fromkeys(name for name in [*first, *second] if name is not None))
    assert codes.names == grown.names[: len(codes.names)]
    assert [None if number < 0 else grown.names[number] for number in grown.codes(second)] == second
    assert all(codes.code(name) == -1 for name in grown.names[len(codes.names) :])


@given(st.lists(names), st.lists(st.booleans(), min_size=99, max_size=99))
def test_codes_that_are_kept_are_as_if_the_others_had_never_come(told: list[str | None], mask: list[bool]) -> None:
    kept = [name for name, keep in zip(told, mask, strict=False) if keep]
    codes = Vocabulary().append(told)
    fewer, renumbered = codes.keep(codes.codes(kept))
    expected = Vocabulary().append(kept)
    assert fewer.names == expected.names
    assert renumbered.tolist() == expected.codes(kept).tolist()


def test_a_column_of_names_needs_its_schema() -> None:
    with pytest.raises(KeyError):
        table().append(number=[1])
