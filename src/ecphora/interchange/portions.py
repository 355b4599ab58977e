"""What an import commits at once: some nodes with all that belongs to them, so that what is there is always whole."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..model import MENTIONING, TELLING, Edge, Link, Node, NodeId, Superseded

_BELONGING = MENTIONING | frozenset(TELLING.values())
"""The links that a node may not be without: of a memory to the names it mentions, of a claim to its memory."""
_THERE = -1
"""The place of a node that the scope holds already."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Nodes, edges and ends of validity that are committed together."""

    nodes: Sequence[Node] = ()
    edges: Sequence[Edge] = ()
    superseded: Sequence[Superseded] = ()


def portions(
    nodes: Sequence[Node], edges: Sequence[Edge], superseded: Sequence[Superseded], size: int
) -> Sequence[Portion]:
    """Cut what is to be written into portions of ``size`` nodes, or more where fewer would not be whole.

    Nodes and edges keep their order: an edge is written once its nodes are there and every edge before it is. No
    portion ends between the pieces of a text, a memory and the names it mentions, a name and its first mention, or an
    insight, claim or question and the memories it tells of. The end of a memory comes with what replaces it.
    """
    places = {node.id: place for place, node in enumerate(nodes)}
    reaches = list(accumulate((_last(edge, places) for edge in edges), max))
    ends = list(_cuts(_until(nodes, edges, places, reaches), size)) or [_THERE]
    of_portion: list[list[Superseded]] = [[] for _ in ends]
    for end, due in _due(superseded, edges, places):
        of_portion[bisect_left(ends, due)].append(end)
    found, node, edge = [], 0, 0
    for last, closed in zip(ends, of_portion, strict=True):
        reached = len(edges) if last == ends[-1] else bisect_left(reaches, last + 1)
        found.append(Portion(nodes[node : last + 1], edges[edge:reached], closed))
        node, edge = last + 1, reached
    return found


def _last(edge: Edge, places: Mapping[NodeId, int]) -> int:
    """The place of the last node that must be there before an edge is."""
    shown = _THERE if edge.evidence is None else places.get(edge.evidence, _THERE)
    return max(places.get(edge.src, _THERE), places.get(edge.dst, _THERE), shown)


def _until(
    nodes: Sequence[Node], edges: Sequence[Edge], places: Mapping[NodeId, int], reaches: Sequence[int]
) -> Sequence[int]:
    """For each node, the place of the last one that must be committed with it."""
    until = list(range(len(nodes)))

    def bind(node: NodeId, last: int) -> None:
        place = places.get(node, _THERE)
        if place != _THERE:
            until[place] = max(until[place], last)

    named: set[NodeId] = set()
    for edge, reach in zip(edges, reaches, strict=True):
        if edge.link in _BELONGING:
            bind(edge.src, reach)
        if edge.link in MENTIONING and edge.dst not in named:
            named.add(edge.dst)
            bind(edge.dst, reach)
    firsts: dict[NodeId, NodeId] = {}
    for place, node in enumerate(nodes):
        if node.document is not None:
            bind(firsts.setdefault(node.document, node.id), place)
    return until


def _cuts(until: Sequence[int], size: int) -> Iterator[int]:
    """The places of the nodes after which a portion ends."""
    start = last = 0
    for place, bound in enumerate(until):
        last = max(last, bound)
        if last == place and (place + 1 - start >= size or place + 1 == len(until)):
            yield place
            start = place + 1


def _due(
    superseded: Iterable[Superseded], edges: Iterable[Edge], places: Mapping[NodeId, int]
) -> Iterator[tuple[Superseded, int]]:
    """Each end of validity with the place of the node that it waits for."""
    replaced: dict[NodeId, int] = {}
    for edge in edges:
        if edge.link == Link.SUPERSEDES:
            replaced[edge.dst] = max(replaced.get(edge.dst, _THERE), places.get(edge.src, _THERE))
    for end in superseded:
        yield end, max(places.get(end.node, _THERE), replaced.get(end.node, _THERE))
