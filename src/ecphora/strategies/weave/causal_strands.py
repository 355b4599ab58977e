"""Causal strands by cue words: from cause to effect. Cognitive Weave, 3.4.2.

A text that begins with a cue, such as "because" or "that's why", speaks of the turn before it. The strands that a
language model finds are links already (:mod:`ecphora.remember.encode`).
"""

from ...language.statements.causal_cues import states_cause, states_effect
from ...model.types import Edge, Link
from .insight_particle import Particle


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
