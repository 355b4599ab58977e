"""Rules for which claim supersedes an earlier one, and so closes its validity interval, and which only contradicts it.

This is Cognitive Weave's resolution of contradictions (papers.md 5.8.1), without a model.

A claim replaces another only if it says so (a change, an end, a correction, a partial change), or if both give two
values for a single-valued attribute of one person; and only if both have the same topic: by shared terms, by an
attribute like "home", or because the later one names the former value. Similarity alone is not enough.

Contradictions: updates that close no validity interval.

A claim contradicts an earlier one if it denies that it was ever so, or if it may not supersede it. Both stay valid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ...language.statements.change_lexicon import (
    ADDITION,
    EVENT_VERB,
    NO_CHANGE,
    NO_STATE_CHANGE,
    PAST_STATE,
    SUBSTITUTION,
)
from ...language.statements.statements import ChangeSignal, Statement
from ...language.statements.values import Value, ValueKind
from ...language.terms import extract_terms
from ...model.lazy import lazy_pattern
from ...model.types import Node
from ...retrieval.validity import may_supersede
from .memory_statements import RuleMatch, Utterance, has_same_subject

MIN_COSINE = 0.5
"""Minimum cosine of two states of one person to be the same topic in other words."""
MAX_SIMPLE_STEMS = 9
"""Maximum number of stems of a sentence that says one thing."""
MAX_BARE_VALUE_STEMS = 4
"""Maximum number of stems of a sentence that says nothing but a value."""
_POINTING_PHRASE = lazy_pattern(
    r"\b(?:it|that|this|she|he|they|i)(?:['’]s| is| was| meant)\b|\bmake that\b", re.IGNORECASE
)
_RESIDENCE_VERB = lazy_pattern(r"\b(?:live|lives|living|based|reside|resides)\b", re.IGNORECASE)
MEASURABLE_SORTS = frozenset(ValueKind) - {ValueKind.NAME}
"""The kinds of values of which a later one replaces an earlier one."""


def match_supersession(
    new: Utterance, old: Utterance, term_weights: Mapping[str, float], cosine: float = 0.0
) -> RuleMatch | None:
    """Match a claim against an earlier claim that it may replace; None if it does not replace it.

    ``term_weights`` are the weights in 0..1 of sharing a stem; ``cosine`` is the cosine of the two texts.
    """
    later, earlier = new.statement, old.statement
    if not new.moment.is_after(old.moment) or not (
        cosine >= MIN_COSINE or new.is_nearby(old) or _has_overlap(later, earlier)
    ):
        return None
    corrects = ChangeSignal.CORRECTION in later.change_signals and new.is_nearby(old)
    if (
        ChangeSignal.NON_OCCURRENCE in later.change_signals
        or ChangeSignal.QUESTION in later.change_signals | earlier.change_signals
    ):
        return None
    if not (has_same_subject(new, old) or corrects) or not has_new_content(later, earlier):
        return None
    pair = make_pair(new, old, term_weights, cosine)
    for signal, rule in _RULES.items():
        if signal in later.change_signals and (match := rule(pair)) is not None:
            return match
    return _match_implicit_change(pair)


def supersession_time(later: Utterance, earlier: Utterance, old: Node, rule_match: RuleMatch) -> datetime | None:
    """The time from which the later claim holds, if it is neither the stated one nor the time of the utterance.

    ``old`` is the earlier claim's node. The validity interval of the earlier claim ends there.
    """
    if rule_match.is_correction:
        return old.valid_from or old.happened_at
    shared_dates = {value.normal_form for value in later.statement.values if value.kind == ValueKind.DATE}
    shared_dates &= {value.normal_form for value in earlier.statement.values}
    # A date that changed, or that both name, is the topic of the claims, not the start of validity.
    return later.at if rule_match.basis == ValueKind.DATE or shared_dates else None


def _has_overlap(later: Statement, earlier: Statement) -> bool:
    """Whether two statements have anything in common: a cheap check before the slow ones."""
    if later.stems & earlier.stems or later.attributes & earlier.attributes or later.former_terms & earlier.stems:
        return True
    return bool(later.former_terms) and any(value.normal_form in later.former_terms for value in earlier.values)


# ---- one rule for each change signal


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A later claim and an earlier claim.

    ``focus_weight`` sums the weights of the earlier claim's stems that occur near the later claim's words of change,
    ``object_weight`` the weights of the earlier claim's stems near the later claim's words of an end or a resumption.
    ``stem_overlap`` is the fraction of the shorter claim's stems that both claims have, ``cosine`` the cosine of their
    texts.
    """

    new: Utterance
    old: Utterance
    focus_weight: float
    object_weight: float
    stem_overlap: float
    cosine: float
    term_weights: Mapping[str, float]
    is_nearby: bool

    def context_weight(self, value: Value, other: Value) -> float:
        """The weight of the stems shared around two values."""
        shared_stems = self.later.stems_near(value) & self.earlier.stems_near(other)
        return sum(self.term_weights.get(stem, 1.0) for stem in shared_stems)

    @property
    def later(self) -> Statement:
        return self.new.statement

    @property
    def earlier(self) -> Statement:
        return self.old.statement

    @property
    def has_same_field(self) -> bool:
        """Whether both are about one single-valued attribute."""
        return bool(self.later.attributes & self.earlier.attributes)

    @property
    def has_one_subject(self) -> bool:
        """Whether both have the same, non-empty subjects."""
        return bool(self.later.subjects) and self.later.subjects == self.earlier.subjects

    @property
    def is_personal(self) -> bool:
        """Whether both share a subject, are nearby, or share most of their stems."""
        return bool(self.later.subjects & self.earlier.subjects) or self.is_nearby or self.stem_overlap >= 0.6

    @property
    def is_opposite(self) -> bool:
        """Whether one affirms what the other denies, in short sentences of similar words."""
        is_reversed = self.later.is_negated != self.earlier.is_negated
        is_short = max(len(self.later.stems), len(self.earlier.stems)) <= MAX_SIMPLE_STEMS
        return is_reversed and is_short and self.stem_overlap >= 0.5 and self.focus_weight >= 0.5


def make_pair(new: Utterance, old: Utterance, term_weights: Mapping[str, float], cosine: float) -> ClaimPair:
    """Pair a later claim with an earlier one."""
    later, earlier = new.statement, old.statement
    min_stem_count = min(len(later.stems), len(earlier.stems))
    return ClaimPair(
        new,
        old,
        focus_weight=sum(term_weights.get(stem, 1.0) for stem in later.focus_stems & earlier.stems),
        object_weight=sum(term_weights.get(stem, 1.0) for stem in later.object_stems & earlier.stems),
        stem_overlap=len(later.stems & earlier.stems) / max(1, min_stem_count),
        cosine=cosine,
        term_weights=term_weights,
        is_nearby=new.is_nearby(old),
    )


def _match_correction(pair: ClaimPair) -> RuleMatch | None:
    later, earlier = pair.later, pair.earlier
    if not pair.is_nearby and pair.focus_weight < 1.0:
        return None
    if _names_former_value(later, earlier, pair.term_weights):
        return RuleMatch(0.9, "former terms", is_correction=True)
    if value := _different_value(pair, min_weight=0.0 if pair.is_nearby else 0.6):
        return RuleMatch(0.8, value.kind.value, is_correction=True)
    if pair.is_nearby and (pair.focus_weight >= 0.5 or pair.has_same_field) and _POINTING_PHRASE.search(later.text):
        return RuleMatch(0.65, "shared terms", is_correction=True)
    if pair.is_nearby and later.names and earlier.names and pair.new.speaker == pair.old.speaker:
        return RuleMatch(0.4, "shared name", is_correction=True)
    is_restated = pair.is_nearby and pair.new.speaker == pair.old.speaker and _POINTING_PHRASE.search(later.text)
    is_short = max(len(later.stems), len(earlier.stems)) <= MAX_BARE_VALUE_STEMS
    return RuleMatch(0.3, "nearby", is_correction=True) if is_restated and is_short else None


def _match_partial_change(pair: ClaimPair) -> RuleMatch | None:
    later, earlier = pair.later, pair.earlier
    has_equal_value = any(is_equal_value(value, other) for value in later.values for other in earlier.values)
    if new_value := _different_value(pair, min_weight=0.0 if pair.is_nearby else 0.6):
        return RuleMatch(0.7, new_value.kind.value)
    if pair.is_nearby and (
        has_equal_value
        or pair.has_same_field
        or (pair.focus_weight > 0 and (later.names or NO_CHANGE.search(later.text)))
    ):
        return RuleMatch(0.5, "shared terms")
    is_fragment = pair.is_nearby and pair.new.speaker == pair.old.speaker and len(later.stems) < 4
    return RuleMatch(0.3, "nearby") if is_fragment and later.valid_from is not None else None


def _match_end(pair: ClaimPair) -> RuleMatch | None:
    later, earlier = pair.later, pair.earlier
    if not earlier.is_affirmative:
        return None
    if _names_former_value(later, earlier, pair.term_weights) and later.subjects & earlier.subjects:
        return RuleMatch(0.8, "former terms")
    is_state = not EVENT_VERB.search(earlier.text) and not ADDITION.search(later.text)
    if (
        pair.object_weight >= 0.5
        and is_state
        and pair.is_personal
        and (pair.stem_overlap >= 0.3 or len(later.stems) < 5)
    ):
        return RuleMatch(0.8, "shared terms")
    return RuleMatch(0.7, "same attribute") if pair.has_same_field and pair.has_one_subject else None


def _match_resumption(pair: ClaimPair) -> RuleMatch | None:
    if not pair.earlier.is_negated or not pair.later.is_affirmative:
        return None
    return (
        RuleMatch(0.8, "shared terms")
        if (pair.object_weight >= 0.5 and pair.is_personal) or (pair.has_same_field and pair.has_one_subject)
        else None
    )


def _match_change(pair: ClaimPair) -> RuleMatch | None:
    later, earlier = pair.later, pair.earlier
    if ChangeSignal.END in earlier.change_signals:
        return None
    is_explicit = ChangeSignal.CHANGE in later.change_signals
    if _names_former_value(later, earlier, pair.term_weights) and (
        later.subjects & earlier.subjects or pair.focus_weight >= 0.5
    ):
        return RuleMatch(0.9, "former terms")
    if pair.has_same_field and later.subjects & earlier.subjects and not (later.names & earlier.names) - later.subjects:
        return RuleMatch(0.8 if is_explicit else 0.65, "same attribute")
    if pair.is_opposite and pair.stem_overlap >= 0.6:
        return RuleMatch(0.7, "shared terms")
    return _match_new_value(pair, is_explicit=is_explicit) or _match_rewording(pair, is_explicit=is_explicit)


def _match_new_value(pair: ClaimPair, *, is_explicit: bool) -> RuleMatch | None:
    """Match another value of the same kind, with shared words around both."""
    min_weight = 0.6 if is_explicit or pair.stem_overlap >= 0.4 else 1.2
    value = _different_value(pair, min_weight=min_weight)
    if value is None and pair.is_nearby:
        value = _different_value(pair, min_weight=0.0)
        value = value if is_explicit or (value is not None and value.unit) else None
    return None if value is None else RuleMatch(0.7, value.kind.value)


def _match_rewording(pair: ClaimPair, *, is_explicit: bool) -> RuleMatch | None:
    """Match a substitution: another name in the same frame, or the same topic in other words."""
    later, earlier = pair.later, pair.earlier
    is_state = (
        ChangeSignal.CHANGE not in earlier.change_signals
        and not EVENT_VERB.search(earlier.text)
        and not NO_STATE_CHANGE.search(earlier.text)
    )
    if not (is_state and later.subjects and later.subjects & earlier.subjects) or _different_value(
        pair, min_weight=0.0
    ):
        return None
    speakers = {(utterance.speaker or "").casefold() for utterance in (pair.new, pair.old)}
    new_names, old_names = later.names - speakers, earlier.names - speakers
    if new_names and new_names <= old_names:
        return None
    both_named = bool(new_names) and bool(old_names)
    if pair.focus_weight >= (1.0 if is_explicit and both_named else 1.5) and pair.stem_overlap >= 0.3:
        return RuleMatch(0.5, "shared terms")
    is_short = (
        max(len(later.stems), len(earlier.stems)) <= MAX_SIMPLE_STEMS and SUBSTITUTION.search(later.text) is not None
    )
    return (
        RuleMatch(pair.cosine, "cosine")
        if is_explicit and both_named and is_short and pair.cosine >= MIN_COSINE
        else None
    )


def _match_implicit_change(pair: ClaimPair) -> RuleMatch | None:
    """Match two values in one frame, or of a single-valued attribute of one person, without a word of change."""
    later, earlier = pair.later, pair.earlier
    is_home = "home" in later.attributes & earlier.attributes
    if not pair.has_one_subject or not (is_home or pair.stem_overlap >= 0.6):
        return None
    if any(pattern.search(later.text) for pattern in (ADDITION, PAST_STATE, EVENT_VERB)) or EVENT_VERB.search(
        earlier.text
    ):
        return None
    names = later.names - later.subjects, earlier.names - earlier.subjects
    shares_stems = len(later.stems & earlier.stems) >= 2
    if is_home and all(map(_RESIDENCE_VERB.search, (later.text, earlier.text))):
        return RuleMatch(0.65, "same attribute") if names[0] and names[1] and not names[0] & names[1] else None
    if shares_stems and pair.stem_overlap >= 0.6 and not names[0] ^ names[1]:
        value = _different_value(pair, min_weight=1.0)
        return None if value is None else RuleMatch(0.5, value.kind.value)
    return None


_RULES: dict[ChangeSignal, Callable[[ClaimPair], RuleMatch | None]] = {
    ChangeSignal.CORRECTION: _match_correction,
    ChangeSignal.PARTIAL_CHANGE: _match_partial_change,
    ChangeSignal.END: _match_end,
    ChangeSignal.RESUMPTION: _match_resumption,
    ChangeSignal.CHANGE: _match_change,
    ChangeSignal.CURRENT: _match_change,
}
"""The rule for each change signal, tried in this order."""


# ---- values


def _different_value(pair: ClaimPair, *, min_weight: float) -> Value | None:
    """A value of the later claim that differs from the earlier one's of the same kind and unit.

    The stems shared around both must weigh at least ``min_weight``.
    """
    for value in pair.later.values:
        if value.kind not in MEASURABLE_SORTS or any(is_equal_value(value, other) for other in pair.earlier.values):
            continue
        for other in pair.earlier.values:
            if (
                other.kind == value.kind
                and has_same_unit(value, other, pair)
                and pair.context_weight(value, other) >= min_weight
            ):
                return value
    return None


def has_same_unit(value: Value, other: Value, pair: ClaimPair) -> bool:
    """Whether two values of a kind count or measure the same."""
    if value.kind not in {ValueKind.COUNT, ValueKind.DURATION} or value.unit == other.unit:
        return True
    if value.kind == ValueKind.DURATION:
        return bool(pair.later.stems_near(value) & pair.earlier.stems_near(other))
    return (not value.unit and other.unit in pair.later.stems) or (not other.unit and value.unit in pair.earlier.stems)


def is_equal_value(one: Value, other: Value) -> bool:
    """Whether two values are equal, as far as both are specified."""
    if one.kind != other.kind:
        return False
    if one.kind == ValueKind.DATE:
        pairs = zip(one.normal_form.split("-"), other.normal_form.split("-"), strict=True)
        return all(a == b or "00" in {a, b} for a, b in pairs)
    if one.kind == ValueKind.TIME_OF_DAY:
        return _twelve_hour_time(one.normal_form) == _twelve_hour_time(other.normal_form)
    return one.normal_form == other.normal_form


def _twelve_hour_time(clock: str) -> tuple[int, str]:
    hour, _, minute = clock.partition(":")
    return int(hour) % 12, minute


def _names_former_value(later: Statement, earlier: Statement, term_weights: Mapping[str, float]) -> bool:
    """Whether the later claim names as former what the earlier one states."""
    earlier_terms = set(earlier.stems)
    for value in earlier.values:
        earlier_terms.add(value.normal_form)
        earlier_terms.update(extract_terms(value.normal_form))
    return sum(term_weights.get(word, 1.0) for word in later.former_terms & earlier_terms) >= 0.6


def has_new_content(later: Statement, earlier: Statement) -> bool:
    """Whether the later claim says anything that the earlier one does not."""
    if later.is_negated != earlier.is_negated or later.change_signals & {ChangeSignal.END, ChangeSignal.RESUMPTION}:
        return True
    if not later.change_signals and earlier.values and earlier.stems <= later.stems and _has_all_values(earlier, later):
        return False  # it repeats every word and value of the earlier one
    if later.names - later.subjects - earlier.names:
        earlier_names = earlier.names - earlier.subjects
        return not (
            earlier_names and earlier_names <= later.names | later.former_terms and later.stems >= earlier.stems
        )
    return bool(later.stems - earlier.stems) or not _has_all_values(later, earlier)


def _has_all_values(claim: Statement, other: Statement) -> bool:
    """Whether ``other`` has every value of ``claim``."""
    return all(any(is_equal_value(value, other_value) for other_value in other.values) for value in claim.values)


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
