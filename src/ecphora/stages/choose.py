"""From scores to what comes back: what may, the best of it, within a budget."""

from collections.abc import Sequence

import numpy as np

from ..graph import Graph, seconds
from ..language.moments import moment
from ..model import Cue, Mask, Rows, Scores
from . import standing
from .covering import Covering

COVER = 0.15
"""What it is worth to cover all that nothing chosen covers, in parts of how far the best is ahead of the tenth."""
AMONG = 9
"""How far behind the best that one is."""


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
        told = nodes["happened"] <= seconds(cue.as_of)
        mask &= told | standing.told_of(graph, seconds(cue.as_of)) if cue.retroactive else told
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


def within(scores: Scores, sizes: Sequence[int], budget: float, held: Covering) -> list[int]:
    """The places that are chosen, in turn, of what is ranked by its scores, so that their sizes fit into a budget.

    Always the best of what still fits; what covers words of the cue that nothing chosen covers is preferred to what
    scores a little more. ``held`` says which words each place holds.
    """
    places = np.arange(len(scores))
    spread = float(scores[0] - scores[: AMONG + 1][-1]) if len(scores) else 0.0
    size, left = np.asarray(sizes, np.float64), float(budget)
    open_, covered = np.ones(len(places), np.bool_), np.zeros(len(held.weights), np.bool_)
    chosen: list[int] = []
    while (fits := places[open_ & (size <= left)]).size:
        fresh = held.part(held.own[fits] & ~covered)
        place = int(fits[np.argmax(scores[fits] + COVER * spread * fresh)])
        chosen.append(place)
        open_[place] = False
        covered |= held.own[place]
        left -= size[place]
    return chosen
