"""Reads files of other formats, by the importers of plug-ins.

Ecphora's own exports are read by :mod:`.jsonl`, files of MCP's reference memory server by :mod:`.graph_lines`.
"""

from pathlib import Path

from ...errors import EcphoraError, InvalidInput
from ...model import plugins
from ...model.ports import Progress
from ...model.reprs import show
from ...model.types import Episode, Omission

NATIVE_FORMAT = "ecphora"
"""The format of Ecphora's own exports."""
MCP_FORMAT = "mcp"
"""The format of MCP's reference memory server."""


def read_episodes(format_name: str, path: str | Path, *, progress: Progress | None = None) -> list[Episode]:
    """The episodes of a file or folder in another format, for :meth:`ecphora.Memory.remember`.

    ``format_name`` names the plug-in, with an argument after a colon if it takes one. Everything is read before
    anything is returned. Raises ``UnknownName`` if no plug-in has the name, ``InvalidInput`` if the file does not exist
    or does not have the format, and ``PluginError`` if the plug-in fails.
    """
    plugin = plugins.find_by_setting("importers", format_name, f"{NATIVE_FORMAT} or {MCP_FORMAT}")
    importer = plugins.load("importers", format_name)
    if not Path(path).exists():
        raise InvalidInput(f"there is no file {show(str(path))}")
    try:
        found = list(importer.read(str(path), progress=progress))
    except (EcphoraError, OSError):
        raise
    except Exception as error:  # the package's code may raise anything
        raise plugin.error(f"cannot read {show(str(path))}", error) from error
    if foreign := [one for one in found if not isinstance(one, Episode | Omission)]:
        raise plugin.error(f"yields {show(foreign[0])}, not an Episode")
    return [one for one in found if isinstance(one, Episode)]
