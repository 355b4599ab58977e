"""The story of a score: which stages gave how much, and by which way a memory was reached."""

from .graph import Graph
from .model import NodeId, Share, Why
from .ports import Activation, Trail

LONGEST = 6
"""Nodes of the longest path told."""


def why(graph: Graph, activation: Activation, row: int) -> Why:
    """The shares of a row's score, those of 0 left out; they add up to the score."""
    return Why(
        tuple(
            Share(stage, float(values[row]), _path(graph, activation.trails.get(stage), row))
            for stage, values in activation.shares.items()
            if values[row] != 0
        )
    )


def _path(graph: Graph, trail: Trail | None, row: int) -> tuple[NodeId, ...]:
    """The nodes from the one the cue touched to this row."""
    if trail is None:
        return ()
    path = [row]
    while len(path) < LONGEST and (before := int(trail.by[path[-1]])) >= 0 and before not in path:
        if (via := int(trail.via[path[-1]])) >= 0:
            path.append(via)
        path.append(before)
        if via >= 0:
            break
    return tuple(graph.id(step) for step in reversed(path)) if len(path) > 1 else ()
