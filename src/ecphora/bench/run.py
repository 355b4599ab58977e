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

from .. import __version__
from ..language.moments import moment
from ..memory import Memory
from ..model import Evidence, Recollection
from ..ports import Embedder, Sleeper, StoringIsQuerying, Strategy
from ..stages import gate
from . import metrics
from .cache import Cached
from .datasets import Case, Question
from .figures import ALL, ANSWERABLE, UNANSWERABLE, Figure, Machine, Metric, Run
from .metrics import Numbers

PIECES = 120
"""Memories asked for in a recall: enough for ``DOCUMENTS`` documents, unless texts are cut into many pieces.

Of the public sets only longmemeval_mini, whose sessions are cut into ten, has rankings that end before that.
"""
DOCUMENTS = 30
"""Documents of a ranking; what comes later is not looked at."""
LIVE = 100
"""Questions of a set that are embedded anew to measure how long that takes."""
UNDATED = datetime(2026, 1, 1, tzinfo=UTC)
"""What the clock tells in a space that names no time."""

MEASURES = (
    (Metric.FRACTION, metrics.fraction, (5, 10, 20, 30)),
    (Metric.ANY, metrics.any_, (1, 3, 5)),
    (Metric.ALL, metrics.all_, (5,)),
    (Metric.NDCG, metrics.ndcg, (10,)),
)
"""The measures of a ranking, each with its cuts."""

Tick = Callable[[int], None]
"""Told that so many more steps are done."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one strategy made of one question.

    ``ranked`` are the documents, best first; ``milliseconds`` is the time of the recall without the embedding.
    """

    question: Question
    strategy: str
    ranked: tuple[str, ...]
    confidence: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Indexing:
    """The seconds that filling a memory took, over all spaces, and the strategies that recall from it."""

    strategies: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a set gave: its figures, its size, what indexing each memory took, and the seconds spent on recalling."""

    figures: tuple[Figure, ...]
    spaces: int
    episodes: int
    indexing: tuple[Indexing, ...]
    recalling: float


@dataclass(slots=True)
class _Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


def writes(strategy: Strategy, *, stirring: bool = True) -> bool:
    """Whether a strategy writes what it recalls from: when it sleeps, or, if ``stirring``, at every new episode."""
    stirred = isinstance(strategy, StoringIsQuerying) and strategy.storing_is_querying
    return isinstance(strategy, Sleeper) or (stirring and stirred)


def homes(strategies: Iterable[Strategy]) -> list[list[Strategy]]:
    """Strategies by the memory they recall from: those that only read share one, each that writes has its own."""
    found: list[list[Strategy]] = []
    shared: list[Strategy] = []
    for strategy in strategies:
        home = [] if writes(strategy) else shared
        if not home:
            found.append(home)
        home.append(strategy)
    return found


def steps(cases: Sequence[Case], strategies: Sequence[Strategy]) -> int:
    """How many steps :func:`run` will report: one an episode of each memory, one a recall."""
    memories = len(homes(strategies))
    return sum(len(case.episodes) * memories + len(case.questions) * len(strategies) for case in cases)


def run(
    name: str,
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: Cached,
    tick: Tick = lambda _steps: None,
) -> Outcome:
    """Run a set: index every space, ask every question by every strategy, and measure."""
    questions = [question for case in cases for question in case.questions]
    live = embedding_times(embedder.embedder, [question.text for question in questions])
    answers: list[Answer] = []
    indexing: list[Indexing] = []
    recalling = 0.0
    for home in homes(strategies):
        spent = 0.0
        for case in cases:
            started = time.perf_counter()
            with remembered(case, home[0], embedder, tick) as (memory, clock):
                indexed = time.perf_counter()
                answers.extend(_answers(memory, case, clock=clock, strategies=home, embedder=embedder, tick=tick))
            spent += indexed - started
            recalling += time.perf_counter() - indexed
        indexing.append(Indexing(tuple(strategy.name for strategy in home), spent))
    episodes = sum(len(case.episodes) for case in cases)
    figures: list[Figure] = []
    for strategy in strategies:
        figures += measure(name, [answer for answer in answers if answer.strategy == strategy.name], live)
        took = next(one.seconds for one in indexing if strategy.name in one.strategies)
        figures.append(Figure(name, strategy.name, ALL, Metric.INDEX_S, None, episodes, took, took, took))
    return Outcome(tuple(figures), len(cases), episodes, tuple(indexing), recalling)


@contextmanager
def remembered(
    case: Case, strategy: Strategy, embedder: Embedder, tick: Tick = lambda _steps: None
) -> Iterator[tuple[Memory, "_Clock"]]:
    """A temporary memory opened with a strategy that holds a space, and its clock, standing at the space's end."""
    clock = _Clock(_latest(case))
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


def _latest(case: Case) -> datetime:
    return max((moment(one.happened_at) for one in case.episodes if one.happened_at is not None), default=UNDATED)


def _answers(
    memory: Memory,
    case: Case,
    *,
    clock: _Clock,
    strategies: Sequence[Strategy],
    embedder: Embedder,
    tick: Tick,
) -> Iterator[Answer]:
    embedder.embed([question.text for question in case.questions], cue=True)  # at once, into the cache
    standing = clock.now
    for strategy in strategies:
        _recalled(memory, case.questions[0], strategy)  # what is derived from a graph once is not a recall's time
    for question in case.questions:
        clock.now = question.asked_at or standing
        for strategy in strategies:
            found = _recalled(memory, question, strategy)
            apart = found.cost.milliseconds - found.cost.steps["embed"]
            yield Answer(question, strategy.name, documents(found), found.confidence, apart)
        tick(len(strategies))


def _recalled(memory: Memory, question: Question, strategy: Strategy) -> Recollection:
    return memory.recall(question.text, limit=PIECES, strategy=strategy, touch=False, explain=False)


def documents(found: Recollection) -> tuple[str, ...]:
    """The first documents of a recollection, each at the place of its first piece."""
    return tuple(dict.fromkeys(hit.node.document or hit.node.id for hit in found))[:DOCUMENTS]


def embedding_times(embedder: Embedder, questions: Sequence[str]) -> Numbers:
    """Milliseconds to embed a question, one entry a question: its own, or that of a measured one near by."""
    count = min(LIVE, len(questions))
    embedder.embed(questions[:1], cue=True)  # loads the model
    spent = np.zeros(count)
    for place in range(count):
        text = questions[place * len(questions) // count]
        started = time.perf_counter()
        embedder.embed([text], cue=True)
        spent[place] = 1000 * (time.perf_counter() - started)
    return spent[np.arange(len(questions)) * count // max(1, len(questions))]


def measure(set_: str, answers: Sequence[Answer], live: Numbers) -> list[Figure]:
    """The figures of one strategy's answers to a set; ``live`` are the milliseconds of embedding, one an answer.

    Unanswerable questions and questions without evidence stay out of the measures of a ranking; ``answerable`` is the
    mean over all the others.
    """
    if not answers:
        return []
    strategy = answers[0].strategy
    gold = [answer for answer in answers if answer.question.answerable and answer.question.evidence]
    figures: list[Figure] = []
    for category in (ANSWERABLE, *dict.fromkeys(answer.question.category for answer in gold)):
        some = [answer for answer in gold if category in (ANSWERABLE, answer.question.category)]
        for metric, function, cuts in MEASURES if some else ():
            for k in cuts:
                values = np.array([function(answer.ranked, answer.question.evidence, k) for answer in some])
                low, high = metrics.interval(values)
                value = float(values.mean())
                figures.append(Figure(set_, strategy, category, metric, k, len(some), value, low, high))
    return [*figures, *_auroc(set_, answers), *_bands(set_, answers), *_times(set_, answers, live)]


def _auroc(set_: str, answers: Sequence[Answer]) -> list[Figure]:
    positives = np.array([answer.confidence for answer in answers if answer.question.answerable])
    negatives = np.array([answer.confidence for answer in answers if not answer.question.answerable])
    if not len(positives) or not len(negatives):
        return []
    low, high = metrics.auroc_interval(positives, negatives)
    value = metrics.auroc(positives, negatives)
    return [Figure(set_, answers[0].strategy, ALL, Metric.AUROC, None, len(answers), value, low, high)]


def _bands(set_: str, answers: Sequence[Answer]) -> Iterator[Figure]:
    """The parts of the answerable and of the unanswerable questions in each band; nothing for a set without both."""
    by_category = {
        category: [gate.band(one.confidence) for one in answers if one.question.answerable is answerable]
        for category, answerable in ((ANSWERABLE, True), (UNANSWERABLE, False))
    }
    for category, found in by_category.items() if all(by_category.values()) else ():
        for band in Evidence:
            values = np.array([float(one is band) for one in found])
            low, high = metrics.interval(values)
            place = (set_, answers[0].strategy, category, Metric(band.value), None)
            yield Figure(*place, len(found), float(values.mean()), low, high)


def _times(set_: str, answers: Sequence[Answer], live: Numbers) -> Iterator[Figure]:
    apart = np.array([answer.milliseconds for answer in answers])
    whole = apart + live
    for metric, percent in ((Metric.MS_P50, 50), (Metric.MS_P95, 95)):
        statistic = metrics.percentile(percent)
        low, high = metrics.interval(whole, statistic)
        yield Figure(
            *(set_, answers[0].strategy, ALL, metric, None, len(answers)),
            *(float(statistic(whole)), low, high, float(statistic(apart))),
        )


# ---- what it ran on


def record(embedder: str, command: str) -> Run:
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
