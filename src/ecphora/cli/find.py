"""The commands ``find``, ``count`` and ``get``: memories without a question."""

from collections.abc import Sequence

import click
from rich.table import Table
from rich.text import Text

from .. import short_ids
from ..default_limits import LIST_LIMIT
from ..invisible_chars import single_line
from ..lookup import Order
from ..memory import Memory
from ..model import Filter, Node
from ..text_format import collapse_whitespace, short_minute
from . import render
from .context import EXIT_NOT_FOUND, CommandContext, common_options
from .options import filter_options


@click.command(epilog="Exits with 3 when no memory is found.")
@filter_options
@click.option(
    "--order",
    type=click.Choice([order.value for order in Order]),
    default=Order.NEWEST.value,
    show_default=True,
    help="By event time or recording time; with - the latest first.",
)
@click.option("--limit", type=click.IntRange(min=1), default=LIST_LIMIT, show_default=True, help="Memories of a page.")
@click.option("--cursor", metavar="CURSOR", help="The page after this one: the cursor of the page before.")
@common_options
def find(context: CommandContext, *, where: Filter, order: str, limit: int, cursor: str | None) -> None:
    """List memories, without a question, a page at a time; a long text is one memory."""
    with context.open_memory() as memory:
        page = memory.find(where=where, order=order, limit=limit, after=cursor)
        if context.as_json:
            context.write_json(page.to_dict())
        elif page:
            context.out.print(_memory_table(memory, page.memories))
    if page.cursor is not None:
        context.note(f"for the next page, add --cursor {page.cursor}")
    context.note_all(page.notices)
    if not page:
        context.note("no memory was found")
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _memory_table(memory: Memory, nodes: Sequence[Node]) -> Table:
    """Memories as a table, a line each: id, time, speaker and the beginning of the text."""
    ids = short_ids.abbreviate((node.id for node in nodes), memory.graph())
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bright_black", expand=True)
    grid.add_column("id", style="bright_black", overflow="fold", min_width=short_ids.DISPLAY_CHARS)
    grid.add_column("happened", style="bright_black", no_wrap=True)
    if any(node.speaker for node in nodes):
        grid.add_column("speaker", style="cyan", overflow="ellipsis", no_wrap=True, max_width=20)
    grid.add_column("text", ratio=1, overflow="ellipsis", no_wrap=True)
    for node in nodes:
        cells = [single_line(ids[node.id]), short_minute(node.happened_at).rjust(17)]
        cells += [single_line(node.speaker or "")] if len(grid.columns) > len(cells) + 1 else []
        grid.add_row(*map(Text, cells), Text(collapse_whitespace(render.sanitize(node.text))))
    return grid


@click.command()
@filter_options
@common_options
def count(context: CommandContext, *, where: Filter) -> None:
    """Count the memories that the options select, or all of the scope; a long text is one memory."""
    with context.open_memory() as memory:
        found, notices = memory.count(where=where), memory.find(where=where, limit=1).notices
    if context.as_json:
        context.write_json({"count": found})
    else:
        context.print_line(f"{found:,}")
    context.note_all(notices)


@click.command(epilog="Exits with 3 when an id is unknown; the others are shown anyway.")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@common_options
def get(context: CommandContext, *, ids: tuple[str, ...]) -> None:
    """Show memories whole: the text as it is stored, and all that is stored with it."""
    with context.open_memory() as memory:
        found = {id_: memory.get(short_ids.resolve_id(id_, memory.graph())) for id_ in dict.fromkeys(ids)}
    missing = [id_ for id_, node in found.items() if node is None]
    nodes = [node for node in found.values() if node is not None]
    if context.as_json:
        context.write_json({"memories": [node.to_dict() for node in nodes], "missing_ids": missing})
    else:
        for place, node in enumerate(nodes):
            if place:
                context.out.print()
            render.print_node(context.out, node)
    if missing:
        context.note(f"unknown: {', '.join(missing)}")
        click.get_current_context().exit(EXIT_NOT_FOUND)
