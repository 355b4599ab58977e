"""The files of an open database, and whether these still stand where they were when it was opened."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

Identity = tuple[int, int]
"""A file by its device and its number there, whatever it is called."""


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files of a database as they were when it was opened, first the one that all others belong to.

    On Windows no file that is open can be replaced or deleted: there the system itself refuses.
    """

    seen: Mapping[str, Identity]
    """By their paths."""

    @classmethod
    def at(cls, paths: Iterable[Path]) -> "OpenFiles":
        """The files that stand at some paths now."""
        known = ((path, identity(path)) for path in paths)
        return cls({str(path): found for path, found in known if found is not None})

    def moved(self) -> str | None:
        """The first path at which another file stands by now, or none; three looks, some microseconds."""
        for path, opened in self.seen.items():
            try:
                if identity(path) != opened:
                    return path
            except OSError:  # the folder may not be looked into any more: that says nothing of the file
                continue
        return None


def identity(path: str | Path) -> Identity | None:
    """Which file stands at a path, links followed; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  # half the time of Path.stat, at every commit
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
