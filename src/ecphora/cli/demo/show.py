"""The demo: remembers a group chat, then asks hard questions with known answers. Misses are shown as misses.

``conversation.jsonl`` and ``questions.json`` beside this file were written for it; the people in them are invented.
"""

import json
import shlex
import shutil
import sys
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

from ...errors import InvalidInput
from ...memory import Memory
from ...model.types import Episode, Evidence, NodeId, RecallOptions
from ...recall.lookup import abbreviate
from ...recall.recollection import Recollection
from .. import render
from ..context import CommandContext

HIT_LIMIT = 5
"""Hits recalled for a question."""
MAX_SHOWN_HITS = 3
"""Hits drawn whether or not they are evidence; below them only evidence is drawn."""
BATCH_SIZE = 16
"""Messages remembered at once; small, so that the progress bar moves."""
MAX_TEXT_LINES = 3
"""Lines of a message to show."""
QUESTION_KINDS = {
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
    """A question and the messages that hold its whole answer (``gold``): none if the chat does not say."""

    question: str
    kind: str
    as_of: str | None
    gold: tuple[NodeId, ...]
    answer: str
    note: str


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """A question with its recollection."""

    question: Question
    recollection: Recollection

    @property
    def missed_ids(self) -> tuple[NodeId, ...]:
        """The ids of the evidence that did not come back."""
        back = {hit.id for hit in self.recollection}
        return tuple(id_ for id_ in self.question.gold if id_ not in back)


def load_conversation() -> list[Episode]:
    """The messages of the chat, oldest first."""
    text = (files(__package__) / "conversation.jsonl").read_text(encoding="utf-8")
    return [Episode(**json.loads(line)) for line in text.splitlines()]


def load_questions() -> list[Question]:
    """The questions, in the order they are asked."""
    text = (files(__package__) / "questions.json").read_text(encoding="utf-8")
    return [Question(**{**entry, "gold": tuple(entry["gold"])}) for entry in json.loads(text)]


def run_demo(context: CommandContext, path: Path | None = None, *, keep: bool = False) -> None:
    """Remember the chat in a new file, ask the questions, and draw what comes back."""
    with (
        _demo_file(path, keep=keep) as file,
        Memory(file, embedder=context.settings.make_embedder(), zone=context.settings.zone) as memory,
    ):
        is_kept = path is not None or keep
        chat = load_conversation()
        started = perf_counter()
        with render.progress_bar(
            context.err, "remembering the chat", is_shown=context.has_progress_bar
        ) as report_progress:
            for start in range(0, len(chat), BATCH_SIZE):
                memory.remember(chat[start : start + BATCH_SIZE])
                if report_progress is not None:
                    report_progress(min(start + BATCH_SIZE, len(chat)), len(chat))
        seconds = perf_counter() - started
        console = context.out
        if not context.as_json:
            _print_introduction(console, chat, seconds)
        results = []
        for number, question in enumerate(load_questions(), 1):
            found = memory.recall(
                question.question, limit=HIT_LIMIT, as_of=question.as_of, options=RecallOptions(log_access=False)
            )
            results.append(QuestionResult(question, found))
            if not context.as_json:
                _print_result(console, number, results[-1], memory)
        if context.as_json:
            context.write_json(_results_to_dict(results, seconds, file if is_kept else None))
        else:
            _print_summary(console, results, file if is_kept else None)


@contextmanager
def _demo_file(path: Path | None, *, keep: bool) -> Iterator[Path]:
    """The path of a new file: ``path``, or one in a temporary folder."""
    if path is not None:
        if path.exists():
            raise InvalidInput(f"{path} is there already; the demo only makes new files: choose another path")
        yield path
    elif keep:
        yield Path(tempfile.mkdtemp(prefix="ecphora-demo-")) / "demo.db"
    else:
        with tempfile.TemporaryDirectory(prefix="ecphora-demo-", ignore_cleanup_errors=True) as folder:
            yield Path(folder) / "demo.db"


def _print_introduction(console: Console, chat: Sequence[Episode], seconds: float) -> None:
    people = sorted({episode.speaker for episode in chat if episode.speaker})
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


def _print_result(console: Console, number: int, result: QuestionResult, memory: Memory) -> None:
    """Print a question: its hits, its missed evidence, and its answer."""
    question, found = result.question, result.recollection
    as_of = f", as of {question.as_of}" if question.as_of else ""
    console.print()
    console.print(
        Rule(
            Text(f"{number}  {QUESTION_KINDS.get(question.kind, question.kind)}{as_of}", "magenta"),
            align="left",
            style="bright_black",
        )
    )
    console.print(render.recollection_heading(found, question.question))
    ids = abbreviate((hit.id for hit in found), memory.graph())
    render.print_recollection(
        console, found, ids=ids, gold=question.gold, max_lines=MAX_TEXT_LINES, max_hits=MAX_SHOWN_HITS
    )
    for id_ in result.missed_ids:
        node = memory.get(id_)
        if node is not None:
            line = Text.assemble(("✗ not found  ", "bold red"), render.node_line(node))
            line.truncate(max(20, console.width), overflow="ellipsis")
            console.print(line)
    verdict, color = _verdict(result)
    console.print(Text.assemble((f"{verdict}", f"bold {color}"), ("  answer: ", "bright_black"), question.answer))


def _verdict(result: QuestionResult) -> tuple[str, str]:
    if not result.question.gold:
        return {
            Evidence.NONE: ("rightly unknown", "green"),
            Evidence.WEAK: ("unsure", "yellow"),
            Evidence.STRONG: ("wrongly sure", "red"),
        }[result.recollection.evidence]
    if not result.missed_ids:
        return "found", "green"
    is_partial = len(result.missed_ids) < len(result.question.gold)
    return ("found in part", "yellow") if is_partial else ("missed", "red")


def _print_summary(console: Console, results: Sequence[QuestionResult], kept_path: Path | None) -> None:
    """Print the totals, and commands to try next."""
    answerable = [result for result in results if result.question.gold]
    complete_count = sum(not result.missed_ids for result in answerable)
    bands = [result.recollection.evidence.value for result in results if not result.question.gold]
    times = sorted(result.recollection.cost.milliseconds for result in results)
    console.print()
    console.print(Rule(style="bright_black"))
    console.print(
        Text.assemble(
            (f"{complete_count} of {len(answerable)}", "bold"),
            f" answerable questions have their whole evidence among the first {HIT_LIMIT}; "
            f"the {len(bands)} that the chat does not answer came back with evidence: {', '.join(bands)}; median ",
            (f"{times[len(times) // 2]:.0f} ms", "bold"),
            " a question.",
        )
    )
    console.print()
    command = shlex.quote(_command())
    if kept_path is not None:
        name = shlex.quote(str(kept_path))
        console.print(f"Ask it yourself:   {command} recall --db {name} --explain 'Who plays bass?'", soft_wrap=True)
    console.print(f"Now your own:      {command} remember --db my.db 'I gave the spare key to Jo.'", soft_wrap=True)
    console.print(f"                   {command} recall --db my.db 'Who has my key?'", soft_wrap=True)


def _command() -> str:
    """How a shell finds this program: by name if it is on the path, else by the path it was started with."""
    started = sys.argv[0]
    return "ecphora" if shutil.which("ecphora") or Path(started).stem != "ecphora" else started


def _results_to_dict(results: Sequence[QuestionResult], seconds: float, kept_path: Path | None) -> Mapping[str, Any]:
    return {
        "seconds": round(seconds, 3),
        "file": None if kept_path is None else str(kept_path),
        "complete_count": sum(not result.missed_ids for result in results if result.question.gold),
        "answerable_count": sum(bool(result.question.gold) for result in results),
        "questions": [
            {
                "question": result.question.question,
                "kind": result.question.kind,
                "as_of": result.question.as_of,
                "gold": list(result.question.gold),
                "missed_ids": list(result.missed_ids),
                "evidence": result.recollection.evidence.value,
                "confidence": round(result.recollection.confidence, 4),
                "milliseconds": round(result.recollection.cost.milliseconds, 3),
                "hits": [
                    {"id": hit.id, "score": hit.score, "text": hit.text, "reason": hit.reason}
                    for hit in result.recollection
                ],
            }
            for result in results
        ],
    }
