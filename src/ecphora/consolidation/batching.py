"""Splits work into batches that fit a time limit. The clock is passed in."""

from collections.abc import Iterator

from ..model.ports import SecondsLeft

TARGET_SECONDS = 0.2
"""Seconds that a batch of more than one item should take at most."""


def adaptive_batches(count: int, max_size: int, time_left: SecondsLeft | None) -> Iterator[slice]:
    """Yield slices of ``count`` items, in order, until the time is up; one slice of all without a limit.

    The first batch has one item. The size doubles, up to ``max_size``, after a batch that took less than
    ``TARGET_SECONDS``, and halves after a slower batch. The first batch is always yielded.
    """
    if time_left is None:
        yield slice(0, count)
        return
    start, size, previous_time_left = 0, 1, time_left()
    while start < count:
        yield slice(start, start + size)
        remaining = time_left()
        if remaining <= 0:
            return
        start += size
        size = min(max_size, 2 * size) if previous_time_left - remaining < TARGET_SECONDS else max(1, size // 2)
        previous_time_left = remaining
