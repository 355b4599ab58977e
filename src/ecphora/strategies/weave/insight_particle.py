"""Insight particles, Definition 3.1 of Cognitive Weave: what can be read off one memory without its graph.

IP = (id, D, K, S, M, T, R, A). A particle holds id, core data D, signifiers S and situational imprint M. The rest are
columns of the graph: resonance keys K are mentions, T the times of the node, R strands
(:mod:`.strand_traversal`), A the access log.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ...language.statements.signifiers import signifiers
from ...model.ids import INSIGHT_PREFIX, content_id
from ...model.types import Edge, Kind, Link, Node, NodeId

NO_STATEMENT = frozenset({"question", "request"})
"""A particle with one of these signifiers states nothing that an insight could be drawn from."""


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


# ---- insight aggregate
#
# Insight aggregates: particles that summarize a cluster, with ``DERIVED_FROM`` strands to its members.


def insight_node(text: str, sources: Sequence[Node], now: datetime, level: int = 1) -> Node:
    """The insight node of some memories, or of insights of the level below; it happened when the last of them did."""
    last = max(node.happened_at for node in sources)
    metadata = {"level": level, "sources": len(sources)}
    return Node(insight_id(node.id for node in sources), Kind.INSIGHT, text, last, now, metadata=metadata)


def insight_id(sources: Iterable[NodeId]) -> NodeId:
    """The id of the insight over some nodes; it depends on their ids alone, not on text or time."""
    return content_id(*sorted(sources), prefix=INSIGHT_PREFIX)


def derived_from_strands(insight: NodeId, sources: Iterable[NodeId]) -> list[Edge]:
    """The strands from an insight to its sources."""
    return [Edge(insight, source, Link.DERIVED_FROM) for source in sources]
