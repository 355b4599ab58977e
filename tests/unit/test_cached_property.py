"""``cached_property``: computed once for an object, and by several threads at once for several objects."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from ecphora.model.lazy import cached_property

PATIENCE = 30
"""Seconds until a thread that waits for the other gives up."""


class Squares:
    """Counts how often its value is computed; the threads that compute it wait for each other."""

    barrier = Barrier(1)

    def __init__(self, side: int) -> None:
        self.side, self.count = side, 0

    @cached_property
    def area(self) -> int:
        """The side times itself."""
        self.barrier.wait(PATIENCE)
        self.count += 1
        return self.side * self.side


def test_value_is_computed_once() -> None:
    square = Squares(3)
    assert (square.area, square.area, square.count) == (9, 9, 1)


def test_values_of_two_objects_are_computed_at_once() -> None:
    squares, barrier = [Squares(2), Squares(3)], Barrier(2)
    for square in squares:
        square.barrier = barrier
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda square: square.area, squares)) == [4, 9]


def test_property_of_the_class_is_itself_and_has_the_docstring() -> None:
    assert isinstance(Squares.area, cached_property)
    assert Squares.area.__doc__ == "The side times itself."
