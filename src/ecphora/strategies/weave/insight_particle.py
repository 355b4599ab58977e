"""Insight particles, Definition 3.1 of Cognitive Weave: what can be read off one memory without its graph.

IP = (id, D, K, S, M, T, R, A). A particle holds id, core data D, signifiers S and situational imprint M. The rest are
columns of the graph: resonance keys K are mentions, T the times of the node, R strands
(:mod:`.strand_traversal`), A the access log.
"""

from dataclasses import dataclass

from ...language.statements.clauses import signifiers
from ...model.types import Node, NodeId

NO_STATEMENT = frozenset({"question", "request"})
"""Signifiers of particles that state nothing from which an insight could be drawn."""


@dataclass(frozen=True, slots=True)
class Imprint:
    """The situation in which a particle was told: M of Definition 3.1."""

    speaker: str | None = None
    session: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Particle:
    """A memory as a particle: its text, what the text does (assertion, question, plan and so on), and its situation."""

    id: NodeId
    core: str
    signifiers: tuple[str, ...]
    imprint: Imprint

    @property
    def is_statement(self) -> bool:
        """Whether the particle states something, instead of asking."""
        return NO_STATEMENT.isdisjoint(self.signifiers)


def particle(node: Node) -> Particle:
    """The particle of a node."""
    return Particle(node.id, node.text, signifiers(node.text), Imprint(node.speaker, node.session, node.source))
