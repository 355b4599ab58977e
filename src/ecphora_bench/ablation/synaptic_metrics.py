"""SynapticRAG's metrics: equal recall count (ERC), ERC-MG, and the mean number and the precision of what fired.

ERC: K is how many documents fired, every rival returns its first K, and the hits of all questions are divided by all
their gold; ERC-MG gives rivals at least as many as there is gold.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from ..recall.run_records import ANSWERABLE, Metric
from .ablations import DENSE, Model, Variant
from .result_columns import Estimate, FigureKey, QuestionColumns, ResultColumns, mean_estimate, ratio_estimate


def equal_count_figures(
    variant: Variant, model: Model, results: Mapping[Variant, ResultColumns], questions: QuestionColumns
) -> Iterator[tuple[FigureKey, Estimate]]:
    """SynapticRAG's ERC: the model and its variants by what fired in them, all others by as many as fired in the model.

    The gain is over as many documents of ``dense`` as fired.
    """
    result, has_ranking = results[variant], questions.has_ranking
    is_own_model = variant in model.all_variants
    fired = (result if is_own_model else results[model.full]).fired_counts
    if not has_ranking.any() or not fired[has_ranking].any():
        return
    gold = questions.gold_counts[has_ranking]
    hits = (result.fired_gold_counts if is_own_model else result.hits(fired))[has_ranking]
    yield (Metric.ERC, None, ANSWERABLE), ratio_estimate(hits, gold)
    hits_at_least_gold = hits if is_own_model else result.hits(np.maximum(fired, questions.gold_counts))[has_ranking]
    yield (Metric.ERC_MG, None, ANSWERABLE), ratio_estimate(hits_at_least_gold, gold)
    yield (Metric.PRECISION, None, ANSWERABLE), ratio_estimate(hits, fired[has_ranking])
    if is_own_model:
        yield (Metric.FIRED_COUNT, None, ANSWERABLE), mean_estimate(fired[has_ranking])
        yield (Metric.ERC_GAIN, None, ANSWERABLE), ratio_estimate(hits - results[DENSE].hits(fired)[has_ranking], gold)
