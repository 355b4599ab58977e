"""The probability that a later memory replaces an earlier one: a linear gate, a cross-encoder, and a calibration.

Cognitive Weave shows a pair to a language model (papers.md 5.8.1). Here a small cross-encoder scores it, which takes
milliseconds. So first a linear gate over cheap features selects the pairs worth scoring; then the calibration makes a
probability of the score and of what the rules of :mod:`.supersession` say.
``training/train_update_scorer.py`` trains both.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidRecord
from ...language.statements.statements import ChangeSignal, Statement
from ...retrieval.fusion import LinearModel, parse_linear_model
from .supersession import MEASURABLE_SORTS

Floats = NDArray[np.float64]

SIGNAL_FEATURES = {
    f"{signal} signal": signal
    for signal in ChangeSignal
    if signal not in {ChangeSignal.STATEMENT, ChangeSignal.NON_OCCURRENCE}
}
"""The change signals that are features, by the feature's name."""
GATE_FEATURES = (
    "shared term weight",
    "cosine",
    "same speaker",
    "same session",
    "log turns apart",
    *SIGNAL_FEATURES,
    "has value",
    "is negated",
    "has validity bound",
    "log statement count",
)
"""The features of the gate. Of two memories: the weight of the terms they share, their cosine, same speaker, same
session, log(1 + turns apart). Of the later one: its change signals, whether any statement has a value, a negation or a
bound of validity; log(1 + statements)."""


@dataclass(frozen=True, slots=True)
class UpdateClassifier:
    """The gate, a linear model of :data:`GATE_FEATURES`, and the calibration, which makes a probability of the scorer's
    log-odds (John Platt, "Probabilistic Outputs for Support Vector Machines", 1999) and of the rules' confidence: a
    ``bias`` and two weights."""

    gate: LinearModel
    bias: float
    score_weight: float
    rule_weight: float

    def gate_log_odds(self, features: Mapping[str, Floats | float]) -> Floats:
        """The gate's log-odds of each pair; a feature is a number or a column with one entry a pair."""
        log_odds = np.asarray(self.gate.bias, np.float64)
        for name, weight in self.gate.weights.items():
            log_odds = log_odds + weight * np.asarray(features[name])
        return np.atleast_1d(log_odds)

    def probability(self, score: float, rule_confidence: float) -> float:
        """The probability in 0..1 that the later memory replaces the earlier one.

        ``score`` is the cross-encoder's log-odds, ``rule_confidence`` in 0..1 the confidence of the rules, 0 if no rule
        matches.
        """
        log_odds = self.bias + self.score_weight * score + self.rule_weight * rule_confidence
        return float(1 / (1 + np.exp(-log_odds)))


def gate_features(statements: Sequence[Statement]) -> dict[str, float]:
    """The gate's features of one memory alone."""
    signals = frozenset[ChangeSignal]().union(*(statement.change_signals for statement in statements))
    return {
        **{name: float(signal in signals) for name, signal in SIGNAL_FEATURES.items()},
        "has value": float(
            any(value.kind in MEASURABLE_SORTS for statement in statements for value in statement.values)
        ),
        "is negated": float(any(statement.is_negated for statement in statements)),
        "has validity bound": float(any(statement.valid_from or statement.valid_to for statement in statements)),
        "log statement count": float(np.log1p(len(statements))),
    }


@cache
def load_update_classifier() -> UpdateClassifier:
    """Load the classifier of fact updates, trained by ``training/train_update_scorer.py``."""
    return parse_update_classifier(files(__package__).joinpath("update_classifier.json").read_text(encoding="utf-8"))


def parse_update_classifier(text: str) -> UpdateClassifier:
    """Parse the gate and the calibration from JSON; raises ``InvalidRecord`` if they are missing."""
    try:
        found = json.loads(text)
        return UpdateClassifier(
            _parse_named_model(found["gate"], GATE_FEATURES),
            **{name: float(found["calibration"][name]) for name in ("bias", "score_weight", "rule_weight")},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRecord(
            f"no weights of the update classifier ({error!r}); run training/train_update_scorer.py"
        ) from error


def _parse_named_model(found: dict[str, Any], names: tuple[str, ...]) -> LinearModel:
    if unknown := found["features"].keys() - set(names):
        raise KeyError(f"there is no feature {min(unknown)!r}")
    return parse_linear_model(found)
