"""Training of ``fused``: the weights of the ranker and the answerability model, from questions with known evidence.

The ranker is a conditional logit over the rows of the candidate pools, the answerability model a logistic regression.
A weight keeps the sign of what its feature means (except for ``UNSIGNED_FEATURES``), and is pulled to its prior: to 0,
or to the weights of the package.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ...model.graph.graph import Graph
from ...model.types import Mask, Query, Rows
from ...retrieval.fusion import LinearModel
from ...strategies.fused.answerability import ANSWERABILITY_FEATURES, AnswerabilityModel, answerability_features
from ...strategies.fused.candidate_pool import build_pool
from ...strategies.fused.feature_matrix import (
    FORMER_STATE,
    MISSING_NAMES,
    NOT_A_FACT,
    FeatureMatrix,
    Genre,
    build_feature_matrix,
)
from ...strategies.fused.features import STATEMENT_GROUPS, feature_names_by_group
from ...strategies.fused.newer_answers import OLDER_ANSWER, SERIES_END
from ...strategies.fused.ranker import Ranker
from ...strategies.fused.reranking import RERANKING_FEATURES
from .regression import ChoiceSet, Numbers, fit_signed_choice, fit_signed_logistic

NEGATIVE_FEATURES = frozenset(
    {
        "other speaker",
        "is question",
        "redundancy",
        "repeated instance",
        "other identifier",
        OLDER_ANSWER,
        SERIES_END,
        MISSING_NAMES,
        NOT_A_FACT,
        FORMER_STATE,
    }
)
"""Features whose weight cannot be positive."""
UNSIGNED_FEATURES = frozenset({"entity count", "mentions time"})
"""Features whose weight may have either sign."""
SET_EXPONENT = 0.5
"""A data set counts for the number of its questions to this power: more for more questions, but not as many times."""
ROWS_PER_QUESTION = 100
"""The rows of a question that the ranker learns from: the best by the ranker before, and all that hold the answer."""
RIDGE = 30.0
"""The ridge that pulls a weight, in standard deviations of its feature, to its prior."""
ANSWERABILITY_RIDGE = 10.0
"""The same for the answerability weights, where a set counts for :data:`ANSWERABILITY_QUESTIONS_PER_SET` questions."""
ANSWERABILITY_QUESTIONS_PER_SET = 300.0
MIN_EFFECT = 0.02
"""A weight that changes a score by less than this, per root mean square of its feature, is left out."""
PARTIAL_SET_WEIGHT = 0.2
"""How much a question in a part of a space counts, compared to one in a full space."""
MIN_SCALE = 1e-9
"""A feature whose root mean square is at most this says nothing: its weight stays, as for an absent reading."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedExample:
    """A question with its feature matrix and labels; ``question_id`` is the same wherever the question is asked.

    ``is_full_space`` is False for a small part of a space, from which only answerability is learned.
    ``document_numbers`` has the number of each row's document; a chunked text is one document. ``gold`` are the numbers
    of the documents that hold the answer, in the pool or not. ``is_answerable`` is None where that is not known.
    """

    dataset: str
    space: str
    question_id: str
    is_full_space: bool
    matrix: FeatureMatrix
    document_numbers: Rows
    gold: frozenset[int]
    is_answerable: bool | None

    @property
    def is_trainable(self) -> bool:
        """Whether the ranker can learn from it: a full space, not unanswerable, with gold in the pool."""
        return bool(
            self.is_full_space
            and self.is_answerable is not False
            and self.gold.intersection(self.document_numbers.tolist())
        )


def make_example(
    query: Query,
    graph: Graph,
    *,
    dataset: str,
    space: str,
    question_id: str,
    document_numbers: Rows,
    gold: Iterable[int],
    is_answerable: bool | None,
    is_full_space: bool = True,
) -> FusedExample:
    """Build the example of a query; ``document_numbers`` has an entry per row of the graph."""
    matrix = build_feature_matrix(build_pool(graph, query))
    documents = document_numbers[matrix.rows]
    return FusedExample(dataset, space, question_id, is_full_space, matrix, documents, frozenset(gold), is_answerable)


@dataclass(frozen=True, slots=True)
class FusedModel:
    """The result of training: the two learned parts of ``fused``."""

    ranker: Ranker
    answerability: AnswerabilityModel


_ZERO_WEIGHTS = (0.0,) * len(ANSWERABILITY_FEATURES)
UNTRAINED = FusedModel(
    Ranker(*[LinearModel(-8.0, {})] * len(Genre)),
    AnswerabilityModel(_ZERO_WEIGHTS, 0.0, _ZERO_WEIGHTS, 0.0),
)
"""The start of training from scratch: every feature has weight 0."""


def train(
    examples: Sequence[FusedExample], prior: FusedModel, *, ridge: float = RIDGE, genre: Genre | None = None
) -> FusedModel:
    """Train both parts; a part without examples stays as it was. With a genre, only the ranker's weights for it."""
    if genre is not None:
        models = list(prior.ranker.models)
        models[genre] = _train_linear_model(examples, models[genre], ridge, genre)
        return replace(prior, ranker=Ranker(*models))
    ranker = train_ranker(examples, prior.ranker, ridge=ridge)
    return FusedModel(ranker, train_answerability(examples, ranker, prior.answerability))


# ---- the ranker


def train_ranker(examples: Sequence[FusedExample], prior: Ranker, *, ridge: float = RIDGE) -> Ranker:
    """Train each linear model on the rows of its genre."""
    return Ranker(*(_train_linear_model(examples, model, ridge, genre) for genre, model in enumerate(prior.models)))


def _train_linear_model(examples: Sequence[FusedExample], prior: LinearModel, ridge: float, genre: int) -> LinearModel:
    labeled = [(example, *_labeled_rows(example, genre, prior)) for example in examples if example.is_trainable]
    labeled = [(example, rows, labels) for example, rows, labels in labeled if labels.any() and not labels.all()]
    if not labeled:  # nothing to rank apart, or no example at all
        return prior
    names = tuple(name for name in labeled[0][0].matrix.features if _ranks(name, genre))
    sizes = _set_sizes(example.dataset for example, _, _ in labeled)
    question_weights = np.array([sizes[example.dataset] ** (SET_EXPONENT - 1) for example, _, _ in labeled])
    question_weights /= question_weights.mean()
    arrays = [_feature_array(example.matrix, names)[rows] for example, rows, _ in labeled]
    scale = np.sqrt(np.mean(np.concatenate(arrays) ** 2, axis=0))
    is_seen = scale > MIN_SCALE
    scale = np.where(is_seen, scale, 1.0)
    prior_weights = np.array([prior.weights.get(name, 0.0) for name in names])
    choice_sets = [
        ChoiceSet(features / scale, labels, weight)
        for features, (_, _, labels), weight in zip(arrays, labeled, question_weights.tolist(), strict=True)
    ]
    weights = fit_signed_choice(
        choice_sets,
        ridge=np.full(len(names), ridge),
        sign=np.array([_sign(name) for name in names]),
        prior=prior_weights * scale,
    )
    kept = {
        name: round(float(weight / scale[i]), 4)
        for i, (name, weight) in enumerate(zip(names, weights, strict=True))
        if is_seen[i] and abs(weight) >= MIN_EFFECT
    }
    unseen = prior.weights.keys() - {name for name, seen in zip(names, is_seen, strict=True) if seen}
    kept |= {name: weight for name, weight in prior.weights.items() if name in unseen}
    return LinearModel(_fit_bias(choice_sets, weights), kept)


def _ranks(feature: str, genre: int) -> bool:
    """Whether a feature ranks memories of a genre."""
    return genre != Genre.STATEMENT or feature in _statement_features()


@cache
def _statement_features() -> frozenset[str]:
    groups = feature_names_by_group()
    return frozenset(RERANKING_FEATURES).union(*(groups[name] for name in STATEMENT_GROUPS))


def _fit_bias(choice_sets: Sequence[ChoiceSet], weights: Numbers) -> float:
    """The bias that makes the log-odds probabilities: as many rows are right as they say."""
    odds = np.concatenate([one.features @ weights for one in choice_sets])
    counts = np.concatenate([np.full(len(one.is_right), one.weight) for one in choice_sets])
    right = float(counts @ np.concatenate([one.is_right for one in choice_sets]))
    lowest, highest = -40.0, 40.0
    while highest - lowest > 1e-6:
        middle = (lowest + highest) / 2
        expected = float(counts @ (1 / (1 + np.exp(-np.clip(odds + middle, -60, 60)))))
        lowest, highest = (middle, highest) if expected < right else (lowest, middle)
    return round((lowest + highest) / 2, 4)


def _labeled_rows(example: FusedExample, genre: int, prior: LinearModel) -> tuple[Rows, Mask]:
    """Return the rows to learn from, and which of them hold the answer.

    Of a chunked gold document only the best-ranked chunk is taken: not all chunks hold the answer, and which of the
    others do is not known.
    """
    rank = _prior_scores(example, prior)
    gold = np.isin(example.document_numbers, list(example.gold))
    best = np.zeros(len(rank), np.bool_)
    for document in example.gold.intersection(example.document_numbers.tolist()):
        chunks = np.flatnonzero(example.document_numbers == document)
        best[chunks[np.argmax(rank[chunks])]] = True
    rows = np.flatnonzero((~gold | best) & (example.matrix.genres == genre))
    rows = rows[np.argsort(-(rank + np.where(best, np.inf, 0))[rows], kind="stable")[:ROWS_PER_QUESTION]]
    return rows, best[rows]


def _prior_scores(example: FusedExample, prior: LinearModel) -> Numbers:
    """The scores of the rows before training; by rank of the first stage if nothing was learned before."""
    features, weights = example.matrix.features, prior.weights or {"first-stage rank": 1.0}
    found: Numbers = np.sum(
        [weight * features[name] for name, weight in weights.items() if name in features]
        or [np.zeros(len(example.matrix))],
        axis=0,
    ).astype(np.float64)
    return found


def _feature_array(matrix: FeatureMatrix, names: Sequence[str]) -> Numbers:
    return np.stack([matrix.features[name] for name in names], axis=1).astype(np.float64)


def _sign(name: str) -> float:
    return 0.0 if name in UNSIGNED_FEATURES else -1.0 if name in NEGATIVE_FEATURES else 1.0


def _set_sizes(datasets: Iterable[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name in datasets:
        sizes[name] = sizes.get(name, 0) + 1
    return sizes


# ---- the answerability model


def train_answerability(
    examples: Sequence[FusedExample], ranker: Ranker, prior: AnswerabilityModel
) -> AnswerabilityModel:
    """Train on the questions whose answerability is known: on questions that were read, and on the others apart."""
    labeled = [example for example in examples if example.is_answerable is not None and len(example.matrix)]
    read = _train_answerability_weights([one for one in labeled if one.matrix.is_read], ranker)
    unread = _train_answerability_weights([one for one in labeled if not one.matrix.is_read], ranker)
    return AnswerabilityModel(
        read_weights=read[:-1] if read else prior.read_weights,
        read_bias=read[-1] if read else prior.read_bias,
        unread_weights=unread[:-1] if unread else prior.unread_weights,
        unread_bias=unread[-1] if unread else prior.unread_bias,
    )


def _train_answerability_weights(examples: Sequence[FusedExample], ranker: Ranker) -> tuple[float, ...]:
    """Return the weights of the features, then the bias; empty if no set has questions of both classes.

    Each data set counts the same, and within it the answerable and the unanswerable questions count the same.
    """
    datasets = {example.dataset for example in examples if example.is_answerable} & {
        example.dataset for example in examples if not example.is_answerable
    }
    usable = [example for example in examples if example.dataset in datasets]
    if not usable:
        return ()
    features = np.stack(
        [answerability_features(example.matrix, ranker.score(example.matrix)) for example in usable]
    ).astype(np.float64)
    labels = np.array([example.is_answerable for example in usable], np.float64)
    sizes = _set_sizes(f"{example.dataset} {example.is_answerable}" for example in usable)
    counts = np.array(
        [
            ANSWERABILITY_QUESTIONS_PER_SET
            * (1 if example.is_full_space else PARTIAL_SET_WEIGHT)
            / 2
            / sizes[f"{example.dataset} {example.is_answerable}"]
            for example in usable
        ]
    )
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    free = np.zeros(len(ANSWERABILITY_FEATURES) + 1)
    weights = fit_signed_logistic(
        np.column_stack([(features - mean) / scale, np.ones(len(features))]),
        labels,
        counts,
        ridge=np.append(np.full(len(ANSWERABILITY_FEATURES), ANSWERABILITY_RIDGE), 1e-6),
        sign=free,
        prior=free,
    )
    raw = np.where(features.std(axis=0) > 1e-6, weights[:-1] / scale, 0)
    return (*(round(float(weight), 4) for weight in raw), round(float(weights[-1] - raw @ mean), 4))
