"""Fits what ``fused`` makes of a reader's scores, for ``train_reader.py``."""
# ruff: noqa: INP001  # in the folder of the script that uses it

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecphora.learn.regression import fit_signed_logistic
from ecphora.stages.fused.feature_matrix import Genre
from ecphora.stages.fused.newer_answers import MAX_SHARE, NewerAnswerModel
from ecphora.stages.fused.reading import CONFIDENCE_FEATURES, confidence_features
from ecphora.stages.fused.recency_preference import RecencyPreference
from ecphora.stages.retrieval.linear import LinearModel

NEWEST, FORMER = "update", "then"
"""The categories of questions about the present state of a matter that changed, and about a former one."""
VECTOR_RIDGE = 0.003
"""The ridge on the weights of a question's vector, for each question and in units of the vectors' variance."""
PREFERENCE_SCALE = 2.0
"""By how much the regression's values are too small: the texts have far more questions about matters that never changed
than a user asks, many of them in the present tense.
"""


def fit_recency_preference(vectors: NDArray[np.float32], categories: Sequence[str]) -> RecencyPreference:
    """Fit the model that finds 1 for questions about the present state, -1 for those about a former one, else 0."""
    names = np.array(categories)
    target = (names == NEWEST).astype(np.float64) - (names == FORMER)
    mean = vectors.mean(axis=0).astype(np.float64)
    rows = vectors - mean
    ridge = VECTOR_RIDGE * len(rows) * float(rows.var()) * np.eye(rows.shape[1])
    weights = np.linalg.solve(rows.T @ rows + ridge, rows.T @ (target - target.mean()))
    bias, weights = PREFERENCE_SCALE * float(target.mean() - mean @ weights), PREFERENCE_SCALE * weights
    return RecencyPreference(bias, weights.astype(np.float32))


# ---- the ranking

START = {
    "utterance": 0.7,
    "note": 0.7,
    "passage": 0.7,
    "long turn": 0.0,
    "plain text": 0.7,
    "temperature": 0.6,
    "bias": -1.0,
    "similarity": 2.0,
    "to_reading": 2.0,
    "from_reading": -1.5,
}
"""Where the fit of the ranking's weights starts; the temperature is a factor of all log-odds, which ranks nothing."""
FIXED = ("long turn",)
"""Weights that stay where they start: our own long chats would have 1.3, and beam_100k 0 (decision 68)."""
STEPS, RATE = 80, 0.1
"""The steps of Adam and their size."""
NO_CANDIDATE = -50.0
"""The log-odds of padding."""


GenreWeights = tuple[float, ...]
"""A weight for each :class:`Genre`, in this order."""


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
    genres: NDArray[np.intp]
    order: NDArray[np.intp]
    similarities: NDArray[np.float32]
    is_answer: NDArray[np.bool_]

    @property
    def group(self) -> str:
        """The data set; all memories of our own but the long conversations are one."""
        return self.dataset if self.dataset in GROUPS else "own"

    def first(self, count: int) -> "ReadExample":
        """The example if only the first ``count`` candidates had been read and there were no others."""
        return replace(
            self,
            log_odds=self.log_odds[:count],
            readings=self.readings[:count],
            genres=self.genres[:count],
            order=self.order[:count],
            similarities=self.similarities[:count, :count],
            is_answer=self.is_answer[:count],
        )

    def ranking(self, reading: GenreWeights, newer_answers: NewerAnswerModel | None) -> NDArray[np.float32]:
        """The log-odds of the candidates with these weights, as :class:`ReadingPolicy` computes them."""
        log_odds: NDArray[np.float32] = self.log_odds + np.array(reading, np.float32)[self.genres] * self.readings
        if newer_answers is None:
            return log_odds
        return log_odds + newer_answers.gains(log_odds, self.readings, self.similarities, self.order, self.preference)


def fit_ranking(examples: Sequence[ReadExample]) -> tuple[GenreWeights, NewerAnswerModel]:
    """The weights of the reading and the model of newer answers that make the answers most probable.

    Our own memories, which are what users would bring, count as much as all other groups together. These count the
    same.
    """
    usable = [example for example in examples if example.is_answer.any() and not example.is_answer.all()]
    groups = np.array([example.group for example in usable])
    is_own = groups == "own"
    sample_weights = np.zeros(len(usable))
    for part in (is_own, ~is_own):
        sample_weights[part] = _balance(groups[part].tolist()) / 2
    batch = _Batch(usable)
    values = {name: torch.tensor(value, requires_grad=name not in FIXED) for name, value in START.items()}
    optimizer = torch.optim.Adam([value for value in values.values() if value.requires_grad], lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        log_shares = torch.log_softmax(values["temperature"] * batch.ranking(values), 1)
        losses = -torch.logsumexp(log_shares.masked_fill(~batch.is_answer, -torch.inf), 1)
        (losses * torch.tensor(sample_weights)).sum().backward()  # type: ignore[no-untyped-call,unused-ignore]
        optimizer.step()
    found = {name: round(value.item(), 3) for name, value in values.items()}
    del found["temperature"]
    return tuple(found.pop(genre.label) for genre in Genre), NewerAnswerModel(**found)


class _Batch:
    """Examples as tensors, padded to the same number of candidates."""

    def __init__(self, examples: Sequence[ReadExample]) -> None:
        size = max(len(example.log_odds) for example in examples)

        def pad(values: NDArray[np.float32 | np.float64 | np.intp | np.bool_], filler: float = 0.0) -> Tensor:
            missing = [(0, size - count) for count in values.shape]
            return torch.tensor(np.pad(values.astype(np.float32), missing, constant_values=filler))

        self.log_odds = torch.stack([pad(example.log_odds, NO_CANDIDATE) for example in examples])
        self.readings = torch.stack([pad(example.readings) for example in examples])
        genres = torch.stack([pad(example.genres) for example in examples]).long()
        self.is_genre = {genre.label: genres == genre for genre in Genre}
        self.similarities = torch.stack([pad(example.similarities) for example in examples])
        self.is_answer = torch.stack([pad(example.is_answer) for example in examples]) > 0
        preference = torch.tensor([example.preference for example in examples])[:, None, None]
        order = torch.stack([pad(example.order) for example in examples])
        is_later = torch.sign(preference) * (order[:, None, :] - order[:, :, None]) > 0
        self.is_real = self.log_odds > NO_CANDIDATE
        self.gate = preference.abs() * (is_later & self.is_real[:, None, :] & self.is_real[:, :, None])

    def ranking(self, values: Mapping[str, Tensor]) -> Tensor:
        """The log-odds with some weights: the twin of :meth:`ReadExample.ranking`."""
        weights = torch.stack([values[name] * is_genre for name, is_genre in self.is_genre.items()]).sum(0)
        log_odds = self.log_odds + weights * self.readings
        logits = (
            values["bias"]
            + values["similarity"] * self.similarities
            + values["to_reading"] * self.readings[:, None, :]
            + values["from_reading"] * self.readings[:, :, None]
        )
        shares = (torch.sigmoid(logits) * self.gate).clamp(max=MAX_SHARE)
        chances = torch.exp(log_odds - log_odds.amax(1, keepdim=True))
        gained = (chances[:, None, :] @ shares)[:, 0]
        gains = torch.log1p(gained / chances.clamp(min=1e-30)) + torch.log1p(-shares).sum(2)
        return torch.where(self.is_real, log_odds + gains, torch.tensor(NO_CANDIDATE))


# ---- the confidence

# Features that would let a better reading lower the confidence are left out on purpose, such as the lead of the best
# reading: they raise the AUROC from .67 to .73, by learning how the authors of the questions phrase unanswerable ones.

CONFIDENCE_RIDGE = 1.0
MANY_CANDIDATES, FEW_CANDIDATES = 24, 8
"""As many as are read at most, and as are read in little time."""


def fit_confidence(examples: Sequence[ReadExample]) -> LinearModel:
    """Fit the confidence, so that 0.5 means even chances.

    Answerable and unanswerable questions count the same, and so do small memories and those with more candidates. Only
    questions of our own small memories that name no speaker count, each once with all its candidates and once with the
    first ``FEW_CANDIDATES``.
    """
    examples = [example for example in examples if example.group == "own" and not example.names_speaker]
    examples += [example.first(FEW_CANDIDATES) for example in examples if len(example.readings) > FEW_CANDIDATES]
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
