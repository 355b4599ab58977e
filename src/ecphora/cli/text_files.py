"""Markdown and text files as episodes: which files a path, a folder or a pattern means, and what stands in them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import checked_episode, validate
from ..errors import InvalidInput, InvalidText
from ..graph import EPOCH
from ..memory import Memory
from ..model import Episode
from ..settings import expand_home

SUFFIXES = (".md", ".markdown", ".txt", ".text")
"""How the names of the files end that are read."""
READABLE_FILES = f"files named {', '.join(SUFFIXES)}, in UTF-8"
"""What is read, in words."""
_MAX_CHAR_BYTES = 4
"""The most bytes that a character takes in UTF-8."""


@dataclass(frozen=True, slots=True)
class TextFiles:
    """The files that some paths mean, in order; ``others`` counts what folders and patterns hold beside them."""

    paths: tuple[Path, ...]
    skipped_count: int


def find_text_files(patterns: Sequence[str], *, recursive: bool = False) -> TextFiles:
    """The files that paths, folders and patterns (``*``, ``?``, ``[…]``, ``**``) mean, each once, sorted by path.

    A path that is there is taken as it is, whatever signs it holds. A folder needs ``recursive``, and is read with all
    below it. From folders and patterns, links, hidden files and files of other kinds are left out.

    Raises ``InvalidInput`` for a path that is not there, a folder without ``recursive``, a file of another kind, and
    where nothing is left to read.
    """
    found: dict[Path, None] = {}
    others = 0
    for one in patterns:
        path = expand_home(one)
        if _exists(path) and not path.is_dir():
            found[_check_readable(path)] = None
            continue
        inside = list(_walk(path, recursive=recursive) if path.is_dir() else _glob(path, recursive=recursive))
        fit = [file for file in inside if _is_regular_file(file) and file.suffix.lower() in SUFFIXES]
        found.update(dict.fromkeys(fit))
        others += len(inside) - len(fit)
    if not found:
        raise InvalidInput(f"nothing to read in {', '.join(map(repr, patterns))}; --file reads {READABLE_FILES}")
    return TextFiles(tuple(sorted(found)), others)


def read_episode(path: Path, fields: Mapping[str, Any]) -> Episode | None:
    """A whole file as an episode; None where it is empty.

    Its source is the path and its title the file's name. It happened when the file was last changed, unless ``given``
    says else. Its id follows from all but that time, so that a file which is only touched stays the same memory.
    ``given`` are fields of :class:`~ecphora.Episode`.

    Raises ``InvalidText``, which names the file, where it cannot be read, is no UTF-8, or holds what no text may.
    """
    named = str(path).encode("utf-8", "backslashreplace").decode()
    try:
        status = path.stat()
        if status.st_size > _MAX_CHAR_BYTES * validate.MAX_TEXT_CHARS:
            raise InvalidText(
                f"{named} has {status.st_size:,} bytes; a text may have {validate.MAX_TEXT_CHARS:,} characters"
            )
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidText(f"{named} cannot be read ({error.strerror or error}); nothing was remembered") from error
    except UnicodeDecodeError as error:
        raise InvalidText(f"{named} is not UTF-8 at byte {error.start}; convert it first, e.g. with iconv") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return None
    if "\0" in text:
        raise InvalidText(f"{named} is no text: it holds NUL characters; --file reads {READABLE_FILES}")
    try:
        changed = datetime.fromtimestamp(int(status.st_mtime), UTC)
        episode = Episode(**{"source": path.as_posix(), "title": path.name, **fields, "text": text})
        undated = checked_episode.check_episode(replace(episode, happened_at=None), EPOCH)
    except (InvalidInput, ValueError, OverflowError) as error:
        raise InvalidText(f"{named}: {error}") from error
    if episode.happened_at is not None:
        return episode
    return replace(episode, id=undated.id, happened_at=changed)


def with_stored_time(memory: Memory, episode: Episode) -> Episode:
    """The same episode, with the time by which the memory knows it already: a file was touched, and not changed."""
    known = None if episode.id is None else memory.get(episode.id)
    return episode if known is None else replace(episode, happened_at=known.happened_at)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long, or one that no file can have
        return False


def _is_regular_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _check_readable(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInput(f"{str(path)!r} is no file; --file reads {READABLE_FILES}")
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            f"{str(path)!r} is of another kind: --file reads {READABLE_FILES}; or pipe it in with --whole"
        )
    return path


def _walk(folder: Path, *, recursive: bool) -> Iterator[Path]:
    """Every file below a folder, but for what is hidden; folders that are links are not entered."""
    if not recursive:
        raise InvalidInput(f"{str(folder)!r} is a folder; add --recursive to read all below it, or give a pattern")
    for place, folders, files in os.walk(folder, onerror=_raise_unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place, name) for name in files if not name.startswith("."))


def _raise_unreadable(error: OSError) -> None:
    raise InvalidInput(f"the folder {error.filename!r} cannot be read ({error.strerror})") from error


def _glob(path: Path, *, recursive: bool) -> Iterator[Path]:
    """The files that a pattern matches; hidden ones only where the pattern begins a name with a dot."""
    plain, signs = _split_glob(path.parts)
    if not signs:
        raise InvalidInput(f"there is no file {str(path)!r}")
    base = Path(*plain)
    hidden = any(part.startswith(".") for part in signs)
    try:
        matches = sorted(base.glob(str(Path(*signs))))
    except (ValueError, NotImplementedError, OSError) as error:
        raise InvalidInput(f"the pattern {str(path)!r} cannot be used ({error})") from error
    if not matches:
        raise InvalidInput(f"no file matches {str(path)!r}")
    for match in matches:
        if not hidden and any(part.startswith(".") for part in match.relative_to(base).parts):
            continue
        if not match.is_dir():
            yield match
        elif recursive and not match.is_symlink():
            yield from _walk(match, recursive=True)


def _split_glob(parts: Iterable[str]) -> tuple[list[str], list[str]]:
    """The parts of a path before the first that is a pattern, and the rest; no rest where none is."""
    plain: list[str] = []
    rest = list(parts)
    while rest and not set(rest[0]) & set("*?["):
        plain.append(rest.pop(0))
    return plain, rest
