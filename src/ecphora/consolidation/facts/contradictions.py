"""Contradictions: updates that close no validity interval.

A claim contradicts an earlier one if it denies that it was ever so, or if it may not supersede it. Both stay valid.
"""

from collections.abc import Mapping

from ...language.statements.statements import ChangeSignal
from ...retrieval.validity import may_supersede
from .utterances import RuleMatch, Utterance, has_same_subject

DENIAL = "denial"
"""The basis of a rule match of a denial with the statement that it denies."""
MIN_DENIAL_SHARE = 0.5
"""Minimum fraction of a denial's term weight that the contradicted statement must share."""


def match_contradiction(new: Utterance, old: Utterance, term_weights: Mapping[str, float]) -> RuleMatch | None:
    """Match a denial ("I never ...") with the statement that it denies.

    They must share at least two stems and ``MIN_DENIAL_SHARE`` of the denial's term weight.
    """
    if ChangeSignal.QUESTION in new.statement.change_signals | old.statement.change_signals:
        return None
    for denial, other in ((new.statement, old.statement), (old.statement, new.statement)):
        shared_stems = denial.never_stems & (other.stems - other.never_stems)
        weights = {stem: term_weights.get(stem, 1.0) for stem in denial.never_stems}
        total_weight, shared_weight = sum(weights.values()), sum(weights[stem] for stem in shared_stems)
        if len(shared_stems) >= 2 and shared_weight >= MIN_DENIAL_SHARE * total_weight and has_same_subject(new, old):
            return RuleMatch(round(shared_weight / total_weight, 3), DENIAL)
    return None


def is_contradiction(later: Utterance, earlier: Utterance, rule_match: RuleMatch) -> bool:
    """Whether an update contradicts the earlier claim instead of superseding it.

    That is so for a denial, and for a claim that may not supersede the other (:mod:`~ecphora.retrieval.validity`).
    """
    return rule_match.basis == DENIAL or not may_supersede(later.voice, earlier.voice)
