"""The commands that show memories: ``recall``, ``why-not``, and ``find``, ``count`` and ``get`` without a question."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from ..memory import Memory
from ..model.text_format import collapse_whitespace, short_minute, single_line
from ..model.types import Cost, Evidence, Filter, Node, RecallOptions
from ..model.validation import LIST_LIMIT
from ..recall import short_ids
from ..recall.explain import MissReason
from ..recall.lookup import Order
from . import render
from .context import EXIT_NOT_FOUND, CommandContext, common_options, evidence_option
from .options import filter_options, include_option, question_options


@click.command(epilog="Exits with 3 when the evidence is none: the hits, if any, hold no answer.")
@question_options
@evidence_option
@include_option
@click.option("--record-response", metavar="TEXT", help="Store TEXT as the response that was given to the question.")
@click.option("--explain/--no-explain", default=None, help="Show the parts of each score too / show no reasons.")
@click.option("--no-log-access", is_flag=True, help="Do not write to the access log.")
@common_options
def recall(
    context: CommandContext,
    *,
    question: str,
    limit: int,
    budget: int | None,
    where: Filter,
    record_response: str | None,
    explain: bool | None,
    no_log_access: bool,
    options: RecallOptions,
    **recall_arguments: Any,
) -> None:
    """Recall the memories that belong to a question, with confidence and reasons."""
    with context.open_memory(needs_embedder=True) as memory:
        found = memory.recall(
            question,
            limit=limit,
            budget=budget,
            where=where,
            options=replace(options, explain=explain is not False, log_access=not no_log_access),
            **recall_arguments,
        )
        exchange = None if record_response is None else memory.record_response(found, record_response)
        for problem in _rerank_problems(found.cost):
            click.echo(problem, err=True)
        if context.as_json:
            recorded = {} if record_response is None else {"exchange_id": exchange}
            context.write_json({**found.to_dict(), **recorded})
        else:
            console = context.out
            console.print(render.recollection_heading(found, question))
            ids = short_ids.abbreviate((hit.id for hit in found), memory.graph())
            render.print_recollection(console, found, explain=explain, label_node=render.node_labeler(memory), ids=ids)
            if not found.hits:
                console.print("  nothing came back", style="bright_black")
            context.note_all(found.notices)
            render.print_extras(console, found)
            if record_response is not None:
                context.note(f"recorded as {exchange}" if exchange else "not recorded: this was forgotten before")
    if found.evidence == Evidence.NONE:
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _rerank_problems(cost: Cost) -> Iterator[str]:
    """What the reranker failed at, and what a deadline left unread, in words."""
    if cost.reranker_error is not None:
        what = "another reranker stood in" if cost.passages_reranked else "recalled without the reranker"
        yield f"{what}: {single_line(cost.reranker_error)}"
    elif cost.passages_left:
        candidates = cost.passages_reranked + cost.passages_left
        yield f"the deadline left {cost.passages_left} of {candidates} candidates unread"


@click.command("why-not", epilog="Exits with 3 when the id is unknown.")
@question_options
@click.argument("id_", metavar="ID")
@click.option("--explain", is_flag=True, help="Show the largest parts of the shortfall too.")
@common_options
def why_not(
    context: CommandContext,
    *,
    question: str,
    id_: str,
    limit: int,
    budget: int | None,
    where: Filter,
    explain: bool,
    **recall_arguments: Any,
) -> None:
    """Say why the memory ID does not come back for a question, and what would bring it back.

    Give the options of the recall that missed it. The access log is not written.
    """
    with context.open_memory(needs_embedder=True) as memory:
        id_ = short_ids.resolve_id(id_, memory.graph())
        found = memory.why_not(question, id_, limit=limit, budget=budget, where=where, **recall_arguments)
    if context.as_json:
        context.write_json(found)
    else:
        render.print_why_not(context.out, found, explain=explain)
    if found.miss_reason == MissReason.NOT_FOUND:
        click.get_current_context().exit(EXIT_NOT_FOUND)


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
            context.write_json(page)
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
        context.write_json({"memories": nodes, "missing_ids": missing})
    else:
        for place, node in enumerate(nodes):
            if place:
                context.out.print()
            render.print_node(context.out, node)
    if missing:
        context.note(f"unknown: {', '.join(missing)}")
        click.get_current_context().exit(EXIT_NOT_FOUND)
