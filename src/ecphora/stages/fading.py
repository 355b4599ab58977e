"""Fading: which memories have been of no use for so long that they may step back, and what was said of them.

Whoever protects a memory or archives it marks it in the access log. A mark is no access; of protected and released, and
of archived and returned, the latest decides. Nothing here erases anything: what has faded or is archived still comes
back where nothing else does.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, TOUCHES, Earlier, Graph
from ..model import MARKING, Link, Mask, Rows, Scores, Touch
from . import importance as use
from .importance import DAY, importance

_ACCESSES = np.array([number for number, touch in enumerate(TOUCHES) if touch not in MARKING])
_PROTECTED, _RELEASED, _ARCHIVED, _RETURNED = (
    TOUCHES.index(touch) for touch in (Touch.PROTECTED, Touch.RELEASED, Touch.ARCHIVED, Touch.RETURNED)
)
_DRAWN = np.array([LINKS.index(link) for link in (Link.DERIVED_FROM, Link.SUPPORTS)])
_CLAIMED_IN, _REPLACES = LINKS.index(Link.CLAIMED_IN), LINKS.index(Link.SUPERSEDES)


@dataclass(frozen=True, slots=True)
class Fading:
    """When a memory has faded: its importance is ``below`` this, and for so many ``days`` nothing came to it."""

    importance: use.Fading = field(default_factory=use.Fading)
    below: float = 0.15  # inferred: papers.md 5.7
    days: float = 90.0  # inferred: likewise


def protected(graph: Graph) -> Mask:
    """The rows that are to lose nothing by age: marked so, and not released since."""
    return _marked(graph, _PROTECTED, _RELEASED)


def archived(graph: Graph) -> Mask:
    """The rows that step back behind all others: marked so, and not returned since."""
    return _marked(graph, _ARCHIVED, _RETURNED)


def faintness(graph: Graph, fading: Fading, now: float) -> Scores:
    """How far each row has faded by importance, in 0..1: 0 while it has as much as when it was new, 1 at the base.

    What is protected has not faded at all; ``now`` in seconds since 1970.
    """
    most, least = fading.importance.start, fading.importance.base
    lost = (most - importance(graph, fading.importance, now)) / (most - least) if most > least else graph.zeros()
    return np.clip(np.where(protected(graph), 0, lost), 0, 1).astype(np.float32)


def faded(graph: Graph, fading: Fading, now: float) -> Rows:
    """The memories that may be archived, weakest first; ``now`` in seconds since 1970.

    Their importance is low, nothing has come to them for long, and nothing rests on them: no insight is drawn from
    them, and they replace no other memory, by themselves or by what they claim. What is protected or archived is not
    among them, and what was returned to its place begins anew to wait.
    """
    weight = importance(graph, fading.importance, now)
    quiet = graph.derived("last come to", _last, log=True) < now - fading.days * DAY
    may = graph.episodes & (weight < fading.below) & quiet & ~_borne(graph) & ~protected(graph) & ~archived(graph)
    rows = np.flatnonzero(may)
    return rows[np.argsort(weight[rows], kind="stable")]


def _borne(graph: Graph) -> Mask:
    """The rows on which something rests that would not stand without them."""
    edges, borne = graph.edges, np.zeros(len(graph), np.bool_)
    borne[edges["dst"][np.isin(edges["links"], _DRAWN)]] = True
    replacing = np.zeros(len(graph), np.bool_)
    replacing[edges["src"][edges["links"] == _REPLACES]] = True
    claimed = (edges["links"] == _CLAIMED_IN) & replacing[edges["src"]]
    borne[edges["dst"][claimed]] = True
    return borne | replacing


def _marked(graph: Graph, on: int, off: int) -> Mask:
    """The rows of which ``on`` is later in the log than ``off``; of a grown graph only what is new is read."""
    return graph.derived(("marked", on), lambda grown, before: _folded(grown, before, on, off), log=True)


def _folded(graph: Graph, before: Earlier[Mask] | None, on: int, off: int) -> Mask:
    mask, start = np.zeros(len(graph), np.bool_), 0
    if before is not None:
        mask[: before.nodes], start = before.value, before.accesses
    touches = graph.accesses["touches"]
    places = np.flatnonzero(np.isin(touches[start:], (on, off))) + start
    mask[graph.accesses["rows"][places]] = touches[places] == on  # in order of seq: the last stays
    return mask


def _last(graph: Graph, before: Earlier[NDArray[np.float64]] | None) -> NDArray[np.float64]:
    """When each row was accessed last, or returned to its place."""
    last, start = np.full(len(graph), -np.inf), 0
    if before is not None:
        last[: before.nodes], start = before.value, before.accesses
    accesses = graph.accesses
    places = np.flatnonzero(np.isin(accesses["touches"][start:], [*_ACCESSES, _RETURNED])) + start
    np.maximum.at(last, accesses["rows"][places], accesses["at"][places])
    return last
