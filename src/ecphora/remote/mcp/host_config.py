"""The entry of the MCP server in the configuration of a host, such as Claude Desktop or Cursor.

A host's file is never damaged: it is parsed, the entry is put in, and all else stays as it is, comments too. The file
as it was is kept beside it, and the new one replaces it whole. A file that cannot be parsed is left alone.
"""

import json
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InvalidInput, StoreReadOnly, UnknownName
from . import jsonc

ENTRY_NAME = "ecphora"
"""The name of the server in a host's configuration."""
BACKUP_SUFFIX = ".before-ecphora"
"""What the name of the copy of a changed file ends with, before a number."""
NEW_FILE_MODE = 0o600

DEFAULT_FOLDERS = {"APPDATA": "AppData/Roaming", "XDG_CONFIG_HOME": ".config", "CODEX_HOME": ".codex"}
"""The folders below the home folder that stand for environment variables without a value."""

Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How a host starts the server."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Host:
    """A program that starts MCP servers, and its configuration file.

    ``section`` is the table of servers, ``fields`` is what an entry has besides the command. ``places`` are the parts
    of the file's path by platform ("darwin", "win32" or "linux"); the first part is an environment variable, or ``~``.
    """

    title: str
    section: str
    places: Mapping[str, tuple[str, ...]]
    fields: Mapping[str, str] = field(default_factory=dict)
    is_toml: bool = False

    def path(self, platform: str = sys.platform, environ: Environment = os.environ) -> Path:
        """The configuration file of this user; raises ``InvalidInput`` where the host has none that is known."""
        place = self.places.get(platform)
        if place is None:
            raise InvalidInput(f"the configuration file of {self.title} is not known on {platform}; add --print")
        base, *parts = place
        folder = Path.home() if base == "~" else Path(environ.get(base) or Path.home() / DEFAULT_FOLDERS[base])
        return folder.joinpath(*parts)

    def entry(self, server: ServerCommand) -> dict[str, Any]:
        """The entry of the server."""
        return {**self.fields, "command": server.command, "args": list(server.args)}

    def snippet(self, server: ServerCommand) -> str:
        """The entry as a text to put into the file by hand."""
        if self.is_toml:
            return _toml_table(self.section, self.entry(server))
        return json.dumps({self.section: {ENTRY_NAME: self.entry(server)}}, ensure_ascii=False, indent=2) + "\n"


def _everywhere(*parts: str, base: str = "~") -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(("darwin", "win32", "linux"), (base, *parts))


HOSTS: Mapping[str, Host] = {
    "claude-desktop": Host(
        "Claude Desktop",
        "mcpServers",
        {
            "darwin": ("~", "Library", "Application Support", "Claude", "claude_desktop_config.json"),
            "win32": ("APPDATA", "Claude", "claude_desktop_config.json"),
        },
    ),
    "claude-code": Host("Claude Code", "mcpServers", _everywhere(".claude.json"), fields={"type": "stdio"}),
    "cursor": Host("Cursor", "mcpServers", _everywhere(".cursor", "mcp.json")),
    "vscode": Host(
        "VS Code",
        "servers",
        {
            "darwin": ("~", "Library", "Application Support", "Code", "User", "mcp.json"),
            "win32": ("APPDATA", "Code", "User", "mcp.json"),
            "linux": ("XDG_CONFIG_HOME", "Code", "User", "mcp.json"),
        },
        fields={"type": "stdio"},
    ),
    "windsurf": Host("Windsurf", "mcpServers", _everywhere(".codeium", "windsurf", "mcp_config.json")),
    "codex": Host("Codex CLI", "mcp_servers", _everywhere("config.toml", base="CODEX_HOME"), is_toml=True),
    "gemini": Host("Gemini CLI", "mcpServers", _everywhere(".gemini", "settings.json")),
    "zed": Host(
        "Zed",
        "context_servers",
        {
            **_everywhere(".config", "zed", "settings.json"),
            "linux": ("XDG_CONFIG_HOME", "zed", "settings.json"),
            "win32": ("APPDATA", "Zed", "settings.json"),
        },
        fields={"source": "custom"},
    ),
}
"""The hosts by the names that the command line takes. docs/how-to/mcp.md says where each format is documented."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What was done to a file: whether it was changed, and where the file as it was is kept, if there was one."""

    path: Path
    is_changed: bool
    backup: Path | None = None


def find_host(name: str) -> Host:
    """The host of that name; raises ``UnknownName``."""
    if name not in HOSTS:
        raise UnknownName(f"no host is called {name!r}; give one of {', '.join(HOSTS)}")
    return HOSTS[name]


def server_command(args: Sequence[str]) -> ServerCommand:
    """How to start ``ecphora mcp`` with these arguments, wherever the host runs it."""
    name = "ecphora.exe" if sys.platform == "win32" else "ecphora"
    script = Path(sys.executable).with_name(name)
    if script.is_file():
        return ServerCommand(str(script), ("mcp", *args))
    return ServerCommand(sys.executable, ("-m", "ecphora.cli.main", "mcp", *args))


def install(host: Host, server: ServerCommand, path: Path | None = None) -> Installation:
    """Put the server into a host's file, which need not exist.

    Raises ``InvalidInput`` if the file cannot be parsed, and ``StoreReadOnly`` if it cannot be written; then it is as
    it was.
    """
    shown = host.path() if path is None else path
    target = shown.resolve()  # a link stays a link
    try:
        before = target.read_bytes() if target.exists() else None
        after = _merge(host, server, before, shown)
        if after == before:
            return Installation(shown, is_changed=False)
        return Installation(shown, is_changed=True, backup=_replace(target, before, after, shown))
    except OSError as error:
        raise StoreReadOnly(f"{shown} cannot be changed ({error}); add --print and change it by hand") from error


def _merge(host: Host, server: ServerCommand, before: bytes | None, shown: Path) -> bytes:
    """The content of the file with the entry; the same bytes if it has it already."""
    try:
        text = "" if before is None else before.decode("utf-8")
        merged = _merge_toml(host, server, text) if host.is_toml else _merge_json(host, server, text)
        return merged.encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{shown} is left as it is, because it cannot be merged: {error}. Add --print, and put the entry in by hand"
        ) from error


def _merge_json(host: Host, server: ServerCommand, text: str) -> str:
    """The JSON text with the entry. What else an older entry has stays, such as environment variables."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    settings = jsonc.parse(body)
    found = {} if settings is None else settings.data
    if not isinstance(found, dict) or not isinstance(found.get(host.section, {}), dict):
        raise InvalidInput(f"it has no table of servers at {host.section!r}")
    return mark + jsonc.merge(body, {host.section: {ENTRY_NAME: host.entry(server)}})


def _merge_toml(host: Host, server: ServerCommand, text: str) -> str:
    """The TOML text with the entry at its end; the same text if it has it already."""
    settings = tomllib.loads(text)
    entry = host.entry(server)
    servers = settings.get(host.section, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"{host.section} is no table")
    if ENTRY_NAME in servers:
        if servers[ENTRY_NAME] == entry:
            return text
        raise ValueError(f"it has another entry {host.section}.{ENTRY_NAME}")
    head = text.rstrip("\n") + "\n\n" if text.strip() else ""
    merged = head + _toml_table(host.section, entry)
    if tomllib.loads(merged) != {**settings, host.section: {**servers, ENTRY_NAME: entry}}:
        raise ValueError("the entry would change other settings")
    return merged


def _toml_table(section: str, entry: Mapping[str, Any]) -> str:
    """A table of TOML; a JSON string is a basic string of TOML, but for the delete character."""
    values = {key: json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F") for key, value in entry.items()}
    return "\n".join([f"[{section}.{ENTRY_NAME}]", *(f"{key} = {value}" for key, value in values.items())]) + "\n"


def _replace(target: Path, before: bytes | None, after: bytes, shown: Path) -> Path | None:
    """Write the file whole, after a copy of it as it was; returns the copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = NEW_FILE_MODE if before is None else target.stat().st_mode & 0o777
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        _check_unchanged(target, before, shown)
        backup = None if before is None else _back_up(target)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    return backup


def _check_unchanged(target: Path, before: bytes | None, shown: Path) -> None:
    if (target.read_bytes() if target.exists() else None) != before:
        raise InvalidInput(f"{shown} has just been changed by another program; try again")


def _back_up(target: Path) -> Path:
    """Copy a file, with its permissions, under a name that is free."""
    number = 1
    while (backup := target.with_name(f"{target.name}{BACKUP_SUFFIX}-{number}")).exists():
        number += 1
    shutil.copy2(target, backup)
    return backup
