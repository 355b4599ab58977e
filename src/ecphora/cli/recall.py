"""The commands that ask (``recall``, ``why-not``, ``ask``) and look memories up (``find``, ``get``, ``count``)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from ..memory import Memory
from ..model.ports import Prompt
from ..model.text_format import collapse_whitespace, short_minute, single_line
from ..model.types import Cost, Evidence, Filter, Node, NodeId, RecallOptions
from ..model.validation import LIST_LIMIT
from ..models.llm_client import LLMClient
from ..recall import answering, lookup
from ..recall.answering import Answer
from ..recall.explain import MissReason
from ..recall.lookup import Order
from ..recall.recollection import DEFAULT_BUDGET, Recollection
from . import render
from .context import EXIT_NOT_FOUND, EXIT_UNSURE, CommandContext, common_options, evidence_option
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
            context.warn(problem)
        if context.as_json:
            recorded = {} if record_response is None else {"exchange_id": exchange}
            context.write_json({**found.to_dict(), **recorded})
        else:
            console = context.out
            console.print(render.recollection_heading(found, question))
            ids = lookup.abbreviate((hit.id for hit in found), memory.graph())
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
        id_ = lookup.resolve_id(id_, memory.graph())
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
    ids = lookup.abbreviate((node.id for node in nodes), memory.graph())
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="bright_black", expand=True)
    grid.add_column("id", style="bright_black", overflow="fold", min_width=lookup.DISPLAY_CHARS)
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
        found = {id_: memory.get(lookup.resolve_id(id_, memory.graph())) for id_ in dict.fromkeys(ids)}
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


@click.command(
    epilog="Exits with 3 when the memory does not hold the answer, with 4 when the quoted memory may not answer."
)
@question_options
@include_option
@evidence_option
@click.option(
    "--llm",
    metavar="NAME",
    help="openai:MODEL or llamacpp:PATH; with none, the best memory is quoted and nothing is sent.  [env ECPHORA_LLM]",
)
@click.option("--record", is_flag=True, help="Store the answer of the language model with the question.")
@click.option("--show-prompt", is_flag=True, help="Print what a language model would be sent, and send nothing.")
@common_options
def ask(
    context: CommandContext,
    *,
    question: str,
    limit: int,
    budget: int | None,
    where: Filter,
    llm: str | None,
    record: bool,
    show_prompt: bool,
    options: RecallOptions,
    **recall_arguments: Any,
) -> None:
    """Answer a question from the memories, and cite them.

    The memories that fit into --budget are shown to a language model; without one, the best memory is quoted:
    as it is on strong evidence, after "Perhaps" on weak evidence.
    """
    llm_client = None if show_prompt else _make_llm_client(context, llm)
    with context.open_memory(needs_embedder=True) as memory:
        found = memory.recall(
            question,
            limit=limit,
            budget=budget,
            where=where,
            options=replace(options, explain=False, log_access=not show_prompt),
            **recall_arguments,
        )
        budget = budget or DEFAULT_BUDGET
        if show_prompt:
            exit_code = 0 if _print_prompt(context, answering.build_prompt(found, budget)) else EXIT_NOT_FOUND
        else:
            answer = answering.answer(found, llm_client, budget=budget)
            if record:
                answer = _record(memory, found, answer, llm_client)
            _print_answer(context, found, answer, llm_client, lookup.abbreviate(answer.cited_ids, memory.graph()))
            exit_code = 0 if answer.is_certain else EXIT_UNSURE if answer.is_answered else EXIT_NOT_FOUND
    click.get_current_context().exit(exit_code)


def _record(memory: Memory, recollection: Recollection, answer: Answer, llm_client: LLMClient | None) -> Answer:
    """Store the answer of a language model as an exchange; return it with the exchange's id."""
    if llm_client is None or not answer.is_recordable:
        return answer
    exchange = memory.record_response(recollection, answer.text, used_ids=answer.cited_ids, source=llm_client.name)
    return replace(answer, exchange_id=exchange)


def _make_llm_client(context: CommandContext, llm: str | None) -> LLMClient | None:
    language_model = context.settings.with_overrides(llm=llm).make_llm()
    return None if language_model is None else LLMClient(language_model)


def _print_prompt(context: CommandContext, prompt: Prompt | None) -> bool:
    """Print a prompt; return whether there is one."""
    if context.as_json:
        context.write_json(prompt)
    elif prompt is None:
        context.print_line("nothing would be sent: the memory has no evidence, or none that fits")
    else:
        context.out.print(Text(render.sanitize(f"{prompt.system}\n----\n{prompt.user}")), soft_wrap=True)
    return prompt is not None


def _print_answer(
    context: CommandContext,
    recollection: Recollection,
    answer: Answer,
    llm_client: LLMClient | None,
    short_id_by_id: Mapping[NodeId, str],
) -> None:
    if context.as_json:
        memories = [hit.node for hit in recollection if hit.id in answer.cited_ids]
        context.write_json({"question": recollection.query.text, **answer.to_dict(), "memories": memories})
        return
    console = context.out
    console.print(Text(render.sanitize(answer.text)))
    for hit in recollection:
        if hit.id in answer.cited_ids:
            id_ = single_line(short_id_by_id[hit.id])
            console.print(Text.assemble((f"  {id_}  ", "bright_black"), render.node_line(hit.node)))
    console.print(Text.assemble("  ", render.band_label(recollection)))
    context.note_all(answer.notices)
    _note_caveats(context, answer, llm_client)


def _note_caveats(context: CommandContext, answer: Answer, llm_client: LLMClient | None) -> None:
    """Note why an answer is only a quotation, or cites no memory."""
    if llm_client is None:
        context.note("no language model is set, so this only quotes; name one with --llm or ECPHORA_LLM")
    elif answer.is_extractive or answer.error:
        context.note(f"the language model failed, so this only quotes: {answer.error}")
    elif answer.is_answered and not answer.cited_ids and answer.prompt is not None:
        context.note("the language model cites no memory for this; trust it less")
