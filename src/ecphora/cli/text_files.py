"""Markdown and text files as episodes: finds the files of a path, folder or pattern, and reads them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import documents, validate
from ..errors import InvalidInput, InvalidText
from ..memory import Memory
from ..model import Episode
from ..settings import expand_home
from ..timeparse import EPOCH, in_zone

SUFFIXES = (".md", ".markdown", ".txt", ".text")
"""Suffixes of the files that are read."""
READABLE_FILES = f"files named {', '.join(SUFFIXES)}, in UTF-8"
"""Describes the files that are read, in messages."""
_MAX_CHAR_BYTES = 4
"""The most bytes of a character in UTF-8."""


@dataclass(frozen=True, slots=True)
class TextFiles:
    """The files found, sorted; ``skipped_count`` counts the other files that folders and patterns hold."""

    paths: tuple[Path, ...]
    skipped_count: int


def find_text_files(patterns: Sequence[str], *, recursive: bool = False) -> TextFiles:
    """The files that paths, folders and patterns (``*``, ``?``, ``[…]``, ``**``) mean, each once, sorted by path.

    An existing path is taken literally, even with pattern characters. A folder needs ``recursive`` and is read with all
    its subfolders. From folders and patterns, links, hidden files and files of other kinds are left out.

    Raises ``InvalidInput`` for a missing path, a folder without ``recursive``, a file of another kind, and if there is
    nothing to read.
    """
    paths: dict[Path, None] = {}
    skipped_count = 0
    for pattern in patterns:
        path = expand_home(pattern)
        if _exists(path) and not path.is_dir():
            paths[_check_readable(path)] = None
            continue
        candidates = list(_walk(path, recursive=recursive) if path.is_dir() else _glob(path, recursive=recursive))
        readable = [file for file in candidates if _is_regular_file(file) and file.suffix.lower() in SUFFIXES]
        paths.update(dict.fromkeys(readable))
        skipped_count += len(candidates) - len(readable)
    if not paths:
        raise InvalidInput(f"nothing to read in {', '.join(map(repr, patterns))}; --file reads {READABLE_FILES}")
    return TextFiles(tuple(sorted(paths)), skipped_count)


def read_episode(path: Path, fields: Mapping[str, Any]) -> Episode | None:
    """A file as one episode; None if it is empty.

    Its source is the path, its title the file's name, and its time that of the file's last change, unless ``fields``
    sets them. Its id depends on everything but that time, so a file of which only the time is new stays the
    same memory. ``fields`` are fields of :class:`~ecphora.Episode`.

    Raises ``InvalidText``, which names the file, if it cannot be read, is not UTF-8, or is not a valid text.
    """
    path_name = str(path).encode("utf-8", "backslashreplace").decode()
    try:
        status = path.stat()
        if status.st_size > _MAX_CHAR_BYTES * validate.MAX_TEXT_CHARS:
            raise InvalidText(
                f"{path_name} has {status.st_size:,} bytes; a text may have {validate.MAX_TEXT_CHARS:,} characters"
            )
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidText(f"{path_name} cannot be read ({error.strerror or error}); nothing was remembered") from error
    except UnicodeDecodeError as error:
        raise InvalidText(
            f"{path_name} is not UTF-8 at byte {error.start}; convert it first, e.g. with iconv"
        ) from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return None
    if "\0" in text:
        raise InvalidText(f"{path_name} is not a text: it contains NUL characters; --file reads {READABLE_FILES}")
    try:
        changed_at = datetime.fromtimestamp(int(status.st_mtime), UTC)
        episode = Episode(**{"source": path.as_posix(), "title": path.name, **fields, "text": text})
        undated = documents.check_episode(replace(episode, happened_at=None), EPOCH)
    except (InvalidInput, ValueError, OverflowError) as error:
        raise InvalidText(f"{path_name}: {error}") from error
    if episode.happened_at is not None:
        return episode
    return replace(episode, id=undated.id, happened_at=changed_at)


def with_stored_time(memory: Memory, episode: Episode) -> Episode:
    """The episode with the time stored for it, if it exists already: only the modification time of its file is new.

    A modification time that is not stored yet becomes local time of the memory's zone.
    """
    if (stored := None if episode.id is None else memory.get(episode.id)) is not None:
        return replace(episode, happened_at=stored.happened_at)
    changed_at = episode.happened_at
    return (
        replace(episode, happened_at=in_zone(changed_at, memory.zone)) if isinstance(changed_at, datetime) else episode
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long or not valid
        return False


def _is_regular_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _check_readable(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInput(f"{str(path)!r} is not a file; --file reads {READABLE_FILES}")
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            f"{str(path)!r} is of another kind: --file reads {READABLE_FILES}; or pipe it in with --whole"
        )
    return path


def _walk(folder: Path, *, recursive: bool) -> Iterator[Path]:
    """Every file below a folder except hidden ones; folders that are links are not entered."""
    if not recursive:
        raise InvalidInput(f"{str(folder)!r} is a folder; add --recursive to read all below it, or give a pattern")
    for parent, folders, files in os.walk(folder, onerror=_raise_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in files if not name.startswith("."))


def _raise_unreadable(error: OSError) -> None:
    raise InvalidInput(f"the folder {error.filename!r} cannot be read ({error.strerror})") from error


def _glob(path: Path, *, recursive: bool) -> Iterator[Path]:
    """The files that a pattern matches; hidden ones only if a part of the pattern begins with a dot."""
    fixed_parts, pattern_parts = _split_glob(path.parts)
    if not pattern_parts:
        raise InvalidInput(f"there is no file {str(path)!r}")
    base = Path(*fixed_parts)
    allows_hidden = any(part.startswith(".") for part in pattern_parts)
    try:
        matches = sorted(base.glob(str(Path(*pattern_parts))))
    except (ValueError, NotImplementedError, OSError) as error:
        raise InvalidInput(f"the pattern {str(path)!r} cannot be used ({error})") from error
    if not matches:
        raise InvalidInput(f"no file matches {str(path)!r}")
    for match in matches:
        if not allows_hidden and any(part.startswith(".") for part in match.relative_to(base).parts):
            continue
        if not match.is_dir():
            yield match
        elif recursive and not match.is_symlink():
            yield from _walk(match, recursive=True)


def _split_glob(parts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The parts of a path before the first pattern, and the rest; no rest if there is no pattern."""
    fixed_parts: list[str] = []
    rest = list(parts)
    while rest and not set(rest[0]) & set("*?["):
        fixed_parts.append(rest.pop(0))
    return fixed_parts, rest
