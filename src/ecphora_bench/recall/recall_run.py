"""A benchmark run: every space through a real :class:`~ecphora.Memory`, every question by every strategy.

Each space is indexed on its own in a temporary file. Strategies that only read recall from one memory; one that
writes, at consolidation or when an episode is stored, has a memory of its own, opened with it.
No question is logged. Long texts come back as chunks; a ranking is of whole documents, each at the rank of its
best chunk. The clock stands at the time a question was asked if the set gives it, else at the last time in its
space, so a run does not depend on its day. Nothing is hidden by time: all of a space may be evidence.

Embeddings come from a cache, so a recall's time is put together: what it takes without embedding, after one recall to
warm up, plus what embedding a question takes, measured live on up to 100 questions of the set spread evenly. A reranker
has all the time it needs, so that the figures do not depend on the machine.
"""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from ecphora import RecallOptions, __version__
from ecphora.maintenance.learn import metrics
from ecphora.maintenance.learn.datasets import Case, Question
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.regression import Numbers
from ecphora.maintenance.learn.temporary_memory import SpaceClock, Tick
from ecphora.memory import Memory
from ecphora.model.ports import Embedder, IncrementalStrategy, Strategy, WritesOnStore
from ecphora.model.types import Evidence, Rerank
from ecphora.recall.recollection import Recollection
from ecphora.retrieval.confidence import DEFAULT_BANDS

from ..spaces import temporary_memory
from ..strategy_variants import fills_same_memory
from . import intervals
from .reliability import calibration_error, reliability_bins
from .run_records import ALL, ANSWERABLE, UNANSWERABLE, Figure, Machine, Metric, Run

RECALL_LIMIT = 120
"""Memories to recall: enough for all ranked documents, unless texts are cut into many chunks.

Of the public sets only longmemeval_mini, whose sessions are cut into ten, has rankings that end before that.
"""
RANKING_LENGTH = 30
"""Documents of a ranking; later ones are ignored."""
EMBEDDING_SAMPLES = 100
"""Questions of a set that are embedded again to measure the time."""
RANKING_METRICS = (
    (Metric.RECALL, metrics.recall_at_k, (5, 10, 20, 30)),
    (Metric.RECALL_ANY, metrics.recall_any_at_k, (1, 3, 5)),
    (Metric.RECALL_ALL, metrics.recall_all_at_k, (5,)),
    (Metric.NDCG, metrics.ndcg, (10,)),
)
"""The measures of a ranking, each with its cuts."""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The result of one strategy for one question.

    ``ranked`` are the documents, best first; ``milliseconds`` is the time of the recall without the embedding.
    """

    question: Question
    strategy: str
    ranked_documents: tuple[str, ...]
    confidence: float
    recall_ms: float


@dataclass(frozen=True, slots=True)
class IndexingTime:
    """The seconds that filling a memory took, over all spaces, and the strategies that recall from it."""

    strategies: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a set: its figures, its size, the time to index each memory, and the seconds of recalling.

    ``results`` are those of every question by every strategy; for each strategy the questions have the same order. An
    ablation keeps none.
    """

    figures: tuple[Figure, ...]
    spaces: int
    episodes: int
    indexing_times: tuple[IndexingTime, ...]
    recall_seconds: float
    results: tuple[RecallResult, ...] = ()


def needs_own_memory(strategy: Strategy, *, counts_write_on_store: bool = True) -> bool:
    """Whether a strategy writes at consolidation or, if ``counts_write_on_store``, whenever an episode is stored."""
    writes_on_store = isinstance(strategy, WritesOnStore) and strategy.writes_on_store
    return isinstance(strategy, IncrementalStrategy) or (counts_write_on_store and writes_on_store)


def group_by_memory(strategies: Iterable[Strategy]) -> list[list[Strategy]]:
    """Strategies by the memory they recall from: those that only read share one, those that write the same another."""
    groups: list[list[Strategy]] = []
    for strategy in strategies:
        for group in groups:
            if share_memory(strategy, group[0]):
                group.append(strategy)
                break
        else:
            groups.append([strategy])
    return groups


def share_memory(strategy: Strategy, other: Strategy) -> bool:
    """Whether two strategies can recall from one memory: neither writes, or both write the same."""
    writes = needs_own_memory(strategy)
    return writes == needs_own_memory(other) and (not writes or fills_same_memory(strategy, other))


def count_steps(cases: Sequence[Case], strategies: Sequence[Strategy]) -> int:
    """How many steps :func:`run` will report: one an episode of each memory, one a recall."""
    memories = len(group_by_memory(strategies))
    return sum(len(case.episodes) * memories + len(case.questions) * len(strategies) for case in cases)


def run(
    name: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    tick: Tick = lambda _steps: None,
    *,
    rerank: Rerank = Rerank.NEVER,
    rerank_ms: float | None = None,
) -> RunOutcome:
    """Run a set: index every space, ask every question by every strategy, and measure.

    ``rerank`` says when the built-in reranker reads the best candidates of a strategy that lets it, and ``rerank_ms``
    for how many milliseconds at most, None for as many as it needs.
    """
    ask = partial(_recall, rerank=rerank, rerank_ms=rerank_ms)
    questions = [question for case in cases for question in case.questions]
    live = embedding_times(embedder.embedder, [question.text for question in questions])
    answers: list[RecallResult] = []
    indexing: list[IndexingTime] = []
    recalling = 0.0
    for group in group_by_memory(strategies):
        indexing_seconds = 0.0
        for case in cases:
            started = time.perf_counter()
            with temporary_memory(case, group[0], embedder, tick) as (memory, clock):
                indexed = time.perf_counter()
                answers.extend(
                    _recall_all(memory, case, clock=clock, strategies=group, embedder=embedder, tick=tick, ask=ask)
                )
            indexing_seconds += indexed - started
            recalling += time.perf_counter() - indexed
        indexing.append(IndexingTime(tuple(strategy.name for strategy in group), indexing_seconds))
    episodes = sum(len(case.episodes) for case in cases)
    figures: list[Figure] = []
    for strategy in strategies:
        figures += measure(name, [answer for answer in answers if answer.strategy == strategy.name], live)
        index_seconds = next(entry.seconds for entry in indexing if strategy.name in entry.strategies)
        figures.append(
            Figure(
                name, strategy.name, ALL, Metric.INDEX_S, None, episodes, index_seconds, index_seconds, index_seconds
            )
        )
    return RunOutcome(tuple(figures), len(cases), episodes, tuple(indexing), recalling, tuple(answers))


def _recall_all(
    memory: Memory,
    case: Case,
    *,
    clock: SpaceClock,
    strategies: Sequence[Strategy],
    embedder: Embedder,
    tick: Tick,
    ask: Callable[[Memory, Question, Strategy], Recollection],
) -> Iterator[RecallResult]:
    embedder.embed([question.text for question in case.questions], is_query=True)  # one call fills the cache
    space_end = clock.now
    for strategy in strategies:
        ask(memory, case.questions[0], strategy)  # warm up: computes what is cached once per graph
    for question in case.questions:
        clock.now = question.asked_at or space_end
        for strategy in strategies:
            found = ask(memory, question, strategy)
            embedding_apart = found.cost.milliseconds - found.cost.step_milliseconds["embed"]
            yield RecallResult(question, strategy.name, ranked_documents(found), found.confidence, embedding_apart)
        tick(len(strategies))


def _recall(
    memory: Memory, question: Question, strategy: Strategy, *, rerank: Rerank, rerank_ms: float | None
) -> Recollection:
    return memory.recall(
        question.text,
        limit=RECALL_LIMIT,
        strategy=strategy,
        options=RecallOptions(log_access=False, explain=False, rerank_ms=rerank_ms),
        rerank=rerank,
    )


def ranked_documents(recollection: Recollection) -> tuple[str, ...]:
    """The first documents of a recollection, each at the rank of its first chunk."""
    return tuple(dict.fromkeys(hit.node.document or hit.node.id for hit in recollection))[:RANKING_LENGTH]


def embedding_times(embedder: Embedder, questions: Sequence[str]) -> Numbers:
    """Milliseconds to embed a question, one entry a question: its own, or that of the nearest measured one."""
    count = min(EMBEDDING_SAMPLES, len(questions))
    embedder.embed(questions[:1], is_query=True)  # loads the model
    milliseconds = np.zeros(count)
    for place in range(count):
        text = questions[place * len(questions) // count]
        started = time.perf_counter()
        embedder.embed([text], is_query=True)
        milliseconds[place] = 1000 * (time.perf_counter() - started)
    return milliseconds[np.arange(len(questions)) * count // max(1, len(questions))]


def measure(dataset: str, results: Sequence[RecallResult], embedding_ms: Numbers) -> list[Figure]:
    """The figures of one strategy's answers to a set; ``live`` are the milliseconds of embedding, one an answer.

    Unanswerable questions and questions without evidence stay out of the measures of a ranking; ``answerable`` is the
    mean over all the others.
    """
    if not results:
        return []
    strategy = results[0].strategy
    gold = [answer for answer in results if answer.question.has_ranking]
    figures: list[Figure] = []
    for category in (ANSWERABLE, *dict.fromkeys(answer.question.category for answer in gold)):
        some = [answer for answer in gold if category in (ANSWERABLE, answer.question.category)]
        for metric, function, cuts in RANKING_METRICS if some else ():
            for k in cuts:
                values = np.array([function(answer.ranked_documents, answer.question.gold, k) for answer in some])
                low, high = intervals.bootstrap_interval(values)
                value = float(values.mean())
                figures.append(Figure(dataset, strategy, category, metric, k, len(some), value, low, high))
    return [
        *figures,
        *_confidence_figures(dataset, results),
        *_time_figures(dataset, results, embedding_ms),
    ]


def _confidence_figures(dataset: str, results: Sequence[RecallResult]) -> Iterator[Figure]:
    """How far confidence and evidence tell whether a question is answerable; nothing for a set without both kinds."""
    confidence = np.array([answer.confidence for answer in results])
    is_answerable = np.array([answer.question.is_answerable for answer in results])
    positives, negatives = confidence[is_answerable], confidence[~is_answerable]
    if not len(positives) or not len(negatives):
        return
    make_figure, n = partial(Figure, dataset, results[0].strategy), len(results)
    area = metrics.auroc(positives, negatives)
    yield make_figure(ALL, Metric.AUROC, None, n, area, *intervals.auroc_bootstrap_interval(positives, negatives))
    score = metrics.brier_score(positives, negatives)
    yield make_figure(ALL, Metric.BRIER, None, n, score, *intervals.brier_bootstrap_interval(positives, negatives))
    for category, some in ((ANSWERABLE, positives), (UNANSWERABLE, negatives)):
        for evidence in Evidence:
            values = np.array([float(DEFAULT_BANDS.band(value) is evidence) for value in some])
            low, high = intervals.bootstrap_interval(values)
            yield make_figure(category, Metric(evidence.value), None, len(some), float(values.mean()), low, high)
    bins = reliability_bins(confidence, is_answerable)
    for number, one in enumerate(bins):
        yield make_figure(
            ALL, Metric.RELIABILITY, number, one.n, one.answerable, one.low, one.high, secondary_value=one.confidence
        )
    error = calibration_error(bins)
    yield make_figure(ALL, Metric.CALIBRATION_ERROR, None, n, error, error, error)


def _time_figures(dataset: str, results: Sequence[RecallResult], embedding_ms: Numbers) -> Iterator[Figure]:
    apart = np.array([answer.recall_ms for answer in results])
    whole = apart + embedding_ms
    for metric, percent in ((Metric.MS_P50, 50), (Metric.MS_P95, 95)):
        statistic = intervals.percentile(percent)
        low, high = intervals.bootstrap_interval(whole, statistic)
        yield Figure(
            *(dataset, results[0].strategy, ALL, metric, None, len(results)),
            *(float(statistic(whole)), low, high, float(statistic(apart))),
        )


# ---- what it ran on


def make_run(embedder: str, command: str) -> Run:
    """The record of a run with this code, machine and time."""
    packages = ("numpy", "apsw", "onnxruntime")
    return Run(
        commit=_commit(),
        versions={
            "ecphora": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
        embedder=embedder,
        machine=Machine(f"{platform.system()} {platform.machine()}", os.cpu_count() or 1),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        command=command,
    )


def _commit() -> str | None:
    """The commit of this checkout, ending in ``-dirty`` if files were changed; None outside a repository."""
    here = Path(__file__)
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is None:
        return None
    return _git(here.parent, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def _git(folder: Path, *words: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run([git, *words], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603  # fixed words
    return done.stdout.strip() if done.returncode == 0 else None
