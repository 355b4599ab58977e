"""A consolidation run: plan each step, probe its effect on recall, commit it. All steps form one undo batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from math import inf
from time import perf_counter

import numpy as np

from ..errors import StoreBusy
from ..model.cancellation import check_cancellation
from ..model.graph.graph import Graph
from ..model.json_form import JsonObject
from ..model.ports import FactUpdateScorer, FeedbackStrategy, Progress, SecondsLeft, Strategy, similarity_floor
from ..model.types import Kind, Link, LLMEstimate, LLMUsage, NodeId, Query, UndoBatch, WriteBatch
from ..model.validation import check_number, check_optional_count
from ..models.llm_client import LLMClient, PromptRecorder, estimate_cost
from ..remember.scope_writer import ScopeWriter
from ..retrieval import filters, fusion

MAX_PROBES = 50
"""Maximum number of past queries to replay: the latest with feedback."""
PROBE_TOP_K = 10
"""Rank down to which a memory counts as recalled by a probe."""
MAX_RECALL_LOSS = 0.01
"""How much of the probes' recall a run may cost."""
LIMITED_STEP_SIZE = 256
"""Memories in a step when time or tokens are limited."""
SETUP_FRACTION, MAX_PROBE_SECONDS = 0.1, 0.5
"""The fraction of a time limit for flushing the access log, and the same fraction for replaying the past queries once;
the latter takes at most ``MAX_PROBE_SECONDS``."""
RESERVE_FRACTION, MAX_RESERVE_SECONDS = 0.35, 1.0
"""The fraction of a time limit, and its maximum in seconds, reserved for probing and committing a planned step."""
GRACE_SECONDS = 0.75
"""Seconds beyond the limit that a step may wait for another process's lock."""


@dataclass(frozen=True, slots=True, repr=False)
class ConsolidationResult(JsonObject):
    """The result of a consolidation run.

    ``undo_batch`` is what the run wrote, undone by its id; None if it wrote nothing: nothing was new, it was a dry run,
    or the run was rolled back. ``counts`` maps names to how much was written or, in a dry run, would be.
    ``pending_count`` is the number of new memories still to be consolidated. ``probe_count`` past queries were
    replayed; ``recall_before`` and ``recall_after`` are the fractions of the used memories that they recalled.
    ``is_regression`` says that the run would have cost recall and was rolled back. If another process wrote an undo
    batch meanwhile, the steps before the step that would have cost recall stay: they are in ``undo_batch``. ``usage``
    is what the language model consumed. ``estimate`` is its usage as estimated, after a dry run with a language model
    alone.
    """

    undo_batch: UndoBatch | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    pending_count: int = 0
    probe_count: int = 0
    recall_before: float = 0.0
    recall_after: float = 0.0
    is_regression: bool = False
    usage: LLMUsage = field(default_factory=LLMUsage)
    estimate: LLMEstimate | None = None


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of a run: seconds, and tokens of the language model; None for no limit.

    The seconds count from construction, by ``clock``. They are split: setup first, then planning, and a reserve
    (``RESERVE_FRACTION``) for writing. A commit begun in time may take ``GRACE_SECONDS`` longer.
    """

    seconds: float | None = None
    tokens: int | None = None
    clock: Callable[[], float] = perf_counter
    started_at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.seconds is not None:
            check_number("seconds", self.seconds, above=0)
        check_optional_count("tokens", self.tokens)
        object.__setattr__(self, "started_at", self.clock())

    @property
    def step_size(self) -> int:
        """The maximum number of memories in a step."""
        from . import plan  # noqa: PLC0415  # costly to import, and only consolidation needs it

        return plan.STEP_SIZE if self.seconds is None and self.tokens is None else LIMITED_STEP_SIZE

    def time_left(self) -> float:
        """The seconds left; infinite without a limit."""
        check_cancellation()
        return inf if self.seconds is None else self.seconds - (self.clock() - self.started_at)

    @property
    def planning_time_left(self) -> SecondsLeft | None:
        """The time left for planning a step; None without a limit."""
        if self.seconds is None:
            return None
        reserve = min(RESERVE_FRACTION * self.seconds, MAX_RESERVE_SECONDS)
        return lambda: self.time_left() - reserve

    @property
    def commit_time_left(self) -> SecondsLeft | None:
        """The time left for writing a step that was planned in time; None without a limit."""
        return None if self.seconds is None else lambda: self.time_left() + GRACE_SECONDS

    def flush_seconds(self) -> float:
        """The seconds that flushing the access log may take."""
        return SETUP_FRACTION * self.time_left()

    def probe_time_left(self) -> SecondsLeft:
        """The time left, counted from now, for replaying the past queries once."""
        if self.seconds is None:
            return self.time_left
        end = self.time_left() - min(SETUP_FRACTION * self.seconds, MAX_PROBE_SECONDS)
        return lambda: self.time_left() - end

    def is_exhausted(self, usage: LLMUsage) -> bool:
        """Whether the time for planning or the tokens are used up."""
        late = self.planning_time_left is not None and self.planning_time_left() <= 0
        return late or (self.tokens is not None and usage.tokens_in + usage.tokens_out >= self.tokens)


def run(
    writer: ScopeWriter,
    now: datetime,
    build_query: Callable[[str], Query],
    *,
    update_scorer: FactUpdateScorer | None = None,
    llm_client: LLMClient | None = None,
    limits: RunLimits | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ConsolidationResult:
    """Consolidate the new memories, step by step.

    ``build_query`` makes the query of a past question, for the probes; ``update_scorer`` scores which memory may
    replace which. Each step is committed completely or not at all, and the next run continues where this one stopped.
    In a dry run the language model is not asked: its prompts are counted.
    """
    from . import plan  # noqa: PLC0415

    limits, graph = limits or RunLimits(), writer.graph()
    recorder, retries = PromptRecorder(), 0 if llm_client is None else llm_client.retries
    is_recorded = dry_run and llm_client is not None
    if is_recorded:
        llm_client = LLMClient(recorder, retries=0)
    probes, before = _replay(writer, graph, build_query, limits.probe_time_left())
    after, total_count = before, plan.pending_count(graph)
    digest = blake2b(f"{writer.scope}/{graph.revision}/{now.isoformat()}".encode(), digest_size=8)
    id_ = f"consolidate:{digest.hexdigest()}"
    counts: dict[str, int] = {}
    is_committed, is_regression = False, False
    score_pairs = None if update_scorer is None else update_scorer.score
    floor = similarity_floor(writer.embedder)
    tools = plan.Tools(writer.embed, floor, llm_client, score_pairs, limits.planning_time_left)
    while (step := plan.next_step(graph, writer.node_source(graph), now, limits.step_size, tools)) is not None:
        check_cancellation()
        batch = replace(
            step.batch,
            embedder=writer.embedder.name,
            undo_batch=UndoBatch(id_, now, step.counts),
            read_revision=graph.revision,  # a text that was replaced or forgotten since may not come back as a claim
        )
        previewed = plan.preview(graph, batch)
        if batch.nodes or batch.edges:
            after = _probe_recall(writer.strategy, previewed, probes)
        if after < before - MAX_RECALL_LOSS:
            is_regression = True
            break
        succeeded = dry_run or _try_commit_step(writer, batch, limits)
        if succeeded:
            is_committed, graph = not dry_run, previewed if dry_run else writer.graph()
            counts = {name: counts.get(name, 0) + count for name, count in step.counts.items()}
            if progress is not None:
                progress(min(counts["memories"], total_count), total_count)
        else:
            graph = writer.graph()
        if limits.is_exhausted(LLMUsage() if llm_client is None else llm_client.usage):
            break
    if is_regression and is_committed and _try_undo(writer, id_):
        is_committed, counts, graph = False, {}, writer.graph()
    return ConsolidationResult(
        undo_batch=UndoBatch(id_, now, counts) if is_committed else None,
        counts=counts,
        pending_count=plan.pending_count(graph),
        probe_count=len(probes),
        recall_before=before,
        recall_after=after,
        is_regression=is_regression,
        usage=LLMUsage() if llm_client is None or is_recorded else llm_client.usage,
        estimate=estimate_cost(recorder.prompts, retries) if is_recorded else None,
    )


def _try_commit_step(writer: ScopeWriter, batch: WriteBatch, limits: RunLimits) -> bool:
    """Whether a step was committed: not if a memory that it refers to has changed, or the lock was not free in time."""
    try:
        return writer.try_commit(batch, limits.commit_time_left)
    except StoreBusy:
        if limits.seconds is None:
            raise
        return False


def _try_undo(writer: ScopeWriter, id_: str) -> bool:
    """Undo a batch if it is the latest; False if it stays, because another process has written one since."""
    left: list[str] = []

    def build(graph: Graph) -> WriteBatch:
        left[:] = [batch.id for batch in writer.store.undo_batches(writer.scope)]
        return WriteBatch(undoes=id_, expected_revision=graph.revision) if left[-1:] == [id_] else WriteBatch()

    writer.commit(build)
    return id_ not in left[:-1]


# ---- probes


@dataclass(frozen=True, slots=True)
class Probe:
    """A past query, and the memories that were used for it."""

    query: Query
    used_ids: frozenset[NodeId]


def _replay(
    writer: ScopeWriter, graph: Graph, build_query: Callable[[str], Query], time_left: SecondsLeft
) -> tuple[list[Probe], float]:
    """The past queries that there is time to replay, at least the latest, and their mean recall now."""
    probes, recalls = list[Probe](), list[float]()
    for probe in _iter_probes(writer, graph, build_query):
        probes.append(probe)
        recalls.append(_probe_recall(writer.strategy, graph, [probe]))
        if time_left() <= 0:
            break
    return probes[::-1], float(np.mean(recalls[::-1])) if recalls else 1.0


def _iter_probes(writer: ScopeWriter, graph: Graph, build_query: Callable[[str], Query]) -> Iterator[Probe]:
    """The past queries with feedback, the latest first."""
    question_rows = graph.rows_of_kind(Kind.QUESTION)
    edge_indices, question_index = graph.edges_from(question_rows, Link.ANSWERED_BY)
    is_used = graph.edges["weights"][edge_indices] > 0
    by_question: dict[int, set[NodeId]] = {}
    for edge, index in zip(edge_indices[is_used].tolist(), question_index[is_used].tolist(), strict=True):
        by_question.setdefault(int(question_rows[index]), set()).add(graph.id(int(graph.edges["dst"][edge])))
    rows = sorted(by_question)[-MAX_PROBES:]
    for node in reversed(writer.node_source(graph)(np.array(rows, np.intp))):
        row = graph.row(node.id)
        if row is not None:
            yield Probe(build_query(node.text), frozenset(by_question[row]))


def _probe_recall(strategy: Strategy, graph: Graph, probes: Sequence[Probe]) -> float:
    """The mean fraction of the used memories that the probes recall, without the effect of feedback; 1 if no probes."""
    if isinstance(strategy, FeedbackStrategy):
        strategy = strategy.without_feedback()
    recalls = []
    for probe in probes:
        scores = strategy.activate(probe.query, graph).scores
        rows = fusion.top_rows(scores, filters.eligible(graph, probe.query), PROBE_TOP_K).tolist()
        recalls.append(len(probe.used_ids & {graph.id(row) for row in rows}) / len(probe.used_ids))
    return float(np.mean(recalls)) if recalls else 1.0
