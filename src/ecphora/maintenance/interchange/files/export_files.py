"""The files of an export, which is a folder, an archive or one file."""

import gzip
import io
import lzma
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack
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
MAX_RATIO, MAX_UNPACKED = 200, 1 << 26
"""How many times larger than an archive its files may be, if they have more bytes than 64 MB."""
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError, RuntimeError,
    NotImplementedError, UnicodeError, ValueError,
)  # fmt: skip
"""What reading from an archive may raise: damage, encryption, an unknown compression, or a strange name."""

_ZIP_SIGNS, _GZIP_SIGN = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"


class ExportFiles:
    """The files of an export by their names, which are paths within it; links are not followed.

    The export is a folder, a ZIP, with ``reads_tar`` a .tar.gz, or one file. Nothing is unpacked to where a name
    leads. Raises ``InvalidInput`` if there is no such file, or if it is an archive that cannot be read or grows too
    large.
    """

    def __init__(self, path: str | Path, *, reads_tar: bool = False) -> None:
        self.path = Path(path)
        self._open, self._sizes = ExitStack(), dict[str, int]()
        self._archive: zipfile.ZipFile | tarfile.TarFile | None = None
        if self.path.is_dir():
            self._sizes = dict(_walk(self.path))
        elif not self.path.is_file():
            raise InvalidInput(f"there is no file {str(path)!r}")
        elif (start := _first_bytes(self.path)) in _ZIP_SIGNS or (reads_tar and start[:2] == _GZIP_SIGN):
            try:
                self._open_archive(is_zip=start in _ZIP_SIGNS)
            except _ARCHIVE_ERRORS as error:
                self._open.close()
                raise InvalidInput(f"{self.path.name} is an archive that cannot be read: {error}") from error
        else:
            self._sizes = {self.path.name: self.path.stat().st_size}
        self.names = sorted(self._sizes)

    def _open_archive(self, *, is_zip: bool) -> None:
        most = max(MAX_UNPACKED, MAX_RATIO * self.path.stat().st_size)
        if is_zip:
            self._archive = self._open.enter_context(zipfile.ZipFile(self.path))
            self._sizes = {one.filename: one.file_size for one in self._archive.infolist() if not one.is_dir()}
            size = sum(self._sizes.values())
        else:
            data = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the archive
            self._open.enter_context(data)
            with gzip.open(self.path) as packed:
                while data.tell() <= most and (piece := packed.read(1 << 20)):
                    data.write(piece)
            size = data.tell()
            data.seek(0)
            self._archive = self._open.enter_context(tarfile.TarFile(fileobj=data))
            if size <= most:
                self._sizes = {one.name: one.size for one in self._archive if one.isfile()}
                size = max(size, sum(self._sizes.values()))  # a sparse file is larger
        if size > most:
            raise ValueError(f"its files are more than {MAX_RATIO} times larger; if you trust it, unpack it yourself")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def is_one_file(self) -> bool:
        """Whether the export is one file and no archive."""
        return self._archive is None and not self.path.is_dir()

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
        if self._archive is None:
            return (self.path if self.is_one_file else self.path / name).open("rb")
        try:
            archive = self._archive
            file = archive.open(name) if isinstance(archive, zipfile.ZipFile) else archive.extractfile(name)
        except _ARCHIVE_ERRORS as error:
            raise InvalidInput(f"{name} cannot be unpacked: {error}; unpack it, and import the folder") from error
        return io.BufferedReader(_Unpacked(file, name)) if file else io.BufferedReader(io.BytesIO())

    def head(self, name: str) -> bytes:
        """The first bytes of a file."""
        with self.open(name) as file:
            return file.read(HEAD_BYTES)


class _Unpacked(io.RawIOBase):
    """A file of an archive whose errors are ``InvalidInput``."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        try:
            found = self._file.read(len(buffer))
        except _ARCHIVE_ERRORS as error:
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


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


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
