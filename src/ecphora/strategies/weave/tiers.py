"""Storage tiers, Cognitive Weave 6.2.3: hot particles are searched first, then cold ones, which strands reach too.

The paper names a hot and a cold tier and says no more. That a search goes on to the cold tier is inferred: where
nothing was used for long, all are cold, and a recall must not come back empty.
"""

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import DAY, CachedDerivation, Graph
from ...model.types import AccessKind, Link, Mask, Rows, Scores
from ...retrieval import fusion

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


def find_seeds(similarity: Scores, entries: Mask, cold: Mask, count: int) -> Rows:
    """The nearest ``count`` of the rows under the mask ``entries``: hot ones first, cold ones in the places left."""
    hot = fusion.top_rows(similarity, entries & ~cold, count)
    return np.concatenate([hot, fusion.top_rows(similarity, entries & cold, count - len(hot))])


def _last_accesses(graph: Graph, before: CachedDerivation[NDArray[np.float64]] | None) -> NDArray[np.float64]:
    last, start = graph.nodes["happened"].astype(np.float64), 0
    if before is not None:
        last[: before.node_count], start = before.value, before.access_count
    entries = graph.accesses_of_kind(AccessKind.RECALLED, AccessKind.USED, first=start)
    np.maximum.at(last, graph.accesses["rows"][entries], graph.accesses["at"][entries])
    return last
