"""Storage tiers, Cognitive Weave 6.2.3: hot particles are found by vectors, cold ones only along strands."""

import numpy as np
from numpy.typing import NDArray

from ...graph import DAY, CachedDerivation, Graph
from ...model import AccessKind, Link, Mask, Scores

COLD_IMPORTANCE = 0.15
"""Particles of lower importance are cold if they are unused and nothing depends on them. Inferred, 5.7."""
IDLE_DAYS = 90.0
"""For so many days a cold particle was not accessed. Inferred, 5.7."""


def is_cold(graph: Graph, importance: Scores, now: float) -> Mask:
    """Which rows are in the cold tier: unimportant, without recent access, and the source of no insight or support.

    ``now`` is in seconds since 1970. Nothing is stored: a particle that is used is hot again.
    """
    last = graph.derive("last accesses", _last_accesses, depends_on_log=True)
    depended_on = np.zeros(len(graph), np.bool_)
    depended_on[graph.edges["dst"][graph.edges_of_link(Link.DERIVED_FROM, Link.SUPPORTS)]] = True
    cold: Mask = (importance < COLD_IMPORTANCE) & (last < now - IDLE_DAYS * DAY) & ~depended_on
    return cold


def _last_accesses(graph: Graph, before: CachedDerivation[NDArray[np.float64]] | None) -> NDArray[np.float64]:
    last, start = graph.nodes["happened"].astype(np.float64), 0
    if before is not None:
        last[: before.node_count], start = before.value, before.access_count
    entries = graph.accesses_of_kind(AccessKind.RECALLED, AccessKind.USED, first=start)
    np.maximum.at(last, graph.accesses["rows"][entries], graph.accesses["at"][entries])
    return last
