"""Splits an import into portions to commit: nodes with everything that belongs to them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ...model.types import MENTION_LINKS, SOURCE_LINKS, Edge, Link, Node, NodeId, ValidityEnd

_REQUIRED_LINKS = MENTION_LINKS | frozenset(SOURCE_LINKS.values())
"""The links that are committed with their node: of a memory to the entities it mentions, of a claim to its memory."""
_EXISTING = -1
"""The position of a node that is in the scope already."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Nodes, edges and ends of validity that are committed together."""

    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()
    validity_ends: Sequence[ValidityEnd] = ()


def split_into_portions(
    nodes: Sequence[Node], edges: Sequence[Edge], ends: Sequence[ValidityEnd], size: int
) -> Sequence[Portion]:
    """Split an import into portions of ``size`` nodes, or more where nodes belong together.

    Nodes and edges keep their order: an edge is written after its nodes and every edge before it. No portion ends
    between the chunks of a text, a memory and the entities it mentions, an entity and its first mention, or an
    insight, claim or question and its source memories. The end of a memory's validity comes with its successor.
    """
    positions = {node.id: position for position, node in enumerate(nodes)}
    reaches = list(accumulate((_last_needed(edge, positions) for edge in edges), max))
    cuts = list(_cut_points(_group_bounds(nodes, edges, positions, reaches), size)) or [_EXISTING]
    ends_by_portion: list[list[ValidityEnd]] = [[] for _ in cuts]
    for end, last_needed in _ends_with_position(ends, edges, positions):
        ends_by_portion[bisect_left(cuts, last_needed)].append(end)
    portions, node_start, edge_start = [], 0, 0
    for cut, portion_ends in zip(cuts, ends_by_portion, strict=True):
        edge_end = len(edges) if cut == cuts[-1] else bisect_left(reaches, cut + 1)
        portions.append(Portion(nodes[node_start : cut + 1], edges[edge_start:edge_end], portion_ends))
        node_start, edge_start = cut + 1, edge_end
    return portions


def _last_needed(edge: Edge, positions: Mapping[NodeId, int]) -> int:
    """Return the position of the last node that must be written before an edge."""
    provenance = _EXISTING if edge.provenance is None else positions.get(edge.provenance, _EXISTING)
    return max(positions.get(edge.src, _EXISTING), positions.get(edge.dst, _EXISTING), provenance)


def _group_bounds(
    nodes: Sequence[Node], edges: Sequence[Edge], positions: Mapping[NodeId, int], edge_positions: Sequence[int]
) -> Sequence[int]:
    """Return, for each node, the position of the last node that must be committed with it."""
    bounds = list(range(len(nodes)))

    def bind(node: NodeId, last: int) -> None:
        position = positions.get(node, _EXISTING)
        if position != _EXISTING:
            bounds[position] = max(bounds[position], last)

    mentioned: set[NodeId] = set()
    for edge, last in zip(edges, edge_positions, strict=True):
        if edge.link in _REQUIRED_LINKS:
            bind(edge.src, last)
        if edge.link in MENTION_LINKS and edge.dst not in mentioned:
            mentioned.add(edge.dst)
            bind(edge.dst, last)
    firsts: dict[NodeId, NodeId] = {}
    for position, node in enumerate(nodes):
        if node.document is not None:
            bind(firsts.setdefault(node.document, node.id), position)
    return bounds


def _cut_points(bounds: Sequence[int], size: int) -> Iterator[int]:
    """Yield the positions of the nodes after which a portion ends."""
    start = last = 0
    for position, bound in enumerate(bounds):
        last = max(last, bound)
        if last == position and (position + 1 - start >= size or position + 1 == len(bounds)):
            yield position
            start = position + 1


def _ends_with_position(
    ends: Iterable[ValidityEnd], edges: Iterable[Edge], positions: Mapping[NodeId, int]
) -> Iterator[tuple[ValidityEnd, int]]:
    """Yield each end of validity with the position of the last node that it needs."""
    last_successor: dict[NodeId, int] = {}
    for edge in edges:
        if edge.link == Link.SUPERSEDES:
            last_successor[edge.dst] = max(last_successor.get(edge.dst, _EXISTING), positions.get(edge.src, _EXISTING))
    for end in ends:
        yield end, max(positions.get(end.node, _EXISTING), last_successor.get(end.node, _EXISTING))
