"""Turns the input of ``ecphora remember`` into episodes: arguments, files, or stdin."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ..errors import InvalidInput, InvalidRecord, InvalidText
from ..language.chunking import paragraphs
from ..maintenance.interchange.json_lines import SkippedLine
from ..maintenance.interchange.records import parse_object
from ..memory import Memory
from ..model import validation
from ..model.times import EPOCH, in_zone
from ..model.types import Episode, Media
from ..remember import documents
from ..remote.wire import from_json
from ..settings import expand_home
from .context import CommandContext, read_stdin

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

    Its source is the path, its title the file's name, and its time the time of the file's last change, unless
    ``fields`` sets them. Its id depends on everything but that time, so a file of which only the time is new stays the
    same memory. ``fields`` are fields of :class:`~ecphora.Episode`.

    Raises ``InvalidText``, which names the file, if it cannot be read, is not UTF-8, or is not a valid text.
    """
    path_name = str(path).encode("utf-8", "backslashreplace").decode()
    try:
        status = path.stat()
        if status.st_size > _MAX_CHAR_BYTES * validation.MAX_TEXT_CHARS:
            raise InvalidText(
                f"{path_name} has {status.st_size:,} bytes; a text may have {validation.MAX_TEXT_CHARS:,} characters"
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


STDIN_SPLITTERS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "paragraphs": paragraphs,
    "lines": str.splitlines,
    "whole": lambda text: [text],
}
"""How a text from stdin is split; the first is the default."""
EPISODE_FIELDS = tuple(Episode.__dataclass_fields__)
_CHAT_LINE = re.compile(
    r"^\W{0,2}\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? +(?:at +)?\d{1,2}[:.]\d{2}[^\n]{0,12}?(?: - |\] ?|: )[^:\n]{1,40}: \S",
    re.MULTILINE,
)
"""A line of a chat as messengers export it: a date, a time, a name and a text."""
_MIN_CHAT_LINES = 3


def episodes_from_arguments(texts: Sequence[str], literal: Sequence[str], fields: Mapping[str, Any]) -> list[Episode]:
    """Arguments as episodes; raises ``UsageError`` for a text that names a file, unless it is in ``literal``.

    The file is not read instead: an argument may come from an untrusted source.
    """
    for text in texts:
        if _names_file(text):
            raise click.UsageError(
                f"{text!r} names a file or folder: add --file before it to remember what stands in it, or --text to "
                "remember these words"
            )
    return [Episode(**{**fields, "text": text}) for text in (*texts, *literal)]


def episodes_from_files(
    context: CommandContext, paths: Sequence[str], fields: Mapping[str, Any], *, recursive: bool
) -> list[Episode]:
    """Files as episodes, one per file; all are read before the first is remembered."""
    files = find_text_files(paths, recursive=recursive)
    episodes = [read_episode(path, fields) for path in files.paths]
    found = [episode for episode in episodes if episode is not None]
    if not found:
        raise InvalidText(f"{', '.join(map(str, files.paths))}: no text in it")
    if files.skipped_count:
        context.note(f"not read, links or files of other kinds: {files.skipped_count:,}; --file reads {READABLE_FILES}")
    for episode in found:
        if len(_CHAT_LINE.findall(episode.text)) >= _MIN_CHAT_LINES:
            context.note(
                f"{episode.title} looks like an exported chat, and becomes one memory with the time of its file; to "
                "keep who said what and when, make it JSON Lines of text, speaker and happened_at for --jsonl"
            )
    if len(found) < len(episodes):
        context.note(f"not read, empty files: {len(episodes) - len(found):,}")
    return found


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """How the fields of JSON Lines become the fields of an episode.

    ``names`` has the episode's field for each other name; ``others`` says what becomes of the rest: ``error``,
    ``skip`` or ``metadata``.
    """

    names: Mapping[str, str]
    others: str = "error"

    def __post_init__(self) -> None:
        """Raise ``InvalidInput`` for a field that an episode does not have."""
        if unknown := sorted(map(str, set(self.names.values()) - set(EPISODE_FIELDS))):
            raise InvalidInput(f"--field names {', '.join(unknown)}; a memory has {', '.join(EPISODE_FIELDS)}")

    def apply(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of an episode; raises ``InvalidRecord`` for a name that is unknown, or there twice."""
        known, others = dict[str, Any](), dict[str, Any]()
        for name, value in record.items():
            field = self.names.get(name, name)
            if field not in EPISODE_FIELDS:
                others[name] = value
            elif field in known:
                raise InvalidRecord(f"{name!r} and another field both are the {field}; leave one out")
            else:
                known[field] = value
        if others and self.others == "error":
            raise InvalidRecord(
                f"there is no field {', '.join(sorted(map(repr, others)))}; there are {', '.join(EPISODE_FIELDS)}; "
                "name it with --field, or give --other-fields skip or metadata"
            )
        if others and self.others == "metadata":
            known["metadata"] = {**others, **(known.get("metadata") or {})}
        return known


def episodes_from_stdin(
    forms: Sequence[str], fields: Mapping[str, Any], field_options: FieldOptions, *, is_explicit: bool
) -> tuple[list[Episode], list[SkippedLine]]:
    """Stdin as episodes, read as the only option in ``forms`` says, and the lines of JSON that cannot be used.

    ``is_explicit`` says whether an argument asks for stdin.
    """
    if len(forms) > 1:
        raise click.UsageError("--lines, --whole and --jsonl say how stdin is read; give one of them")
    if not is_explicit and sys.stdin.isatty():
        raise click.UsageError(
            'nothing to remember: give a TEXT or --file PATH, or pipe texts in; e.g. ecphora remember "..."'
        )
    text, form = read_stdin(), next(iter(forms), "paragraphs")
    if form == "jsonl":
        return _episodes_from_jsonl(text.split("\n"), fields, field_options)
    found = [part for part in STDIN_SPLITTERS[form](text) if part.strip()]
    if not found:
        raise InvalidText("stdin holds no text")
    return [Episode(**{**fields, "text": part}) for part in found], []


def _names_file(text: str) -> bool:
    try:
        return bool(text.strip()) and (Path(text).exists() or expand_home(text).exists())
    except (OSError, ValueError, InvalidInput):  # not a valid file name
        return False


def _episodes_from_jsonl(
    lines: Iterable[str], fields: Mapping[str, Any], field_options: FieldOptions
) -> tuple[list[Episode], list[SkippedLine]]:
    """JSON Lines as episodes, and the lines that are none; missing fields come from the options.

    Raises ``InvalidRecord`` with the number of the first line if no line is an episode.
    """
    episodes, skipped = list[Episode](), list[SkippedLine]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = field_options.apply(parse_object(line))
            if isinstance(record.get("media"), list):
                record["media"] = tuple(from_json(Media, one) for one in record["media"])
            episode = Episode(**{**fields, "text": None, **record})
            documents.check_episode(episode, EPOCH)
        except InvalidInput as error:
            skipped.append(SkippedLine(number, str(error)))
        else:
            episodes.append(episode)
    if skipped and not episodes:
        raise InvalidRecord(f"line {skipped[0].number}: {skipped[0].reason}")
    return episodes, skipped
