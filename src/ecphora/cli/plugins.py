"""The command ``plugins``: which plug-ins are installed, and whether they can be imported."""

from typing import Any

import click

from .. import plugins as installed_plugins
from ..errors import EcphoraError
from ..plugins import GROUPS, Plugin
from .context import CommandContext, common_options
from .render import table


@click.command()
@common_options
def plugins(context: CommandContext) -> None:
    """List the plug-ins that are installed, and whether each can be imported.

    Embedders, extractors, importers, stores and strategies of other packages; docs/plugins.md says how to write one.
    """
    found = [_describe(plugin) for plugin in installed_plugins.list_plugins()]
    if context.as_json:
        context.write_json(found)
        return
    if not found:
        context.print_line(f"no plug-ins are installed; a package declares them in the groups {', '.join(GROUPS)}")
        return
    columns = {"name": "left", "group": "left", "package": "left", "version": "left", "state": "left"}
    rows = [tuple(str(one[column]) for column in columns) for one in found]
    context.out.print(table(columns, rows))
    for one in found:
        if one["error"] is not None:
            context.note(f"error: {one['error']}")


def _describe(plugin: Plugin) -> dict[str, Any]:
    """A plug-in as JSON values; ``state`` is "loads", "fails" or "hidden", by something built in of its name."""
    error = None
    if not plugin.is_hidden:
        try:
            installed_plugins.find(plugin.group, plugin.name)
            plugin.load()
        except EcphoraError as problem:
            error = str(problem)
    return {
        "name": plugin.name,
        "group": plugin.group,
        "package": plugin.package,
        "version": plugin.version,
        "target": plugin.target,
        "state": "hidden" if plugin.is_hidden else "loads" if error is None else "fails",
        "error": error,
    }
