"""Importance that grows with use and decays with time: Cognitive Weave, equations 5 and 7.

Decay ranks memories lower that have not been used for long. Pruning lists the memories that may be archived, by
Cognitive Weave's three conditions (docs/explanation/papers.md 5.7): importance below a threshold, no access for long,
structurally unimportant. Nothing here deletes anything: a decayed or archived memory is still recalled if nothing else
is.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..model.graph.columns import group_starts
from ..model.graph.graph import DAY, CachedDerivation, Graph, archived_mask, pinned_mask
from ..model.types import AccessKind, Link, Mark, Mask, Rows, Scores

_USE_KINDS = (AccessKind.RECALLED, AccessKind.USED)


@dataclass(frozen=True, slots=True)
class ImportanceDecay:
    """The parameters of importance; times in days.

    ``initial`` is I_0 of a memory that was never used and has no descriptions, ``base`` is I_base, ``half_life`` is ln
    2 / lambda_decay. ``alpha``, ``beta`` and ``gamma`` are the parameters of the linear instance of equation 5.
    """

    initial: float = 0.6  # inferred: 3 of 5, an extractor's middle
    base: float = 0.1  # inferred: old facts can still be recalled
    half_life: float = 30.0  # inferred
    alpha: float = 1.0  # inferred: below 1 a memory's first uses would lower it
    beta: float = 0.2  # inferred
    gamma: float = 0.1  # inferred

    def apply(self, importance: NDArray[np.float64], days: NDArray[np.float64]) -> NDArray[np.float64]:
        """Equation 7: I(t) = (I_0 - I_base) exp(-lambda (t - t_0)) + I_base."""
        return (importance - self.base) * np.exp2(-days / self.half_life) + self.base


@dataclass(frozen=True, slots=True)
class _ImportanceState:
    """Each row's importance at its last use, ``intrinsic + per_insight * IA_links``; the time of it, and use counts."""

    intrinsic: NDArray[np.float64]
    per_insight: NDArray[np.float64]
    updated_at: NDArray[np.float64]
    use_counts: NDArray[np.int64]
    """The number of uses of each row, a column for each access kind in ``_USE_KINDS``."""


def importance(graph: Graph, decay: ImportanceDecay, now: float) -> Scores:
    """I(now) of every row, in 0..1; ``now`` in seconds since 1970.

    Each use of a memory sets I to alpha I + beta f_access + gamma IA_links (equation 5, linear), with f_access =
    1 - exp(-uses / 5) and IA_links = 1 - exp(-insights drawn from it); between uses it decays. Insights are counted as
    they are now, not as they were at each use. I never exceeds 1. Uses that have expired from the access log still
    count in f_access; what they added to I no longer matters: later uses have brought I to 1, or it has decayed.
    """
    state = graph.derive(
        ("importance", decay), lambda grown, before: _replay_uses(grown, before, decay), depends_on_log=True
    )
    days = np.maximum(0, now - state.updated_at) / DAY
    derived = graph.edges_of_link(Link.DERIVED_FROM)
    insights = 1 - np.exp(-np.bincount(graph.edges["dst"][derived], minlength=len(graph)))
    values = decay.apply(state.intrinsic, days) + state.per_insight * np.exp2(-days / decay.half_life) * insights
    return np.clip(values, 0, 1).astype(np.float32)


def _replay_uses(
    graph: Graph, before: CachedDerivation[_ImportanceState] | None, decay: ImportanceDecay
) -> _ImportanceState:
    """The state after every use in the access log, the k-th new use of all rows at once; t_0 is ``happened``.

    I_0 of a memory with descriptions is their mean importance over 5 (5.7).
    """
    n = len(graph)
    intrinsic, per_insight, use_counts = (
        np.full(n, decay.initial),
        np.zeros(n),
        np.zeros((n, len(_USE_KINDS)), np.int64),
    )
    updated_at, start = graph.nodes["happened"].astype(np.float64), 0
    if before is not None:
        state, k, start = before.value, before.node_count, before.access_count
        intrinsic[:k], per_insight[:k], updated_at[:k], use_counts[:k] = (
            state.intrinsic,
            state.per_insight,
            state.updated_at,
            state.use_counts,
        )
    described = graph.edges_of_link(Link.DESCRIBED_IN, first=0 if before is None else before.edge_count)
    if len(described):
        memories, weights = graph.edges["dst"][described], graph.edges["weights"][described]
        counts = np.bincount(memories, minlength=n)
        is_new = (counts > 0) & (np.arange(n) >= (0 if before is None else before.node_count))
        intrinsic[is_new] = np.bincount(memories, weights, n)[is_new] / counts[is_new]
    accesses = graph.accesses
    new_uses = graph.accesses_of_kind(*_USE_KINDS, first=start)
    new_uses = new_uses[np.argsort(accesses["rows"][new_uses], kind="stable")]
    rows, times, access_counts = accesses["rows"][new_uses], accesses["at"][new_uses], accesses["counts"][new_uses]
    kinds = graph.has_access_kind(_USE_KINDS[1], accesses=new_uses).astype(np.intp)
    starts = group_starts(rows)
    counts = np.diff(np.append(starts, len(rows)))
    for k in range(int(counts.max(initial=0))):
        nth_uses = starts[counts > k] + k
        row, time = rows[nth_uses], times[nth_uses]
        days = np.maximum(0, time - updated_at[row]) / DAY
        use_counts[row, kinds[nth_uses]] = np.maximum(use_counts[row, kinds[nth_uses]] + 1, access_counts[nth_uses])
        frequency = 1 - np.exp(-use_counts[row].sum(axis=1) / 5)
        intrinsic[row] = np.minimum(1, decay.alpha * decay.apply(intrinsic[row], days) + decay.beta * frequency)
        links = decay.alpha * per_insight[row] * np.exp2(-days / decay.half_life) + decay.gamma
        per_insight[row] = np.minimum(1, links)
        updated_at[row] = time
    return _ImportanceState(intrinsic, per_insight, updated_at, use_counts)


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """When a memory is decayed: its importance is below ``max_importance``, with no access for ``idle_days`` days."""

    importance_decay: ImportanceDecay = field(default_factory=ImportanceDecay)
    max_importance: float = 0.15  # inferred: papers.md 5.7
    idle_days: float = 90.0  # inferred: likewise


def decay(graph: Graph, policy: DecayPolicy, now: float) -> Scores:
    """The lost part of each row's importance, in 0..1: 0 at the initial importance or above, 1 at the base.

    Pinned rows have 0; ``now`` in seconds since 1970.
    """
    initial, base = policy.importance_decay.initial, policy.importance_decay.base
    lost = (
        (initial - importance(graph, policy.importance_decay, now)) / (initial - base)
        if initial > base
        else graph.zeros()
    )
    return np.clip(np.where(pinned_mask(graph), 0, lost), 0, 1).astype(np.float32)


def decayed_rows(graph: Graph, policy: DecayPolicy, now: float) -> Rows:
    """The memories that may be archived, the least important first; ``now`` in seconds since 1970.

    They have low importance and no recent access, no insight is derived from them, and they supersede no other memory,
    by themselves or by their claims. Pinned and archived memories are not among them; unarchiving a memory restarts its
    idle time.
    """
    values = importance(graph, policy.importance_decay, now)
    is_idle = graph.derive("last access times", _last_access_times, depends_on_log=True) < now - policy.idle_days * DAY
    is_decayed = (
        graph.episodes
        & (values < policy.max_importance)
        & is_idle
        & ~_depended_on_mask(graph)
        & ~pinned_mask(graph)
        & ~archived_mask(graph)
    )
    rows = np.flatnonzero(is_decayed)
    return rows[np.argsort(values[rows], kind="stable")]


def _depended_on_mask(graph: Graph) -> Mask:
    """The rows that an insight is derived from, or that supersede another row by themselves or by a claim."""
    edges, depended_on = graph.edges, np.zeros(len(graph), np.bool_)
    depended_on[edges["dst"][graph.edges_of_link(Link.DERIVED_FROM, Link.SUPPORTS)]] = True
    supersedes = np.zeros(len(graph), np.bool_)
    supersedes[edges["src"][graph.edges_of_link(Link.SUPERSEDES)]] = True
    is_claim = graph.has_link(Link.CLAIMED_IN) & supersedes[edges["src"]]
    depended_on[edges["dst"][is_claim]] = True
    return depended_on | supersedes


def _last_access_times(graph: Graph, before: CachedDerivation[NDArray[np.float64]] | None) -> NDArray[np.float64]:
    """When each row was last accessed or unarchived."""
    last, start = np.full(len(graph), -np.inf), 0
    if before is not None:
        last[: before.node_count], start = before.value, before.access_count
    accesses = graph.accesses
    entries = graph.accesses_of_kind(*AccessKind, Mark.UNARCHIVED, first=start)
    np.maximum.at(last, accesses["rows"][entries], accesses["at"][entries])
    return last
