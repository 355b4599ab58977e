"""A memory as an insight particle of Cognitive Weave, Definition 3.1."""

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from ...graph import EPOCH, Graph
from ...language.signifiers import signifiers
from ...model import MENTION_LINKS, Access, Interval, Mark, Node, NodeId
from .relational_strands import STRAND_LINKS, Strand


@dataclass(frozen=True, slots=True)
class Particle:
    """IP = (id, D, K, S, M, T, R, A): core data, resonance keys, signifiers, situational imprint, times, strands, use.

    ``keys`` are the ids of the entities mentioned. ``imprint`` is speaker, session and source. ``event_interval`` is
    the interval of validity, None where both sides are open; an open start is the time it happened, an open end
    the end of time. ``accesses`` are all its accesses, the first its creation; marks are no accesses.
    """

    id: NodeId
    data: str
    keys: tuple[NodeId, ...]
    signifiers: tuple[str, ...]
    imprint: tuple[str, ...]
    created_at: datetime
    event_interval: Interval | None
    strands: tuple[Strand, ...]
    accesses: tuple[Access, ...]


def particle(graph: Graph, node: Node) -> Particle:
    """The particle of a node of the graph; raises ``KeyError`` for a node that is not in the graph."""
    row = graph.row(node.id)
    if row is None:
        raise KeyError(node.id)
    edges = graph.edges
    out_edges, _ = graph.edges_from(np.array([row]))
    leaving = [(graph.link(place), int(edges["dst"][place]), edges["weights"][place]) for place in out_edges]
    in_edges, _ = graph.edges_to(np.array([row]))
    arriving = [(graph.link(place), int(edges["src"][place]), edges["weights"][place]) for place in in_edges]
    is_bounded = node.valid_from is not None or node.valid_to is not None
    end_of_time = datetime.max.replace(tzinfo=EPOCH.tzinfo)
    return Particle(
        id=node.id,
        data=node.text,
        keys=tuple(graph.id(dst) for link, dst, _ in leaving if link in MENTION_LINKS),
        signifiers=signifiers(node.text),
        imprint=tuple(part for part in (node.speaker, node.session, node.source) if part),
        created_at=node.recorded_at,
        event_interval=Interval(node.valid_from or node.happened_at, node.valid_to or end_of_time)
        if is_bounded
        else None,
        strands=tuple(
            Strand(link, graph.id(other), float(weight))
            for link, other, weight in (*leaving, *arriving)
            if link in STRAND_LINKS
        ),
        accesses=tuple(access for access in graph.accesses_of(row) if not isinstance(access.kind, Mark)),
    )
