"""Reads the notes of an Obsidian vault, or of any folder of Markdown files."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import SourceFile, existing_path, first_bytes, list_files, read_text
from ..files.progress import ProgressMeter
from ..imported_episodes import Entry, as_time, build_episode
from .frontmatter import BAD_FRONTMATTER, load_frontmatter, split_frontmatter

NAME = "obsidian"
DATE_KEYS = ("date", "created", "created_at", "date_created", "date created", "creation_date", "day")
"""The keys of the frontmatter that say when a note was written, the surest first."""
DRAWING = "excalidraw-plugin"
"""The key of the frontmatter of a drawing."""
_BOARD_SETTINGS = re.compile(r"^%% kanban:settings.*?%%", re.MULTILINE | re.DOTALL)
_TEMPLATES = frozenset({"templates", "_templates", "template"})
_DAILY_NAME = re.compile(r"(\d{4})[-_. ]?(\d\d)[-_. ]?(\d\d)(?!\d)")
_LINK = re.compile(r"!?\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\|[^\[\]\n]*)?\]\]")
_TAG = re.compile(r"(?<![\w/#&])#([^\W\d_][\w/-]*|\d[\w/-]*[^\W\d_][\w/-]*)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)


class ObsidianImporter:
    """A note is a memory: its links, tags and the rest of its frontmatter are in the metadata."""

    name = NAME
    title = "Obsidian, the folder of a vault"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "title": "title, or the name of the note", "happened_at": "date or created, or the day in the name of the note",
        "speaker": "author",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether the folder is a vault."""
        try:
            return (Path(path) / ".obsidian").is_dir()
        except (OSError, ValueError):
            return False

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the notes, folder by folder; templates, hidden folders and the trash are left out."""
        root = existing_path(path)
        if not root.is_dir():
            raise InvalidInput(f"{show(path)} is no folder; give the folder of the vault")
        found = list(list_files(root, (".md",), leaves_out=_template_folders(root)))
        files = [one for one in found if isinstance(one, SourceFile)]
        if not files:
            raise InvalidInput(f"{show(path)} has no Markdown file")
        meter = ProgressMeter(progress, sum(file.size for file in files))
        yield from (one for one in found if isinstance(one, Omission))
        for file in files:
            text = read_text(file)
            if isinstance(text, str):
                yield from _read_note(file, text)
            else:
                yield text
            meter.advance(file.size)
        meter.finish()


def _template_folders(root: Path) -> Callable[[str], bool]:
    """Whether a folder holds templates, as its name or the settings of the vault say."""
    named = set[str]()
    for settings in (".obsidian/templates.json", ".obsidian/plugins/templater-obsidian/data.json"):
        try:
            values = json.loads(first_bytes(root / settings))
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict):
            named |= {str(values[key]).strip("/") for key in ("folder", "templates_folder") if values.get(key)}
    named.discard("")

    def is_templates(place: str) -> bool:
        return place in named or place.rpartition("/")[2].lower() in _TEMPLATES

    return is_templates


def _read_note(file: SourceFile, text: str) -> Iterator[Episode | Omission]:
    source, body = split_frontmatter(text)
    header = {} if source is None else load_frontmatter(source)
    if header is None:
        yield Omission(BAD_FRONTMATTER, file.place)
        header = {}
    if DRAWING in header:
        yield Omission("a drawing", file.place)
        return
    body = _BOARD_SETTINGS.sub("", body)
    plain = _CODE.sub(" ", body)
    links = list(dict.fromkeys(link.strip() for link in _LINK.findall(plain) if link.strip()))
    tags = list(dict.fromkeys([*_tags_of(header), *_TAG.findall(plain)]))
    lists = {key: value for key, value in (("links", links), ("tags", tags)) if value}
    entry = Entry(
        file.place,
        file.place,
        body.strip(),
        speaker=header.get("author"),
        happened_at=_date_of(file.path.stem, header),
        title=header.get("title") or file.path.stem,
        metadata={**{key: value for key, value in header.items() if key not in {"title", "tag"}}, **lists},
    )
    yield from build_episode(NAME, entry)


def _date_of(name: str, header: Mapping[str, Any]) -> object:
    """When a note was written: as its frontmatter says, or the day that its name begins with.

    If neither is a time, the text of the frontmatter, so that it is reported.
    """
    values = {key.lower(): value.strip("[] ") for key, value in header.items() if isinstance(value, str)}
    given = [values[key] for key in DATE_KEYS if values.get(key)]
    day = _DAILY_NAME.match(name)
    found = [*given, *([f"{day[1]}-{day[2]}-{day[3]}"] if day else [])]
    return next((one for one in found if as_time(one) is not None), given[0] if given else None)


def _tags_of(header: Mapping[str, Any]) -> list[str]:
    found = list[str]()
    for key in ("tags", "tag"):
        value = header.get(key)
        values = re.split(r"[,\s]+", value) if isinstance(value, str) else value if isinstance(value, list) else ()
        found += [str(one).strip().lstrip("#") for one in values if isinstance(one, str | int)]
    return [tag for tag in found if tag]
