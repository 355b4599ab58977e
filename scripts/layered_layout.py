"""Places boxes in rows as Sugiyama, Tagawa and Toda (1981) do, for ``draw_architecture.py``.

A long arrow has a bend in every row that it passes, the order within a row lowers the crossings, and every place is
then drawn towards its neighbors.
"""
# ruff: noqa: INP001  # beside the script that calls it

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import fsum
from typing import Generic, Protocol, TypeVar


class RowBox(Protocol):
    """A box with its row, and its width in pixels."""

    @property
    def row(self) -> int: ...

    @property
    def width(self) -> float: ...


B = TypeVar("B", bound=RowBox)

SWEEPS = 24
BEND_WEIGHT = 8.0
"""How strongly a bend is drawn towards the ends of its arrow, against 1 for a box: long arrows become straight."""
BEND_WIDTH, BOX_GAP = 10.0, 26.0


@dataclass(eq=False)
class Place(Generic[B]):
    """A box in its row, or the bend of a long arrow; ``x`` is its center."""

    row: int
    box: B | None = None
    x: float = 0.0

    @property
    def width(self) -> float:
        """In pixels."""
        return BEND_WIDTH if self.box is None else self.box.width


class Layout(Generic[B]):
    """The places of all boxes and bends, and the links between neighboring rows: ``above`` and ``below`` each place.

    Arrows to the same box share their bends, and join.
    """

    def __init__(self, boxes: Sequence[B], arrows: Sequence[tuple[B, B]], left: float) -> None:
        self.rows: list[list[Place[B]]] = [[] for _ in range(1 + max(box.row for box in boxes))]
        self.above: dict[Place[B], list[Place[B]]] = {}
        self.below: dict[Place[B], list[Place[B]]] = {}
        places = {box: self._add(Place(box.row, box)) for box in boxes}
        bends: dict[tuple[B, int], Place[B]] = {}
        for upper, lower in arrows:
            here = places[upper]
            for row in range(upper.row + 1, lower.row + 1):
                if row == lower.row:
                    there = places[lower]
                elif (lower, row) not in bends:
                    there = bends[lower, row] = self._add(Place(row))
                else:
                    there = bends[lower, row]
                if there not in self.below[here]:
                    self.below[here].append(there)
                    self.above[there].append(here)
                here = there
        self._order()
        self._move(left)

    def _add(self, place: Place[B]) -> Place[B]:
        self.rows[place.row].append(place)
        self.above[place], self.below[place] = [], []
        return place

    def _order(self) -> None:
        """Sort each row by the mean position of its neighbors, down and up, and keep the order that crosses least."""
        best, least = [list(row) for row in self.rows], self._crossings()
        for sweep in range(SWEEPS):
            is_down = sweep % 2 == 0
            for row in self.rows if is_down else self.rows[::-1]:
                self._sort(row, self.above if is_down else self.below)
            self._swap()
            if (crossings := self._crossings()) < least:
                best, least = [list(row) for row in self.rows], crossings
        self.rows = best

    def _sort(self, row: list[Place[B]], beside: dict[Place[B], list[Place[B]]]) -> None:
        position = self._positions()

        def mean(place: Place[B]) -> float:
            near = [position[other] for other in beside[place]] or [position[place]]
            return sum(near) / len(near)

        row.sort(key=mean)

    def _swap(self) -> None:
        """Swap neighbors of a row where that leaves fewer crossings, until it nowhere does."""
        has_swapped = True
        while has_swapped:
            has_swapped = False
            for row in self.rows:
                position = self._positions()
                for at in range(len(row) - 1):
                    left, right = row[at : at + 2]
                    if self._cross(left, right, position) > self._cross(right, left, position):
                        row[at : at + 2] = right, left
                        has_swapped = True

    def _positions(self) -> dict[Place[B], int]:
        return {place: at for row in self.rows for at, place in enumerate(row)}

    def _cross(self, left: Place[B], right: Place[B], position: dict[Place[B], int]) -> int:
        """How many links of two places cross if they stand in this order."""
        return sum(
            position[a] > position[b]
            for beside in (self.above, self.below)
            for a in beside[left]
            for b in beside[right]
        )

    def _crossings(self) -> int:
        position = self._positions()
        return sum(self._cross(left, right, position) for row in self.rows for left, right in combinations(row, 2))

    def _move(self, left: float) -> None:
        """Draw each place towards its neighbors; places of a row keep their order and distance, from ``left`` on."""
        for row in self.rows:
            _spread(row, [0.0] * len(row))
        for sweep in range(SWEEPS):
            for row in self.rows if sweep % 2 == 0 else self.rows[::-1]:
                _spread(row, [self._target(place) for place in row])
        least = min(place.x - place.width / 2 for row in self.rows for place in row)
        for place in (place for row in self.rows for place in row):
            place.x += left - least

    def _target(self, place: Place[B]) -> float:
        near = [(other.x, BEND_WEIGHT if other.box is None else 1.0) for other in self.above[place] + self.below[place]]
        return fsum(x * weight for x, weight in near) / fsum(weight for _x, weight in near) if near else place.x


def _spread(row: Sequence[Place[B]], targets: Sequence[float]) -> None:
    """Set ``x`` as near to the targets as distances allow: least squares, by pooling adjacent violators."""
    offsets = [0.0]
    for here, there in pairwise(row):
        gap = BOX_GAP if here.box and there.box else BOX_GAP / 2
        offsets.append(offsets[-1] + (here.width + there.width) / 2 + gap)
    pools: list[tuple[float, float, int]] = []  # sum of weighted targets, weight, places
    for place, target, offset in zip(row, targets, offsets, strict=True):
        weight = BEND_WEIGHT if place.box is None else 1.0
        pools.append(((target - offset) * weight, weight, 1))
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            last, former = pools.pop(), pools.pop()
            pools.append((former[0] + last[0], former[1] + last[1], former[2] + last[2]))
    means = [total / weight for total, weight, count in pools for _ in range(count)]
    for place, mean, offset in zip(row, means, offsets, strict=True):
        place.x = mean + offset
