"""How much of some files was read."""

from collections.abc import Iterator
from typing import IO

from ....model.ports import Progress


class ProgressMeter:
    """Counts what was read, and reports it now and then; the count never falls and ends at the total."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total = progress, total
        self._done = self._reported = 0

    def advance(self, count: int) -> None:
        """Some more was read."""
        self._done = min(self._done + count, self._total)
        if self._done - self._reported >= max(1, self._total // 200):
            self._report(self._done)

    def reach(self, done: int) -> None:
        """So much was read by now."""
        self.advance(max(0, done - self._done))

    def finish(self) -> None:
        """Everything was read."""
        self._report(self._total)

    def wrap(self, file: IO[bytes]) -> "MeteredFile":
        """A file whose bytes are counted as they are read."""
        return MeteredFile(file, self)

    def _report(self, done: int) -> None:
        self._reported = done
        if self._progress is not None:
            self._progress(done, self._total)


class MeteredFile:
    """A file whose bytes are counted as they are read."""

    def __init__(self, file: IO[bytes], meter: ProgressMeter) -> None:
        self._file, self._meter = file, meter

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        found = self._file.read(size)
        self._meter.advance(len(found))
        return found

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            self._meter.advance(len(line))
            yield line
