"""Fits what ``fused`` makes of a reader's scores, for ``train_reader.py``."""
# ruff: noqa: INP001  # in the folder of the script that uses it

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ecphora.learn.regression import fit_signed_logistic
from ecphora.stages.fused.reading import CONFIDENCE_FEATURES, confidence_features, newer_answer_share
from ecphora.stages.fused.recency_preference import RecencyPreference
from ecphora.stages.retrieval.linear import LinearModel

NEWEST, FORMER = "update", "then"
"""The categories of questions about the present state of a matter that changed, and about a former one."""
VECTOR_RIDGE = 0.003
"""The ridge on the weights of a question's vector, for each question and in units of the vectors' variance."""


def fit_recency_preference(vectors: NDArray[np.float32], categories: Sequence[str]) -> RecencyPreference:
    """Fit the model that finds 1 for questions about the present state, -1 for those about a former one, else 0."""
    names = np.array(categories)
    target = (names == NEWEST).astype(np.float64) - (names == FORMER)
    mean = vectors.mean(axis=0).astype(np.float64)
    rows = vectors - mean
    ridge = VECTOR_RIDGE * len(rows) * float(rows.var()) * np.eye(rows.shape[1])
    weights = np.linalg.solve(rows.T @ rows + ridge, rows.T @ (target - target.mean()))
    return RecencyPreference(float(target.mean() - mean @ weights), weights.astype(np.float32))


# ---- the ranking

GRIDS = {
    "reading": np.linspace(0, 4, 17),
    "newer answer": np.linspace(-4, 0, 9),
    "temperature": np.linspace(0.3, 1.5, 7),
}
"""The values tried for the weights of the ranking, and for the factor of all log-odds, which ranks nothing."""


GROUPS = ("talks", "lihua", "longmemeval_mini", "musique", "timeqa")
"""The data sets that count by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadExample:
    """A question whose candidates were read: all that the policy's weights depend on, an entry for each candidate."""

    dataset: str
    space: str
    category: str
    is_answerable: bool
    answerability: float
    names_speaker: bool
    preference: float
    log_odds: NDArray[np.float32]
    readings: NDArray[np.float32]
    times: NDArray[np.float64]
    is_answer: NDArray[np.bool_]

    @property
    def group(self) -> str:
        """The data set; all memories of our own but the long conversations are one."""
        return self.dataset if self.dataset in GROUPS else "own"

    def ranking(self, reading: float, newer_answer: float) -> NDArray[np.float32]:
        """The log-odds of the candidates with these weights, as :class:`ReadingPolicy` computes them."""
        log_odds = self.log_odds + reading * self.readings
        result: NDArray[np.float32] = log_odds + newer_answer * self.preference * newer_answer_share(
            log_odds, self.times
        )
        return result


def fit_ranking(examples: Sequence[ReadExample]) -> tuple[float, float]:
    """The weights of the reading and of newer answers that make the answers most probable.

    Our own memories, which are what users would bring, count as much as all other groups together. These count the
    same.
    """
    usable = [example for example in examples if example.is_answer.any() and not example.is_answer.all()]
    groups = np.array([example.group for example in usable])
    is_own = groups == "own"
    sample_weights = np.zeros(len(usable))
    for part in (is_own, ~is_own):
        sample_weights[part] = _balance(groups[part].tolist()) / 2

    def loss(reading: float, newer_answer: float) -> list[float]:
        rankings = [example.ranking(reading, newer_answer) for example in usable]
        size = max(map(len, rankings))
        odds = np.array([np.pad(one, (0, size - len(one)), constant_values=-np.inf) for one in rankings])
        is_answer = np.array([np.pad(example.is_answer, (0, size - len(example.is_answer))) for example in usable])
        odds -= odds.max(axis=1, keepdims=True)
        losses = []
        for temperature in GRIDS["temperature"]:
            chances = np.exp(temperature * odds)
            shares = (chances * is_answer).sum(axis=1) / chances.sum(axis=1)
            losses.append(float(-np.log(shares + 1e-9) @ sample_weights))
        return losses

    best = min(product(GRIDS["reading"], GRIDS["newer answer"]), key=lambda weights: min(loss(*weights)))
    return float(best[0]), float(best[1])


# ---- the confidence

# Features that would let a better reading lower the confidence are left out on purpose, such as the lead of the best
# reading: they raise the AUROC from .67 to .73, by learning how the authors of the questions phrase unanswerable ones.

CONFIDENCE_RIDGE = 1.0
MANY_CANDIDATES = 24
"""As many as are read at most."""


def fit_confidence(examples: Sequence[ReadExample]) -> LinearModel:
    """Fit the confidence, so that 0.5 means even chances.

    Answerable and unanswerable questions count the same, and so do small memories and those with more candidates. Only
    questions of our own small memories that name no speaker count.
    """
    examples = [example for example in examples if example.group == "own" and not example.names_speaker]
    rows = np.array([[*confidence_features(example.readings), 1.0] for example in examples])
    labels = np.array([float(example.is_answerable) for example in examples])
    keys = [(example.is_answerable, len(example.readings) >= MANY_CANDIDATES) for example in examples]
    sample_weights = len(examples) * _balance(keys)
    ridge = np.append(np.full(rows.shape[1] - 1, CONFIDENCE_RIDGE), 1e-3)
    free = np.zeros(rows.shape[1])
    found = fit_signed_logistic(rows, labels, sample_weights, ridge=ridge, sign=free, prior=free)
    weights = {name: round(float(value), 4) for name, value in zip(CONFIDENCE_FEATURES, found[:-1], strict=True)}
    return LinearModel(round(float(found[-1]), 4), weights)


def confidences(examples: Sequence[ReadExample], model: LinearModel) -> NDArray[np.float64]:
    """The confidence in each question."""
    weights = np.array([model.weights[name] for name in CONFIDENCE_FEATURES])
    odds = np.array([model.bias + confidence_features(example.readings) @ weights for example in examples])
    names_speaker = np.array([example.names_speaker for example in examples])
    without_reading = np.array([example.answerability for example in examples])
    return np.where(names_speaker, without_reading, 1 / (1 + np.exp(-odds)))


def _balance(groups: Sequence[object]) -> NDArray[np.float64]:
    """Weights that sum to 1, the same in total for each group."""
    sizes = Counter(groups)
    return np.array([1 / len(sizes) / sizes[group] for group in groups])
