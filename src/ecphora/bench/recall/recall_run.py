"""A benchmark run: every space through a real :class:`~ecphora.Memory`, every question by every strategy.

Each space is indexed on its own in a temporary file. Strategies that only read recall from one memory; one that
writes, because it sleeps or because new episodes stir what was there before, has a memory of its own, opened with it.
No question leaves a trace. Long texts come back as pieces; a ranking is of whole documents, each at the place of its
best piece. The clock stands at the time a question was asked where the set says so, else at the last time told in its
space, so a run does not depend on its day. Nothing is hidden by time: all of a space may be evidence.

Embeddings come from a cache, so a recall's time is put together: what it takes without embedding, after one recall to
warm up, plus what embedding a question takes, measured live on up to 100 questions of the set spread evenly.
"""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ... import __version__
from ...memory import Memory
from ...model import Evidence, Recollection
from ...ports import Embedder, IncrementalStrategy, Strategy, WritesOnStore
from ...stages.retrieval.confidence import band
from ...timeparse import parse_time
from ..datasets import Case, Question
from ..embedding_cache import CachingEmbedder
from . import metrics
from .figures import ALL, ANSWERABLE, UNANSWERABLE, Figure, Machine, Metric, Run
from .metrics import Numbers

RECALL_LIMIT = 120
"""Memories asked for in a recall: enough for ``DOCUMENTS`` documents, unless texts are cut into many pieces.

Of the public sets only longmemeval_mini, whose sessions are cut into ten, has rankings that end before that.
"""
RANKING_LENGTH = 30
"""Documents of a ranking; what comes later is not looked at."""
EMBEDDING_SAMPLES = 100
"""Questions of a set that are embedded anew to measure how long that takes."""
DEFAULT_NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""What the clock tells in a space that names no time."""

RANKING_METRICS = (
    (Metric.RECALL, metrics.recall_at_k, (5, 10, 20, 30)),
    (Metric.RECALL_ANY, metrics.recall_any_at_k, (1, 3, 5)),
    (Metric.RECALL_ALL, metrics.recall_all_at_k, (5,)),
    (Metric.NDCG, metrics.ndcg, (10,)),
)
"""The measures of a ranking, each with its cuts."""

Tick = Callable[[int], None]
"""Told that so many more steps are done."""


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What one strategy made of one question.

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
    """What a set gave: its figures, its size, what indexing each memory took, and the seconds spent on recalling."""

    figures: tuple[Figure, ...]
    spaces: int
    episodes: int
    indexing_times: tuple[IndexingTime, ...]
    recall_seconds: float


@dataclass(slots=True)
class _Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


def needs_own_memory(strategy: Strategy, *, counts_write_on_store: bool = True) -> bool:
    """Whether a strategy writes what it recalls from: when it sleeps, or, if ``stirring``, at every new episode."""
    stirred = isinstance(strategy, WritesOnStore) and strategy.writes_on_store
    return isinstance(strategy, IncrementalStrategy) or (counts_write_on_store and stirred)


def group_by_memory(strategies: Iterable[Strategy]) -> list[list[Strategy]]:
    """Strategies by the memory they recall from: those that only read share one, each that writes has its own."""
    found: list[list[Strategy]] = []
    shared: list[Strategy] = []
    for strategy in strategies:
        home = [] if needs_own_memory(strategy) else shared
        if not home:
            found.append(home)
        home.append(strategy)
    return found


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
) -> RunOutcome:
    """Run a set: index every space, ask every question by every strategy, and measure."""
    questions = [question for case in cases for question in case.questions]
    live = embedding_times(embedder.embedder, [question.text for question in questions])
    answers: list[RecallResult] = []
    indexing: list[IndexingTime] = []
    recalling = 0.0
    for home in group_by_memory(strategies):
        spent = 0.0
        for case in cases:
            started = time.perf_counter()
            with temporary_memory(case, home[0], embedder, tick) as (memory, clock):
                indexed = time.perf_counter()
                answers.extend(_recall_all(memory, case, clock=clock, strategies=home, embedder=embedder, tick=tick))
            spent += indexed - started
            recalling += time.perf_counter() - indexed
        indexing.append(IndexingTime(tuple(strategy.name for strategy in home), spent))
    episodes = sum(len(case.episodes) for case in cases)
    figures: list[Figure] = []
    for strategy in strategies:
        figures += measure(name, [answer for answer in answers if answer.strategy == strategy.name], live)
        took = next(one.seconds for one in indexing if strategy.name in one.strategies)
        figures.append(Figure(name, strategy.name, ALL, Metric.INDEX_S, None, episodes, took, took, took))
    return RunOutcome(tuple(figures), len(cases), episodes, tuple(indexing), recalling)


@contextmanager
def temporary_memory(
    case: Case, strategy: Strategy, embedder: Embedder, tick: Tick = lambda _steps: None
) -> Iterator[tuple[Memory, "_Clock"]]:
    """A temporary memory opened with a strategy that holds a space, and its clock, standing at the space's end."""
    clock = _Clock(_last_time(case))
    with (
        TemporaryDirectory(prefix="ecphora-bench-") as folder,
        Memory(Path(folder, "space.db"), embedder=embedder, clock=clock, strategy=strategy) as memory,
    ):
        told = 0

        def progress(done: int, _of: int) -> None:
            nonlocal told
            tick(done - told)
            told = done

        memory.remember(case.episodes, progress=progress)
        yield memory, clock


def _last_time(case: Case) -> datetime:
    return max(
        (parse_time(one.happened_at) for one in case.episodes if one.happened_at is not None), default=DEFAULT_NOW
    )


def _recall_all(
    memory: Memory,
    case: Case,
    *,
    clock: _Clock,
    strategies: Sequence[Strategy],
    embedder: Embedder,
    tick: Tick,
) -> Iterator[RecallResult]:
    embedder.embed([question.text for question in case.questions], is_query=True)  # at once, into the cache
    standing = clock.now
    for strategy in strategies:
        _recall(memory, case.questions[0], strategy)  # what is derived from a graph once is not a recall's time
    for question in case.questions:
        clock.now = question.asked_at or standing
        for strategy in strategies:
            found = _recall(memory, question, strategy)
            apart = found.cost.milliseconds - found.cost.step_milliseconds["embed"]
            yield RecallResult(question, strategy.name, ranked_documents(found), found.confidence, apart)
        tick(len(strategies))


def _recall(memory: Memory, question: Question, strategy: Strategy) -> Recollection:
    return memory.recall(question.text, limit=RECALL_LIMIT, strategy=strategy, log_access=False, explain=False)


def ranked_documents(recollection: Recollection) -> tuple[str, ...]:
    """The first documents of a recollection, each at the place of its first piece."""
    return tuple(dict.fromkeys(hit.node.document or hit.node.id for hit in recollection))[:RANKING_LENGTH]


def embedding_times(embedder: Embedder, questions: Sequence[str]) -> Numbers:
    """Milliseconds to embed a question, one entry a question: its own, or that of a measured one near by."""
    count = min(EMBEDDING_SAMPLES, len(questions))
    embedder.embed(questions[:1], is_query=True)  # loads the model
    spent = np.zeros(count)
    for place in range(count):
        text = questions[place * len(questions) // count]
        started = time.perf_counter()
        embedder.embed([text], is_query=True)
        spent[place] = 1000 * (time.perf_counter() - started)
    return spent[np.arange(len(questions)) * count // max(1, len(questions))]


def measure(dataset: str, results: Sequence[RecallResult], embedding_ms: Numbers) -> list[Figure]:
    """The figures of one strategy's answers to a set; ``live`` are the milliseconds of embedding, one an answer.

    Unanswerable questions and questions without evidence stay out of the measures of a ranking; ``answerable`` is the
    mean over all the others.
    """
    if not results:
        return []
    strategy = results[0].strategy
    gold = [answer for answer in results if answer.question.is_answerable and answer.question.gold]
    figures: list[Figure] = []
    for category in (ANSWERABLE, *dict.fromkeys(answer.question.category for answer in gold)):
        some = [answer for answer in gold if category in (ANSWERABLE, answer.question.category)]
        for metric, function, cuts in RANKING_METRICS if some else ():
            for k in cuts:
                values = np.array([function(answer.ranked_documents, answer.question.gold, k) for answer in some])
                low, high = metrics.bootstrap_interval(values)
                value = float(values.mean())
                figures.append(Figure(dataset, strategy, category, metric, k, len(some), value, low, high))
    return [
        *figures,
        *_auroc_figures(dataset, results),
        *_band_figures(dataset, results),
        *_time_figures(dataset, results, embedding_ms),
    ]


def _auroc_figures(dataset: str, results: Sequence[RecallResult]) -> list[Figure]:
    positives = np.array([answer.confidence for answer in results if answer.question.is_answerable])
    negatives = np.array([answer.confidence for answer in results if not answer.question.is_answerable])
    if not len(positives) or not len(negatives):
        return []
    low, high = metrics.auroc_bootstrap_interval(positives, negatives)
    value = metrics.auroc(positives, negatives)
    return [Figure(dataset, results[0].strategy, ALL, Metric.AUROC, None, len(results), value, low, high)]


def _band_figures(dataset: str, results: Sequence[RecallResult]) -> Iterator[Figure]:
    """The parts of the answerable and of the unanswerable questions in each band; nothing for a set without both."""
    by_category = {
        category: [band(one.confidence) for one in results if one.question.is_answerable is answerable]
        for category, answerable in ((ANSWERABLE, True), (UNANSWERABLE, False))
    }
    for category, found in by_category.items() if all(by_category.values()) else ():
        for evidence in Evidence:
            values = np.array([float(one is evidence) for one in found])
            low, high = metrics.bootstrap_interval(values)
            place = (dataset, results[0].strategy, category, Metric(evidence.value), None)
            yield Figure(*place, len(found), float(values.mean()), low, high)


def _time_figures(dataset: str, results: Sequence[RecallResult], embedding_ms: Numbers) -> Iterator[Figure]:
    apart = np.array([answer.recall_ms for answer in results])
    whole = apart + embedding_ms
    for metric, percent in ((Metric.MS_P50, 50), (Metric.MS_P95, 95)):
        statistic = metrics.percentile(percent)
        low, high = metrics.bootstrap_interval(whole, statistic)
        yield Figure(
            *(dataset, results[0].strategy, ALL, metric, None, len(results)),
            *(float(statistic(whole)), low, high, float(statistic(apart))),
        )


# ---- what it ran on


def make_run(embedder: str, command: str) -> Run:
    """The record of a run that starts now."""
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
    """The commit of this very file, with ``-dirty`` behind it if the tree was changed; None if git does not know it."""
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
