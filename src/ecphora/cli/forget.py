"""The command ``forget``: erases memories by id or by filter."""

import sys
from collections.abc import Sequence

import click

from .. import short_ids
from ..memory import Memory
from ..model import Filter
from ..text_format import count_noun
from .context import EXIT_NOT_FOUND, CommandContext, common_options
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
        ids = tuple(short_ids.resolve_id(id_, memory.graph(), allow_names=False) for id_ in ids)
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
