"""SynapticRAG's clock counts turns: an episode's turn is its number among the episodes.

A stimulus that was logged when an episode was stored has the turn of that episode. A stimulus that a recall logged has
the turn after the newest episode, as if the question had been stored. The two differ by time: a stored episode and the
stimuli of storing it have the same time.
"""

import numpy as np
from numpy.typing import NDArray

from ...model.graph.graph import Graph
from ...model.types import AccessKind

Turns = NDArray[np.int64]
"""Turn numbers, or numbers of turns."""


def current_turn(graph: Graph) -> int:
    """The turn of a cue asked now."""
    return graph.episode_count + 1


def access_turns(graph: Graph, first_access: int) -> Turns:
    """The turn of each access from ``first_access`` on."""
    nodes, accesses = graph.nodes, graph.accesses
    episodes = np.flatnonzero(graph.episodes)
    count = np.searchsorted(nodes["seq"][episodes], accesses["seq"][first_access:], "right")
    newest = episodes[np.maximum(count - 1, 0)] if len(episodes) else np.zeros(len(count), np.intp)
    is_recall = graph.has_access_kind(AccessKind.STIMULATED, accesses=slice(first_access, None))
    if len(episodes):
        is_recall &= accesses["at"][first_access:] != nodes["recorded"][newest]
    return (count + is_recall).astype(np.int64)
