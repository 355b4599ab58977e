"""Fits what ``fused`` makes of a reader's scores, for ``train_reader.py``."""
# ruff: noqa: INP001  # in the folder of the script that uses it

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecphora.learn.regression import fit_signed_logistic
from ecphora.stages.fused.feature_matrix import Genre
from ecphora.stages.fused.newer_answers import MAX_SHARE, CandidatePairs, NewerAnswerModel, Preferences, ShareModel
from ecphora.stages.fused.reading import CONFIDENCE_FEATURES, confidence_features
from ecphora.stages.fused.recency_preference import RecencyPreference
from ecphora.stages.retrieval.linear import LinearModel

NEWEST, FORMER = "update", "then"
"""The categories of questions about the present state of a matter that changed, and about a former one."""
VECTOR_RIDGE = 0.003
"""The ridge on the weights of a question's vector, for each question and in units of the vectors' variance."""
STATES_SHARE, FORMER_RIDGE = 0.3, 0.025
"""The share of the questions of ``question_states.jsonl``, and the ridge on the weights of standardized vectors."""
PREFERENCE_SCALE = 2.0
"""By how much the regression's values are too small: the texts have far more questions about matters that never changed
than a user asks, many of them in the present tense.
"""


def fit_uncompared_preference(vectors: NDArray[np.float32], categories: Sequence[str]) -> RecencyPreference:
    """Fit the model that finds 1 for questions about the present state, -1 for those about a former one, else 0."""
    names = np.array(categories)
    target = (names == NEWEST).astype(np.float64) - (names == FORMER)
    mean = vectors.mean(axis=0, dtype=np.float64)
    rows = vectors - mean
    ridge = VECTOR_RIDGE * float(rows.var()) * np.eye(rows.shape[1])
    weights = PREFERENCE_SCALE * np.linalg.solve(rows.T @ rows / len(rows) + ridge, rows.T @ target / len(rows))
    bias = PREFERENCE_SCALE * float(target.mean()) - float(mean @ weights)
    return RecencyPreference(bias, weights.astype(np.float32))


def fit_compared_preference(
    vectors: NDArray[np.float32],
    is_former: NDArray[np.bool_],
    state_vectors: NDArray[np.float32],
    asks_former: NDArray[np.bool_],
) -> RecencyPreference:
    """Fit the model that finds -1 for questions about a former state, else 1: half of a logistic model's log-odds.

    ``vectors`` are of the questions of our memories, ``state_vectors`` of those written for this, which have the share
    ``STATES_SHARE``. Questions about a former state are rare; each counts by the square root of how rare.
    """
    sample_weights = np.concatenate([(1 - STATES_SHARE) * _rarity(is_former), STATES_SHARE * _rarity(asks_former)])
    rows = np.concatenate([vectors, state_vectors]).astype(np.float64)
    labels = np.concatenate([is_former, asks_former]).astype(np.float64)
    mean = sample_weights @ rows
    scale = float((rows - mean).std())
    features = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
    ridge = np.append(np.full(rows.shape[1], FORMER_RIDGE), 1e-6)
    free = np.zeros(len(ridge))
    found = fit_signed_logistic(features, labels, sample_weights, ridge=ridge, sign=free, prior=free)
    weights = -found[:-1] / (2 * scale)
    return RecencyPreference(-float(found[-1]) / 2 - float(mean @ weights), weights.astype(np.float32))


def _rarity(is_former: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The weight of each question, by the square root of how rare its kind is; they sum to 1."""
    shares = np.where(is_former, is_former.mean(), 1 - is_former.mean())
    found: NDArray[np.float64] = np.sqrt(1 / shares) / np.sqrt(1 / shares).sum()
    return found


# ---- the ranking

START = {
    "utterance": 0.7,
    "note": 0.7,
    "passage": 0.7,
    "long turn": 0.0,
    "plain text": 0.7,
    "temperature": 0.6,
    "uncompared bias": -3.0,
    "uncompared pair_score": 2.0,
    "uncompared to_reading": 1.5,
    "uncompared from_reading": -1.0,
    "compared bias": 0.5,
    "compared pair_score": 0.7,
    "compared to_reading": 1.0,
    "compared from_reading": -0.5,
}
"""Where the fit of the ranking's weights starts; the temperature is a factor of all log-odds, which ranks nothing."""
FIXED = ("long turn",)
"""Weights that stay where they start: our own long chats would have 1.3, and beam_100k 0 (decision 68)."""
COMPARED = tuple(name for name in START if name.startswith("compared "))
"""The weights of two candidates that were compared."""
STEPS, RATE = 80, 0.1
"""The steps of Adam and their size."""
NO_CANDIDATE = -50.0
"""The log-odds of padding."""


GenreWeights = tuple[float, ...]
"""A weight for each :class:`Genre`, in this order."""


MANY = "many"
"""The set of memories about many matters, which trains the comparison alone."""
GROUPS = (MANY, "talks", "lihua", "longmemeval_mini", "musique", "timeqa")
"""The data sets that count by themselves."""
OWN = ("own", MANY)
"""The groups of memories of our own, but for the long conversations."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadExample:
    """A question whose candidates were read: all that the policy's weights depend on, an entry for each candidate."""

    dataset: str
    space: str
    category: str
    is_answerable: bool
    answerability: float
    names_speaker: bool
    preferences: Preferences
    log_odds: NDArray[np.float32]
    readings: NDArray[np.float32]
    genres: NDArray[np.intp]
    pairs: CandidatePairs
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
            pairs=CandidatePairs(
                self.pairs.similarities[:count, :count],
                self.pairs.order[:count],
                self.pairs.updates[:count, :count],
            ),
            is_answer=self.is_answer[:count],
        )

    def without_comparison(self) -> "ReadExample":
        """The example if no candidates had been compared."""
        pairs = replace(self.pairs, updates=np.full_like(self.pairs.updates, np.nan))
        return replace(self, pairs=pairs)

    def ranking(self, reading: GenreWeights, newer_answers: NewerAnswerModel | None) -> NDArray[np.float32]:
        """The log-odds of the candidates with these weights, as :class:`ReadingPolicy` computes them."""
        log_odds: NDArray[np.float32] = self.log_odds + np.array(reading, np.float32)[self.genres] * self.readings
        if newer_answers is None:
            return log_odds
        return log_odds + newer_answers.gains(log_odds, self.readings, self.pairs, self.preferences)


def fit_ranking(examples: Sequence[ReadExample]) -> dict[str, float]:
    """The weights of the ranking that make the answers most probable, if no candidates are compared.

    Our own memories, which are what users would bring, count as much as all other groups together. These count the
    same.
    """
    usable = [example.without_comparison() for example in _usable(examples) if example.group != MANY]
    groups = np.array([example.group for example in usable])
    is_own = groups == "own"
    sample_weights = np.zeros(len(usable))
    for part in (is_own, ~is_own):
        sample_weights[part] = _balance(groups[part].tolist()) / 2
    return _fit(usable, sample_weights, START, [name for name in START if name not in {*FIXED, *COMPARED}])


def fit_comparison(examples: Sequence[ReadExample], weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of the ranking with those of candidates that were compared.

    They are fitted on our own memories alone, half on those of ``MANY``: in others few facts change.
    """
    own = [example for example in _usable(examples) if example.group in OWN]
    return _fit(own, _balance([example.group for example in own]), weights, ["temperature", *COMPARED])


def _usable(examples: Sequence[ReadExample]) -> list[ReadExample]:
    return [example for example in examples if example.is_answer.any() and not example.is_answer.all()]


def genre_weights(weights: Mapping[str, float]) -> GenreWeights:
    """The weights of the reading."""
    return tuple(round(weights[genre.label], 3) for genre in Genre)


def newer_answer_model(weights: Mapping[str, float]) -> NewerAnswerModel:
    """The model of newer answers."""

    def model(part: str) -> ShareModel:
        return ShareModel(*(round(weights[f"{part} {field.name}"], 3) for field in fields(ShareModel)))

    return NewerAnswerModel(model("compared"), model("uncompared"))


def _fit(
    examples: Sequence[ReadExample],
    sample_weights: NDArray[np.float64],
    start: Mapping[str, float],
    free: Sequence[str],
) -> dict[str, float]:
    """The weights of a ranking after Adam; only those in ``free`` change."""
    batch = _Batch(examples)
    values = {name: torch.tensor(value, requires_grad=name in free) for name, value in start.items()}
    optimizer = torch.optim.Adam([values[name] for name in free], lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        log_shares = torch.log_softmax(values["temperature"] * batch.ranking(values), 1)
        losses = -torch.logsumexp(log_shares.masked_fill(~batch.is_answer, -torch.inf), 1)
        (losses * torch.tensor(sample_weights)).sum().backward()  # type: ignore[no-untyped-call,unused-ignore]
        optimizer.step()
    return {name: value.item() for name, value in values.items()}


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
        self.is_answer = torch.stack([pad(example.is_answer) for example in examples]) > 0
        pairs = [example.pairs for example in examples]
        order = torch.stack([pad(one.order) for one in pairs])
        is_later = order[:, None, :] - order[:, :, None]

        def gate(preferences: Sequence[float]) -> Tensor:
            values = torch.tensor(preferences)[:, None, None]
            return (is_later * values.sign() > 0) * values.abs()

        self.compared_gate = gate([example.preferences.compared for example in examples])
        self.uncompared_gate = gate([example.preferences.uncompared for example in examples])
        self.similarities = torch.stack([pad(one.similarities) for one in pairs])
        updates = [np.fmax(one.updates, one.updates.T) for one in pairs]
        self.updates = torch.stack([pad(np.nan_to_num(one)) for one in updates])
        self.is_compared = torch.stack([pad(np.isfinite(one)) for one in updates]) > 0
        self.is_real = self.log_odds > NO_CANDIDATE

    def ranking(self, values: Mapping[str, Tensor]) -> Tensor:
        """The log-odds with some weights: the twin of :meth:`ReadExample.ranking`."""
        weights = torch.stack([values[name] * is_genre for name, is_genre in self.is_genre.items()]).sum(0)
        log_odds = self.log_odds + weights * self.readings
        shares = torch.where(
            self.is_compared,
            torch.sigmoid(self._logits(values, "compared", self.updates)) * self.compared_gate,
            torch.sigmoid(self._logits(values, "uncompared", self.similarities)) * self.uncompared_gate,
        )
        is_pair = self.is_real[:, None, :] & self.is_real[:, :, None]
        shares = (shares * is_pair).clamp(max=MAX_SHARE)
        chances = torch.exp(log_odds - log_odds.amax(1, keepdim=True))
        gained = (chances[:, None, :] @ shares)[:, 0]
        gains = torch.log1p(gained / chances.clamp(min=1e-30)) + torch.log1p(-shares).sum(2)
        return torch.where(self.is_real, log_odds + gains, torch.tensor(NO_CANDIDATE))

    def _logits(self, values: Mapping[str, Tensor], part: str, pair_scores: Tensor) -> Tensor:
        return (
            values[f"{part} bias"]
            + values[f"{part} pair_score"] * pair_scores
            + values[f"{part} to_reading"] * self.readings[:, None, :]
            + values[f"{part} from_reading"] * self.readings[:, :, None]
        )


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
