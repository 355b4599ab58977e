"""The command ``update``: gives a memory another text."""

from typing import Literal

import click

from .. import short_ids
from ..model import RememberResult
from .context import EXIT_NOT_FOUND, CommandContext, common_options, read_stdin


@click.command(epilog="Exits with 3 when the id is unknown.")
@click.argument("id_", metavar="ID")
@click.argument("text", metavar="TEXT|-")
@click.option(
    "--mode",
    type=click.Choice(["supersede", "replace"]),
    required=True,
    help="supersede: what was said has changed; the old memory is kept, and a new one supersedes it. "
    "replace: the text was wrong; the old one is erased for good.",
)
@click.option("--happened-at", metavar="DATE", help="With supersede: since when the new text holds.  [default: now]")
@common_options
def update(
    context: CommandContext, *, id_: str, text: str, mode: Literal["supersede", "replace"], happened_at: str | None
) -> None:
    """Give the memory ID another text; - reads the text from stdin.

    There is no undo for --mode replace, so an id that you gave must be complete; an id made by Ecphora may be
    abbreviated.
    """
    if happened_at is not None and mode == "replace":
        raise click.UsageError("--happened-at goes with --mode supersede: a text that is replaced keeps its time")
    new_text = read_stdin().rstrip("\r\n") if text == "-" else text
    with context.open_memory(needs_embedder=True) as memory:
        full_id = short_ids.resolve_id(id_, memory.graph(), allow_names=mode == "supersede")
        is_known = memory.get(full_id) is not None
        if is_known:
            result = memory.update(full_id, new_text, mode=mode, happened_at=happened_at)
    if not is_known:
        if context.as_json:
            context.write_json(None)
        context.note(f"there is no memory {id_!r}")
        click.get_current_context().exit(EXIT_NOT_FOUND)
    _print_update(context, full_id, result)


def _print_update(context: CommandContext, old_id: str, result: RememberResult) -> None:
    if context.as_json:
        context.write_json(result.to_dict())
    elif result.blocked:
        context.print_line(f"blocked: {result.id}")
        context.note(
            "the new text was forgotten or replaced before; forget the memory, and remember the text with --restore"
        )
    elif not result.created:
        word = "unchanged" if result.id == old_id else "exists already"
        context.print_line(f"{word}: {result.id}")
    elif result.id == old_id:
        context.print_line(f"replaced: {result.id}")
    else:
        context.print_line(f"superseded: {old_id} -> {result.id}")
