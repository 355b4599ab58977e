"""The node of an insight, Cognitive Weave's insight aggregate, and its ``DERIVED_FROM`` edges to its sources."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ...model.ids import INSIGHT_PREFIX, content_id
from ...model.types import Edge, Kind, Link, Node, NodeId


def insight_node(text: str, sources: Sequence[Node], now: datetime, level: int = 1) -> Node:
    """The insight node of some memories, or of insights of the level below; it happened when the last of them did."""
    last = max(node.happened_at for node in sources)
    metadata = {"level": level, "sources": len(sources)}
    return Node(insight_id(node.id for node in sources), Kind.INSIGHT, text, last, now, metadata=metadata)


def insight_id(sources: Iterable[NodeId]) -> NodeId:
    """The id of the insight over some nodes; it depends on their ids alone, not on text or time."""
    return content_id(*sorted(sources), prefix=INSIGHT_PREFIX)


def derived_from_edges(insight: NodeId, sources: Iterable[NodeId]) -> list[Edge]:
    """The edges from an insight to its sources."""
    return [Edge(insight, source, Link.DERIVED_FROM) for source in sources]
