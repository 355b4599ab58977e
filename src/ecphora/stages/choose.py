"""From scores to what comes back: what may, the best of it, within a budget."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from ..graph import Graph, seconds
from ..language.moments import moment
from ..model import Cue, Mask, Rows, Scores

T = TypeVar("T")


def allowed(graph: Graph, cue: Cue) -> Mask:
    """The episodes that may come back: those the filter lets through, told and known by the times the cue names."""
    nodes, where = graph.nodes, cue.where
    mask = graph.episodes.copy()
    for column, codes, names in (
        ("speakers", graph.speakers, where.speakers),
        ("sessions", graph.sessions, where.sessions),
        ("sources", graph.sources, where.sources),
    ):
        if names:
            several = (names,) if isinstance(names, str) else names
            wanted = [number for name in several if (number := codes.number(name)) >= 0]
            mask &= np.isin(nodes[column], wanted)
    if where.after is not None:
        mask &= nodes["happened"] >= seconds(moment(where.after))
    if where.before is not None:
        mask &= nodes["happened"] < seconds(moment(where.before))
    if cue.as_of is not None:
        mask &= nodes["happened"] <= seconds(cue.as_of)
    if cue.known_at is not None:
        mask &= nodes["recorded"] <= seconds(cue.known_at)
    if where.metadata:
        wanted_pairs = where.metadata.items()
        for row in np.flatnonzero(mask):
            mask[row] = wanted_pairs <= (nodes["metadata"][row] or {}).items()
    return mask


def best(scores: Scores, mask: Mask, limit: int) -> Rows:
    """The rows of the highest positive scores under a mask, best first, equal ones in order of rows."""
    rows = np.flatnonzero(mask & (scores > 0))
    return rows[top(scores[rows], limit)]


def top(scores: Scores, k: int) -> Rows:
    """The rows of the highest scores, best first, equal ones in order of rows."""
    if k < 1:
        return np.empty(0, np.intp)
    if k >= len(scores):
        return np.argsort(-scores, kind="stable")
    cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > cut)
    level = np.flatnonzero(scores == cut)[: k - len(above)]  # equal ones need no sorting, however many they are
    return np.concatenate([above[np.argsort(-scores[above], kind="stable")], level])


def within(found: Iterable[T], budget: int | None, size: Callable[[T], int]) -> list[T]:
    """The first that fit into a budget together, in their order; one that does not fit leaves room for the next."""
    if budget is None:
        return list(found)
    kept, left = [], budget
    for item in found:
        if size(item) <= left:
            kept.append(item)
            left -= size(item)
    return kept
