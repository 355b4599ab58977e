"""Figures of answers: how right they are, when the reader says that it holds none, and what it took.

- ``F1`` and ``EXACT_MATCH`` by the measures of :mod:`.answer_scores`: over the answerable questions, by category, and
  over all where some are unanswerable, as LoCoMo and SQuAD 2.0 count them. A question without a reply counts as wrong.
- ``NO_ANSWER_…``: the reader says that there is no answer. Precision is the part of the questions it says so of that
  are unanswerable, recall the part of the unanswerable ones of which it says so, accuracy how often it is right in
  either.
- ``GOLD_RECALL``: the part of the gold that the context held; ``CONTEXT_TOKENS``: what its texts have, estimated.
- ``CALLS``, ``FAILURES``, ``TOKENS_IN``, ``TOKENS_OUT``, ``SECONDS``, ``COST_USD``: sums of what the reader took,
  seconds of calls that ran at once counted each; ``FAILURES`` are questions without a reply that could be read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ecphora.errors import InvalidRecord
from ecphora.maintenance.learn.regression import Numbers

from ..recall import intervals
from ..recall.run_records import ALL, ANSWERABLE, Figure, Metric, Run, RunRecord
from . import answer_scores
from .answer_files import AnswerFile, AnswerLine, ReaderKey
from .answer_scores import NO_ANSWER, NO_ANSWER_PHRASES, AnswerScore

PARAMETER_COUNT = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s*([mb])(?![a-z0-9])", re.IGNORECASE)
"""A number of parameters in a model's name, in millions or billions."""
SMALL_READERS = ("extractive", "scripted", "smollm")
"""Readers known to be small whose names have no number."""


def is_small_model(model: str) -> bool:
    """Whether a model is known to have less than a billion parameters: its answers prove only that the code works."""
    sizes = [float(number) * (1 if unit in "bB" else 0.001) for number, unit in PARAMETER_COUNT.findall(model)]
    return max(sizes) < 1 if sizes else any(small_name in model.lower() for small_name in SMALL_READERS)


def records(file: AnswerFile) -> list[RunRecord]:
    """The figures of a file of answers, one record for each reader."""
    runs: dict[ReaderKey, Run] = {}
    for run in file.runs:
        if run.answer_setup is not None:
            runs[run.answer_setup.digest, run.answer_setup.model, run.versions["ecphora"], run.embedder] = run
    lines_by_reader: dict[ReaderKey, list[AnswerLine]] = {}
    for line in file.answers:
        lines_by_reader.setdefault(line.reader_key, []).append(line)
    if missing := lines_by_reader.keys() - runs.keys():
        raise InvalidRecord(f"answers of {min(missing)} without the line of their run")
    return [RunRecord(runs[reader], list(measure(lines))) for reader, lines in lines_by_reader.items()]


def measure(answers: Sequence[AnswerLine]) -> Iterator[Figure]:
    """The figures of one reader's answers: for each set, each context and its budget."""
    places: dict[tuple[str, str, int], list[AnswerLine]] = {}
    for line in answers:
        places.setdefault((line.dataset, line.context, line.budget), []).append(line)
    for group in places.values():
        yield from _correctness_figures(group)
        yield from _no_answer_figures(group)
        yield from _cost_figures(group)


@dataclass(frozen=True, slots=True)
class _FigureContext:
    """What the figures of some answers share: set, context and reader."""

    first: AnswerLine

    def figure(
        self, category: str, metric: Metric, values: Numbers, low_high: tuple[float, float] | None = None
    ) -> Figure:
        """The mean of some values, with its interval."""
        low, high = intervals.bootstrap_interval(values) if low_high is None else low_high
        one, value = self.first, float(values.mean())
        return Figure(one.dataset, one.context, category, metric, one.budget, len(values), value, low, high)


def score(answer: AnswerLine) -> AnswerScore | None:
    """The score of an answer; None if there is no gold to compare with."""
    reply = answer.answer if answer.answered else NO_ANSWER
    return answer_scores.score_answer(
        answer.dataset,
        answer.category,
        reply,
        answered=answer.answered,
        is_answerable=answer.is_answerable,
        gold_answers=answer.gold_answers,
    )


def is_no_answer(answer: AnswerLine) -> bool:
    """Whether the reader said that there is no answer, by the form of its reply or in words."""
    return not answer.answered or any(words in answer.answer.lower() for words in NO_ANSWER_PHRASES)


def _correctness_figures(answers: Sequence[AnswerLine]) -> Iterator[Figure]:
    place = _FigureContext(answers[0])
    for category, group in _by_category(answers):
        scores = [answer_score for line in group if (answer_score := score(line)) is not None]
        exact_matches = [answer_score.exact_match for answer_score in scores if answer_score.exact_match is not None]
        if scores:
            yield place.figure(category, Metric.F1, np.array([answer_score.f1 for answer_score in scores]))
        if exact_matches:
            yield place.figure(category, Metric.EXACT_MATCH, np.array(exact_matches))
        if scores and (gold_recalls := [line.gold_recall for line in group if line.gold_recall is not None]):
            yield place.figure(category, Metric.GOLD_RECALL, np.array(gold_recalls))
        if scores:
            yield place.figure(
                category, Metric.CONTEXT_TOKENS, np.array([float(line.context_tokens) for line in group])
            )


def _by_category(answers: Sequence[AnswerLine]) -> Iterator[tuple[str, list[AnswerLine]]]:
    """The answerable questions, each category, and all questions if some are unanswerable."""
    answerable = [line for line in answers if line.is_answerable]
    yield ANSWERABLE, answerable
    for category in dict.fromkeys(line.category for line in answers):
        yield category, [line for line in answers if line.category == category]
    if len(answerable) < len(answers):
        yield ALL, list(answers)


def _no_answer_figures(answers: Sequence[AnswerLine]) -> Iterator[Figure]:
    place = _FigureContext(answers[0])
    is_refusal = np.array([is_no_answer(line) for line in answers])
    is_unanswerable = np.array([not line.is_answerable for line in answers])
    right = (is_refusal & is_unanswerable).astype(np.float64)
    yield place.figure(ALL, Metric.NO_ANSWER_ACCURACY, (is_refusal == is_unanswerable).astype(np.float64))
    if not is_unanswerable.any():
        return
    yield place.figure(ALL, Metric.NO_ANSWER_RECALL, right[is_unanswerable])
    if is_refusal.any():
        bounds = intervals.percentile_interval(intervals.resample_ratios(right, is_refusal.astype(np.float64)))
        yield place.figure(ALL, Metric.NO_ANSWER_PRECISION, right[is_refusal], bounds)


COSTS: tuple[tuple[Metric, Callable[[AnswerLine], float]], ...] = (
    (Metric.CALLS, lambda line: line.calls),
    (Metric.FAILURES, lambda line: line.error is not None),
    (Metric.TOKENS_IN, lambda line: line.tokens_in),
    (Metric.TOKENS_OUT, lambda line: line.tokens_out),
    (Metric.SECONDS, lambda line: line.seconds),
    (Metric.COST_USD, lambda line: line.cost_usd),
)
"""What a reader cost: calls, failures, tokens, seconds, USD."""


def _cost_figures(answers: Sequence[AnswerLine]) -> Iterator[Figure]:
    one = answers[0]
    for metric, of in COSTS:
        total = float(sum(map(of, answers)))
        yield Figure(one.dataset, one.context, ALL, metric, one.budget, len(answers), total, total, total)
