"""The commands ``recall`` and ``why-not``: what comes back for a question, and why something does not."""

from collections.abc import Iterator
from typing import Any

import click

from .. import short_ids
from ..explain import MissReason
from ..invisible_chars import single_line
from ..model import Cost, Evidence, Filter
from . import render
from .context import EXIT_NOT_FOUND, CommandContext, common_options, evidence_option
from .options import include_option, question_options


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
    **recall_options: Any,
) -> None:
    """Recall the memories that belong to a question, with confidence and reasons."""
    with context.open_memory(needs_embedder=True) as memory:
        found = memory.recall(
            question,
            limit=limit,
            budget=budget,
            where=where,
            explain=explain is not False,
            log_access=not no_log_access,
            **recall_options,
        )
        exchange = None if record_response is None else memory.record_response(found, record_response)
        for problem in _reading_problems(found.cost):
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
            render.print_inclusions(console, found)
            if record_response is not None:
                context.note(f"recorded as {exchange}" if exchange else "not recorded: this was forgotten before")
    if found.evidence == Evidence.NONE:
        click.get_current_context().exit(EXIT_NOT_FOUND)


def _reading_problems(cost: Cost) -> Iterator[str]:
    """What the reader failed at, and what a deadline left unread, in words."""
    if cost.reader_error is not None:
        what = "another reader stood in" if cost.passages_read else "recalled without the reader"
        yield f"{what}: {single_line(cost.reader_error)}"
    elif cost.passages_unread:
        candidates = cost.passages_read + cost.passages_unread
        yield f"the deadline left {cost.passages_unread} of {candidates} candidates unread"


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
    **recall_options: Any,
) -> None:
    """Say why the memory ID does not come back for a question, and what would bring it back.

    Give the options of the recall that missed it. The access log is not written.
    """
    with context.open_memory(needs_embedder=True) as memory:
        id_ = short_ids.resolve_id(id_, memory.graph())
        found = memory.why_not(question, id_, limit=limit, budget=budget, where=where, **recall_options)
    if context.as_json:
        context.write_json(found.to_dict())
    else:
        render.print_why_not(context.out, found, explain=explain)
    if found.miss_reason == MissReason.NOT_FOUND:
        click.get_current_context().exit(EXIT_NOT_FOUND)
