"""How what was claimed stands at a time: what has replaced a memory, since when, and what contradicts it.

A claim is a node drawn from one memory. An edge says which claim replaces another, and nothing else is stored of it:
the time from which the earlier one no longer holds is when the later one begins. So whatever is forgotten or undone
takes along what followed from it, and the earlier claim holds again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from ..graph import EPOCH, LINKS, Earlier, Graph, seconds
from ..language.words import hashed
from ..model import Cue, Edge, Link, Mask, Node, NodeId, Rows, Scores, Standing, Succession
from ..ports import Reader
from .matter import Matter

_CLAIMED, _REPLACES, _AGAINST = (LINKS.index(link) for link in (Link.CLAIMED_IN, Link.SUPERSEDES, Link.CONTRADICTS))
Hashes = frozenset[int]
"""The hashes of some words."""
SAID = 0.3
"""How sure it must be that a memory was replaced to be said of it; below it is only asked after its successor."""


@dataclass(frozen=True, slots=True, eq=False)
class Successions:
    """What replaces what: an entry for each pair of claims, with the rows of the memories they were drawn from.

    From ``start`` to ``end`` (seconds) the later claim holds, as was ``known`` since and ``told`` when its memory
    happened; ``sure`` in 0..1 is how sure it is that both are of one matter. ``about`` are the hashes of the words
    of that matter; ``old_beside`` and ``new_beside`` those of what else the two memories say, None where nobody looked.
    ``against`` marks pairs that contradict each other, of which neither replaces the other. ``edges`` are the places of
    the edges that say so; ``of`` gives the places of the entries that speak of a row.
    """

    old: Rows
    new: Rows
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    known: NDArray[np.float64]
    told: NDArray[np.float64]
    against: Mask
    sure: Scores
    about: tuple[Hashes, ...]
    old_beside: tuple[Hashes | None, ...]
    new_beside: tuple[Hashes | None, ...]
    edges: Rows
    of: Mapping[int, tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.old)


def successions(graph: Graph) -> Successions:
    """Every pair of claims, as far as both memories are there."""
    return graph.derived("successions", _successions)


def _successions(graph: Graph, before: Earlier[Successions] | None) -> Successions:
    edges = graph.edges
    if before is not None and not np.isin(edges["links"][before.edges :], (_REPLACES, _AGAINST)).any():
        return before.value
    drawn = np.full(len(graph), -1, np.intp)
    claimed = edges["links"] == _CLAIMED
    drawn[edges["src"][claimed]] = edges["dst"][claimed]
    pairs = np.flatnonzero(np.isin(edges["links"], (_REPLACES, _AGAINST)) & (drawn[edges["src"]] >= 0))
    pairs = _latest(edges["src"], edges["dst"], pairs[drawn[edges["dst"][pairs]] >= 0])
    pairs = pairs[edges["weights"][pairs] > 0]
    later, earlier = edges["src"][pairs], edges["dst"][pairs]
    nodes, against = graph.nodes, edges["links"][pairs] == _AGAINST
    start = _since(graph, pairs[~against])[later]
    known = np.maximum(nodes["recorded"][later], nodes["recorded"][earlier])
    old, new = drawn[earlier].astype(np.intp), drawn[later].astype(np.intp)
    of: dict[int, tuple[int, ...]] = {}
    for place, rows in enumerate(zip(old.tolist(), new.tolist(), strict=True)):
        for row in set(rows):
            of[row] = (*of.get(row, ()), place)
    told = nodes["metadata"]
    matters = [(Matter.of(told[one]), Matter.of(told[other])) for one, other in zip(earlier, later, strict=True)]
    return Successions(
        old,
        new,
        start,
        nodes["valid_to"][later],
        known,
        np.maximum(nodes["happened"][later], nodes["happened"][earlier]),
        against,
        edges["weights"][pairs],
        tuple(_hashes(one.about | other.about) for one, other in matters),
        tuple(_beside(one, other) for one, other in matters),
        tuple(_beside(other, one) for one, other in matters),
        pairs,
        of,
    )


def _since(graph: Graph, edges: Rows) -> NDArray[np.float64]:
    """From when each row holds, in seconds: as it says, or else from when it was told.

    Of some edges, each from a claim to what it replaces: whatever a claim says, it holds no earlier than what it
    replaces; that puts it off to when it was told at most.
    """
    valid_from, happened = graph.nodes["valid_from"], graph.nodes["happened"]
    later, earlier = graph.edges["src"][edges], graph.edges["dst"][edges]
    since = np.where(np.isfinite(valid_from), valid_from, happened)
    while True:
        raised = since.copy()
        np.maximum.at(raised, later, np.minimum(since[earlier], happened[later]))
        if np.array_equal(raised, since):
            return since
        since = raised


def _latest(src: Rows, dst: Rows, places: Rows) -> Rows:
    """Of edges between the same two claims the last one: it may say that neither replaces the other after all."""
    ends = zip(src[places].tolist(), dst[places].tolist(), strict=True)
    last = dict(zip(ends, places.tolist(), strict=True))
    return np.array(sorted(last.values()), np.intp)


def _beside(one: Matter, other: Matter) -> Hashes | None:
    """What the memory of a claim says besides its matter, as far as another claim is not about that."""
    return None if one.beside is None else _hashes(one.beside - other.about)


def _hashes(stems: Iterable[str]) -> Hashes:
    return frozenset(hashed(list(stems)).tolist())


def found(graph: Graph, read: Reader, limit: int) -> list[Succession]:
    """What was found to replace or contradict what: that of the latest memories first."""
    known = successions(graph)
    last = np.lexsort((-known.sure, -known.new))[:limit]
    rows = np.unique(np.concatenate([known.old[last], known.new[last]]))
    nodes = {node.id: node for node in read(rows)}
    return [
        Succession(
            old=nodes[graph.id(int(known.old[place]))],
            new=nodes[graph.id(int(known.new[place]))],
            since=_time(float(known.start[place])),
            until=_time(float(known.end[place])) if np.isfinite(known.end[place]) else None,
            sure=round(float(known.sure[place]), 3),
            contradicts=bool(known.against[place]),
        )
        for place in last.tolist()
        if {graph.id(int(known.old[place])), graph.id(int(known.new[place]))} <= nodes.keys()
    ]


def rejected(graph: Graph, old: Sequence[NodeId], new: Sequence[NodeId]) -> tuple[Edge, ...]:
    """Edges that say of two memories, each given as its pieces, that neither replaces the other after all."""
    edges, known = graph.edges, successions(graph)
    ours, theirs = ({graph.row(id_) for id_ in ids} for ids in (old, new))
    pairs = zip(known.old.tolist(), known.new.tolist(), strict=True)
    places = [known.edges[place] for place, (one, other) in enumerate(pairs) if one in ours and other in theirs]
    return tuple(
        Edge(graph.id(int(edges["src"][at])), graph.id(int(edges["dst"][at])), LINKS[edges["links"][at]], 0.0)
        for at in places
    )


def asked_of(cue: Cue) -> float:
    """The time that a cue asks about, in seconds: as of when, else the last time that it names and that is past."""
    if cue.as_of is None and cue.when and cue.when[-1].end <= cue.now:
        return seconds(cue.when[-1].end) - 1
    return seconds(cue.as_of or cue.now)


def horizon(cue: Cue) -> tuple[float, float]:
    """The last recording time and the last event time that a cue lets speak, in seconds."""
    strict = cue.as_of is not None and not cue.retroactive
    return seconds(cue.known_at or cue.now), seconds(cue.as_of) if cue.as_of and strict else np.inf


def visible(known: Successions, cue: Cue) -> Mask:
    """Which entries had been told and recorded by the times that a cue names."""
    recorded, told = horizon(cue)
    return (known.known <= recorded) & (known.told <= told)


def holding(known: Successions, cue: Cue) -> Mask:
    """Which entries hold at the time asked about, as far as was known then."""
    at = asked_of(cue)
    return (known.start <= at) & (known.end > at) & visible(known, cue) & ~known.against


def standing(graph: Graph, row: int, cue: Cue) -> Standing | None:
    """How a memory stands at the time that a cue asks about; None where nothing replaces, bounds or contradicts it.

    Nothing is said of what was recorded after ``known_at``, nor, unless the cue is retroactive, told after ``as_of``.
    """
    known = successions(graph)
    at, (recorded, told) = asked_of(cue), horizon(cue)
    replaced: dict[str, float] = {}
    against: dict[str, None] = {}
    ends = [_end(graph, row, cue)]
    for place in known.of.get(row, ()):
        if known.known[place] > recorded or known.told[place] > told or known.sure[place] < SAID:
            continue
        if known.against[place]:
            other = known.new[place] if known.old[place] == row else known.old[place]
            against[graph.id(int(other))] = None
        elif known.old[place] == row and at < known.end[place]:  # what held for a time only is over: this holds again
            ends.append(float(known.start[place]))
            if known.start[place] <= at:
                replaced[graph.id(int(known.new[place]))] = float(known.start[place])
    ends += bounds(graph, row)
    until = min(ends)
    if not replaced and not against and not np.isfinite(until):
        return None
    return Standing(
        holds=not replaced and until > at,
        until=None if not np.isfinite(until) else _time(until),
        replaced_by=tuple(sorted(replaced, key=lambda id_: replaced[id_])),
        contradicted_by=tuple(against),
    )


def _end(graph: Graph, row: int, cue: Cue) -> float:
    """When a memory was said to end by one that replaced it, in seconds; infinite where the cue does not see that."""
    recorded, told = horizon(cue)
    end, closed = graph.nodes["valid_to"][row], graph.nodes["closed"][row]
    return float(end) if closed <= recorded and end <= told else np.inf


def as_known(graph: Graph, row: int, node: Node, cue: Cue) -> Node:
    """A memory as it was known at the times that a cue names: open where its end had not been told or recorded."""
    return node if node.valid_to is None or np.isfinite(_end(graph, row, cue)) else replace(node, valid_to=None)


def bounds(graph: Graph, row: int) -> list[float]:
    """The ends that what a memory claims has of its own, in seconds."""
    places, _ = graph.edges_to(np.array([row]))
    claims = graph.edges["src"][places[graph.edges["links"][places] == _CLAIMED]]
    ends = graph.nodes["valid_to"][claims]
    return [float(end) for end in ends if np.isfinite(end)]


def told_of(graph: Graph, at: float) -> Mask:
    """The memories that, whenever they were told, claim what was so at a time."""
    known, edges = successions(graph), graph.edges
    since, until = _since(graph, known.edges[~known.against]), graph.nodes["valid_to"]
    mask = np.zeros(len(graph), np.bool_)
    claimed = np.flatnonzero(edges["links"] == _CLAIMED)
    claims = edges["src"][claimed]
    mask[edges["dst"][claimed[(since[claims] <= at) & (at < until[claims])]]] = True
    return mask


def _time(value: float) -> datetime:
    return EPOCH + timedelta(seconds=value)
