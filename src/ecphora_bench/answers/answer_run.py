"""Questions answered by a reader from what each way of recalling brings back, all with one prompt.

Contexts: ``full``, as many of the latest memories as fit into the reader's window; ``dense``, the plain retrieval that
most systems do; and strategies. All but the full one get the same budget of tokens, the heads of memories counted, and
every context is in the order of time. The reader is asked even if a recall finds no evidence. Spaces, clocks and
memories are those of ``recall.recall_run``. What was answered before is not asked again, and a space of which all was
answered is not even indexed.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b

import numpy as np

from ecphora import RecallOptions, __version__
from ecphora.errors import LLMUnavailable
from ecphora.language.terms import estimate_tokens
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.temporary_memory import Tick
from ecphora.memory import Memory
from ecphora.model.ports import Prompt, Strategy
from ecphora.model.types import Node
from ecphora.models import prompts
from ecphora.models.llm_client import Attempt, LLMClient
from ecphora.models.prompts import quoting, replies
from ecphora.recall.recollection import fit_to_budget

from ..recall.recall_run import RECALL_LIMIT, group_by_memory
from ..recall.run_records import AnswerSetup
from ..spaces import temporary_memory
from .answer_files import AnswerFile, AnswerKey, AnswerLine, ReaderKey
from .answer_summary import is_small_model

FULL_CONTEXT = "full"
"""The context without a recall: the latest memories."""
MIN_MEMORY_TOKENS = 20
"""Tokens of a short memory in a prompt. The hits recalled are the budget divided by this, enough to fill it."""


MAX_SILENT_REPLIES = 5
"""Questions in a row without a reply after which the reader is taken to be unavailable."""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """What each question is answered from: ``strategies`` within ``token_budget``, the latest within the full one.

    At most ``concurrency`` questions are asked at a time. ``usd_per_million_tokens`` is the price of tokens in and out,
    for a reader that does not know its own.
    """

    strategies: tuple[Strategy, ...]
    token_budget: int
    full_token_budget: int
    concurrency: int = 4
    usd_per_million_tokens: tuple[float, float] = (0.0, 0.0)

    @property
    def contexts(self) -> list[tuple[str, int]]:
        """The contexts with their budgets."""
        return [
            (FULL_CONTEXT, self.full_token_budget),
            *((strategy.name, self.token_budget) for strategy in self.strategies),
        ]


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """A question with the memories to answer it from; ``confidence`` is the recall's, None for the full context."""

    question: Question
    today: datetime
    context: str
    budget: int
    memories: tuple[Node, ...]
    confidence: float | None

    @property
    def prompt(self) -> Prompt:
        """The prompt for the reader."""
        return prompts.answer_prompt(self.question.text, self.memories, today=self.today)

    @property
    def context_tokens(self) -> int:
        """Tokens of the memories in the prompt, estimated."""
        return sum(map(memory_tokens, self.memories))

    @property
    def gold_recall(self) -> float | None:
        """The part of the gold evidence that the context holds; None if the question has none."""
        gold = self.question.gold
        return len(gold & {one.document or one.id for one in self.memories}) / len(gold) if gold else None


def sample_questions(cases: Sequence[Case], count: int) -> list[Case]:
    """A sample of a set's questions, evenly spread over it in order; spaces without any are left out."""
    all_questions = [(place, question) for place, case in enumerate(cases) for question in case.questions]
    count = min(count, len(all_questions))
    chosen = [all_questions[number * len(all_questions) // count] for number in range(count)]
    samples = [
        replace(case, questions=tuple(q for case_place, q in chosen if case_place == place))
        for place, case in enumerate(cases)
    ]
    return [case for case in samples if case.questions]


def prompt_digest() -> str:
    """A digest of the prompt: the system text, the template, and the form of the reply."""
    form = prompts.ANSWER
    parts = [form.system, form.user, json.dumps(form.schema, sort_keys=True), str(form.max_tokens)]
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def answer_setup(model: str, plan: AnswerPlan) -> AnswerSetup:
    """The record of the reader and its prompt."""
    form = prompts.ANSWER
    return AnswerSetup(
        model, prompt_digest(), form.system, form.user, plan.token_budget, plan.full_token_budget, is_small_model(model)
    )


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """Answers the questions of sets: with a reader, a plan, and the keys answered before.

    ``write`` gets every answer as soon as it is made.
    """

    llm_client: LLMClient
    plan: AnswerPlan
    embedder: CachingEmbedder
    done_keys: Collection[AnswerKey]
    write: Callable[[AnswerLine], None]

    @property
    def reader_key(self) -> ReaderKey:
        """The key of the reader."""
        return (prompt_digest(), self.llm_client.name, __version__, self.embedder.name)

    def pending(self, dataset: str, case: Case) -> list[tuple[Question, str]]:
        """The questions of a space, each with a context, that are still to be answered."""
        return [(question, name) for question, name, key in self._keys(dataset, case) if key not in self.done_keys]

    def _keys(self, dataset: str, case: Case) -> Iterator[tuple[Question, str, AnswerKey]]:
        reader = self.reader_key
        for question in case.questions:
            for context, budget in self.plan.contexts:
                yield question, context, (dataset, case.space, question.id, context, budget, *reader)

    def own_answers(self, dataset: str, cases: Sequence[Case], file: AnswerFile) -> list[AnswerLine]:
        """The answers of a file that belong to these questions, contexts and this reader."""
        keys = {key for case in cases for _, _, key in self._keys(dataset, case)}
        return [line for line in file.answers if line.key in keys]

    def count_steps(self, dataset: str, cases: Sequence[Case]) -> int:
        """How many steps :meth:`run` will report: one an episode of each memory that is needed, one an answer."""
        memories = len(group_by_memory(self.plan.strategies))
        return sum(
            len(pending) + len(case.episodes) * memories for case in cases if (pending := self.pending(dataset, case))
        )

    def run(self, dataset: str, cases: Sequence[Case], tick: Tick = lambda _steps: None) -> None:
        """Answer the questions of a set; raises ``LLMUnavailable`` where the reader does not reply any more."""
        silent = 0
        for case in cases:
            pending = {(question.id, context) for question, context in self.pending(dataset, case)}
            if not pending:
                continue
            tasks = [task for task in self._tasks(case, tick) if (task.question.id, task.context) in pending]
            places = {question.id: place for place, question in enumerate(case.questions)}
            tasks.sort(key=lambda entry: places[entry.question.id])  # an interrupted run has complete questions
            for start in range(0, len(tasks), self.plan.concurrency):
                batch = tasks[start : start + self.plan.concurrency]
                for task, attempt in zip(batch, self._complete(batch), strict=True):
                    self.write(self._answer_line(dataset, case.space, task, attempt))
                    silent = 0 if attempt.usage.tokens_in else silent + 1
                    if silent >= MAX_SILENT_REPLIES:
                        raise LLMUnavailable(
                            f"{attempt.error}; the answers are kept: the same command goes on from there"
                        )
                tick(len(batch))

    def _tasks(self, case: Case, tick: Tick) -> Iterator[AnswerTask]:
        """Every question of a space with every context."""
        self.embedder.embed([question.text for question in case.questions], is_query=True)  # one call fills the cache
        for number, group in enumerate(group_by_memory(self.plan.strategies)):
            with temporary_memory(case, group[0], self.embedder, tick) as (memory, clock):
                space_end = clock.now
                latest = latest_memories(memory, self.plan.full_token_budget) if number == 0 else None
                for question in case.questions:
                    clock.now = question.asked_at or space_end
                    if latest is not None:
                        yield AnswerTask(question, clock.now, FULL_CONTEXT, self.plan.full_token_budget, latest, None)
                    for strategy in group:
                        yield self._recall_task(memory, question, strategy, clock.now)

    def _recall_task(self, memory: Memory, question: Question, strategy: Strategy, now: datetime) -> AnswerTask:
        budget = self.plan.token_budget
        limit = max(RECALL_LIMIT, budget // MIN_MEMORY_TOKENS)
        found = memory.recall(
            question.text, limit=limit, strategy=strategy, options=RecallOptions(log_access=False, explain=False)
        )
        nodes = tuple(hit.node for hit in fit_to_budget(found, budget))
        return AnswerTask(question, now, strategy.name, budget, nodes, found.confidence)

    def _complete(self, tasks: Sequence[AnswerTask]) -> list[Attempt[replies.AnswerReply]]:
        """Ask some questions concurrently."""
        with ThreadPoolExecutor(self.plan.concurrency) as pool:
            return list(pool.map(lambda task: self.llm_client.attempt(task.prompt, replies.parse_answer), tasks))

    def _answer_line(
        self, dataset: str, space: str, task: AnswerTask, attempt: Attempt[replies.AnswerReply]
    ) -> AnswerLine:
        question, reply, usage = task.question, attempt.value, attempt.usage
        cost_in, cost_out = self.plan.usd_per_million_tokens
        return AnswerLine(
            *(dataset, space, question.id, task.context, task.budget, *self.reader_key),
            category=question.category,
            is_answerable=question.is_answerable,
            gold_answers=question.answers,
            gold_recall=task.gold_recall,
            context_tokens=task.context_tokens,
            confidence=task.confidence,
            answer="" if reply is None else reply.answer,
            answered=reply is None or reply.is_answered,
            error=attempt.error if reply is None else None,
            calls=usage.calls,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            seconds=round(usage.seconds, 4),
            cost_usd=usage.cost_usd or (usage.tokens_in * cost_in + usage.tokens_out * cost_out) / 1e6,
        )


def memory_tokens(node: Node) -> int:
    """The tokens that a memory takes in the prompt, estimated."""
    return estimate_tokens(quoting.render_memory(node))


def latest_memories(memory: Memory, window: int) -> tuple[Node, ...]:
    """The latest memories that fit into the window of tokens, in the order of time."""
    graph = memory.graph()
    rows = np.flatnonzero(graph.episodes)
    order = rows[np.lexsort((rows, graph.nodes["happened"][rows]))]
    found: list[Node] = []
    remaining = window
    for row in reversed(order.tolist()):
        node = memory.get(graph.id(row))
        if node is None or (remaining := remaining - memory_tokens(node)) < 0:
            break
        found.append(node)
    return tuple(reversed(found))
