"""A memory seen as Cognitive Weave sees it: an insight particle, Definition 3.1."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ..graph import EPOCH, LINKS, Graph
from ..language.signifiers import signifiers
from ..model import MARKING, MENTIONING, Access, Interval, Link, Node, NodeId

_STRANDS = (Link.ASSOCIATION, Link.DERIVED_FROM, Link.SUPPORTS, Link.CONTRADICTS, Link.SUPERSEDES)


@dataclass(frozen=True, slots=True)
class Strand:
    """One relational strand: what it means, the particle at its other end, its strength."""

    link: Link
    other: NodeId
    strength: float


@dataclass(frozen=True, slots=True)
class Particle:
    """IP = (id, D, K, S, M, T, R, A): core data, resonance keys, signifiers, situational imprint, times, strands, use.

    ``keys`` are the ids of the names mentioned. ``imprint`` is who said it, in which session, from which source.
    ``event`` is the stretch of time for which it holds, None where it is open on both sides; an open side is the end
    of time. ``accesses`` are all its accesses, the first its creation; marks are none.
    """

    id: NodeId
    data: str
    keys: tuple[NodeId, ...]
    signifiers: tuple[str, ...]
    imprint: tuple[str, ...]
    created: datetime
    event: Interval | None
    strands: tuple[Strand, ...]
    accesses: tuple[Access, ...]


def particle(graph: Graph, node: Node) -> Particle:
    """The particle of a node that the graph holds; raises ``KeyError`` for one that it does not."""
    row = graph.row(node.id)
    if row is None:
        raise KeyError(node.id)
    edges = graph.edges
    places, _ = graph.edges_from(np.array([row]))
    leaving = [(LINKS[edges["links"][place]], int(edges["dst"][place]), edges["weights"][place]) for place in places]
    into, _ = graph.edges_to(np.array([row]))
    arriving = [(LINKS[edges["links"][place]], int(edges["src"][place]), edges["weights"][place]) for place in into]
    bounded = node.valid_from is not None or node.valid_to is not None
    last = datetime.max.replace(tzinfo=EPOCH.tzinfo)
    return Particle(
        id=node.id,
        data=node.text,
        keys=tuple(graph.id(dst) for link, dst, _ in leaving if link in MENTIONING),
        signifiers=signifiers(node.text),
        imprint=tuple(part for part in (node.speaker, node.session, node.source) if part),
        created=node.recorded_at,
        event=Interval(node.valid_from or node.happened_at, node.valid_to or last) if bounded else None,
        strands=tuple(
            Strand(link, graph.id(other), float(weight))
            for link, other, weight in (*leaving, *arriving)
            if link in _STRANDS
        ),
        accesses=tuple(access for access in graph.accesses_of(row) if access.touch not in MARKING),
    )
