"""How sure it is that a later memory replaces an earlier one: signs of both, weighed, and a close reading of the two.

Cognitive Weave shows a pair to a language model (papers.md 5.8.1). Ours is shown to a small cross-encoder, which takes
milliseconds, so that first a linear gate over cheap signs chooses which pairs are worth it; a linear judge then weighs
what was read with what the rules of :mod:`.succession` see. Both are trained by ``scripts/train_changes.py``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..language.claim_words import ADDS, EVENT, PAST, VISITS
from ..language.claims import Form, Statement
from ..language.values import Sort
from .ranker import Head
from .succession import (
    MEASURES,
    Pair,
    Told,
    Verdict,
    equal,
    names_in,
    of_one_unit,
    of_same_owner,
    replaces,
    says_otherwise,
)

Numbers = NDArray[np.float64]

MANY = 100
"""Memories beyond which more of them make no pair less likely."""
CLOSE = 8
"""Pairs of statements of two memories that the rules are tried on: those that share most."""
MOST = 4.0
"""What counts or sums beyond this tell no more."""
TEXT = 240
"""Characters of a memory that are read closely, around its statement."""
FORMS = tuple(form for form in Form if form not in {Form.STATES, Form.UNCHANGED})
"""What a statement may say of what was claimed before, each a sign."""
GATE = (
    "shared",
    "alike",
    "speaker",
    "session",
    "apart",
    *(form.value for form in FORMS),
    "measured",
    "negated",
    "dated",
    "statements",
)
"""The signs of the gate. Of two memories: the rarity of the words they share, their cosine, one speaker, one session,
log(1 + turns apart). Of the later one: what its statements say of change, whether any has a value, denies, or says from
or to when; log(1 + statements)."""
SIGNS = (
    "reading",
    "promise",
    "many",
    "rule",
    "apart",
    "shared",
    "frame",
    "alike",
    "beside",
    "session",
    "speaker",
    "owner",
    "other owner",
    "matter",
    "value",
    "value of one unit",
    "equal",
    "names",
    "name",
    "denies",
    "former",
    "adds",
    "visits",
    "past",
    "event",
    *(form.value for form in FORMS),
)
"""The signs of the judge: what the cross-encoder and the gate say, log(1 + memories that may be replaced), as the more
there are the less likely is any one of them; what the rules say, then what both statements show."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The gate and the judge: log-odds, linear in :data:`GATE` and in :data:`SIGNS`."""

    gate: Head
    judge: Head

    def promise(self, columns: Mapping[str, Numbers | float]) -> Numbers:
        """How much each of some pairs promises: log-odds by the gate's signs, numbers or a column of them."""
        found = np.asarray(self.gate.bias, np.float64)
        for name, weight in self.gate.weights.items():
            found = found + weight * np.asarray(columns[name])
        return np.atleast_1d(found)

    def sure(self, found: Mapping[str, float]) -> float:
        """How sure it is that the later one replaces the earlier, in 0..1."""
        odds = self.judge.bias + sum(weight * found[name] for name, weight in self.judge.weights.items())
        return float(1 / (1 + np.exp(-odds)))


def shown(statements: Sequence[Statement]) -> dict[str, float]:
    """The signs of the gate that one memory shows by itself."""
    forms = frozenset[Form]().union(*(one.forms for one in statements))
    return {
        **{form.value: float(form in forms) for form in FORMS},
        "measured": float(any(value.sort in MEASURES for one in statements for value in one.values)),
        "negated": float(any(one.negated for one in statements)),
        "dated": float(any(one.start or one.end for one in statements)),
        "statements": float(np.log1p(len(statements))),
    }


def nearest(
    new: Sequence[Told], old: Sequence[Told], rarity: Mapping[str, float], alike: float
) -> tuple[int, int, Verdict | None]:
    """The places of the two statements of two memories that are nearest to each other, and what the rules say of them.

    Those of which the rules are surest; else those that share most; of equals those that speak of change. Greetings
    come last.
    """
    ways = [
        (
            sum(rarity.get(stem, 1.0) for stem in later.statement.stems & earlier.statement.stems),
            bool(later.statement.forms - {Form.STATES}),
            len(earlier.statement.stems),
            place,
            at,
        )
        for place, later in enumerate(new)
        for at, earlier in enumerate(old)
    ]
    ways.sort(reverse=True)
    close = [(place, at) for *_, place, at in ways[:CLOSE]]
    fresh = (pair for pair in close if not _greets(new[pair[0]].statement, old[pair[1]].statement))
    best: tuple[int, int, Verdict | None] = *next(fresh, close[0]), None
    for place, at in close:
        verdict = replaces(new[place], old[at], rarity, alike)
        if verdict is not None and (best[2] is None or verdict.sure > best[2].sure):
            best = place, at, verdict
    return best


def _greets(later: Statement, earlier: Statement) -> bool:
    """Whether a statement says nothing but a word of another: "Hello again."."""
    return len(later.stems) < 2 and not later.values and not says_otherwise(later, earlier)


def signs(pair: Pair, rule: Verdict | None) -> dict[str, float]:
    """The signs of the judge that the statements show; ``rule`` is what the rules say."""
    new, old, later, earlier = pair.new, pair.old, pair.later, pair.earlier
    rarity = pair.rarity
    ours, theirs = names_in(later) - later.who - earlier.who, names_in(earlier) - later.who - earlier.who
    both = [(one, other) for one in later.values for other in earlier.values if one.sort == other.sort != Sort.NAME]
    same = {one.sort for one, other in both if equal(one, other)}
    otherwise = [(one, other) for one, other in both if one.sort not in same]
    return {
        "rule": 0.0 if rule is None else rule.sure,
        "apart": float(np.log1p(abs(new.turn - old.turn))),
        "shared": min(MOST, sum(rarity.get(stem, 1.0) for stem in later.stems & earlier.stems)),
        "frame": pair.frame,
        "alike": pair.alike,
        "beside": float(pair.beside),
        "session": float(new.session is not None and new.session == old.session),
        "speaker": float(new.speaker == old.speaker),
        "owner": float(bool(later.who & earlier.who)),
        "other owner": float(not of_same_owner(new, old)),
        "matter": float(pair.field),
        "value": float(bool(otherwise)),
        "value of one unit": float(any(of_one_unit(one, other, pair) for one, other in otherwise)),
        "equal": float(bool(same)),
        "names": float(bool(ours - theirs) and bool(theirs - ours)),
        "name": float(bool(ours & theirs)),
        "denies": float(later.negated != earlier.negated),
        "former": min(MOST, sum(rarity.get(stem, 1.0) for stem in later.former & earlier.stems)),
        "adds": float(ADDS.search(later.text) is not None),
        "visits": float(VISITS.search(later.text) is not None),
        "past": float(PAST.search(later.text) is not None),
        "event": float(EVENT.search(earlier.text) is not None),
        **{form.value: float(form in later.forms) for form in FORMS},
    }


def passage(text: str, statement: str, speaker: str | None) -> str:
    """What is read closely of a memory: who says it, and its text, of a long one what stands around the statement."""
    if len(text) > TEXT:
        at = max(0, text.find(statement))
        start = max(0, min(at - max(0, TEXT - len(statement)) // 2, len(text) - TEXT))
        text = text[start : start + TEXT]
    return text if speaker is None else f"{speaker}: {text}"
