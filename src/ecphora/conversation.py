"""Being answered at a terminal: one question, or a conversation that remembers. What to answer is not decided here."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import click
from rich.text import Text

from . import answer as answering
from . import short_ids, terminal
from .answer import Answer
from .desk import MISSING, Desk, asks, by_strategy, shared
from .errors import InvalidInput, InvalidText
from .guest import Guest
from .language.statements import asks as is_question
from .memory import Memory
from .model import Filter, NodeId, Recollection
from .ports import Prompt
from .visible import line

ASSISTANT = "assistant"
"""Who has said the replies that are remembered."""
RECENT = 6
"""Turns of the conversation that a model is shown as they stand."""
NOTED = "Noted."
"""The reply to a statement where there is no language model."""
HELP = """/why          the memories behind the last reply, and why they came back
/forget ID    erase a memory for good
/quit         end; so do Ctrl-D and Ctrl-C"""

_by_llm: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--llm",
    metavar="NAME",
    help="openai:MODEL or llamacpp:PATH; with none, the best memory is quoted and nothing is sent.  [env ECPHORA_LLM]",
)


# ---- one question


@click.command(epilog="Exits with 3 when the memory does not hold the answer.")
@asks
@_by_llm
@click.option("--show-prompt", is_flag=True, help="Print what a language model would be sent, and send nothing.")
@shared
def ask(
    desk: Desk,
    *,
    question: str,
    limit: int,
    tokens: int | None,
    where: Filter,
    llm: str | None,
    show_prompt: bool,
    **given: Any,
) -> None:
    """Answer a question from what is remembered, and cite it.

    The memories that fit into --tokens are shown to a language model; without one, the best memory is quoted.
    """
    guest = None if show_prompt else _guest(desk, llm)
    with desk.memory(embeds=True) as memory:
        found = memory.recall(
            question, limit=limit, budget=tokens, where=where, explain=False, touch=not show_prompt, **given
        )
        budget = tokens or answering.BUDGET
        if show_prompt:
            held = _show(desk, answering.asked(found, budget))
        else:
            answer = answering.answer(found, guest, budget=budget)
            _tell(desk, found, answer, guest, short_ids.abbreviate(answer.ids, memory.graph()))
            held = answer.held
    if not held:
        click.get_current_context().exit(MISSING)


def _guest(desk: Desk, llm: str | None) -> Guest | None:
    made = desk.settings.over(llm=llm).make_llm()
    return None if made is None else Guest(made)


def _show(desk: Desk, prompt: Prompt | None) -> bool:
    """Print a prompt; whether there is one."""
    if desk.as_json:
        desk.json(None if prompt is None else asdict(prompt))
    elif prompt is None:
        desk.say("nothing would be sent: the memory has no evidence, or none that fits")
    else:
        desk.out.print(Text(terminal.safe(f"{prompt.system}\n----\n{prompt.user}")), soft_wrap=True)
    return prompt is not None


def _tell(desk: Desk, found: Recollection, answer: Answer, guest: Guest | None, ids: Mapping[NodeId, str]) -> None:
    if desk.as_json:
        desk.json({"question": found.cue.text, **_plain(found, answer, guest)})
        return
    console = desk.out
    console.print(Text(terminal.safe(answer.text)))
    for hit in found:
        if hit.id in answer.ids:
            id_ = line(ids[hit.id])
            console.print(Text.assemble((f"  {id_}  ", "bright_black"), terminal.told(hit.node)))
    _excuse(desk, answer, guest)


def _plain(found: Recollection, answer: Answer, guest: Guest | None) -> dict[str, Any]:
    """An answer as JSON values."""
    return {
        "answer": answer.text,
        "held": answer.held,
        "ids": list(answer.ids),
        "degraded": answer.degraded,
        "trouble": answer.trouble,
        "evidence": answer.evidence.value,
        "confidence": round(found.confidence, 4),
        "llm": None if guest is None else guest.name,
        "spent": asdict(answer.spent),
        "memories": [hit.node.to_dict() for hit in found if hit.id in answer.ids],
    }


def _excuse(desk: Desk, answer: Answer, guest: Guest | None) -> None:
    """Say why an answer is only a quotation, where it is one, and how to get another."""
    if guest is None:
        desk.remark("no language model is set, so this only quotes; name one with --llm or ECPHORA_LLM")
    elif answer.degraded or answer.trouble:
        desk.remark(f"the language model failed, so this only quotes: {answer.trouble}")
    elif answer.held and not answer.ids and answer.prompt is not None:
        desk.remark("the language model cites no memory for this; trust it less")


# ---- a conversation


@dataclass
class Talk:
    """A conversation under way: what was said last, and what came back for it."""

    desk: Desk
    memory: Memory
    guest: Guest | None
    speaker: str
    session: str | None
    limit: int
    budget: int
    turns: list[tuple[str, str]] = field(default_factory=list)
    found: Recollection | None = None
    answer: Answer | None = None

    def take(self, line: str) -> bool:
        """Take a line of the person; whether the conversation goes on."""
        name, _, rest = line.partition(" ")
        commands: Mapping[str, Callable[[str], None]] = {
            "/why": self._why,
            "/forget": self._forget,
            "/help": self._help,
        }
        if name in {"/quit", "/exit"}:
            return False
        try:
            if name in commands:
                commands[name](rest.strip())
            elif name.startswith("/"):
                self._say(f"There is no command {name}.\n{HELP}", error=name)
            else:
                self._turn(line)
        except InvalidInput as error:
            self._say(f"That cannot be remembered: {error}", error=str(error))
        return True

    def _turn(self, said: str) -> None:
        """Recall, remember what was said, reply, and remember what a model replied: a quotation is there already."""
        found = self.memory.recall(said, limit=self.limit)
        self.session = self.session or f"chat-{found.cue.now:%Y%m%dT%H%M%S}"
        done = self.memory.remember(said, speaker=self.speaker, session=self.session)
        if self.guest is None and not is_question(said):
            answer = Answer(NOTED, (), held=True, evidence=found.evidence, degraded=True)
        else:
            answer = answering.reply(found, self.guest, turns=self.turns[-RECENT:], budget=self.budget)
        if self.guest is not None and not answer.degraded:
            self.memory.remember(answer.text, speaker=ASSISTANT, session=self.session, source=self.guest.name)
        self.found, self.answer = found, answer
        self.turns += [(self.speaker, said), (ASSISTANT, answer.text)]
        self._reply(found, answer)
        if done.refused:
            self.desk.remark("not remembered: this was forgotten on purpose before")

    def _reply(self, found: Recollection, answer: Answer) -> None:
        if self.desk.as_json:
            self.desk.json({"session": self.session, **_plain(found, answer, self.guest)})
            return
        console = self.desk.out
        console.print(Text(terminal.safe(answer.text)))
        if answer.ids:
            ids = short_ids.abbreviate(answer.ids, self.memory.graph())
            console.print(Text(line(f"  from {', '.join(ids.values())}"), style="bright_black"))
        if self.guest is not None:
            _excuse(self.desk, answer, self.guest)

    def _why(self, _rest: str) -> None:
        if self.found is None or self.answer is None:
            self._say("Nothing was said yet.", error="nothing was said yet")
        elif self.desk.as_json:
            self.desk.json({**self.found.to_dict(), "used": list(self.answer.ids)})
        else:
            console = self.desk.out
            console.print(terminal.heading(self.found, self.found.cue.text))
            ids = short_ids.abbreviate((hit.id for hit in self.found), self.memory.graph())
            naming = terminal.naming(self.memory)
            terminal.recollection(console, self.found, naming=naming, ids=ids, gold=self.answer.ids)
            if not self.found.hits:
                console.print("  nothing came back", style="bright_black")

    def _forget(self, id_: str) -> None:
        if not id_:
            self._say("Say which: /forget ID. The ids stand below a reply, and in /why.", error="no id")
            return
        id_ = short_ids.complete(id_, self.memory.graph(), names=False)
        erased = self.memory.forget(id_)
        if self.desk.as_json:
            self.desk.json({"episodes": list(erased.episodes), "names": list(erased.entities)})
        else:
            self.desk.say(f"Erased: {id_}" if erased else f"There is no memory {id_}.")

    def _help(self, _rest: str) -> None:
        self._say(HELP, error="")

    def _say(self, text: str, *, error: str) -> None:
        if self.desk.as_json:
            self.desk.json({"error": error} if error else {"help": text})
        else:
            self.desk.out.print(Text(terminal.safe(text)), soft_wrap=True)


@click.command(epilog="While it runs: /why, /forget ID, /help, /quit.")
@_by_llm
@click.option("--speaker", metavar="NAME", default="user", show_default=True, help="Who you are.")
@click.option("--session", metavar="NAME", help="What this conversation is called.  [default: by its time]")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Memories to bring back.")
@click.option("--tokens", type=click.IntRange(min=1), default=answering.BUDGET, show_default=True, help="Their tokens.")
@by_strategy
@shared
def chat(desk: Desk, *, llm: str | None, speaker: str, session: str | None, limit: int, tokens: int) -> None:
    """Talk with somebody who remembers: line by line, at a terminal or from a pipe.

    What you say is remembered, and so is what a language model replies. Without one, questions are answered by quoting.
    """
    guest = _guest(desk, llm)
    with desk.memory(new=True, embeds=True) as memory:
        talk = Talk(desk, memory, guest, speaker, session, limit, tokens)
        held = f"{len(memory):,} memories in scope {memory.scope!r}"
        by = "quoting: no language model is set (--llm or ECPHORA_LLM)" if guest is None else guest.name
        desk.remark(f"{held}; {by}; /help for more")
        for line in _said():
            if line.strip() and not talk.take(line.strip()):
                break


def _said() -> Iterator[str]:
    """The lines of the person, until there are no more."""
    if sys.stdin.isatty():
        while True:
            try:
                yield input("> ")
            except EOFError:
                click.echo()
                return
    for number, typed in enumerate(sys.stdin.buffer, 1):
        try:
            yield typed.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidText(f"line {number} of stdin is not UTF-8; convert it first, e.g. with iconv") from error
