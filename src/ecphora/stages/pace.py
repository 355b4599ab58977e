"""Work in portions that fit a limited time. The clock is handed in."""

from collections.abc import Iterator

from ..ports import Left

BRIEF = 0.2
"""Seconds that a portion should take at most, where several things can be done in them."""


def steps(count: int, most: int, left: Left | None) -> Iterator[slice]:
    """Portions of ``count`` things, in order, until the time is up; all at once where it is not limited.

    There is one thing in the first portion, and twice as many in the next, up to ``most``, after a portion that took
    less than ``BRIEF``; half as many after one that took longer. The first portion always comes.
    """
    if left is None:
        yield slice(0, count)
        return
    start, size, before = 0, 1, left()
    while start < count:
        yield slice(start, start + size)
        now = left()
        if now <= 0:
            return
        start += size
        size = min(most, 2 * size) if before - now < BRIEF else max(1, size // 2)
        before = now
