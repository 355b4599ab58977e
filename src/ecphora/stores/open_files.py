"""The files of an open database, and whether they are still in place."""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NON_OWNER_BITS = 0o077
"""The permission bits of others than the owner."""
FileIdentity = tuple[int, int]
"""The device and inode number of a file, whatever its name."""


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files of a database as they were when it was opened, the database itself first.

    On Windows an open file cannot be replaced or deleted: the system refuses.
    """

    identities: Mapping[str, FileIdentity]
    """The identity of each file, by path."""

    @classmethod
    def at(cls, paths: Iterable[Path]) -> "OpenFiles":
        """Return the files that are at some paths now."""
        known = ((path, file_identity(path)) for path in paths)
        return cls({str(path): found for path, found in known if found is not None})

    def make_private(self) -> list[str]:
        """Take every right from others than their owner; return the files that others could read or write before.

        Only the owner can do so, and only on POSIX.
        """
        found = []
        for path in self.identities if os.name == "posix" else ():
            with suppress(OSError):
                status = os.stat(path)  # noqa: PTH116
                mode = stat.S_IMODE(status.st_mode)
                if mode & NON_OWNER_BITS and status.st_uid == os.geteuid():
                    os.chmod(path, mode & ~NON_OWNER_BITS)  # noqa: PTH101
                    found.append(path)
        return found

    def replaced_path(self) -> str | None:
        """Return the first path that leads to another file by now, or None; three calls of stat, some microseconds."""
        for path, opened in self.identities.items():
            try:
                if file_identity(path) != opened:
                    return path
            except OSError:  # the folder is no longer readable: that says nothing about the file
                continue
        return None


def file_identity(path: str | Path) -> FileIdentity | None:
    """Return the identity of the file at a path, links followed; None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  # half the time of Path.stat, at every commit
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
