"""Pruning: which memories may be archived, because they are unimportant, long unused and nothing depends on them.

Cognitive Weave's three conditions (docs/papers.md 5.7): importance below a threshold, no access for long, structurally
unimportant. Nothing here deletes anything: an archived memory is still recalled if nothing else is.
"""

import numpy as np
from numpy.typing import NDArray

from ...graph import DAY, CachedDerivation, Graph
from ...model import AccessKind, Link, Mark, Mask, Rows
from ..retrieval.importance import importance
from .decay import DecayPolicy, archived_mask, pinned_mask


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
