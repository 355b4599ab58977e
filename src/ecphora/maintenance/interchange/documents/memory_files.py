"""Reads the memory files of coding agents: MEMORY.md, CLAUDE.md, AGENTS.md, and folders of notes named "memory"."""

import re
from collections.abc import Iterator
from pathlib import Path

from ....errors import InvalidInput
from ....model.ports import Progress
from ....model.reprs import show
from ....model.types import Episode, Omission
from ..files.folders import SourceFile, existing_path, list_files, read_text, show_path
from ..files.progress import ProgressMeter
from ..imported_episodes import Entry, build_episode
from .frontmatter import BAD_FRONTMATTER, load_frontmatter, split_frontmatter

NAME = "memory-files"
FILE_NAMES = frozenset({"memory.md", "claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md"})
FOLDER_NAMES = frozenset({"memory", "memories"})
"""Folders all of whose Markdown files are memories."""
_LEFT_OUT = frozenset({"node_modules", "vendor", "target", "dist", "build", "venv", "__pycache__"})
_DAY = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d)(?!\d)")
_REFERENCE = re.compile(r"@[\w./~-]+\Z")
"""How Claude Code includes another file."""
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s+|\Z)")
_CHECKBOX = re.compile(r"\[[ xX]\]\s+")


class MemoryFilesImporter:
    """Every bullet and every paragraph is a memory; the headings above it are its title."""

    name = NAME
    title = "Memory files of coding agents (MEMORY.md, CLAUDE.md, AGENTS.md), a file or a folder"
    fields = {  # noqa: RUF012  # the port asks for a mapping
        "title": "the headings", "happened_at": "a day in a heading or in the file's name",
    }  # fmt: skip

    def matches(self, path: str, /) -> bool:
        """Whether it is such a file, or a folder that holds one at its top or in the folder of notes."""
        try:
            root = Path(path)
            if not root.is_dir():
                return root.name.lower() in FILE_NAMES and root.is_file()
            names = {one.name.lower() for one in root.iterdir()}
            return ".obsidian" not in names and bool(names & FILE_NAMES)
        except (OSError, ValueError):
            return False

    def read(self, path: str, /, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield the bullets and paragraphs, file by file."""
        root = existing_path(path)
        if root.is_dir():
            found = [one for one in list_files(root, (".md",), leaves_out=_is_left_out) if _is_memory_file(one, root)]
        elif root.suffix.lower() in {".md", ".markdown"}:
            found = [SourceFile(root, show_path(root.name), root.stat().st_size)]
        else:
            found = []
        files = [one for one in found if isinstance(one, SourceFile)]
        if not files:
            raise InvalidInput(f"{show(path)} has no memory file: give MEMORY.md, CLAUDE.md, AGENTS.md or a folder")
        meter = ProgressMeter(progress, sum(file.size for file in files))
        yield from (one for one in found if isinstance(one, Omission))
        for file in files:
            text = read_text(file)
            if isinstance(text, str):
                yield from _read_file(file, text)
            elif len(files) == 1 and not root.is_dir():
                raise InvalidInput(f"{show(path)}: {text.reason}")
            else:
                yield text
            meter.advance(file.size)
        meter.finish()


def _is_left_out(place: str) -> bool:
    return place.rpartition("/")[2].lower() in _LEFT_OUT


def _is_memory_file(one: SourceFile | Omission, root: Path) -> bool:
    folder, _, name = one.place.rpartition("/")
    folder = folder.rpartition("/")[2] or root.resolve().name
    return name.lower() in FILE_NAMES or folder.lower() in FOLDER_NAMES


def _read_file(file: SourceFile, text: str) -> Iterator[Episode | Omission]:
    source, body = split_frontmatter(text)
    header = {} if source is None else load_frontmatter(source)
    if header is None:
        yield Omission(BAD_FRONTMATTER, file.place)
    day = _DAY.search(file.path.stem)
    for line, headings, part in _parts(body):
        if _REFERENCE.match(part):
            yield Omission("a reference to another file", file.place)
            continue
        dated = [found[1] for heading in headings if (found := _DAY.search(heading))]
        entry = Entry(
            f"{file.place}, line {line + 1 + text.count(chr(10), 0, len(text) - len(body))}",
            "\x1f".join((file.place, *headings)),
            part,
            happened_at=dated[-1] if dated else day and day[1],
            title=" > ".join(headings) or (header or {}).get("name") or file.path.stem,
            metadata={**(header or {}), "file": file.place},
        )
        yield from build_episode(NAME, entry)


def _parts(text: str) -> Iterator[tuple[int, list[str], str]]:
    """The bullets and blocks of a Markdown text: the number of the first line, the headings above, and the text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415  # slow to load

    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    headings: list[tuple[int, str]] = []
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "heading_open" and token.level == 0:
            level = int(token.tag[1:])
            headings = [one for one in headings if one[0] < level]
            headings.append((level, tokens[place + 1].content.strip()))
            continue
        if token.type == "list_item_open" and token.level == 1:
            part = _item_text(lines[first:end])
        elif token.level == 0 and token.nesting >= 0 and token.type not in {"html_block", "hr"}:
            if token.type in {"bullet_list_open", "ordered_list_open"}:
                continue
            part = "\n".join(lines[first:end]).strip()
        else:
            continue
        if part:
            yield first, [heading for _, heading in headings if heading], part


def _item_text(lines: list[str]) -> str:
    """The text of a list item, without its mark and as far to the left as it goes."""
    mark = _BULLET.match(lines[0])
    width = mark.end() if mark else 0
    first = _CHECKBOX.sub("", lines[0][width:], count=1) if _CHECKBOX.match(lines[0][width:]) else lines[0][width:]
    rest = [line[min(width, len(line) - len(line.lstrip())) :] for line in lines[1:]]
    return "\n".join((first, *rest)).strip()
