"""SYNAPSE's metrics: the low-similarity stress test, and the refusals of the confidence gate.

- Low similarity: recall@30 where all gold is farther from the question than a cosine of 0.3, and how much less that is
  than over all answerable questions, in parts of these.
- Refusals: the part of the answerable questions that are refused, falsely, and that of the unanswerable ones.
- Gate: the largest threshold of confidence below which less than 2.5% of the answerable questions lie, and the part of
  the unanswerable ones below it. It is chosen on the questions it is measured on, as published.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.regression import Numbers
from ecphora.model.types import Evidence
from ecphora.retrieval import dense
from ecphora.retrieval.confidence import DEFAULT_BANDS
from ecphora.strategies.synapse.confidence_gate import calibrate_gate

from ..recall import intervals
from ..recall.run_records import ANSWERABLE, UNANSWERABLE, Metric
from .ablations import Model, Variant
from .result_columns import Estimate, FigureKey, QuestionColumns, ResultColumns, gold_fractions, mean_estimate

LOW_COSINE = 0.3
"""The cosine below which gold evidence has little to do with its question."""
LOW_SIMILARITY = "low similarity"
"""The category of figures, as ``answerable`` is one."""
LOW_SIMILARITY_CUTOFF = 30
"""The cut of the ranking in the stress test."""
MIN_LOW_SIMILARITY_QUESTIONS = 10
"""Questions of low similarity that a set must have for the stress test."""
MAX_FALSE_REFUSALS = 0.025
"""The part of answerable questions that a gate may refuse, and does not reach."""


def gold_cosines(space: QuerySpace, index: int) -> Numbers:
    """The cosine of a question with each document of its gold evidence, that of the document's nearest text.

    Documents without a vector are left out. Cosines count from the embedder's similarity floor.
    """
    graph, query = space.graph, space.queries[index]
    documents = space.document_numbers[graph.vector_rows["rows"]]
    if query.vector is None:
        return np.zeros(0)
    held = [np.flatnonzero(documents == gold) for gold in space.gold_documents(index)]
    best = [(graph.vectors.view[rows] @ query.vector).max() for rows in held if len(rows)]
    return dense.above_floor(np.array(best, np.float32), query.similarity_floor).astype(np.float64)


def max_gold_cosine(space: QuerySpace, index: int) -> float:
    """The highest cosine of a question with its gold evidence; 1 if there is nothing to compare."""
    cosines = gold_cosines(space, index)
    return float(cosines.max()) if len(cosines) else 1.0


def low_similarity_figures(
    variant: Variant, _model: Model, results: Mapping[Variant, ResultColumns], questions: QuestionColumns
) -> Iterator[tuple[FigureKey, Estimate]]:
    """SYNAPSE's stress test: recall@30 where the gold is far from the question, and what is lost there."""
    has_ranking = questions.has_ranking
    far = questions.is_low_similarity[has_ranking].astype(np.float64)
    if far.sum() < MIN_LOW_SIMILARITY_QUESTIONS:
        return
    recalls = gold_fractions(results[variant], questions, LOW_SIMILARITY_CUTOFF)[has_ranking]
    far_recall = Estimate(float(recalls[far > 0].mean()), intervals.resample_ratios(recalls * far, far), int(far.sum()))
    yield (Metric.RECALL, LOW_SIMILARITY_CUTOFF, LOW_SIMILARITY), far_recall
    overall = intervals.resample(recalls)
    kept = np.divide(far_recall.samples, overall, out=np.ones_like(overall), where=overall > 0)
    loss = 1 - far_recall.value / float(recalls.mean()) if recalls.any() else 0.0
    yield (Metric.LOSS, LOW_SIMILARITY_CUTOFF, LOW_SIMILARITY), Estimate(loss, 1 - kept, far_recall.n)


def refusal_figures(results: ResultColumns, questions: QuestionColumns) -> Iterator[tuple[FigureKey, Estimate]]:
    """The refusals: the part of the questions of evidence band NONE, false of answerable ones, true of the others."""
    none = np.array([DEFAULT_BANDS.band(value) is Evidence.NONE for value in results.confidence], np.float64)
    for metric, category, mask in (
        (Metric.FALSE_REFUSAL, ANSWERABLE, questions.is_answerable),
        (Metric.TRUE_REFUSAL, UNANSWERABLE, ~questions.is_answerable),
    ):
        if mask.any():
            yield (metric, None, category), mean_estimate(none[mask])


def gate_figures(
    variant: Variant, _model: Model, results: Mapping[Variant, ResultColumns], questions: QuestionColumns
) -> Iterator[tuple[FigureKey, Estimate]]:
    """SYNAPSE's gate where it refuses less than 2.5% of the answerable questions, and what else it refuses there."""
    confidence = results[variant].confidence
    positives, negatives = confidence[questions.is_answerable], confidence[~questions.is_answerable]
    if not len(positives) or not len(negatives):
        return
    threshold = float(calibrate_gate(positives, MAX_FALSE_REFUSALS))
    threshold_samples = intervals.resample(positives, lambda samples: calibrate_gate(samples, MAX_FALSE_REFUSALS))
    yield (Metric.THRESHOLD, None, ANSWERABLE), Estimate(threshold, threshold_samples, len(positives))
    refusal_samples = intervals.resample_gate_refusals(positives, negatives, MAX_FALSE_REFUSALS)
    yield (
        (Metric.GATE_REFUSAL, None, UNANSWERABLE),
        Estimate(float((negatives < threshold).mean()), refusal_samples, len(negatives)),
    )
