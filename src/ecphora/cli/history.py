"""The command ``history``: what became of a memory."""

import click

from .. import short_ids
from . import render
from .context import EXIT_NOT_FOUND, CommandContext, common_options


@click.command(epilog="Exits with 3 when the id is unknown.")
@click.argument("id_", metavar="ID")
@common_options
def history(context: CommandContext, *, id_: str) -> None:
    """Show a memory's history: what it superseded, what superseded it, and when it was accessed."""
    with context.open_memory() as memory:
        found = memory.history(short_ids.resolve_id(id_, memory.graph()))
    if found is None:
        if context.as_json:
            context.write_json(None)
        context.note(f"there is no memory {id_!r}")
        click.get_current_context().exit(EXIT_NOT_FOUND)
    if context.as_json:
        context.write_json(found.to_dict())
        return
    render.print_history(context.out, found)
