"""Figures of answers: how right they are, when the reader says that it holds none, and what it took.

- ``F1`` and ``EXACT`` by the measures of :mod:`.answer_scores`: over the answerable questions, by category, and over
  all where some are unanswerable, as LoCoMo and SQuAD 2.0 count them. A question without a reply counts as wrong.
- *Not held*: the reader says that there is no answer. Precision is the part of the questions it says so of that are
  unanswerable, recall the part of the unanswerable ones of which it says so, accuracy how often it is right in either.
- ``EVIDENCE``: the part of the gold evidence that the context held; ``TOKENS``: what its texts have, estimated.
- ``CALLS``, ``FAILED``, ``TOKENS_IN``, ``TOKENS_OUT``, ``SECONDS``, ``MONEY``: sums of what the reader took, seconds of
  calls that ran at once counted each; ``FAILED`` are questions without a reply that could be read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidRecord
from . import answer_scores, metrics
from .answer_files import Kept, Line, Reader
from .answer_scores import NOT_HELD, REFUSALS, Score
from .figures import ALL, ANSWERABLE, Figure, Metric, Record, Run
from .metrics import Numbers

SMALL = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s*([mb])(?![a-z0-9])", re.IGNORECASE)
"""A number of parameters in a model's name, in millions or billions."""
TOYS = ("extractive", "scripted", "smollm")
"""Readers that are known to be small where their name has no number."""


def plumbing(model: str) -> bool:
    """Whether a model is known to have less than a billion parameters: its answers prove only that all works."""
    sizes = [float(number) * (1 if unit in "bB" else 0.001) for number, unit in SMALL.findall(model)]
    return max(sizes) < 1 if sizes else any(toy in model.lower() for toy in TOYS)


def records(kept: Kept) -> list[Record]:
    """The figures of a file of answers, one record for each reader."""
    runs: dict[Reader, Run] = {}
    for run in kept.runs:
        if run.reading is not None:
            runs[run.reading.digest, run.reading.model, run.versions["ecphora"], run.embedder] = run
    found: dict[Reader, list[Line]] = {}
    for line in kept.lines:
        found.setdefault(line.reader, []).append(line)
    if missing := found.keys() - runs.keys():
        raise InvalidRecord(f"answers of {min(missing)} without the line of their run")
    return [Record(runs[reader], list(measured(lines))) for reader, lines in found.items()]


def measured(lines: Sequence[Line]) -> Iterator[Figure]:
    """The figures of one reader's answers: for each set, each context and its budget."""
    places: dict[tuple[str, str, int], list[Line]] = {}
    for line in lines:
        places.setdefault((line.set, line.context, line.budget), []).append(line)
    for some in places.values():
        yield from _rightness(some)
        yield from _refusals(some)
        yield from _taken(some)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the figures of some answers belong."""

    first: Line

    def figure(
        self, category: str, metric: Metric, values: Numbers, low_high: tuple[float, float] | None = None
    ) -> Figure:
        """The mean of some values, with its interval."""
        low, high = metrics.interval(values) if low_high is None else low_high
        one, value = self.first, float(values.mean())
        return Figure(one.set, one.context, category, metric, one.budget, len(values), value, low, high)


def score(line: Line) -> Score | None:
    """How right an answer is, None where there is no gold to compare with."""
    said = line.said if line.held else NOT_HELD
    return answer_scores.scored(
        line.set, line.category, said, held=line.held, answerable=line.answerable, answers=line.answers
    )


def refused(line: Line) -> bool:
    """Whether the reader said that there is no answer, by the form of its reply or in words."""
    return not line.held or any(words in line.said.lower() for words in REFUSALS)


def _rightness(lines: Sequence[Line]) -> Iterator[Figure]:
    place = _Place(lines[0])
    for category, some in _categories(lines):
        scores = [found for line in some if (found := score(line)) is not None]
        exact = [found.exact for found in scores if found.exact is not None]
        if scores:
            yield place.figure(category, Metric.F1, np.array([found.f1 for found in scores]))
        if exact:
            yield place.figure(category, Metric.EXACT, np.array(exact))
        if scores and (held := [line.evidence for line in some if line.evidence is not None]):
            yield place.figure(category, Metric.EVIDENCE, np.array(held))
        if scores:
            yield place.figure(category, Metric.TOKENS, np.array([float(line.tokens) for line in some]))


def _categories(lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """The answerable questions, each category, and all where that is more than the answerable."""
    answerable = [line for line in lines if line.answerable]
    yield ANSWERABLE, answerable
    for category in dict.fromkeys(line.category for line in lines):
        yield category, [line for line in lines if line.category == category]
    if len(answerable) < len(lines):
        yield ALL, list(lines)


def _refusals(lines: Sequence[Line]) -> Iterator[Figure]:
    place = _Place(lines[0])
    said = np.array([refused(line) for line in lines])
    absent = np.array([not line.answerable for line in lines])
    right = (said & absent).astype(np.float64)
    yield place.figure(ALL, Metric.NOT_HELD_ACCURACY, (said == absent).astype(np.float64))
    if not absent.any():
        return
    yield place.figure(ALL, Metric.NOT_HELD_RECALL, right[absent])
    if said.any():
        bounds = metrics.middle(metrics.ratios(right, said.astype(np.float64)))
        yield place.figure(ALL, Metric.NOT_HELD_PRECISION, right[said], bounds)


SUMS: tuple[tuple[Metric, Callable[[Line], float]], ...] = (
    (Metric.CALLS, lambda line: line.calls),
    (Metric.FAILED, lambda line: line.trouble is not None),
    (Metric.TOKENS_IN, lambda line: line.tokens_in),
    (Metric.TOKENS_OUT, lambda line: line.tokens_out),
    (Metric.SECONDS, lambda line: line.seconds),
    (Metric.MONEY, lambda line: line.money),
)
"""What a reader took."""


def _taken(lines: Sequence[Line]) -> Iterator[Figure]:
    one = lines[0]
    for metric, of in SUMS:
        total = float(sum(map(of, lines)))
        yield Figure(one.set, one.context, ALL, metric, one.budget, len(lines), total, total, total)
