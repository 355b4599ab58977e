"""Turns the input of ``ecphora remember`` into episodes: arguments, files, or stdin."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from .. import documents
from ..deserialize import from_json
from ..errors import InvalidInput, InvalidRecord, InvalidText
from ..interchange.json_lines import SkippedLine
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
    """How the fields of JSON Lines become those of an episode.

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
