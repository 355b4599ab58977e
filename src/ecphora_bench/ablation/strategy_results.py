"""The results of several strategies for the same questions, with the figures that every open question needs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from ecphora.maintenance.learn.datasets import Case
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.ports import Extractor, Strategy

from ..recall import intervals
from ..recall.recall_run import group_by_memory
from ..recall.run_records import Difference, Figure, Metric
from ..spaces import build_query_space
from .ablation_run import QuestionResult, question_result

CUTOFFS = (5, 10)
"""Documents of a ranking that are used."""
BASELINES = ("dense", "bm25", "rrf")
"""The baselines that every strategy is compared with, if they are run."""

SpacesByStrategy = Mapping[str, Sequence[QuerySpace]]
"""For each strategy, the spaces as it recalls from them; those that write nothing share theirs."""


def build_spaces(
    cases: Sequence[Case],
    strategies: Sequence[Strategy],
    embedder: CachingEmbedder,
    extractors: Sequence[Extractor] | None = None,
) -> SpacesByStrategy:
    """Index the spaces, once for all strategies that only read and once for each that writes.

    ``extractors`` has one for each case.
    """
    pairs = list(zip(cases, extractors or repeat(None), strict=False))
    spaces: dict[str, list[QuerySpace]] = {}
    for group in group_by_memory(strategies):
        found = [build_query_space(case, group[0], embedder, extractor=extractor) for case, extractor in pairs]
        spaces.update((strategy.name, found) for strategy in group)
    return spaces


def ranked_questions(spaces: Sequence[QuerySpace]) -> Iterator[tuple[QuerySpace, int]]:
    """The questions that have a ranking, answerable and with evidence: each as its space and its number."""
    for space in spaces:
        for number, question in enumerate(space.case.questions):
            if question.has_ranking:
                yield space, number


@dataclass(frozen=True, slots=True)
class StrategyResults:
    """The results of each strategy, by its name, for the same questions."""

    results_by_strategy: Mapping[str, Sequence[QuestionResult]]

    @staticmethod
    def collect(spaces: SpacesByStrategy, strategies: Sequence[Strategy]) -> "StrategyResults":
        """Ask every question that has a ranking."""
        return StrategyResults(
            {
                strategy.name: [
                    question_result(space, number, strategy.activate(space.queries[number], space.graph))
                    for space, number in ranked_questions(spaces[strategy.name])
                ]
                for strategy in strategies
            }
        )

    def recalls(self, strategy: str, k: int) -> Numbers:
        """The fraction of the gold among the first ``k`` documents, for each question."""
        return np.array([np.mean(np.array(one.gold_ranks) <= k) for one in self.results_by_strategy[strategy]])

    def recall_figures(
        self, dataset: str, category: str, k: int, *, reference: "StrategyResults | None" = None
    ) -> Iterator[Figure]:
        """Recall at ``k`` of each strategy, and its difference to that of the same strategy in ``reference``."""
        for name in self.results_by_strategy:
            values = self.recalls(name, k)
            if len(values):
                base = None if reference is None else reference.recalls(name, k)
                yield mean_figure(dataset, name, category, (Metric.RECALL, k), values, base=base, reference=name)

    def difference_figures(self, dataset: str, category: str, k: int, reference: str) -> Iterator[Figure]:
        """Recall at ``k`` of each strategy, and its difference to that of the strategy ``reference``."""
        for name in self.results_by_strategy:
            if len(values := self.recalls(name, k)):
                base = None if name == reference else self.recalls(reference, k)
                yield mean_figure(dataset, name, category, (Metric.RECALL, k), values, base=base, reference=reference)


def mean_figure(
    dataset: str,
    strategy: str,
    category: str,
    measure: tuple[Metric, int | None],
    values: Numbers,
    *,
    base: Numbers | None = None,
    reference: str = "",
) -> Figure:
    """The mean of values, one a question, with its interval, and its difference to the mean of ``base``.

    ``measure`` is the metric and its cut.
    """
    difference = None
    if base is not None:
        change = values - base
        difference = Difference(reference, float(change.mean()), *intervals.bootstrap_interval(change))
    low, high = intervals.bootstrap_interval(values)
    return Figure(
        dataset, strategy, category, *measure, len(values), float(values.mean()), low, high, difference=difference
    )
