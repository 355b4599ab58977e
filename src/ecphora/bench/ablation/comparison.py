"""Variants of a model compared over the same questions: every resample draws the same, so differences are of pairs.

Beside the part of the gold evidence among the first k documents there are

- refusals: the part of the questions whose evidence band is NONE, false ones of answerable questions and true ones of
  unanswerable questions;
- SynapticRAG's equal recall count (ERC): K is how many documents fired, every rival returns its first K, and the hits
  of all questions are divided by all their gold; ERC-MG gives rivals at least as many as there is gold;
- SYNAPSE's low-similarity stress test: recall@30 where all gold is farther from the question than a cosine of 0.3,
  and how much less that is than over all answerable questions, in parts of these;
- SYNAPSE's gate: the largest threshold of confidence below which less than 2.5% of the answerable questions lie, and
  the part of the unanswerable ones below it. It is chosen on the questions it is measured on, as published.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...model import Evidence, Mask
from ...stages.retrieval.confidence import band
from ...stages.synapse.confidence_gate import calibrate_gate
from ..recall import metrics
from ..recall.figures import ALL, ANSWERABLE, UNANSWERABLE, Difference, Figure, Metric
from ..recall.metrics import Numbers
from .registry import BASELINES, DENSE, rival_variants
from .variants import Model, PaperMeasurement, Variant

CUTOFFS = (5, 10, 30)
"""The cuts of a ranking."""
LOW_COSINE = 0.3
"""The cosine below which gold evidence has little to do with its question."""
MAX_FALSE_REFUSALS = 0.025
"""The part of answerable questions that a gate may refuse, and does not reach."""
MIN_LOW_SIMILARITY_QUESTIONS = 10
"""Questions of low similarity that a set must have for the stress test."""
LOW_SIMILARITY = "low similarity"
MULTI_HOP = "multi-hop"
"""Categories of figures, as ``answerable`` and ``all`` are."""


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
            low, high = metrics.percentile_interval(estimate.samples)
            base_estimate = None if variant is base else estimates[base].get((metric, k, category))
            difference = None if base_estimate is None else _difference(base, estimate, base_estimate)
            yield Figure(
                *(dataset, variant.label, category, metric, k, estimate.n, estimate.value, low, high),
                model=model.name,
                difference=difference,
            )


def _difference(base: Variant, one: Estimate, whole: Estimate) -> Difference:
    return Difference(base.label, one.value - whole.value, *metrics.percentile_interval(one.samples - whole.samples))


def _standard_figures(results: ResultColumns, questions: QuestionColumns) -> Iterator[tuple[FigureKey, Estimate]]:
    """Fractions of the gold, AUROC and refusals."""
    for k in CUTOFFS if questions.has_ranking.any() else ():
        yield (Metric.RECALL, k, ANSWERABLE), _mean_estimate(_fractions(results, questions, k)[questions.has_ranking])
    if questions.has_ranking.any():
        yield (
            (Metric.RECALL_ALL, CUTOFFS[0], ANSWERABLE),
            _mean_estimate(1.0 * (_fractions(results, questions, CUTOFFS[0]) == 1)[questions.has_ranking]),
        )
    if (several := questions.has_ranking & questions.is_multi_hop).any():
        yield (
            (Metric.RECALL, CUTOFFS[1], MULTI_HOP),
            _mean_estimate(_fractions(results, questions, CUTOFFS[1])[several]),
        )
    none = np.array([band(value) is Evidence.NONE for value in results.confidence], np.float64)
    for metric, category, mask in (
        (Metric.FALSE_REFUSAL, ANSWERABLE, questions.is_answerable),
        (Metric.TRUE_REFUSAL, UNANSWERABLE, ~questions.is_answerable),
    ):
        if mask.any():
            yield (metric, None, category), _mean_estimate(none[mask])
    positives, negatives = results.confidence[questions.is_answerable], results.confidence[~questions.is_answerable]
    if len(positives) and len(negatives):
        area = metrics.auroc(positives, negatives)
        yield (
            (Metric.AUROC, None, ALL),
            Estimate(area, metrics.resample_auroc(positives, negatives), len(questions.is_answerable)),
        )


def _fractions(results: ResultColumns, questions: QuestionColumns, k: int) -> Numbers:
    counts = np.full(len(questions.gold_counts), k, np.float64)
    return np.divide(
        results.hits(counts), questions.gold_counts, out=np.zeros(len(counts)), where=questions.gold_counts > 0
    )


def _mean_estimate(values: Numbers) -> Estimate:
    return Estimate(float(values.mean()), metrics.resample(values), len(values))


def _ratio_estimate(numerators: Numbers, denominators: Numbers) -> Estimate:
    whole = float(denominators.sum())
    return Estimate(
        float(numerators.sum()) / whole if whole else 0.0,
        metrics.resample_ratios(numerators, denominators),
        len(numerators),
    )


def _equal_count(
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
    yield (Metric.ERC, None, ANSWERABLE), _ratio_estimate(hits, gold)
    hits_at_least_gold = hits if is_own_model else result.hits(np.maximum(fired, questions.gold_counts))[has_ranking]
    yield (Metric.ERC_MG, None, ANSWERABLE), _ratio_estimate(hits_at_least_gold, gold)
    yield (Metric.PRECISION, None, ANSWERABLE), _ratio_estimate(hits, fired[has_ranking])
    if is_own_model:
        yield (Metric.FIRED_COUNT, None, ANSWERABLE), _mean_estimate(fired[has_ranking])
        yield (Metric.ERC_GAIN, None, ANSWERABLE), _ratio_estimate(hits - results[DENSE].hits(fired)[has_ranking], gold)


def _low_similarity(
    variant: Variant, _model: Model, results: Mapping[Variant, ResultColumns], questions: QuestionColumns
) -> Iterator[tuple[FigureKey, Estimate]]:
    """SYNAPSE's stress test: recall@30 where the gold is far from the question, and what is lost there."""
    has_ranking = questions.has_ranking
    far = questions.is_low_similarity[has_ranking].astype(np.float64)
    if far.sum() < MIN_LOW_SIMILARITY_QUESTIONS:
        return
    recalls = _fractions(results[variant], questions, CUTOFFS[-1])[has_ranking]
    far_recall = Estimate(float(recalls[far > 0].mean()), metrics.resample_ratios(recalls * far, far), int(far.sum()))
    yield (Metric.RECALL, CUTOFFS[-1], LOW_SIMILARITY), far_recall
    overall = metrics.resample(recalls)
    kept = np.divide(far_recall.samples, overall, out=np.ones_like(overall), where=overall > 0)
    loss = 1 - far_recall.value / float(recalls.mean()) if recalls.any() else 0.0
    yield (Metric.LOSS, CUTOFFS[-1], LOW_SIMILARITY), Estimate(loss, 1 - kept, far_recall.n)


def _gate(
    variant: Variant, _model: Model, results: Mapping[Variant, ResultColumns], questions: QuestionColumns
) -> Iterator[tuple[FigureKey, Estimate]]:
    """SYNAPSE's gate where it refuses less than 2.5% of the answerable questions, and what else it refuses there."""
    confidence = results[variant].confidence
    positives, negatives = confidence[questions.is_answerable], confidence[~questions.is_answerable]
    if not len(positives) or not len(negatives):
        return
    threshold = float(calibrate_gate(positives, MAX_FALSE_REFUSALS))
    threshold_samples = metrics.resample(positives, lambda samples: calibrate_gate(samples, MAX_FALSE_REFUSALS))
    yield (Metric.THRESHOLD, None, ANSWERABLE), Estimate(threshold, threshold_samples, len(positives))
    refusal_samples = metrics.resample_gate_refusals(positives, negatives, MAX_FALSE_REFUSALS)
    yield (
        (Metric.GATE_REFUSAL, None, UNANSWERABLE),
        Estimate(float((negatives < threshold).mean()), refusal_samples, len(negatives)),
    )


_PAPER_MEASUREMENTS = {
    PaperMeasurement.EQUAL_COUNT: _equal_count,
    PaperMeasurement.LOW_SIMILARITY: _low_similarity,
    PaperMeasurement.GATE: _gate,
}
