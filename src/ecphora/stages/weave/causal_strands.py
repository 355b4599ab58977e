"""Causal strands: from a memory to what it caused, by cue words or by a model's relations. Cognitive Weave, 3.4.2.

A text that begins with a cue, such as "because" or "that's why", speaks of the turn before it. A relation "X causes Y"
of an extractor ties its memory to the latest earlier ones that mention X and Y.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from ...graph import Graph
from ...language.causal_cues import states_cause, states_effect
from ...language.name_normalization import entity_id
from ...model import MENTION_LINKS, Edge, Link, Relation, RelationType
from .insight_particle import Particle


def cued_strand(current: Particle, before: Particle | None) -> Edge | None:
    """The strand between a particle and the turn ``before`` it, if a cue word makes one the cause of the other.

    Questions and requests neither cause nor follow, and both turns must be of one session and source.
    """
    if before is None or not (current.is_statement and before.is_statement):
        return None
    if (current.imprint.session, current.imprint.source) != (before.imprint.session, before.imprint.source):
        return None
    if states_effect(current.core):
        return Edge(before.id, current.id, Link.CAUSES)
    return Edge(current.id, before.id, Link.CAUSES) if states_cause(current.core) else None


def related_strands(graph: Graph, row: int, relations: Sequence[Relation]) -> Iterator[Edge]:
    """The strands of a row by its causal relations: from the cause's latest earlier memory, to the effect's."""
    for relation in relations:
        if relation.type is RelationType.CAUSES:
            cause, effect = (_latest_mention(graph, row, name) for name in (relation.subject, relation.object))
            if cause is not None:
                yield Edge(graph.id(cause), graph.id(row), Link.CAUSES)
            if effect is not None and effect != cause:
                yield Edge(graph.id(row), graph.id(effect), Link.CAUSES)


def _latest_mention(graph: Graph, row: int, name: str) -> int | None:
    entity = graph.row(entity_id(name))
    if entity is None:
        return None
    edges, _ = graph.edges_to(np.array([entity]), *MENTION_LINKS)
    earlier = graph.edges["src"][edges]
    earlier = earlier[earlier < row]
    return int(earlier.max()) if len(earlier) else None
