"""The demo: a group chat is remembered, then asked hard questions whose answers are known. Misses are shown as misses.

``conversation.jsonl`` and ``questions.json`` beside this file were written for it; nobody in them exists.
"""

import json
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from .. import terminal
from ..desk import Desk
from ..errors import InvalidInput
from ..memory import Memory
from ..model import Episode, Evidence, NodeId, Recollection
from ..short_ids import abbreviate

LIMIT = 5
"""Memories brought back for a question."""
SHOWN = 3
"""Of those, how many are drawn whether or not they answer."""
BATCH = 16
"""Messages remembered at once, so that the bar moves."""
LINES = 3
"""Lines of a message that are shown."""
KINDS = {
    "direct": "one message tells it",
    "together": "several messages tell it together",
    "when": "the date must be worked out",
    "now": "it changed; how is it now?",
    "then": "it changed; how was it then?",
    "who": "two have the same name",
    "unanswerable": "the chat does not say",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the messages that hold its whole answer: none if the chat does not say."""

    question: str
    kind: str
    as_of: str | None
    evidence: tuple[NodeId, ...]
    answer: str
    note: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what came back."""

    question: Question
    found: Recollection

    @property
    def missed(self) -> tuple[NodeId, ...]:
        """The evidence that did not come back."""
        back = {hit.id for hit in self.found}
        return tuple(id_ for id_ in self.question.evidence if id_ not in back)


def conversation() -> list[Episode]:
    """The messages of the chat, oldest first."""
    text = (files(__package__) / "conversation.jsonl").read_text(encoding="utf-8")
    return [Episode(**json.loads(line)) for line in text.splitlines()]


def questions() -> list[Question]:
    """The questions, in the order in which they are asked."""
    text = (files(__package__) / "questions.json").read_text(encoding="utf-8")
    return [Question(**{**entry, "evidence": tuple(entry["evidence"])}) for entry in json.loads(text)]


def run(desk: Desk, path: Path | None = None, *, keep: bool = False) -> None:
    """Remember the chat in a new file, ask the questions, and draw what comes back."""
    with _place(path, keep=keep) as file, Memory(file, embedder=desk.settings.make_embedder()) as memory:
        kept = path is not None or keep
        chat = conversation()
        started = perf_counter()
        with terminal.progress(desk.err, "remembering the chat", shown=desk.watched) as told:
            for start in range(0, len(chat), BATCH):
                memory.remember(chat[start : start + BATCH])
                if told is not None:
                    told(min(start + BATCH, len(chat)), len(chat))
        seconds = perf_counter() - started
        console = desk.out
        if not desk.as_json:
            _introduce(console, chat, seconds)
        asked = []
        for number, question in enumerate(questions(), 1):
            found = memory.recall(question.question, limit=LIMIT, as_of=question.as_of, touch=False)
            asked.append(Asked(question, found))
            if not desk.as_json:
                _draw(console, number, asked[-1], memory)
        if desk.as_json:
            desk.json(_plain(asked, seconds, file if kept else None))
        else:
            _conclude(console, asked, file if kept else None)


@contextmanager
def _place(path: Path | None, *, keep: bool) -> Iterator[Path]:
    """A file that is not there yet: the one asked for, or one in a temporary folder."""
    if path is not None:
        if path.exists():
            raise InvalidInput(f"{path} is there already; the demo only makes new files: choose another path")
        yield path
    elif keep:
        yield Path(tempfile.mkdtemp(prefix="ecphora-demo-")) / "demo.db"
    else:
        with tempfile.TemporaryDirectory(prefix="ecphora-demo-", ignore_cleanup_errors=True) as folder:
            yield Path(folder) / "demo.db"


def _introduce(console: Console, chat: Sequence[Episode], seconds: float) -> None:
    people = sorted({one.speaker for one in chat if one.speaker})
    first, last = str(chat[0].happened_at)[:7], str(chat[-1].happened_at)[:7]
    console.print()
    console.print(
        Text.assemble(
            ("Ecphora", "bold magenta"),
            f" remembered {len(chat)} messages between {', '.join(people[:-1])} and {people[-1]}, {first} to {last}, ",
            (f"in {seconds:.1f} s", "bold"),
            ": one file, no server, no key, no language model.",
        )
    )
    console.print(
        Text.assemble(("✓", "bold green"), (" marks a message that belongs to the known answer.", "bright_black"))
    )


def _draw(console: Console, number: int, asked: Asked, memory: Memory) -> None:
    """One question: what came back, what it should have been, and what was missed."""
    question, found = asked.question, asked.found
    then = f", as of {question.as_of}" if question.as_of else ""
    console.print()
    console.print(
        Rule(
            Text(f"{number}  {KINDS.get(question.kind, question.kind)}{then}", "magenta"),
            align="left",
            style="bright_black",
        )
    )
    console.print(terminal.heading(found, question.question))
    ids = abbreviate((hit.id for hit in found), memory.graph())
    terminal.recollection(console, found, ids=ids, gold=question.evidence, lines=LINES, shown=SHOWN)
    for id_ in asked.missed:
        node = memory.get(id_)
        if node is not None:
            line = Text.assemble(("✗ not found  ", "bold red"), terminal.told(node))
            line.truncate(max(20, console.width), overflow="ellipsis")
            console.print(line)
    verdict, colour = _verdict(asked)
    console.print(Text.assemble((f"{verdict}", f"bold {colour}"), ("  answer: ", "bright_black"), question.answer))


def _verdict(asked: Asked) -> tuple[str, str]:
    if not asked.question.evidence:
        return {
            Evidence.NONE: ("rightly unknown", "green"),
            Evidence.WEAK: ("unsure", "yellow"),
            Evidence.STRONG: ("wrongly sure", "red"),
        }[asked.found.evidence]
    if not asked.missed:
        return "found", "green"
    part = len(asked.missed) < len(asked.question.evidence)
    return ("found in part", "yellow") if part else ("missed", "red")


def _conclude(console: Console, asked: Sequence[Asked], kept: Path | None) -> None:
    """The sum, and what to type next."""
    answerable = [one for one in asked if one.question.evidence]
    whole = sum(not one.missed for one in answerable)
    bands = [one.found.evidence.value for one in asked if not one.question.evidence]
    times = sorted(one.found.cost.milliseconds for one in asked)
    console.print()
    console.print(Rule(style="bright_black"))
    console.print(
        Text.assemble(
            (f"{whole} of {len(answerable)}", "bold"),
            f" answerable questions have their whole evidence among the first {LIMIT}; the {len(bands)} that the chat "
            f"does not answer came back with evidence: {', '.join(bands)}; median ",
            (f"{times[len(times) // 2]:.0f} ms", "bold"),
            " a question.",
        )
    )
    console.print()
    if kept is not None:
        name = shlex.quote(str(kept))
        console.print(f"Ask it yourself:   ecphora recall --db {name} --explain 'Who plays bass?'", soft_wrap=True)
    console.print("Now your own:      ecphora remember --db my.db 'I gave the spare key to Jo.'", soft_wrap=True)
    console.print("                   ecphora recall --db my.db 'Who has my key?'", soft_wrap=True)


def _plain(asked: Sequence[Asked], seconds: float, kept: Path | None) -> Mapping[str, Any]:
    return {
        "seconds": round(seconds, 3),
        "file": None if kept is None else str(kept),
        "whole": sum(not one.missed for one in asked if one.question.evidence),
        "answerable": sum(bool(one.question.evidence) for one in asked),
        "questions": [
            {
                "question": one.question.question,
                "kind": one.question.kind,
                "as_of": one.question.as_of,
                "evidence": list(one.question.evidence),
                "missed": list(one.missed),
                "band": one.found.evidence.value,
                "confidence": round(one.found.confidence, 4),
                "milliseconds": round(one.found.cost.milliseconds, 3),
                "hits": [
                    {"id": hit.id, "score": hit.score, "text": hit.text, "reason": hit.reason} for hit in one.found
                ],
            }
            for one in asked
        ],
    }
