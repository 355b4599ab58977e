"""Plug-ins: components that other installed packages declare as entry points.

A package declares a class, or a function that makes a component, in its ``pyproject.toml``::

    [project.entry-points."ecphora.embedders"]
    mine = "my_package.embedding:MyEmbedder"

The installed packages are searched only if a name is asked for that is not built in, and a plug-in is imported only if
its own name is. A plug-in never takes the place of what is built in: one with a name in :data:`BUILT_IN_NAMES` is
ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import EcphoraError, InvalidInput, PluginError, UnknownName
from .reprs import show

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint  # slow to import

PREFIX = "ecphora."
"""What the entry-point groups begin with: the group ``embedders`` is declared as ``ecphora.embedders``."""


@dataclass(frozen=True, slots=True)
class Group:
    """A kind of plug-ins: the component that such a plug-in makes, and the methods and attributes that it must have."""

    component: str
    members: tuple[str, ...]


GROUPS: Mapping[str, Group] = MappingProxyType(
    {
        "embedders": Group("embedder", ("name", "dim", "embed")),
        "extractors": Group("extractor", ("extract",)),
        "importers": Group("importer", ("read",)),
        "stores": Group("store", ("commit", "changes_since", "nodes", "scopes", "undo_batches", "close")),
        "strategies": Group("strategy", ("name", "activate")),
    }
)
"""The groups of plug-ins by their names."""
_PAPERS = ("synaptic", "synapse", "eisa", "ecphory", "weave")
BUILT_IN_NAMES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "embedders": frozenset({"e5", "minilm", "hashing", "openai", "sentence-transformers"}),
        "extractors": frozenset({"rules", "llm"}),
        "importers": frozenset(
            {
                *("ecphora", "mcp"),
                *("chatgpt", "claude", "claude-code", "codex", "discord", "slack", "telegram", "whatsapp"),
                *("chroma", "csv", "graphiti", "langgraph", "mbox", "mem0", "memory-files", "obsidian", "okf"),
            }
        ),
        "stores": frozenset({"sqlite", "file"}),
        "strategies": frozenset(
            {
                *("fused", "dense", "dense-english", "bm25", "rrf", "simple", "recency"),
                *(*_PAPERS, *(f"{name}-faithful" for name in _PAPERS)),
                *("myagent", "myagent-adapted", "memorybank", "memorybank-adapted"),
            }
        ),
    }
)
"""The names that no plug-in of a group may have."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in of an installed package. ``target`` is the declared class or function, as ``module:attribute``."""

    group: str
    name: str
    package: str
    version: str
    target: str
    entry_point: "EntryPoint" = field(repr=False, compare=False)

    @property
    def is_hidden(self) -> bool:
        """Whether it is ignored, because something built in has its name."""
        return self.name in BUILT_IN_NAMES[self.group]

    def load(self) -> Callable[..., Any]:
        """Import the declared class or function; raises ``PluginError`` if that fails."""
        try:
            found = self.entry_point.load()
        except EcphoraError:
            raise
        except (Exception, SystemExit) as error:  # the package's code may raise anything
            raise self.error("cannot be imported", error) from error
        if not callable(found):
            raise self.error(f"is {show(found)}, neither a class nor a function")
        made: Callable[..., Any] = found
        return made

    def make(self, *arguments: str) -> Any:
        """Make the component; raises ``PluginError`` if that fails, or if the component lacks a member of its group.

        An error that the plug-in raises as an ``EcphoraError`` is not changed.
        """
        maker, group = self.load(), GROUPS[self.group]
        try:
            component = maker(*arguments)
            missing = [member for member in group.members if not hasattr(component, member)]
        except EcphoraError:
            raise
        except (Exception, SystemExit) as error:
            raise self.error(f"cannot make its {group.component}", error) from error
        if missing:
            raise self.error(f"makes {show(component)}, which has no {missing[0]}")
        return component

    def error(self, problem: str, cause: BaseException | None = None) -> PluginError:
        """An error that names the plug-in, its package and what helps."""
        reason = "" if cause is None else f": {type(cause).__name__}: {cause}"
        return PluginError(
            f"the plug-in {self.name!r} ({PREFIX}{self.group}) of the package {self.package} {self.version} "
            f"{problem}{reason}; upgrade the package (pip install --upgrade {self.package}), or remove it "
            f"(pip uninstall {self.package})"
        )


def list_plugins(group: str | None = None) -> list[Plugin]:
    """The plug-ins of all groups, or of a group, sorted by group, name and package. Nothing of them is imported."""
    groups = GROUPS if group is None else (_check_group(group),)
    plugins = [plugin for name in groups for plugin in _read_group(name)]
    return sorted(plugins, key=lambda plugin: (plugin.group, plugin.name, plugin.package))


def find(group: str, name: str) -> Plugin | None:
    """The plug-in of a group with a name, None if no installed package has it or something built in has the name.

    Raises ``PluginError`` if several packages declare the name.
    """
    if name in BUILT_IN_NAMES[_check_group(group)]:
        return None
    found = [plugin for plugin in _read_group(group) if plugin.name == name]
    packages = sorted({f"{plugin.package} {plugin.version}" for plugin in found})
    if len(packages) > 1:
        raise PluginError(
            f"{len(packages)} packages have a plug-in {name!r} ({PREFIX}{group}): {', '.join(packages)}; "
            "uninstall all but one of them"
        )
    return found[0] if found else None


def find_by_setting(group: str, setting: str, choices: str | None = None) -> Plugin:
    """The plug-in that a setting names, as ``mine``, ``mine:ARGUMENT`` or ``mine://...``.

    Raises ``UnknownName`` if there is none; ``choices`` says in the error what is built in.
    """
    if not isinstance(setting, str):
        raise InvalidInput(f"name is {show(setting)}; give the name of a plug-in")
    plugin = find(group, setting.partition(":")[0])
    if plugin is None:
        wanted = show(setting.partition(":")[0] if group == "stores" else setting)  # a store's URL may have a password
        built_in = f"{choices}, or " if choices else ""
        raise UnknownName(
            f"no {GROUPS[group].component} is called {wanted}; give {built_in}the name of a plug-in, as "
            "ecphora plugins lists them"
        )
    return plugin


def load(group: str, setting: str, choices: str | None = None) -> Any:
    """Make the component that a plug-in has under a name: ``load("embedders", "mine")`` makes an embedder.

    What follows a colon is passed to the plug-in: ``"mine:MODEL"`` makes ``MyEmbedder("MODEL")``. A store gets the
    whole URL, ``"mine://host/name"``. Components that are built in are not found here. Raises ``UnknownName`` if no
    plug-in has the name, and ``PluginError`` if it cannot be used.
    """
    plugin = find_by_setting(group, setting, choices)
    argument = setting if group == "stores" else setting.partition(":")[2]
    return plugin.make(*([argument] if argument else []))


def _check_group(group: str) -> str:
    if group not in GROUPS:
        raise InvalidInput(f"group is {show(group)}; give one of {', '.join(GROUPS)}")
    return group


def _read_group(group: str) -> list[Plugin]:
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to import, and rarely needed

    try:
        return [
            Plugin(
                group,
                point.name,
                str(point.dist.name) if point.dist else "unknown",
                str(point.dist.version) if point.dist else "unknown",
                point.value,
                point,
            )
            for point in entry_points(group=f"{PREFIX}{group}")
        ]
    except Exception as error:  # reading the metadata of a damaged installation may raise anything
        raise PluginError(
            f"the entry points of the installed packages cannot be read ({type(error).__name__}: {error}); "
            "find the damaged package with pip check, and install it again"
        ) from error
