"""The questions of a set and the results of a strategy for them, as aligned columns, and estimates over them."""

from dataclasses import dataclass

import numpy as np

from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.types import Mask

from ..recall import intervals
from ..recall.run_records import Metric


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """The results of a strategy for all questions of a set, in order; the columns are aligned."""

    gold_ranks: tuple[tuple[float, ...], ...]
    confidence: Numbers
    fired_counts: Numbers
    fired_gold_counts: Numbers

    def hits(self, counts: Numbers) -> Numbers:
        """How much gold is among the first ``counts`` documents of each question."""
        pairs = zip(self.gold_ranks, counts.tolist(), strict=True)
        return np.array([sum(place <= count for place in places) for places, count in pairs], np.float64)


@dataclass(frozen=True, slots=True)
class QuestionColumns:
    """The questions of a set, as columns: which are answerable, how much gold each has, and which lie far from it.

    ``several`` are those of the category multi-hop, as some sets call what needs several pieces of evidence.
    """

    is_answerable: Mask
    gold_counts: Numbers
    is_low_similarity: Mask
    is_multi_hop: Mask

    @property
    def has_ranking(self) -> Mask:
        """The questions that have a ranking: answerable, with evidence."""
        return self.is_answerable & (self.gold_counts > 0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over some questions, and its value in every resample of them."""

    value: float
    samples: Numbers
    n: int


FigureKey = tuple[Metric, int | None, str]
"""The metric, the cut, and the category of questions."""


def gold_fractions(results: ResultColumns, questions: QuestionColumns, k: int) -> Numbers:
    counts = np.full(len(questions.gold_counts), k, np.float64)
    return np.divide(
        results.hits(counts), questions.gold_counts, out=np.zeros(len(counts)), where=questions.gold_counts > 0
    )


def mean_estimate(values: Numbers) -> Estimate:
    return Estimate(float(values.mean()), intervals.resample(values), len(values))


def ratio_estimate(numerators: Numbers, denominators: Numbers) -> Estimate:
    whole = float(denominators.sum())
    return Estimate(
        float(numerators.sum()) / whole if whole else 0.0,
        intervals.resample_ratios(numerators, denominators),
        len(numerators),
    )
