"""The probability that a later memory replaces an earlier one: a linear gate, a cross-encoder, and a linear judge.

Cognitive Weave shows a pair to a language model (papers.md 5.8.1). Here a small cross-encoder scores it, which takes
milliseconds. So first a linear gate over cheap features selects the pairs worth scoring; a linear judge then combines
the cross-encoder's score with the rules of :mod:`.supersession`. ``scripts/train_update_scorer.py`` trains both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...language.change_lexicon import ADDITION, EVENT_VERB, NO_STATE_CHANGE, PAST_STATE
from ...language.statements import ChangeSignal, Statement
from ...language.values import ValueKind
from ...stages.retrieval.linear import LinearModel
from .supersession import MEASURABLE_SORTS, ClaimPair, has_same_unit, is_equal_value
from .utterances import RuleMatch, has_same_subject

Floats = NDArray[np.float64]

MAX_MEMORY_COUNT = 100
"""Cap on the number of memories in the feature "log memory count"."""
MAX_FEATURE_VALUE = 4.0
"""Cap on features that are sums of term weights."""
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
JUDGE_FEATURES = (
    "cross-encoder log-odds",
    "gate log-odds",
    "log memory count",
    "rule confidence",
    "log turns apart",
    "shared term weight",
    "stem overlap",
    "cosine",
    "is nearby",
    "same session",
    "same speaker",
    "same subject",
    "different subject",
    "same attribute",
    "different value",
    "different value of same unit",
    "equal value",
    "different names",
    "shared name",
    "opposite polarity",
    "former terms",
    "is addition",
    "no state change",
    "past state",
    "event verb",
    *SIGNAL_FEATURES,
)
"""The features of the judge: the log-odds of the cross-encoder and of the gate, log(1 + memories that may be replaced),
since the more there are the less likely is any one of them; the rules' confidence, then features of both statements."""
OTHER_LANGUAGE_FEATURES = ("cross-encoder log-odds", "cosine", "same speaker")
"""The features of the judge of memories that are not English."""


@dataclass(frozen=True, slots=True)
class UpdateJudge:
    """The gate and the judges: log-odds, linear in features.

    The ``gate`` has :data:`GATE_FEATURES`, the ``judge`` of English memories :data:`JUDGE_FEATURES`, that of
    ``other_languages`` :data:`OTHER_LANGUAGE_FEATURES`.
    """

    gate: LinearModel
    judge: LinearModel
    other_languages: LinearModel

    def gate_log_odds(self, features: Mapping[str, Floats | float]) -> Floats:
        """The gate's log-odds of each pair; a feature is a number or a column with one entry a pair."""
        log_odds = np.asarray(self.gate.bias, np.float64)
        for name, weight in self.gate.weights.items():
            log_odds = log_odds + weight * np.asarray(features[name])
        return np.atleast_1d(log_odds)

    def probability(self, features: Mapping[str, float], *, is_english: bool = True) -> float:
        """The probability in 0..1 that the later memory replaces the earlier one."""
        judge = self.judge if is_english else self.other_languages
        log_odds = judge.bias + sum(weight * features[name] for name, weight in judge.weights.items())
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


def judge_features(pair: ClaimPair, rule_match: RuleMatch | None) -> dict[str, float]:
    """The judge's features of two statements; ``rule_match`` is the rules' match of them."""
    new, old, later, earlier = pair.new, pair.old, pair.new.statement, pair.old.statement
    term_weights = pair.term_weights
    new_names, old_names = (
        later.names - later.subjects - earlier.subjects,
        earlier.names - later.subjects - earlier.subjects,
    )
    value_pairs = [
        (value, other)
        for value in later.values
        for other in earlier.values
        if value.kind == other.kind != ValueKind.NAME
    ]
    equal_kinds = {value.kind for value, other in value_pairs if is_equal_value(value, other)}
    differing = [(value, other) for value, other in value_pairs if value.kind not in equal_kinds]
    return {
        "rule confidence": 0.0 if rule_match is None else rule_match.confidence,
        "log turns apart": float(np.log1p(abs(new.turn - old.turn))),
        "shared term weight": min(
            MAX_FEATURE_VALUE, sum(term_weights.get(stem, 1.0) for stem in later.stems & earlier.stems)
        ),
        "stem overlap": pair.stem_overlap,
        "cosine": pair.cosine,
        "is nearby": float(pair.is_nearby),
        "same session": float(new.session is not None and new.session == old.session),
        "same speaker": float(new.speaker == old.speaker),
        "same subject": float(bool(later.subjects & earlier.subjects)),
        "different subject": float(not has_same_subject(new, old)),
        "same attribute": float(pair.has_same_field),
        "different value": float(bool(differing)),
        "different value of same unit": float(any(has_same_unit(value, other, pair) for value, other in differing)),
        "equal value": float(bool(equal_kinds)),
        "different names": float(bool(new_names - old_names) and bool(old_names - new_names)),
        "shared name": float(bool(new_names & old_names)),
        "opposite polarity": float(later.is_negated != earlier.is_negated),
        "former terms": min(
            MAX_FEATURE_VALUE, sum(term_weights.get(stem, 1.0) for stem in later.former_terms & earlier.stems)
        ),
        "is addition": float(ADDITION.search(later.text) is not None),
        "no state change": float(NO_STATE_CHANGE.search(later.text) is not None),
        "past state": float(PAST_STATE.search(later.text) is not None),
        "event verb": float(EVENT_VERB.search(earlier.text) is not None),
        **{name: float(signal in later.change_signals) for name, signal in SIGNAL_FEATURES.items()},
    }
