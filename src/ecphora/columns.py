"""Append-only arrays and the index over them: what lets a graph grow without being copied. Not a table, not a store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .model import Mask, Rows

Values = NDArray[Any]
"""A column's values: the table's schema says of which type."""


class _Buffer:
    """Memory shared by all columns grown from one another; ``used`` is the length of the longest of them."""

    __slots__ = ("array", "used")

    def __init__(self, array: Values, used: int) -> None:
        self.array = array
        self.used = used


class Column:
    """An immutable array that grows into a longer one at the cost of what is added.

    The grown column shares the memory; this one never sees beyond its own length. Growing one column twice copies it
    the second time, so both results stand.
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

    def plus(self, values: Values) -> "Column":
        """Grow by some values."""
        if not len(values):
            return self
        buffer, end = self._buffer, self._length + len(values)
        if buffer.used != self._length or end > len(buffer.array):
            room = np.empty((max(end, 2 * self._length, 64), *values.shape[1:]), buffer.array.dtype)
            if self._length:
                room[: self._length] = self.view
            buffer = _Buffer(room, self._length)
        buffer.array[self._length : end] = values
        buffer.used = end
        grown = Column.__new__(Column)
        grown._buffer, grown._length = buffer, end  # noqa: SLF001
        return grown


class Table:
    """Columns of one length, by name: one entry an item, of the types its schema gives."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns

    @classmethod
    def of(cls, **schema: DTypeLike) -> "Table":
        """Make an empty table."""
        return cls({name: Column(np.empty(0, dtype)) for name, dtype in schema.items()})

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name: str) -> Values:
        return self._columns[name].view

    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(self._columns)

    def plus(self, **values: ArrayLike | Sequence[object]) -> "Table":
        """Grow every column by values of one length."""
        grown = {}
        for name, column in self._columns.items():
            grown[name] = column.plus(_array(values[name], column.view.dtype))
        return Table(grown)

    def put(self, places: Rows, **values: ArrayLike | Sequence[object]) -> "Table":
        """Change some entries; the columns concerned are copied."""
        changed = dict(self._columns)
        for name, new in values.items():
            array = self[name].copy()
            array[places] = new
            changed[name] = Column(array)
        return Table(changed)

    def keep(self, mask: Mask) -> "Table":
        """Only the entries under the mask, copied."""
        return Table({name: Column(column.view[mask]) for name, column in self._columns.items()})


def _array(values: ArrayLike | Sequence[object], dtype: DTypeLike) -> Values:
    if np.dtype(dtype) != np.object_:
        return np.asarray(values, dtype)
    objects = list(values)  # type: ignore[arg-type]
    array = np.empty(len(objects), np.object_)
    array[:] = objects  # np.asarray would look inside the objects
    return array


class Groups:
    """Where each value of an append-only column stands: a sorted base, and a short tail that is scanned."""

    __slots__ = ("_keys", "_places")

    def __init__(self, values: Values) -> None:
        self._places: Rows = np.argsort(values, kind="stable")
        self._keys = values[self._places]

    def fits(self, values: Values) -> bool:
        """Whether the tail of ``values`` beyond this base is still short enough to scan."""
        base = len(self._keys)
        return len(values) - base <= max(2048, base // 4)

    def places(self, values: Values, keys: Values) -> tuple[Rows, Rows]:
        """Where in ``values`` any of some distinct keys stand: the places, and for each the number of its key."""
        base = len(self._keys)
        low, high = np.searchsorted(self._keys, keys, "left"), np.searchsorted(self._keys, keys, "right")
        counts = high - low
        which = np.repeat(np.arange(len(keys)), counts)
        skipped = np.repeat(low - np.cumsum(counts) + counts, counts)
        found = self._places[np.arange(len(which)) + skipped]
        if len(values) == base or not len(keys):
            return found, which
        order = np.argsort(keys, kind="stable")
        tail = values[base:]
        nearest = order[np.minimum(np.searchsorted(keys[order], tail), len(keys) - 1)]
        late = np.flatnonzero(keys[nearest] == tail)
        return np.concatenate([found, late + base]), np.concatenate([which, nearest[late]])


class Codes:
    """Names as small numbers, in order of first appearance; -1 stands for no name."""

    __slots__ = ("_numbers", "names")

    def __init__(self, names: tuple[str, ...] = (), numbers: dict[str, int] | None = None) -> None:
        self.names = names
        self._numbers = {name: number for number, name in enumerate(names)} if numbers is None else numbers

    def number(self, name: str | None) -> int:
        """The number of a name, -1 if there is none."""
        return -1 if name is None else self._numbers.get(name, -1)

    def plus(self, names: Iterable[str | None]) -> "Codes":
        """Grow by the names that are new."""
        fresh = [name for name in dict.fromkeys(names) if name is not None and name not in self._numbers]
        if not fresh:
            return self
        numbers = self._numbers | {name: len(self.names) + i for i, name in enumerate(fresh)}
        return Codes((*self.names, *fresh), numbers)

    def keep(self, numbers: NDArray[np.int32]) -> tuple["Codes", NDArray[np.int32]]:
        """Only the names of these numbers, and the numbers anew: as if the other names had never come."""
        used, first = np.unique(numbers[numbers >= 0], return_index=True)
        order = used[np.argsort(first)]
        anew = np.full(len(self.names) + 1, -1, np.int32)  # its last stands for -1
        anew[order] = np.arange(len(order))
        return Codes(tuple(self.names[number] for number in order)), anew[numbers]

    def coded(self, names: Sequence[str | None]) -> NDArray[np.int32]:
        """The numbers of some names."""
        return np.array([self.number(name) for name in names], np.int32)
