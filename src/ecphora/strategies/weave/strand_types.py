"""Strands: their types, as recall follows them, and strands that cue words or similarity make. Cognitive Weave, 3.3.4.

Causal strands by cue words: from cause to effect. Cognitive Weave, 3.4.2.

A text that begins with a cue, such as "because" or "that's why", speaks of the turn before it. The strands that a
language model finds are links already (:mod:`ecphora.remember.encode`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ...consolidation.insights.clustering import Floats32, key_overlap
from ...language.statements.clauses import states_cause, states_effect
from ...model.graph.graph import Graph
from ...model.types import Edge, Link, Rows, Scores
from .insight_particle import Particle


class StrandType(StrEnum):
    """What joins two particles.

    ``TEMPORAL``: one turn follows the other in a session or document. ``CAUSAL``: one states the cause of the other.
    ``THEMATIC``: both mention a rare name. ``DERIVED``: one is an insight over the other. ``ASSOCIATION``: they are
    similar. The others are relations that an extractor found.
    """

    TEMPORAL = "temporal"
    CAUSAL = "causal"
    THEMATIC = "thematic"
    DERIVED = "derived"
    ASSOCIATION = "association"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    ELABORATES = "elaborates"
    PRECEDES = "precedes"


TYPES = tuple(StrandType)
"""Every type; its position is its code in arrays."""
TYPE_CODES = {type_: code for code, type_ in enumerate(TYPES)}
STORED_LINKS = {
    StrandType.CAUSAL: Link.CAUSES,
    StrandType.DERIVED: Link.DERIVED_FROM,
    StrandType.ASSOCIATION: Link.ASSOCIATION,
    StrandType.SUPPORTS: Link.SUPPORTS,
    StrandType.CONTRADICTS: Link.CONTRADICTS,
    StrandType.ELABORATES: Link.ELABORATES,
    StrandType.PRECEDES: Link.PRECEDES,
}
"""The types that are stored, and their links. Temporal and thematic strands follow from order and mentions."""


@dataclass(frozen=True, slots=True)
class TypeWeights:
    """The factor of each type of strand, in the order of :data:`TYPES`; 0 does not follow it. All inferred.

    Only an extractor finds the last four, and none of our measurements has one: they weigh what the others do on
    average.
    """

    temporal: float = 0.5
    causal: float = 0.5
    thematic: float = 1.0
    derived: float = 1.0
    association: float = 0.0
    supports: float = 0.75
    contradicts: float = 0.75
    elaborates: float = 0.75
    precedes: float = 0.75

    def factors(self, *, is_typed: bool) -> NDArray[np.float32]:
        """The factor of each type; untyped, every followed type has the mean factor of the followed types."""
        weights = np.array(astuple(self), np.float32)
        is_followed = weights > 0
        if is_typed or not is_followed.any():
            return weights
        return np.where(is_followed, weights[is_followed].mean(), np.float32(0))


def cued_strand(current: Particle, before: Particle | None) -> Edge | None:
    """The strand between a particle and the turn ``before`` it, if a cue word makes either the cause of the other.

    Questions and requests neither cause nor follow, and both turns must be of one session and source.
    """
    if before is None or not (current.is_statement and before.is_statement):
        return None
    if (current.imprint.session, current.imprint.source) != (before.imprint.session, before.imprint.source):
        return None
    if states_effect(current.core):
        return Edge(before.id, current.id, Link.CAUSES)
    return Edge(current.id, before.id, Link.CAUSES) if states_cause(current.core) else None


def new_strands(
    graph: Graph,
    neighbors: Iterable[tuple[int, Rows, Scores]],
    strength: Callable[[Floats32, Floats32], Floats32],
) -> Iterator[Edge]:
    """Strands from rows to similar ones that have no link yet: pattern-based creation, 3.4.2; equation 8 linear.

    ``neighbors`` are rows, each with others that are similar and their cosines; ``strength`` weighs cosines and the
    overlap of keys.
    """
    for row, others, cosines in neighbors:
        overlap = key_overlap(graph, np.concatenate([[row], others]))[0, 1:]
        for other, weight in zip(others.tolist(), strength(cosines, overlap).tolist(), strict=True):
            yield Edge(graph.id(row), graph.id(other), Link.ASSOCIATION, weight)
