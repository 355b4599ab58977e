"""The part of an export that concerns only the memories that its import brings.

Whoever writes a file chooses the ids in it. So an import may end, archive or link the memories that it creates, or that
the same import has created before, and no others: what names another memory is left out, and counted. What names an id
that the file does not have is counted whether there is such a memory or not, so that the count does not tell.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from ...model.types import ENTITY_LINKS, SOURCE_LINKS, Access, Edge, Kind, NodeId, WriteBatch
from .records import ExportContents


@dataclass(frozen=True, slots=True)
class OwnPart:
    """What is left of an export, and how many items of each name were left out."""

    contents: ExportContents
    skipped: Counter[str]


def own_part(contents: ExportContents, current: WriteBatch, own_ids: Collection[NodeId]) -> OwnPart:
    """Leave out of an export what would change memories of the scope that are not in ``own_ids``.

    Links to names that the file has stay, as names are shared by all memories that mention them. What the scope has
    already is not counted. Tombstones, and the wish to keep the full log, concern memories that are not in the file:
    they stay only if the scope holds nothing else.
    """
    in_file = contents.line_by_node.keys()
    others = {node.id for node in current.nodes}.difference(own_ids)
    names = {node.id for node in contents.nodes if node.kind is Kind.ENTITY}
    derived = _derived_from_others(contents.edges, brought := set(in_file - others))
    brought -= derived
    skipped: Counter[str] = Counter()

    def is_own(edge: Edge) -> bool:
        target_is_own = edge.dst in brought or (edge.link in ENTITY_LINKS and edge.dst in names)
        return edge.src in brought and target_is_own and (edge.provenance is None or edge.provenance in brought)

    def count_missing(name: str, nodes: Iterable[NodeId | None], *, is_stored: bool) -> None:
        if not is_stored or not in_file >= {node for node in nodes if node is not None}:
            skipped[name] += 1

    edges, stored_edges = [], set(current.edges)
    for edge in contents.edges:
        if is_own(edge):
            edges.append(edge)
        else:
            count_missing("links", (edge.src, edge.dst, edge.provenance), is_stored=edge in stored_edges)
    ends, stored_ends = [], set(current.validity_ends)
    for end in contents.validity_ends:
        if end.node in brought:
            ends.append(end)
        else:
            count_missing("ends of validity", (end.node,), is_stored=end in stored_ends)
    accesses, stored_accesses = [], set(map(without_numbers, current.accesses))
    for access in contents.accesses:
        if access.node in brought:
            accesses.append(access)
        else:
            count_missing("accesses and marks", (access.node,), is_stored=without_numbers(access) in stored_accesses)
    skipped["memories derived from others"] = len(derived)
    skipped["tombstones"] = len(contents.tombstones) if others else 0
    skipped["vectors"] = len(contents.vectors.keys() - in_file) + len(contents.media_vectors.keys() - in_file)
    return OwnPart(
        replace(
            contents,
            nodes=[node for node in contents.nodes if node.id not in derived],
            edges=edges,
            validity_ends=ends,
            accesses=accesses,
            vectors={node: vector for node, vector in contents.vectors.items() if node in in_file},
            tombstones=[] if others else contents.tombstones,
            needs_full_log=contents.needs_full_log and not others,
            references=[(node, line) for node, line in contents.references if node in in_file],
        ),
        +skipped,
    )


def _derived_from_others(edges: Iterable[Edge], brought: Collection[NodeId]) -> set[NodeId]:
    """The insights, questions and other nodes of a file of which a source, or a source of a source, is not brought."""
    sources = [edge for edge in edges if edge.link in SOURCE_LINKS.values() and edge.src in brought]
    found: set[NodeId] = set()
    while more := {edge.src for edge in sources if edge.dst in found or edge.dst not in brought} - found:
        found |= more
    return found


def without_numbers(access: Access) -> Access:
    """An access without the numbers that its store gives it."""
    return replace(access, seq=0, count=0)
