"""The commands ``forget``, ``update`` and ``history``: erase and replace memories, and show the history of a memory."""

import sys
from collections.abc import Sequence
from typing import Literal

import click

from ..memory import Memory
from ..model.text_format import count_noun
from ..model.types import Filter, RememberResult
from ..recall import lookup
from . import render
from .context import EXIT_NOT_FOUND, CommandContext, common_options, read_stdin
from .options import filter_options
from .render import quote_node


@click.command(epilog="Exits with 3 when an id is unknown; the others are erased anyway.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@filter_options
@click.option("--everything", is_flag=True, help="Erase every memory of the scope.")
@click.option("--dry-run", is_flag=True, help="Erase nothing; show what would be erased.")
@click.option("--yes", is_flag=True, help="Erase what the options select without asking.")
@common_options
def forget(
    context: CommandContext, *, ids: tuple[str, ...], where: Filter, everything: bool, dry_run: bool, yes: bool
) -> None:
    """Erase memories on purpose: by ID, all that the options select, or everything.

    Texts, vectors and links are overwritten in the file, and the same memory is not stored when it is remembered again.
    There is no undo, so an id that you gave must be complete; an id made by Ecphora may be abbreviated.
    """
    has_filter = where != Filter()
    if sum((bool(ids), has_filter, everything)) != 1:
        raise click.UsageError("say what to forget: by ID, by options such as --session, or --everything; one of these")
    with context.open_memory() as memory:
        ids = tuple(lookup.resolve_id(id_, memory.graph(), allow_names=False) for id_ in ids)
        forgotten_ids: Sequence[str] = ids
        notices: list[str] = []
        if not ids:
            selected = memory.forget(where=where if has_filter else None, everything=everything, dry_run=True)
            forgotten_ids = selected.episode_ids
            notices = list(selected.notices)
            context.note_all(notices)
            if forgotten_ids and not yes and not dry_run:
                _confirm(context, memory, forgotten_ids)
        result = memory.forget(() if everything else forgotten_ids, everything=everything, dry_run=dry_run)
    missing = [id_ for id_ in ids if id_ not in set(result.episode_ids)]
    if context.as_json:
        context.write_json({**result.to_dict(), "notices": notices, "missing_ids": missing})
    else:
        verb = "would erase" if dry_run else "erased"
        memories = count_noun(len(result.episode_ids), "memory", "memories")
        names = count_noun(len(result.entity_ids), "name", "names")
        mentions = "it" if len(result.episode_ids) == 1 else "they"
        context.print_line(f"{verb} {memories} and {names} that only {mentions} mentioned")
        if result.exchange_ids:
            count = count_noun(len(result.exchange_ids), "exchange", "exchanges")
            context.print_line(f"{verb} {count} with a response that may repeat {'it' if mentions == 'it' else 'them'}")
        for id_ in (*result.episode_ids, *result.entity_ids, *result.exchange_ids)[:50]:
            context.print_line(f"  {id_}")
    if missing:
        context.note(f"unknown: {', '.join(missing)}")
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _confirm(context: CommandContext, memory: Memory, ids: Sequence[str]) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"this would erase {count_noun(len(ids), 'memory', 'memories')}; add --yes to confirm")
    for node in filter(None, map(memory.get, ids[:5])):
        context.note(f"  {quote_node(node, 71)}")
    these = "this memory" if len(ids) == 1 else f"these {len(ids):,} memories"
    click.confirm(f"Erase {these} for good?", abort=True, err=True)


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
        full_id = lookup.resolve_id(id_, memory.graph(), allow_names=mode == "supersede")
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
        context.write_json(result)
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


@click.command(epilog="Exits with 3 when the id is unknown.")
@click.argument("id_", metavar="ID")
@common_options
def history(context: CommandContext, *, id_: str) -> None:
    """Show a memory's history: the memories that it superseded or that superseded it, and its accesses."""
    with context.open_memory() as memory:
        found = memory.history(lookup.resolve_id(id_, memory.graph()))
    if found is None:
        if context.as_json:
            context.write_json(None)
        context.note(f"there is no memory {id_!r}")
        click.get_current_context().exit(EXIT_NOT_FOUND)
    if context.as_json:
        context.write_json(found)
        return
    render.print_history(context.out, found)
