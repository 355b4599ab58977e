"""The files of an export, which is a folder, an archive or one file."""

import io
import os
import zipfile
import zlib
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Self

from ....errors import InvalidInput

MAX_FILES = 200_000
"""The files of a folder that are looked at."""
MAX_DEPTH = 8
"""The folders below a folder that are looked at."""
HEAD_BYTES, MAX_HEADS = 262_144, 50
"""How much of a file is read to recognize its format, and of how many files."""
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, UnicodeError, ValueError)
"""What reading from a ZIP may raise: damage, encryption, an unknown compression, or a strange name."""


class ExportFiles:
    """The files of an export by their names, which are paths within it. Nothing is unpacked; links are not followed.

    Raises ``InvalidInput`` if there is no such file, or if it is a ZIP that cannot be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._zip: zipfile.ZipFile | None = None
        self._sizes: dict[str, int] = {}
        if self.path.is_dir():
            self._sizes = dict(_walk(self.path))
        elif not self.path.is_file():
            raise InvalidInput(f"there is no file {str(path)!r}")
        elif _begins_as_zip(self.path):
            try:
                self._zip = zipfile.ZipFile(self.path)
                self._sizes = {one.filename: one.file_size for one in self._zip.infolist() if not one.is_dir()}
            except _ZIP_ERRORS as error:
                raise InvalidInput(f"{self.path.name} is a ZIP that cannot be read: {error}") from error
        else:
            self._sizes = {self.path.name: self.path.stat().st_size}
        self.names = sorted(self._sizes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    @property
    def is_one_file(self) -> bool:
        """Whether the export is one file and no ZIP."""
        return self._zip is None and not self.path.is_dir()

    def find(self, *patterns: str) -> list[str]:
        """The names whose last part matches one of some patterns; of one file alone, its name."""
        if self.is_one_file:
            return self.names
        return [name for name in self.names if any(fnmatch(base_name(name), pattern) for pattern in patterns)]

    def size(self, names: Collection[str]) -> int:
        """The bytes of some files."""
        return sum(self._sizes[name] for name in names)

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading; what cannot be unpacked raises ``InvalidInput`` when it is read."""
        if self._zip is None:
            return (self.path if self.is_one_file else self.path / name).open("rb")
        try:
            return io.BufferedReader(_Unpacked(self._zip.open(name), name))
        except _ZIP_ERRORS as error:
            raise InvalidInput(f"{name} cannot be unpacked: {error}; unpack the ZIP, and import the folder") from error

    def head(self, name: str) -> bytes:
        """The first bytes of a file."""
        with self.open(name) as file:
            return file.read(HEAD_BYTES)


class _Unpacked(io.RawIOBase):
    """A file of a ZIP whose errors are ``InvalidInput``."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        try:
            found = self._file.read(len(buffer))
        except _ZIP_ERRORS as error:
            raise InvalidInput(f"{self._name} cannot be unpacked: {error}") from error
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()


def looks_like(path: str, patterns: Collection[str], *signs: bytes) -> bool:
    """Whether a file of an export has one of some names, and all signs in its first bytes; never raises."""
    try:
        with ExportFiles(path) as files:
            names = files.find(*patterns)[:MAX_HEADS]
            return any(all(sign in head for sign in signs) for head in map(files.head, names))
    except (InvalidInput, OSError, ValueError):
        return False


def base_name(name: str) -> str:
    """The last part of a name."""
    return name.rpartition("/")[2]


def _begins_as_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in {b"PK\x03\x04", b"PK\x05\x06"}


def _walk(folder: Path) -> Iterator[tuple[str, int]]:
    """The names of the files below a folder, and their sizes."""
    count = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        relative = Path(place).relative_to(folder)
        if len(relative.parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(files):
            path = Path(place, name)
            if path.is_symlink() or not path.is_file():
                continue
            yield (relative / name).as_posix(), path.stat().st_size
            count += 1
            if count >= MAX_FILES:
                return
