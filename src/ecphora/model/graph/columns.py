"""Append-only columns, an inverted index over a column, interned strings, and groups of equal keys in arrays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

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


Values = NDArray[Any]
"""A column's values; the table's schema gives their type."""


class _Buffer:
    """Memory shared by a column and the columns grown from it; ``used`` is the length of the longest."""

    __slots__ = ("array", "used")

    def __init__(self, array: Values, used: int) -> None:
        self.array = array
        self.used = used


class Column:
    """An immutable array; appending returns a longer one at the cost of what is added.

    The grown column shares the memory; this one never sees beyond its own length. Growing a column a second time
    copies it, so both results stay valid.
    """

    __slots__ = ("_buffer", "_length")

    def __init__(self, array: Values) -> None:
        self._buffer = _Buffer(array, len(array))
        self._length = len(array)

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> Values:
        """The values, read-only by convention."""
        return self._buffer.array[: self._length]

    def append(self, values: Values) -> "Column":
        """Return the column with some values added."""
        if not len(values):
            return self
        buffer, end = self._buffer, self._length + len(values)
        if buffer.used != self._length or end > len(buffer.array):
            array = np.empty((max(end, 2 * self._length, 64), *values.shape[1:]), buffer.array.dtype)
            if self._length:
                array[: self._length] = self.view
            buffer = _Buffer(array, self._length)
        buffer.array[self._length : end] = values
        buffer.used = end
        grown = Column.__new__(Column)
        grown._buffer, grown._length = buffer, end  # noqa: SLF001
        return grown


class Table:
    """Columns of equal length, by name, of the types that the schema gives."""

    __slots__ = ("_columns", "_length")

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns
        self._length = len(next(iter(columns.values())))

    @classmethod
    def empty(cls, **schema: DTypeLike) -> "Table":
        """Return an empty table."""
        return cls({name: Column(np.empty(0, dtype)) for name, dtype in schema.items()})

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> Values:
        return self._columns[name].view

    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self._columns)

    def append(self, **values: ArrayLike | Sequence[object]) -> "Table":
        """Return the table with values added to every column, equally many to each."""
        grown = {}
        for name, column in self._columns.items():
            grown[name] = column.append(_to_array(values[name], column.view.dtype))
        return Table(grown)

    def replace(self, positions: Rows, **values: ArrayLike | Sequence[object]) -> "Table":
        """Return the table with some entries changed; only the columns concerned are copied."""
        changed = dict(self._columns)
        for name, new in values.items():
            array = self[name].copy()
            array[positions] = new
            changed[name] = Column(array)
        return Table(changed)

    def keep(self, mask: Mask) -> "Table":
        """Return the entries under the mask, copied."""
        return Table({name: Column(column.view[mask]) for name, column in self._columns.items()})


def _to_array(values: ArrayLike | Sequence[object], dtype: DTypeLike) -> Values:
    if np.dtype(dtype) != np.object_:
        return np.asarray(values, dtype)
    objects = list(values)  # type: ignore[arg-type]
    array = np.empty(len(objects), np.object_)
    array[:] = objects  # np.asarray would look inside the objects
    return array


class InvertedIndex:
    """The positions of each value of an append-only column: a sorted base, and a short tail that is scanned."""

    __slots__ = ("_keys", "_starts", "positions")

    def __init__(self, values: Values, positions: Rows | None = None) -> None:
        """``positions`` comes from an earlier index of the same values."""
        self.positions: Rows = np.argsort(values, kind="stable") if positions is None else positions
        """The positions of the values in the base, by ascending value."""
        self._keys = values[self.positions]
        self._starts = _starts_of_numbers(self._keys)

    def has_short_tail(self, values: Values) -> bool:
        """Whether the tail of ``values`` beyond this base is still short enough to scan."""
        base = len(self._keys)
        return len(values) - base <= max(2048, base // 4)

    def lookup(self, values: Values, keys: Values) -> tuple[Rows, Rows]:
        """Find distinct keys in ``values``: the positions, and for each the index of its key."""
        base = len(self._keys)
        low, high = self._ranges(keys)
        counts = high - low
        key_indexes = np.repeat(np.arange(len(keys)), counts)
        found = self.positions[concatenate_ranges(low, counts)]
        if len(values) == base or not len(keys):
            return found, key_indexes
        order = np.argsort(keys, kind="stable")
        tail = values[base:]
        index, is_found = find_keys(keys[order], tail)
        in_tail = np.flatnonzero(is_found)
        return np.concatenate([found, in_tail + base]), np.concatenate([key_indexes, order[index[in_tail]]])

    def _ranges(self, keys: Values) -> tuple[Rows, Rows]:
        """Where each key begins and ends in the sorted base."""
        if self._starts is None:
            return np.searchsorted(self._keys, keys, "left"), np.searchsorted(self._keys, keys, "right")
        end = len(self._starts) - 1
        places = np.where((keys >= 0) & (keys < end), keys, end).astype(np.intp)
        return self._starts[places], self._starts[np.minimum(places + 1, end)]


def _starts_of_numbers(sorted_keys: Values) -> Rows | None:
    """Where each number from 0 on starts among sorted keys, with their length as the last entry.

    None for keys that are not such small numbers, as hashes are not.
    """
    if not len(sorted_keys) or sorted_keys[0] < 0 or sorted_keys[-1] >= 4 * len(sorted_keys):
        return None
    starts = np.zeros(int(sorted_keys[-1]) + 2, np.intp)
    np.cumsum(np.bincount(sorted_keys), out=starts[1:])
    return starts


class Vocabulary:
    """Interned strings: names as small codes, in order of first appearance; -1 stands for no name."""

    __slots__ = ("_codes", "names")

    def __init__(self, names: tuple[str, ...] = (), codes: dict[str, int] | None = None) -> None:
        self.names = names
        self._codes = {name: code for code, name in enumerate(names)} if codes is None else codes

    def code(self, name: str | None) -> int:
        """The code of a name, -1 if there is none."""
        return -1 if name is None else self._codes.get(name, -1)

    def append(self, names: Iterable[str | None]) -> "Vocabulary":
        """Return the vocabulary with the new names added."""
        fresh = [name for name in dict.fromkeys(names) if name is not None and name not in self._codes]
        if not fresh:
            return self
        codes = self._codes | {name: len(self.names) + i for i, name in enumerate(fresh)}
        return Vocabulary((*self.names, *fresh), codes)

    def keep(self, codes: NDArray[np.int32]) -> tuple["Vocabulary", NDArray[np.int32]]:
        """Keep only the names of the given codes; return the new vocabulary and the new codes."""
        used, first = np.unique(codes[codes >= 0], return_index=True)
        order = used[np.argsort(first)]
        new_codes = np.full(len(self.names) + 1, -1, np.int32)  # the last entry stands for -1
        new_codes[order] = np.arange(len(order))
        return Vocabulary(tuple(self.names[code] for code in order)), new_codes[codes]

    def codes(self, names: Sequence[str | None]) -> NDArray[np.int32]:
        """The codes of some names."""
        return np.array([self.code(name) for name in names], np.int32)
