"""Importance that grows with use and fades with time: Cognitive Weave, equations 5 and 7."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, TOUCHES, Earlier, Graph
from ..model import Link, Scores, Touch

DAY = 86_400.0
_USE = np.array([TOUCHES.index(touch) for touch in (Touch.RECALLED, Touch.USED)])
_DERIVED_FROM = LINKS.index(Link.DERIVED_FROM)


@dataclass(frozen=True, slots=True)
class Fading:
    """The parameters of importance; times in days.

    ``start`` is I_0 of what was never used, ``base`` is I_base, ``half_life`` is ln 2 / lambda_decay. ``keep``, ``use``
    and ``insight`` are alpha, beta and gamma of the linear instance of equation 5.
    """

    start: float = 0.6  # inferred: 3 of 5, an extractor's middle
    base: float = 0.1  # inferred: old facts stay within reach
    half_life: float = 30.0  # inferred
    keep: float = 1.0  # inferred: below 1 a memory's first uses would lower it
    use: float = 0.2  # inferred
    insight: float = 0.1  # inferred

    def decayed(self, importance: NDArray[np.float64], days: NDArray[np.float64]) -> NDArray[np.float64]:
        """Equation 7: I(t) = (I_0 - I_base) exp(-lambda (t - t_0)) + I_base."""
        return (importance - self.base) * np.exp2(-days / self.half_life) + self.base


@dataclass(frozen=True, slots=True)
class _State:
    """Each row's importance as ``own + per_insight * IA_links`` at its last use, and when and how often it was used."""

    own: NDArray[np.float64]
    per_insight: NDArray[np.float64]
    at: NDArray[np.float64]
    uses: NDArray[np.int64]
    """How often each row was used: a column for each kind of use."""


def importance(graph: Graph, fading: Fading, now: float) -> Scores:
    """I(now) of every row, in 0..1; ``now`` in seconds since 1970.

    Each use of a memory sets I to alpha I + beta f_access + gamma IA_links (equation 5, linear), with f_access =
    1 - exp(-uses / 5) and IA_links = 1 - exp(-insights drawn from it); between uses it decays. Insights are counted as
    they are now, not as they were at each use. Nothing exceeds 1. Uses that have expired from the log still count in
    f_access; what they had added to I is gone by then: the later uses have brought I to 1, or it has decayed.
    """
    state = graph.derived(("importance", fading), lambda grown, before: _folded(grown, before, fading), log=True)
    days = np.maximum(0, now - state.at) / DAY
    derived = graph.edges["links"] == _DERIVED_FROM
    insights = 1 - np.exp(-np.bincount(graph.edges["dst"][derived], minlength=len(graph)))
    found = fading.decayed(state.own, days) + state.per_insight * np.exp2(-days / fading.half_life) * insights
    return np.clip(found, 0, 1).astype(np.float32)


def _folded(graph: Graph, before: Earlier[_State] | None, fading: Fading) -> _State:
    """The state after every use in the log, the k-th new use of all rows at once; t_0 is when a row happened."""
    n = len(graph)
    own, per_insight, uses = np.full(n, fading.start), np.zeros(n), np.zeros((n, len(_USE)), np.int64)
    at, first = graph.nodes["happened"].astype(np.float64), 0
    if before is not None:
        state, k, first = before.value, before.nodes, before.accesses
        own[:k], per_insight[:k], at[:k], uses[:k] = state.own, state.per_insight, state.at, state.uses
    accesses = graph.accesses
    new = np.flatnonzero(np.isin(accesses["touches"][first:], _USE)) + first
    new = new[np.argsort(accesses["rows"][new], kind="stable")]
    rows, times, nths = accesses["rows"][new], accesses["at"][new], accesses["nths"][new]
    kinds = np.searchsorted(_USE, accesses["touches"][new])
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]]) if len(rows) else np.empty(0, np.intp)
    counts = np.diff(np.r_[starts, len(rows)])
    for k in range(int(counts.max(initial=0))):
        place = starts[counts > k] + k
        row, time = rows[place], times[place]
        days = np.maximum(0, time - at[row]) / DAY
        uses[row, kinds[place]] = np.maximum(uses[row, kinds[place]] + 1, nths[place])
        frequency = 1 - np.exp(-uses[row].sum(axis=1) / 5)
        own[row] = np.minimum(1, fading.keep * fading.decayed(own[row], days) + fading.use * frequency)
        links = fading.keep * per_insight[row] * np.exp2(-days / fading.half_life) + fading.insight
        per_insight[row] = np.minimum(1, links)
        at[row] = time
    return _State(own, per_insight, at, uses)
