"""The files of a folder or archive, read without following a link."""

import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from ....errors import InvalidInput
from ....model.reprs import show
from ....model.types import Omission
from .export_files import ExportFiles

LINK = "a link, which is not followed"
LARGE_FILE = "a file of more than 16 MB"
UNREADABLE_FILE = "a file that cannot be read"
NO_UTF8 = "a file that is no text in UTF-8"
OUTSIDE = "a file of an archive whose path leads out of it"
MAX_FILE_BYTES = 16_000_000
"""Bytes of the largest file that is read as one text."""
_HIDDEN = re.compile(r"(?:^|/)(?:\.(?!\./)|__MACOSX/)")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: ``place`` is its path from the folder that is imported, with ``/``.

    ``opener`` opens a file of an archive.
    """

    path: Path
    place: str
    size: int
    opener: Callable[[], IO[bytes]] | None = None

    def open(self) -> IO[bytes]:
        """Open the file for reading."""
        return self.path.open("rb") if self.opener is None else self.opener()


@contextmanager
def open_folder(path: str, suffixes: Collection[str]) -> Iterator[Iterator[SourceFile | Omission]]:
    """The files of a folder, or of an archive of one, with one of some suffixes, as :func:`list_files` lists them."""
    root = existing_path(path)
    if root.is_dir():
        yield list_files(root, suffixes)
        return
    with ExportFiles(root, reads_tar=True) as archive:
        if archive.is_one_file:
            raise InvalidInput(f"{show(path)} is no folder, and no ZIP or .tar.gz of one")
        yield _list_archive(archive, suffixes)


def _list_archive(archive: ExportFiles, suffixes: Collection[str]) -> Iterator[SourceFile | Omission]:
    """The files of an archive; the folder that holds them all is not in their places."""
    suffixes = tuple(suffixes)
    named = {name.removeprefix("./"): name for name in archive.names if name.lower().endswith(suffixes)}
    places = sorted((place for place in named if not _HIDDEN.search(place)), key=_listing_order)
    top = f"{places[0].partition('/')[0]}/" if places else ""
    top = top if all(place.startswith(top) for place in places) else ""
    for place in places:
        shown = show_path(place.removeprefix(top))
        if place.startswith("/") or ".." in place.split("/"):
            yield Omission(OUTSIDE, show_path(place))
        else:
            yield SourceFile(Path(shown), shown, archive.size([named[place]]), partial(archive.open, named[place]))


def _listing_order(name: str) -> list[tuple[bool, str]]:
    """A key by which the files of a folder come before those in its folders, as :func:`list_files` lists them."""
    *folders, file = name.split("/")
    return [*((True, folder) for folder in folders), (False, file)]


def list_files(
    root: Path, suffixes: Collection[str], *, leaves_out: Callable[[str], bool] = lambda _: False
) -> Iterator[SourceFile | Omission]:
    """The files below a folder with one of some suffixes, by their places; hidden files and folders are left out.

    ``leaves_out`` gets the place of a folder. Links are omissions, so that nothing outside the folder is read.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            yield Omission("a folder that cannot be read", folder)
            continue
        inner = []
        for entry in entries:
            place = f"{folder}/{entry.name}" if folder else entry.name
            shown = show_path(place)
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                if entry.name.lower().endswith(tuple(suffixes)) or Path(entry.path).is_dir():
                    yield Omission(LINK, shown)
            elif entry.is_dir(follow_symlinks=False):
                inner += [] if leaves_out(place) else [place]
            elif entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(tuple(suffixes)):
                yield SourceFile(Path(entry.path), shown, entry.stat(follow_symlinks=False).st_size)
        folders += reversed(inner)


def show_path(path: str) -> str:
    """A path as a text that can be stored: bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_text(file: SourceFile) -> str | Omission:
    """The text of a file in UTF-8, or why it is left out."""
    if file.size > MAX_FILE_BYTES:
        return Omission(LARGE_FILE, file.place)
    try:
        with file.open() as data:
            return data.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        return Omission(NO_UTF8, file.place)
    except OSError:
        return Omission(UNREADABLE_FILE, file.place)


def existing_path(path: str) -> Path:
    """The path of a file or folder that exists."""
    found = Path(path)
    try:
        exists = found.exists()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise InvalidInput(f"there is no file {show(path)}")
    return found


def first_bytes(path: str | Path, count: int = 65_536) -> bytes:
    """The first bytes of a file, none if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(count)
    except (OSError, ValueError):
        return b""
