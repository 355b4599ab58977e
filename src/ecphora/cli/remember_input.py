"""Turns the input of ``ecphora remember`` into episodes: arguments, files, or stdin."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from .. import documents
from ..deserialize import from_json
from ..errors import InvalidInput, InvalidRecord, InvalidText
from ..interchange.records import parse_object
from ..language.paragraphs import paragraphs
from ..model import Episode, Media
from ..settings import expand_home
from ..timeparse import EPOCH
from . import text_files
from .context import CommandContext, read_stdin

STDIN_SPLITTERS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "paragraphs": paragraphs,
    "lines": str.splitlines,
    "whole": lambda text: [text],
}
"""How a text from stdin is split; the first is the default."""


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
    files = text_files.find_text_files(paths, recursive=recursive)
    episodes = [text_files.read_episode(path, fields) for path in files.paths]
    found = [episode for episode in episodes if episode is not None]
    if not found:
        raise InvalidText(f"{', '.join(map(str, files.paths))}: no text in it")
    if files.skipped_count:
        context.note(
            f"not read, links or files of other kinds: {files.skipped_count:,}; "
            f"--file reads {text_files.READABLE_FILES}"
        )
    if len(found) < len(episodes):
        context.note(f"not read, empty files: {len(episodes) - len(found):,}")
    return found


def episodes_from_stdin(forms: Sequence[str], fields: Mapping[str, Any], *, is_explicit: bool) -> list[Episode]:
    """Stdin as episodes, read as the only option in ``forms`` says; ``is_explicit`` if an argument asks for stdin."""
    if len(forms) > 1:
        raise click.UsageError("--lines, --whole and --jsonl say how stdin is read; give one of them")
    if not is_explicit and sys.stdin.isatty():
        raise click.UsageError(
            'nothing to remember: give a TEXT or --file PATH, or pipe texts in; e.g. ecphora remember "..."'
        )
    text, form = read_stdin(), next(iter(forms), "paragraphs")
    if form == "jsonl":
        return _episodes_from_jsonl(text.split("\n"), fields)
    found = [part for part in STDIN_SPLITTERS[form](text) if part.strip()]
    if not found:
        raise InvalidText("stdin holds no text")
    return [Episode(**{**fields, "text": part}) for part in found]


def _names_file(text: str) -> bool:
    try:
        return bool(text.strip()) and (Path(text).exists() or expand_home(text).exists())
    except (OSError, ValueError, InvalidInput):  # not a valid file name
        return False


def _episodes_from_jsonl(lines: Iterable[str], fields: Mapping[str, Any]) -> list[Episode]:
    """JSON Lines as episodes, each line checked so that errors name it; missing fields come from the options."""
    episodes = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = parse_object(line)
            unknown = record.keys() - set(Episode.__dataclass_fields__)
            if unknown:
                known = ", ".join(Episode.__dataclass_fields__)
                raise InvalidRecord(f"there is no field {', '.join(sorted(map(repr, unknown)))}; there are {known}")
            if isinstance(record.get("media"), list):
                record["media"] = tuple(from_json(Media, one) for one in record["media"])
            episode = Episode(**{**fields, "text": None, **record})
            documents.check_episode(episode, EPOCH)
        except InvalidInput as error:
            raise InvalidRecord(f"line {number}: {error}") from error
        episodes.append(episode)
    return episodes
