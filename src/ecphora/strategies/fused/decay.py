"""Decay: memories that have not been used for long rank lower; marks pin or archive a memory.

Marks are entries of the access log but no accesses; of PINNED and UNPINNED, and of ARCHIVED and UNARCHIVED, the latest
decides. Nothing here deletes anything: a decayed or archived memory is still recalled if nothing else is.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import DAY, CachedDerivation, Graph
from ...model.types import AccessKind, Link, Mark, Mask, Rows, Scores
from ...retrieval import importance as use
from ...retrieval.importance import importance


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """When a memory is decayed: its importance is below ``max_importance``, with no access for ``idle_days`` days."""

    importance_decay: use.ImportanceDecay = field(default_factory=use.ImportanceDecay)
    max_importance: float = 0.15  # inferred: papers.md 5.7
    idle_days: float = 90.0  # inferred: likewise


def pinned_mask(graph: Graph) -> Mask:
    """The rows that are pinned, so that they lose nothing by age."""
    return _mark_mask(graph, Mark.PINNED, Mark.UNPINNED)


def archived_mask(graph: Graph) -> Mask:
    """The rows that are archived, so that they rank behind all others."""
    return _mark_mask(graph, Mark.ARCHIVED, Mark.UNARCHIVED)


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


def _mark_mask(graph: Graph, on: Mark, off: Mark) -> Mask:
    """The rows whose last mark of the two is ``on``; for a grown graph only new log entries are read."""
    return graph.derive(("mark", on), lambda grown, before: _fold_marks(grown, before, on, off), depends_on_log=True)


def _fold_marks(graph: Graph, before: CachedDerivation[Mask] | None, on: Mark, off: Mark) -> Mask:
    mask, start = np.zeros(len(graph), np.bool_), 0
    if before is not None:
        mask[: before.node_count], start = before.value, before.access_count
    entries = graph.accesses_of_kind(on, off, first=start)
    # in order of seq: the last one wins
    mask[graph.accesses["rows"][entries]] = graph.has_access_kind(on, accesses=entries)
    return mask


# ---- pruning
#
# Pruning: which memories may be archived, because they are unimportant, long unused and nothing depends on them.
#
# Cognitive Weave's three conditions (docs/explanation/papers.md 5.7): importance below a threshold, no access for long,
# structurally unimportant. Nothing here deletes anything: an archived memory is still recalled if nothing else is.


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
