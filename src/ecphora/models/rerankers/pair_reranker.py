"""What rerankers of question and passage pairs have in common: texts, batches, and scores as log-odds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import date
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput, RerankerUnavailable
from ...model.ports import Passage
from ...model.reprs import call_repr, show
from ...model.text_format import replace_surrogates
from ...model.validation import check_count

Scale = Literal["log_odds", "probability"]
"""What a model's score is: the log-odds that the passage answers the question (a logit), or the probability."""
MIN_PROBABILITY = 1e-6
"""Probabilities are clipped to the range from this one to its complement: log-odds from -13.8 to 13.8."""


class PairReranker(ABC):
    """A reranker that scores each passage with the question; ``scale`` says what the model's scores are.

    The model gets at most ``batch_size`` passages at once. The day of the question is not used.
    """

    def __init__(self, name: str, *, batch_size: int, scale: Scale) -> None:
        if scale not in get_args(Scale):
            raise InvalidInput(f"scale is {show(scale)}; give {' or '.join(map(repr, get_args(Scale)))}")
        self.name = name
        self.batch_size = check_count("batch_size", batch_size)
        self._scale = scale

    def __repr__(self) -> str:
        return call_repr(type(self).__name__, self.name)

    def score(self, question: str, passages: Sequence[Passage], /, *, asked_on: date) -> NDArray[np.float64]:
        """Log-odds that each passage answers the question.

        Raises ``RerankerUnavailable`` if the model cannot be used, or does not give one score per passage.
        """
        del asked_on
        question = replace_surrogates(question)
        texts = [replace_surrogates(str(passage)) or " " for passage in passages]  # servers refuse empty texts
        batches = (texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size))
        return np.concatenate([np.zeros(0), *(self._log_odds(question, batch) for batch in batches)])

    @abstractmethod
    def _score(self, question: str, texts: Sequence[str]) -> object:
        """The model's scores of at least one text, as anything that NumPy makes an array of."""

    def _log_odds(self, question: str, texts: Sequence[str]) -> NDArray[np.float64]:
        found = self._score(question, texts)
        try:
            scores = np.asarray(found, np.float64)
        except (TypeError, ValueError) as error:
            raise RerankerUnavailable(f"{self.name} gave scores that are not numbers: {show(found)}") from error
        if scores.shape != (len(texts),):
            raise RerankerUnavailable(f"{self.name} gave scores of shape {scores.shape} for {len(texts)} passages")
        if not np.isfinite(scores).all():
            raise RerankerUnavailable(f"{self.name} gave a score that is not finite")
        if self._scale == "log_odds":
            return scores
        if scores.min() < -MIN_PROBABILITY or scores.max() > 1 + MIN_PROBABILITY:  # rounding may leave the range
            raise RerankerUnavailable(
                f"{self.name} gave scores from {scores.min():.3g} to {scores.max():.3g}, which are no probabilities; "
                "if they are logits, make the reranker with scale='log_odds'"
            )
        probabilities = np.clip(scores, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        log_odds: NDArray[np.float64] = np.log(probabilities / (1 - probabilities))
        return log_odds
