"""The insights that a graph holds: which memories each of them tells, and whether it still holds."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..graph import KINDS, LINKS, Earlier, Graph
from ..model import Insight, Kind, Link, Mask, Rows, Vector
from ..ports import Reader
from . import standing

_DERIVED, _REPLACES = LINKS.index(Link.DERIVED_FROM), LINKS.index(Link.SUPERSEDES)
_INSIGHT = KINDS.index(Kind.INSIGHT)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """An insight as it stands in the graph: its level, and the memories that it tells, through lower ones too.

    ``holds`` says that none of them was replaced since.
    """

    row: int
    level: int
    sources: Rows
    holds: bool = True


def listed(graph: Graph) -> tuple[Told, ...]:
    """Every insight: those drawn last first, and of these those that tell most."""
    found = sorted(every(graph), key=lambda one: (-graph.nodes["recorded"][one.row], -len(one.sources), one.row))
    return tuple(found)


def nearest(graph: Graph, vector: Vector, limit: int = 10) -> tuple[tuple[Told, float], ...]:
    """The insights that hold and are nearest to a cue's unit vector, best first, with their cosines."""
    places = graph.vector_places
    known = [one for one in every(graph) if one.holds and places[one.row] >= 0]
    if not known or limit < 1:
        return ()
    vectors = graph.vectors.view[places[[one.row for one in known]]]
    cosines = np.einsum("ij,j->i", vectors, vector)
    best = np.argsort(-cosines, kind="stable")[:limit]
    return tuple((known[place], float(cosines[place])) for place in best.tolist())


def read(told: Iterable[Told], fetch: Reader) -> list[Insight]:
    """Some insights with their texts and those of their sources; one that was forgotten meanwhile is left out."""
    found = []
    for one in told:
        node, *_ = (*fetch(np.array([one.row], np.intp)), None)
        if node is not None:
            found.append(Insight(node, one.level, tuple(fetch(one.sources)), one.holds))
    return found


def every(graph: Graph) -> list[Told]:
    """Every insight that tells of a memory, by row."""
    old = replaced(graph)
    telling = graph.derived("insights", _telling)
    return [Told(row, level, sources, not old[sources].any()) for row, (level, sources) in telling.items()]


_Telling = dict[int, tuple[int, Rows]]


def _telling(graph: Graph, before: Earlier[_Telling] | None) -> _Telling:
    """The level and the memories of each insight. One tells what is older than itself, so no circle can close."""
    links, edges = graph.edges["links"], graph.edges
    if before is not None and not (links[before.edges :] == _DERIVED).any():
        return before.value
    derived = np.flatnonzero(links == _DERIVED)
    derived = derived[graph.nodes["kinds"][edges["src"][derived]] == _INSIGHT]
    derived = derived[np.argsort(edges["src"][derived], kind="stable")]
    rows, starts = np.unique(edges["src"][derived], return_index=True)
    found: _Telling = {}
    for row, start, end in zip(rows.tolist(), starts, [*starts[1:], len(derived)], strict=False):
        sources = edges["dst"][derived[start:end]]
        lower = [found[source] for source in sources.tolist() if source in found]
        parts = [sources[graph.episodes[sources]].astype(np.intp), *(leaves for _, leaves in lower)]
        leaves = np.unique(np.concatenate(parts))
        if len(leaves):
            found[row] = 1 + max((level for level, _ in lower), default=0), leaves
    return found


def replaced(graph: Graph) -> Mask:
    """The memories in whose place another was told, in so many words or by what both claim."""
    mask = np.zeros(len(graph), np.bool_)
    edges = graph.edges
    mask[edges["dst"][edges["links"] == _REPLACES]] = True
    known = standing.successions(graph)
    mask[known.old[~known.against & (known.sure >= standing.SAID)]] = True
    return mask
