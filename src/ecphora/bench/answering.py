"""Questions answered by a reader from what each way of recalling brings back, all with one prompt.

Contexts: ``full``, as many of the latest memories as fit into the reader's window; ``dense``, the plain retrieval that
most systems do; and strategies. All but the full one get the same budget of tokens, the heads of memories counted, and
every context is put in the order of time. The reader is asked even where a recall finds no evidence. Spaces, clocks and
memories are those of :mod:`.run`. What was answered before is not asked again, and a space of which all was answered is
not even indexed.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b

import numpy as np

from .. import __version__, prompts
from ..answer import packed
from ..errors import LLMUnavailable
from ..guest import Attempt, Guest
from ..language.tokens import tokens
from ..memory import Memory
from ..model import Node
from ..ports import Prompt, Strategy
from ..prompts import render, replies
from .answer_figures import plumbing
from .answer_files import Kept, Key, Line, Reader
from .cache import Cached
from .datasets import Case, Question
from .figures import Reading
from .run import PIECES, Tick, homes, remembered

FULL = "full"
"""The context that is no recall: the latest memories."""
SHORT = 20
"""Tokens of a short memory in a prompt: so many times fewer hits than tokens are asked for, that a budget is filled."""


PATIENCE = 5
"""Questions in a row without any reply after which the reader is taken to be gone."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What each question is answered from: ``strategies`` within ``tokens``, and the latest within ``window``.

    At most ``at_once`` questions are asked at a time. ``price`` is US dollars for a million tokens in and out, for a
    reader that does not know its own.
    """

    strategies: tuple[Strategy, ...]
    tokens: int
    window: int
    at_once: int = 4
    price: tuple[float, float] = (0.0, 0.0)

    @property
    def contexts(self) -> list[tuple[str, int]]:
        """The contexts with their budgets."""
        return [(FULL, self.window), *((strategy.name, self.tokens) for strategy in self.strategies)]


@dataclass(frozen=True, slots=True)
class Task:
    """A question with what it is to be answered from; ``confidence`` is the recall's, None for the full context."""

    question: Question
    today: datetime
    context: str
    budget: int
    memories: tuple[Node, ...]
    confidence: float | None

    @property
    def prompt(self) -> Prompt:
        """What the reader is asked."""
        return prompts.answer(self.question.text, self.memories, today=self.today)

    @property
    def tokens(self) -> int:
        """What the memories take in the prompt, estimated."""
        return sum(map(taken, self.memories))

    @property
    def evidence(self) -> float | None:
        """The part of the gold evidence that the context holds; None where the question has none."""
        gold = self.question.evidence
        return len(gold & {one.document or one.id for one in self.memories}) / len(gold) if gold else None


def spread(cases: Sequence[Case], count: int) -> list[Case]:
    """So many of the questions of a set, evenly spread over it in its order; spaces without any are left out."""
    every = [(place, question) for place, case in enumerate(cases) for question in case.questions]
    count = min(count, len(every))
    chosen = [every[number * len(every) // count] for number in range(count)]
    some = [replace(case, questions=tuple(q for at, q in chosen if at == place)) for place, case in enumerate(cases)]
    return [case for case in some if case.questions]


def digest() -> str:
    """The prompt's digest: of what the reader is told, the form that is filled in, and that of the reply."""
    form = prompts.ANSWER
    parts = [form.system, form.user, json.dumps(form.schema, sort_keys=True), str(form.limit)]
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def reading(model: str, plan: Plan) -> Reading:
    """What goes on record of who reads, and how it is asked."""
    form = prompts.ANSWER
    return Reading(model, digest(), form.system, form.user, plan.tokens, plan.window, plumbing(model))


@dataclass(frozen=True, slots=True)
class Sitting:
    """Somebody who answers the questions of sets: who reads, by which plan, and what was answered before.

    ``write`` is handed every answer as soon as it is there.
    """

    guest: Guest
    plan: Plan
    embedder: Cached
    answered: Collection[Key]
    write: Callable[[Line], None]

    @property
    def reader(self) -> Reader:
        """Who reads: what makes the same question another one."""
        return (digest(), self.guest.name, __version__, self.embedder.name)

    def open(self, set_: str, case: Case) -> list[tuple[Question, str]]:
        """The questions of a space, each with a context, that are still to be answered."""
        return [(question, name) for question, name, key in self._keys(set_, case) if key not in self.answered]

    def _keys(self, set_: str, case: Case) -> Iterator[tuple[Question, str, Key]]:
        reader = self.reader
        for question in case.questions:
            for context, budget in self.plan.contexts:
                yield question, context, (set_, case.space, question.id, context, budget, *reader)

    def own(self, set_: str, cases: Sequence[Case], kept: Kept) -> list[Line]:
        """The answers of a file that belong to these questions, contexts and this reader."""
        keys = {key for case in cases for _, _, key in self._keys(set_, case)}
        return [line for line in kept.lines if line.key in keys]

    def steps(self, set_: str, cases: Sequence[Case]) -> int:
        """How many steps :meth:`run` will report: one an episode of each memory that is needed, one an answer."""
        memories = len(homes(self.plan.strategies))
        return sum(len(waiting) + len(case.episodes) * memories for case in cases if (waiting := self.open(set_, case)))

    def run(self, set_: str, cases: Sequence[Case], tick: Tick = lambda _steps: None) -> None:
        """Answer the questions of a set; raises ``LLMUnavailable`` where the reader does not reply any more."""
        silent = 0
        for case in cases:
            waiting = {(question.id, context) for question, context in self.open(set_, case)}
            if not waiting:
                continue
            tasks = [one for one in self._tasks(case, tick) if (one.question.id, one.context) in waiting]
            places = {question.id: place for place, question in enumerate(case.questions)}
            tasks.sort(key=lambda one: places[one.question.id])  # a run that is broken off has whole questions
            for start in range(0, len(tasks), self.plan.at_once):
                some = tasks[start : start + self.plan.at_once]
                for task, one in zip(some, self._asked(some), strict=True):
                    self.write(self._line(set_, case.space, task, one))
                    silent = 0 if one.spent.tokens_in else silent + 1
                    if silent >= PATIENCE:
                        raise LLMUnavailable(
                            f"{one.trouble}; the answers are kept: the same command goes on from there"
                        )
                tick(len(some))

    def _tasks(self, case: Case, tick: Tick) -> Iterator[Task]:
        """Every question of a space with every context."""
        self.embedder.embed([question.text for question in case.questions], cue=True)  # at once, into the cache
        for number, home in enumerate(homes(self.plan.strategies)):
            with remembered(case, home[0], self.embedder, tick) as (memory, clock):
                standing = clock.now
                whole = latest(memory, self.plan.window) if number == 0 else None
                for question in case.questions:
                    clock.now = question.asked_at or standing
                    if whole is not None:
                        yield Task(question, clock.now, FULL, self.plan.window, whole, None)
                    for strategy in home:
                        yield self._recalled(memory, question, strategy, clock.now)

    def _recalled(self, memory: Memory, question: Question, strategy: Strategy, now: datetime) -> Task:
        budget = self.plan.tokens
        limit = max(PIECES, budget // SHORT)
        found = memory.recall(question.text, limit=limit, strategy=strategy, touch=False, explain=False)
        nodes = tuple(hit.node for hit in packed(found, budget))
        return Task(question, now, strategy.name, budget, nodes, found.confidence)

    def _asked(self, tasks: Sequence[Task]) -> list[Attempt[replies.Answered]]:
        """The replies to some questions that are asked at once."""
        with ThreadPoolExecutor(self.plan.at_once) as pool:
            return list(pool.map(lambda task: self.guest.attempt(task.prompt, replies.answered), tasks))

    def _line(self, set_: str, space: str, task: Task, one: Attempt[replies.Answered]) -> Line:
        question, said, spent = task.question, one.value, one.spent
        cost_in, cost_out = self.plan.price
        return Line(
            *(set_, space, question.id, task.context, task.budget, *self.reader),
            category=question.category,
            answerable=question.answerable,
            answers=question.answers,
            evidence=task.evidence,
            tokens=task.tokens,
            confidence=task.confidence,
            said="" if said is None else said.answer,
            held=said is None or said.held,
            trouble=one.trouble if said is None else None,
            calls=spent.calls,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            seconds=round(spent.seconds, 4),
            money=spent.money or (spent.tokens_in * cost_in + spent.tokens_out * cost_out) / 1e6,
        )


def taken(node: Node) -> int:
    """The tokens that a memory takes in the prompt, estimated."""
    return tokens(render.memory(node))


def latest(memory: Memory, window: int) -> tuple[Node, ...]:
    """As many of the latest memories as fit into so many tokens, in the order of time."""
    graph = memory.graph()
    rows = np.flatnonzero(graph.episodes)
    order = rows[np.lexsort((rows, graph.nodes["happened"][rows]))]
    found: list[Node] = []
    left = window
    for row in reversed(order.tolist()):
        node = memory.get(graph.id(row))
        if node is None or (left := left - taken(node)) < 0:
            break
        found.append(node)
    return tuple(reversed(found))
