"""SYNAPSE's stress test: recall where the evidence is far from the question, for any strategies.

The paper selects questions whose evidence has a cosine below 0.3 and does not say which cosine counts where there is
more evidence than one, so :data:`FILTERS` has four readings. Cosines count from the embedder's similarity floor. Near
questions are all others.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.ports import Strategy
from ecphora.model.types import Mask
from ecphora.strategies.synapse.strategy import Synapse

from ..recall import intervals
from ..recall.run_records import Difference, Figure, Metric
from .strategy_results import SpacesByStrategy, StrategyResults, mean_figure, ranked_questions
from .synapse_metrics import LOW_COSINE, LOW_SIMILARITY_CUTOFF, MIN_LOW_SIMILARITY_QUESTIONS, gold_cosines

WITHOUT_SPREADING = "synapse without spreading"
"""The row that prices spreading where the evidence is far: SYNAPSE with T = 0."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which questions are far: one number of the cosines of their evidence is below a limit."""

    label: str
    reduce: Callable[[Numbers], np.floating]
    limit: float

    def is_far(self, space: QuerySpace, index: int) -> bool:
        """Whether the evidence of a question is far from it; not without a vector to compare."""
        cosines = gold_cosines(space, index)
        return bool(len(cosines) and self.reduce(cosines) < self.limit)


FILTERS = (
    Filter("evidence far: highest cosine under .3", np.max, LOW_COSINE),
    Filter("evidence far: mean cosine under .3", np.mean, LOW_COSINE),
    Filter("evidence far: lowest cosine under .3", np.min, LOW_COSINE),
    Filter("evidence far: highest cosine under .45", np.max, 0.45),
)
"""The four readings of the filter."""


def stress_figures(
    name: str, spaces: SpacesByStrategy, strategies: Sequence[Strategy], results: StrategyResults, reference: str
) -> Iterator[Figure]:
    """Recall@30 of the far questions and of the near ones, the loss from near to far, and the far gold not returned.

    Differences are to the strategy ``reference``. With ``synapse`` among the strategies there is a row
    :data:`WITHOUT_SPREADING`, whose differences are to ``synapse``. Filters that leave fewer than ten far or near
    questions are left out.
    """
    found = dict(results.results_by_strategy)
    for strategy in strategies:
        if isinstance(strategy, Synapse) and strategy.name == "synapse":
            unspread = replace(strategy, T=0, name=WITHOUT_SPREADING)
            same_spaces = {WITHOUT_SPREADING: spaces[strategy.name]}
            found |= StrategyResults.collect(same_spaces, [unspread]).results_by_strategy
    every = StrategyResults(found)
    questions = list(ranked_questions(spaces[strategies[0].name]))
    for filter_ in FILTERS:
        is_far = np.array([filter_.is_far(space, number) for space, number in questions], np.bool_)
        if min(is_far.sum(), (~is_far).sum()) < MIN_LOW_SIMILARITY_QUESTIONS:
            continue
        for row in found:
            other = "synapse" if row == WITHOUT_SPREADING else reference
            yield from _row_figures(name, row, filter_.label, is_far, results=every, reference=other)


def _row_figures(
    name: str, row: str, label: str, is_far: Mask, *, results: StrategyResults, reference: str
) -> Iterator[Figure]:
    k = LOW_SIMILARITY_CUTOFF
    recalls, others = results.recalls(row, k), results.recalls(reference, k)
    for category, mask in ((label, is_far), (f"{label}, the others", ~is_far)):
        base = None if row == reference else others[mask]
        yield mean_figure(name, row, category, (Metric.RECALL, k), recalls[mask], base=base, reference=reference)
    losses, value = _losses(recalls, is_far)
    low, high = intervals.percentile_interval(losses)
    difference = None
    if row != reference:
        other_losses, other_value = _losses(others, is_far)
        change = intervals.percentile_interval(losses - other_losses)
        difference = Difference(reference, value - other_value, *change)
    yield Figure(name, row, label, Metric.LOSS, k, int(is_far.sum()), value, low, high, difference=difference)
    ranks = [np.array(one.gold_ranks) for one in results.results_by_strategy[row]]
    lost = np.array([np.isinf(one).mean() for one in ranks])[is_far]
    yield mean_figure(name, row, label, (Metric.NOT_RETURNED, None), lost)


def _losses(recalls: Numbers, is_far: Mask) -> tuple[Numbers, float]:
    """1 - far / near: of resamples of the questions, and of the questions themselves."""
    far, near = is_far.astype(np.float64), (~is_far).astype(np.float64)
    far_means, near_means = (
        intervals.resample_ratios(recalls * far, far),
        intervals.resample_ratios(recalls * near, near),
    )
    kept = np.divide(far_means, near_means, out=np.ones_like(far_means), where=near_means > 0)
    near_mean = float(recalls[~is_far].mean())
    return 1 - kept, 1 - float(recalls[is_far].mean()) / near_mean if near_mean else 0.0
