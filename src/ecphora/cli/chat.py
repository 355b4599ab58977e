"""The commands ``ask`` and ``chat``: one question, or a conversation. See :mod:`ecphora.recall.answering`."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import click
from rich.text import Text

from ..errors import InvalidInput, InvalidText
from ..language.chat_roles import Role
from ..language.question import is_question
from ..memory import Memory
from ..model.ports import Prompt
from ..model.text_format import count_noun, single_line
from ..model.types import Filter, Include, NodeId
from ..model.validation import RECALL_LIMIT
from ..models.llm_client import LLMClient
from ..recall import answering, short_ids
from ..recall.answering import Answer
from ..recall.recollection import DEFAULT_BUDGET, Recollection
from . import render
from .context import EXIT_NOT_FOUND, EXIT_UNSURE, CommandContext, common_options, evidence_option, strategy_options
from .options import include_option, question_options

ASSISTANT = Role.ASSISTANT.value
"""The speaker of replies."""
RECENT_TURNS = 6
"""The latest turns of the conversation that a model is shown verbatim."""
ACKNOWLEDGMENT = "Noted."
"""The reply to a statement when there is no language model."""
CHAT_HELP = """/why          the memories behind the last reply, and why they came back
/forget ID    erase a memory for good
/quit         end; so do Ctrl-D and Ctrl-C"""

_llm_option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--llm",
    metavar="NAME",
    help="openai:MODEL or llamacpp:PATH; with none, the best memory is quoted and nothing is sent.  [env ECPHORA_LLM]",
)


# ---- one question


@click.command(
    epilog="Exits with 3 when the memory does not hold the answer, with 4 when it quotes one that may not answer."
)
@question_options
@include_option
@evidence_option
@_llm_option
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
    **recall_options: Any,
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
            explain=False,
            log_access=not show_prompt,
            **recall_options,
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


def _record(
    memory: Memory,
    recollection: Recollection,
    answer: Answer,
    llm_client: LLMClient | None,
    *,
    session: str | None = None,
    context_ids: Sequence[NodeId] = (),
) -> Answer:
    """Store the answer of a language model as an exchange; return it with the exchange's id."""
    if llm_client is None or not answer.is_recordable:
        return answer
    exchange = memory.record_response(
        recollection,
        answer.text,
        used_ids=answer.cited_ids,
        context_ids=context_ids,
        source=llm_client.name,
        session=session,
    )
    return replace(answer, exchange_id=exchange)


def _make_llm_client(context: CommandContext, llm: str | None) -> LLMClient | None:
    language_model = context.settings.with_overrides(llm=llm).make_llm()
    return None if language_model is None else LLMClient(language_model)


def _print_prompt(context: CommandContext, prompt: Prompt | None) -> bool:
    """Print a prompt; return whether there is one."""
    if context.as_json:
        context.write_json(None if prompt is None else asdict(prompt))
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
        context.write_json(
            {"question": recollection.query.text, **render.answer_to_dict(recollection, answer, llm_client)}
        )
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


# ---- a conversation


@dataclass
class ChatSession:
    """A running conversation: its turns, what these rest on, and the latest recollection and answer."""

    context: CommandContext
    memory: Memory
    llm_client: LLMClient | None
    speaker: str
    session: str | None
    limit: int
    budget: int
    turns: list[tuple[str, str]] = field(default_factory=list)
    turn_ids: list[Sequence[NodeId]] = field(default_factory=list)
    """The memories and exchanges behind each pair of turns: a later reply may repeat them."""
    recollection: Recollection | None = None
    answer: Answer | None = None

    def handle_line(self, line: str) -> bool:
        """Handle a line of input; return whether the conversation goes on."""
        name, _, rest = line.partition(" ")
        commands: Mapping[str, Callable[[str], None]] = {
            "/why": self._print_why,
            "/forget": self._forget,
            "/help": self._print_help,
        }
        if name in {"/quit", "/exit"}:
            return False
        try:
            if name in commands:
                commands[name](rest.strip())
            elif name.startswith("/"):
                self._print_message(f"There is no command {name}.\n{CHAT_HELP}", error=name)
            else:
                self._handle_turn(line)
        except InvalidInput as error:
            self._print_message(f"That cannot be remembered: {error}", error=str(error))
        return True

    def _handle_turn(self, text: str) -> None:
        """Recall, remember the text, reply, and record a model's reply as an exchange."""
        found = self.memory.recall(text, limit=self.limit, include=Include.EXCHANGES)
        self.session = self.session or f"chat-{found.query.now:%Y%m%dT%H%M%S}"
        result = self.memory.remember(text, speaker=self.speaker, session=self.session)
        if self.llm_client is None and not is_question(text):
            answer = Answer(ACKNOWLEDGMENT, (), is_answered=True, evidence=found.evidence, is_extractive=True)
        else:
            answer = answering.reply(found, self.llm_client, turns=self.turns[-RECENT_TURNS:], budget=self.budget)
        if not result.blocked:
            shown = [*result.ids, *(id_ for ids in self.turn_ids[-RECENT_TURNS // 2 :] for id_ in ids)]
            answer = _record(self.memory, found, answer, self.llm_client, session=self.session, context_ids=shown)
            behind = [hit.id for hit in found] if answer.exchange_id is None else [answer.exchange_id]
            self.turns += [(self.speaker, text), (ASSISTANT, answer.text)]
            self.turn_ids.append([*result.ids, *behind])
        self.recollection, self.answer = found, answer
        self._print_reply(found, answer)
        if result.blocked:  # so no later reply may repeat it
            self.context.note("not remembered: this was forgotten on purpose before")

    def _print_reply(self, recollection: Recollection, answer: Answer) -> None:
        if self.context.as_json:
            self.context.write_json(
                {"session": self.session, **render.answer_to_dict(recollection, answer, self.llm_client)}
            )
            return
        console = self.context.out
        console.print(Text(render.sanitize(answer.text)))
        if answer.cited_ids:
            ids = short_ids.abbreviate(answer.cited_ids, self.memory.graph())
            console.print(Text(single_line(f"  from {', '.join(ids.values())}"), style="bright_black"))
        if self.llm_client is not None:
            _note_caveats(self.context, answer, self.llm_client)

    def _print_why(self, _rest: str) -> None:
        if self.recollection is None or self.answer is None:
            self._print_message("Nothing was said yet.", error="nothing was said yet")
        elif self.context.as_json:
            self.context.write_json({**self.recollection.to_dict(), "cited_ids": list(self.answer.cited_ids)})
        else:
            console = self.context.out
            console.print(render.recollection_heading(self.recollection, self.recollection.query.text))
            ids = short_ids.abbreviate((hit.id for hit in self.recollection), self.memory.graph())
            label_node = render.node_labeler(self.memory)
            render.print_recollection(
                console, self.recollection, label_node=label_node, ids=ids, gold=self.answer.cited_ids
            )
            if not self.recollection.hits:
                console.print("  nothing came back", style="bright_black")

    def _forget(self, id_: str) -> None:
        if not id_:
            self._print_message("Say which: /forget ID. The ids stand below a reply, and in /why.", error="no id")
            return
        id_ = short_ids.resolve_id(id_, self.memory.graph(), allow_names=False)
        erased = self.memory.forget(id_)
        if erased:  # what was said since may repeat it
            self.turns.clear()
            self.turn_ids.clear()
        if self.context.as_json:
            self.context.write_json(erased.to_dict())
        else:
            self.context.print_line(f"Erased: {id_}" if erased else f"There is no memory {id_}.")

    def _print_help(self, _rest: str) -> None:
        self._print_message(CHAT_HELP, error="")

    def _print_message(self, text: str, *, error: str) -> None:
        if self.context.as_json:
            self.context.write_json({"error": error} if error else {"help": text})
        else:
            self.context.out.print(Text(render.sanitize(text)), soft_wrap=True)


@click.command(epilog="While it runs: /why, /forget ID, /help, /quit.")
@_llm_option
@click.option("--speaker", metavar="NAME", default="user", show_default=True, help="Who you are.")
@click.option("--session", metavar="NAME", help="The name of this conversation.  [default: its time]")
@click.option(
    "--limit", type=click.IntRange(min=1), default=RECALL_LIMIT, show_default=True, help="Memories to recall."
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=DEFAULT_BUDGET,
    show_default=True,
    help="Tokens of the memories.",
)
@evidence_option
@strategy_options
@common_options
def chat(
    context: CommandContext, *, llm: str | None, speaker: str, session: str | None, limit: int, budget: int
) -> None:
    """Talk with the memory: line by line, at a terminal or from a pipe.

    What you say is remembered. What a language model replies is stored as an exchange, which is shown to it again but
    is no evidence. Without a language model, questions are answered by quoting.
    """
    llm_client = _make_llm_client(context, llm)
    with context.open_memory(create=True, needs_embedder=True) as memory:
        conversation = ChatSession(context, memory, llm_client, speaker, session, limit, budget)
        size = f"{count_noun(len(memory), 'memory', 'memories')} in scope {memory.scope!r}"
        reply_source = (
            "quoting: no language model is set (--llm or ECPHORA_LLM)" if llm_client is None else llm_client.name
        )
        context.note(f"{size}; {reply_source}; /help for more")
        for line in _read_lines():
            if line.strip() and not conversation.handle_line(line.strip()):
                break


def _read_lines() -> Iterator[str]:
    """Yield the lines of input until it ends."""
    if sys.stdin.isatty():
        while True:
            try:
                yield input("> ")
            except EOFError:
                click.echo()
                return
    for number, raw_line in enumerate(sys.stdin.buffer, 1):
        try:
            yield raw_line.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidText(f"line {number} of stdin is not UTF-8; convert it first, e.g. with iconv") from error
