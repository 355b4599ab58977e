"""The command ``ask``: an answer to one question. See :mod:`ecphora.recall.answering`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click
from rich.text import Text

from ..memory import Memory
from ..model.ports import Prompt
from ..model.text_format import single_line
from ..model.types import Filter, NodeId, RecallOptions
from ..models.llm_client import LLMClient
from ..recall import answering, short_ids
from ..recall.answering import Answer
from ..recall.recollection import DEFAULT_BUDGET, Recollection
from . import render
from .context import EXIT_NOT_FOUND, EXIT_UNSURE, CommandContext, common_options, evidence_option
from .options import include_option, question_options


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
            _print_answer(context, found, answer, llm_client, short_ids.abbreviate(answer.cited_ids, memory.graph()))
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
