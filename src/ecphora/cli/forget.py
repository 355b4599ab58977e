"""The command ``forget``: erases memories by id or by filter."""

import sys
from collections.abc import Sequence

import click
import numpy as np

from .. import short_ids
from ..graph import EPOCH
from ..memory import Memory
from ..model import Filter, Query
from ..stages.retrieval import filters
from .context import EXIT_NOT_FOUND, CommandContext, common_options, filter_options
from .render import quote_node


@click.command(epilog="Exits with 3 when an id is unknown; the others are erased anyway.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@filter_options
@click.option("--yes", is_flag=True, help="Erase what the options select without asking.")
@common_options
def forget(context: CommandContext, *, ids: tuple[str, ...], where: Filter, yes: bool) -> None:
    """Erase memories on purpose: by ID, or all that the options select.

    Texts, vectors and links are overwritten in the file, and the same memory is not stored when it is remembered again.
    There is no undo, so an id that you gave must be complete; an id made by Ecphora may be abbreviated.
    """
    has_filter = where != Filter()
    if bool(ids) == has_filter:
        raise click.UsageError("say what to forget: by ID, or by options such as --session, not both")
    with context.open_memory() as memory:
        ids = tuple(short_ids.resolve_id(id_, memory.graph(), allow_names=False) for id_ in ids)
        forgotten_ids = list(ids)
        if has_filter:
            forgotten_ids = _matching_ids(memory, where)
            if forgotten_ids and not yes:
                _confirm(context, memory, forgotten_ids)
        result = memory.forget(forgotten_ids)
    missing = [id_ for id_ in ids if id_ not in set(result.episode_ids)]
    if context.as_json:
        context.write_json({**result.to_dict(), "missing_ids": missing})
    else:
        context.print_line(
            f"erased {len(result.episode_ids):,} memories and {len(result.entity_ids):,} names that only they mentioned"
        )
        for id_ in (*result.episode_ids, *result.entity_ids)[:50]:
            context.print_line(f"  {id_}")
    if missing:
        context.note(f"unknown: {', '.join(missing)}")
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _matching_ids(memory: Memory, where: Filter) -> list[str]:
    """The ids of all memories that pass a filter."""
    graph = memory.graph()
    return [graph.id(row) for row in np.flatnonzero(filters.eligible(graph, Query("", EPOCH, where=where))).tolist()]


def _confirm(context: CommandContext, memory: Memory, ids: Sequence[str]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"this would erase {len(ids):,} memories; add --yes to confirm")
    for node in filter(None, map(memory.get, ids[:5])):
        context.note(f"  {quote_node(node, 71)}")
    click.confirm(f"Erase these {len(ids):,} memories for good?", abort=True, err=True)
