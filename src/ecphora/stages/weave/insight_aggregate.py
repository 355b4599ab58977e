"""Insight aggregates: particles that summarize a cluster, with ``DERIVED_FROM`` strands to its members."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ...ids import INSIGHT_PREFIX, content_id
from ...model import Edge, Kind, Link, Node, NodeId


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
