"""The formats of other programs that can be imported: the built-in ones, and the formats of plug-ins.

Each built-in format is a class in a module of its own, which is imported when it is needed. Ecphora's own exports are
read by :mod:`.jsonl`, files of MCP's reference memory server by :mod:`.graph_lines`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

from ...errors import EcphoraError, InvalidInput, PluginError
from ...model import plugins
from ...model.ports import FormatImporter, Importer, Progress
from ...model.reprs import show
from ...model.types import Episode, Omission

NATIVE_FORMAT = "ecphora"
"""The format of Ecphora's own exports."""
MCP_FORMAT = "mcp"
"""The format of MCP's reference memory server."""
CSV_FORMAT = "csv"
BUILT_IN: Mapping[str, str] = {
    "chatgpt": "chats.chatgpt:ChatGPTImporter",
    "chroma": "stores.chroma_store:ChromaImporter",
    "claude": "chats.claude:ClaudeImporter",
    "claude-code": "chats.coding_transcripts:ClaudeCodeImporter",
    "codex": "chats.coding_transcripts:CodexImporter",
    CSV_FORMAT: "documents.csv_files:CsvImporter",
    "discord": "chats.discord:DiscordImporter",
    "graphiti": "stores.graphiti:GraphitiImporter",
    "langgraph": "stores.langgraph_store:LangGraphImporter",
    "mbox": "documents.mbox:MboxImporter",
    "mem0": "stores.mem0_store:Mem0Importer",
    "memory-files": "documents.memory_files:MemoryFilesImporter",
    "obsidian": "documents.obsidian:ObsidianImporter",
    "okf": "documents.okf:OkfImporter",
    "slack": "chats.slack:SlackImporter",
    "telegram": "chats.telegram:TelegramImporter",
    "whatsapp": "chats.whatsapp:WhatsAppImporter",
}
"""The class of each format of other programs, as ``module:class``, by the name of the format."""
OWN_FORMATS = (NATIVE_FORMAT, MCP_FORMAT)
"""The formats that restore memories with all that belongs to them; they are no episodes."""
_HEAD_BYTES = 1 << 20
"""How much of a file is read to recognize Ecphora's own formats."""


@runtime_checkable
class _NamesFields(Protocol):
    """An importer that says of a file which part of it becomes which field."""

    def fields_of(self, path: str, /) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A format and its importer; ``plugin`` is the plug-in that it comes from, None if it is built in."""

    name: str
    importer: Importer
    plugin: plugins.Plugin | None = field(default=None, compare=False)

    @property
    def title(self) -> str:
        """What the format is, in a few words; the name if the importer does not say it."""
        return self.importer.title if isinstance(self.importer, FormatImporter) else self.name

    @property
    def fields(self) -> Mapping[str, str]:
        """Which field of the file becomes which field of a memory; empty if the importer does not say it."""
        return self.importer.fields if isinstance(self.importer, FormatImporter) else {}

    def fields_of(self, path: str) -> Mapping[str, str]:
        """As :attr:`fields`, of one file if the importer can tell."""
        return self.importer.fields_of(path) if isinstance(self.importer, _NamesFields) else self.fields

    def matches(self, path: str) -> bool:
        """Whether a file or folder looks like this format."""
        if not isinstance(self.importer, FormatImporter):
            return False
        try:
            return bool(self.importer.matches(path))
        except Exception:  # noqa: BLE001  # it should not raise, but the code of a package may
            return False

    def read(self, path: str, *, progress: Progress | None = None) -> Iterator[Episode | Omission]:
        """Yield what the importer reads.

        Raises ``InvalidInput`` if the file does not exist or does not have the format, and ``PluginError`` if a plug-in
        fails or yields something else.
        """
        if not Path(path).exists():
            raise InvalidInput(f"there is no file {show(path)}")
        try:
            for item in self.importer.read(path, progress=progress):
                yield self._check(item)
        except (EcphoraError, OSError):
            raise
        except Exception as error:  # the code of a package may raise anything
            if self.plugin is None:
                raise
            raise self._error(f"cannot read {show(path)}", error) from error

    def _check(self, item: object) -> Episode | Omission:
        if not isinstance(item, Episode | Omission):
            raise self._error(f"yields {show(item)}, not an Episode")
        return item

    def _error(self, problem: str, cause: BaseException | None = None) -> Exception:
        """An error that names the plug-in."""
        return TypeError(f"{self.name} {problem}") if self.plugin is None else self.plugin.error(problem, cause)


def find_format(path: str | Path, name: str | None = None, *, columns: Mapping[str, str] | None = None) -> Format:
    """The format of a file or folder: the format with a name, or else the one that recognizes the file.

    ``name`` may name a plug-in, with an argument after a colon if it takes one. Plug-ins are asked only if nothing
    built in recognizes the file. ``columns`` says which column of a CSV file is which field, as in
    ``{"text": "Body", "time": "Created"}``. Raises ``UnknownName`` if no format has the name, and ``InvalidInput`` if
    there is no such file, or if no format or several recognize it.
    """
    if columns:
        if name not in {None, CSV_FORMAT}:
            raise InvalidInput(f"columns are for CSV files, not for {show(name)}")
        from .documents.csv_files import CsvImporter  # noqa: PLC0415  # when it is needed

        return Format(CSV_FORMAT, CsvImporter(columns))
    if name is not None:
        return _format_named(name)
    if not Path(path).exists():
        raise InvalidInput(f"there is no file {show(str(path))}")
    found = _matching(map(_format_named, BUILT_IN), path) or _matching(_plugin_formats(), path)
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidInput(
            f"{show(str(path))} looks like several formats: {', '.join(one.name for one in found)}; choose one with "
            "--format"
        )
    raise InvalidInput(
        f"{show(str(path))} has no known format; choose one with --format: {', '.join(format_names())}, or the name "
        "of a plug-in, as ecphora plugins lists them"
    )


def own_format(path: str | Path) -> str | None:
    """The name of Ecphora's own format, or MCP's, that a file has; None if it has neither."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return None
    line = next((line for line in head.split("\n") if line.strip()), "").strip()
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(first, dict):
        return None
    if isinstance(first.get(NATIVE_FORMAT), int):
        return NATIVE_FORMAT
    is_entity = first.get("type") == "entity" and "entityType" in first
    is_relation = first.get("type") == "relation" and "relationType" in first
    return MCP_FORMAT if is_entity or is_relation else None


def format_names() -> list[str]:
    """The names of all formats that are built in."""
    return [*OWN_FORMATS, *BUILT_IN]


def _format_named(name: str) -> Format:
    target = BUILT_IN.get(name)
    if target is not None:
        module, _, attribute = target.partition(":")
        return Format(name, getattr(import_module(f".{module}", __package__), attribute)())
    choices = f"{', '.join(format_names()[:-1])} or {format_names()[-1]}"
    plugin = plugins.find_by_setting("importers", name, choices)
    return Format(name, plugins.load("importers", name), plugin)


def _plugin_formats() -> Iterator[Format]:
    """The formats of plug-ins that can be made without an argument; a format that fails is left out."""
    for plugin in plugins.list_plugins("importers"):
        if not plugin.is_hidden:
            try:
                yield _format_named(plugin.name)
            except (PluginError, InvalidInput):
                continue


def _matching(formats: Iterable[Format], path: str | Path) -> list[Format]:
    return [one for one in formats if one.matches(str(path))]
