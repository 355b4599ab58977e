"""Variants of a model compared over the same questions: every resample draws the same, so differences are of pairs.

The figures of every variant are the part of the gold evidence among the first k documents, how well confidence tells
answerable from unanswerable questions, and refusals: the part of the questions whose evidence band is NONE, false ones
of answerable questions and true ones of unanswerable questions. A model's paper may add its own:
:mod:`.synaptic_metrics`, :mod:`.synapse_metrics`.
"""

from collections.abc import Iterator, Mapping

from ecphora.maintenance.learn import metrics

from ..recall import intervals
from ..recall.run_records import ALL, ANSWERABLE, Difference, Figure, Metric
from .ablations import BASELINES, Model, PaperMeasurement, Variant, rival_variants
from .result_columns import Estimate, FigureKey, QuestionColumns, ResultColumns, gold_fractions, mean_estimate
from .synapse_metrics import gate_figures, low_similarity_figures, refusal_figures
from .synaptic_metrics import equal_count_figures

CUTOFFS = (5, 10, 30)
"""The cuts of a ranking."""
MULTI_HOP = "multi-hop"
"""A category of figures, as ``answerable`` and ``all`` are."""


def compare(
    dataset: str, model: Model, results: Mapping[Variant, ResultColumns], questions: QuestionColumns
) -> Iterator[Figure]:
    """The figures of a model's table, each with its difference to the base: the whole model, if nothing else."""
    rivals = rival_variants(model)
    estimates: dict[Variant, dict[FigureKey, Estimate]] = {}
    for variant in (*model.all_variants, *rivals, *BASELINES):
        if variant not in results:
            continue
        estimates[variant] = {} if variant in rivals else dict(_standard_figures(results[variant], questions))
        for measurement in sorted(model.paper_measurements):
            estimates[variant].update(_PAPER_MEASUREMENTS[measurement](variant, model, results, questions))
        base = variant.reference or model.full
        for (metric, k, category), estimate in estimates[variant].items():
            low, high = intervals.percentile_interval(estimate.samples)
            base_estimate = None if variant is base else estimates[base].get((metric, k, category))
            difference = None if base_estimate is None else _difference(base, estimate, base_estimate)
            yield Figure(
                *(dataset, variant.label, category, metric, k, estimate.n, estimate.value, low, high),
                model=model.name,
                difference=difference,
            )


def _difference(base: Variant, one: Estimate, whole: Estimate) -> Difference:
    return Difference(base.label, one.value - whole.value, *intervals.percentile_interval(one.samples - whole.samples))


def _standard_figures(results: ResultColumns, questions: QuestionColumns) -> Iterator[tuple[FigureKey, Estimate]]:
    """Fractions of the gold, AUROC and refusals."""
    for k in CUTOFFS if questions.has_ranking.any() else ():
        yield (
            (Metric.RECALL, k, ANSWERABLE),
            mean_estimate(gold_fractions(results, questions, k)[questions.has_ranking]),
        )
    if questions.has_ranking.any():
        yield (
            (Metric.RECALL_ALL, CUTOFFS[0], ANSWERABLE),
            mean_estimate(1.0 * (gold_fractions(results, questions, CUTOFFS[0]) == 1)[questions.has_ranking]),
        )
    if (several := questions.has_ranking & questions.is_multi_hop).any():
        yield (
            (Metric.RECALL, CUTOFFS[1], MULTI_HOP),
            mean_estimate(gold_fractions(results, questions, CUTOFFS[1])[several]),
        )
    yield from refusal_figures(results, questions)
    positives, negatives = results.confidence[questions.is_answerable], results.confidence[~questions.is_answerable]
    if len(positives) and len(negatives):
        area = metrics.auroc(positives, negatives)
        yield (
            (Metric.AUROC, None, ALL),
            Estimate(area, intervals.resample_auroc(positives, negatives), len(questions.is_answerable)),
        )


_PAPER_MEASUREMENTS = {
    PaperMeasurement.EQUAL_COUNT: equal_count_figures,
    PaperMeasurement.LOW_SIMILARITY: low_similarity_figures,
    PaperMeasurement.GATE: gate_figures,
}
