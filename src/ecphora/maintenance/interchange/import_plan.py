"""Plans an import: compares an export with the scope, and says what is left to write.

What was forgotten in the scope is left out, and so are its effects on other memories: names keep nothing of a mention
that is left out, and what a forgotten memory superseded does not end. Unless existing memories may be changed, only the
part of the file is planned that concerns the memories that it brings (:func:`own_part`).

The part of an export that concerns only the memories that its import brings.

Whoever writes a file chooses the ids in it. So an import may end, archive or link the memories that it creates, or that
the same import has created before, and no others: what names another memory is left out, and counted. What names an id
that the file does not have is counted whether there is such a memory or not, so that the count does not tell.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import accumulate
from typing import TypeVar

from ...errors import EmbedderMismatch, IdCollision, InvalidInput, InvalidRecord, WrongVector
from ...model.graph.media_spaces import check_dim
from ...model.graph.updates import content_digest, has_memory_tombstone
from ...model.ids import ENTITY_PREFIX
from ...model.ports import Embedder
from ...model.types import (
    ENTITY_LINKS,
    MENTION_LINKS,
    SOURCE_LINKS,
    Access,
    AccessKind,
    Edge,
    Kind,
    Link,
    Mark,
    MediaVector,
    Node,
    NodeId,
    Tombstone,
    ValidityEnd,
    Vector,
    WriteBatch,
)
from ...remember.forget import with_spelling_and_times
from .records import ExportContents


def check_media_vectors(contents: ExportContents, current: WriteBatch) -> None:
    """Raise an error for a vector of a medium that its memory does not have, or of another length than its model's."""
    spaces = {one.model: len(one.vector) for one in current.media_vectors}
    counts = {node.id: len(node.media) for node in contents.nodes}
    for node, line in contents.references:
        for one in contents.media_vectors.get(node, ()):
            if one.position >= counts.get(node, 0):
                raise InvalidRecord(f"line {line}: {node!r} has no medium {one.position} in this file")
            try:
                check_dim(one, spaces.setdefault(one.model, len(one.vector)))
            except InvalidInput as error:
                raise InvalidRecord(f"line {line}: {error}") from error


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


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What is left to write, in order, and the counts of what is not written."""

    portions: Sequence[Portion] = ()
    vectors: Mapping[NodeId, Vector] = field(default_factory=dict)
    accesses: Sequence[Access] = ()
    needs_full_log: bool = False
    media_vectors: Mapping[NodeId, Sequence[MediaVector]] = field(default_factory=dict)
    tombstones_by_node: Mapping[NodeId, Sequence[Tombstone]] = field(default_factory=dict)
    """Tombstones of memories that came back, by the node that came back: both are committed together."""
    tombstones: Sequence[Tombstone] = ()
    existing: int = 0
    blocked: int = 0
    skipped: int = 0
    notices: tuple[str, ...] = ()


def plan_import(
    contents: ExportContents,
    current: WriteBatch,
    scope: str,
    embedder: Embedder,
    *,
    restore: bool,
    change_existing: bool,
    own_ids: Collection[NodeId],
    portion_size: int,
) -> ImportPlan:
    """Compare an export with the scope; raises before anything is written.

    ``own_ids`` are the ids of the memories that the same import has brought before.
    """
    if current.embedder is not None and current.embedder != embedder.name:
        raise EmbedderMismatch(
            f"scope {scope!r} was embedded by {current.embedder!r}, the import would use {embedder.name!r}; "
            f"import with {current.embedder!r}, or into another scope"
        )
    stored = {node.id: node for node in current.nodes}
    skipped: Counter[str] = Counter()
    if not change_existing:
        own = own_part(contents, current, own_ids)
        contents, skipped = own.contents, own.skipped
    _check_collisions(contents, stored)
    _check_references(contents, stored)
    check_media_vectors(contents, current)
    tombstones: set[NodeId | bytes] = {tombstone.node for tombstone in current.tombstones}
    tombstones |= {tombstone.digest for tombstone in current.tombstones}
    missing_nodes = [node for node in contents.nodes if node.id not in stored]
    blocked = set() if restore else _blocked_ids(contents, tombstones) - stored.keys()
    nodes = _nodes_to_write(contents, stored, missing_nodes, blocked)
    present_ids = stored.keys() | {node.id for node in nodes}
    vectors, notices = _usable_vectors(contents, nodes, embedder)
    tombstones_by_node, new_tombstones, living = _split_tombstones(contents, current, nodes, stored)
    if living:
        notices += (f"{living} memories that the file calls forgotten are here and stay; remove them with forget",)
    if skipped:
        notices += (_skip_notice(skipped),)
    edges = [edge for edge in contents.edges if {edge.src, edge.dst, edge.provenance or edge.src} <= present_ids]
    ends = _ends_to_write(contents, stored, present_ids)
    return ImportPlan(
        portions=split_into_portions(
            nodes, _missing_items(edges, current.edges), _missing_items(ends, current.validity_ends), portion_size
        ),
        vectors=vectors,
        accesses=_missing_accesses(
            [access for access in contents.accesses if access.node in present_ids], current.accesses
        ),
        needs_full_log=contents.needs_full_log,
        media_vectors=contents.media_vectors,
        tombstones_by_node=tombstones_by_node,
        tombstones=new_tombstones,
        existing=sum(1 for node in contents.nodes if node.id in stored),
        blocked=len(blocked),
        skipped=skipped.total(),
        notices=notices,
    )  # fmt: skip


def _skip_notice(skipped: Mapping[str, int]) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in skipped.items())
    return (
        f"left out, because they name memories that this import does not bring: {counts}; "
        "to change those memories too, import with change_existing=True (--change-existing)"
    )


def _check_collisions(contents: ExportContents, stored: Mapping[NodeId, Node]) -> None:
    """Raise ``IdCollision`` for the first id that belongs to different memories in the file and in the scope."""
    documents = {node.document for node in stored.values() if node.document is not None}
    chunk_ids = {node.document: set[NodeId]() for node in contents.nodes if node.document is not None}
    for node in contents.nodes:
        if node.document is not None:
            chunk_ids[node.document].add(node.id)
    for node in contents.nodes:
        other = stored.get(node.id)
        is_collision = (
            node.id in documents
            or (node.document is not None and node.document in stored)
            or (other is not None and not _is_same_memory(node, other))
        )
        if is_collision:
            raise _collision_error(node.id, contents.line_by_node[node.id])
    for other in stored.values():
        if other.document in chunk_ids and other.id not in chunk_ids[other.document]:
            raise _collision_error(other.document, contents.line_by_node[min(chunk_ids[other.document])])


def _collision_error(id_: NodeId | None, line: int) -> IdCollision:
    return IdCollision(
        f"line {line}: the id {id_!r} already belongs to another memory; import into another scope, "
        "or forget the existing memory"
    )


def _is_same_memory(one: Node, other: Node) -> bool:
    """Whether two nodes with the same id are the same memory; entities are, whatever their spelling and time."""
    if Kind.ENTITY in {one.kind, other.kind}:
        return one.kind == other.kind
    compared = ("kind", "text", "speaker", "session", "title", "source", "happened_at", "document", "position", "media")
    return all(getattr(one, name) == getattr(other, name) for name in compared)


def _check_references(contents: ExportContents, stored: Mapping[NodeId, Node]) -> None:
    """Raise ``InvalidRecord`` for the first line that refers to a node that is in neither the file nor the scope."""
    for node, line in contents.references:
        if node not in contents.line_by_node and node not in stored:
            raise InvalidRecord(f"line {line}: no node {node!r} is in this file or in the scope it goes to")


def _memories(nodes: Iterable[Node]) -> Sequence[Sequence[Node]]:
    """Return nodes by what they stand for: the chunks of a text together, every other node alone."""
    memories: dict[NodeId, list[Node]] = {}
    for node in nodes:
        memories.setdefault(node.document or node.id, []).append(node)
    return list(memories.values())


def _blocked_ids(contents: ExportContents, tombstones: Collection[NodeId | bytes]) -> set[NodeId]:
    """Return the ids of the file's memories that were forgotten in the scope; of a long text, all chunks or none."""
    return {
        node.id
        for memory in _memories(contents.nodes)
        if memory[0].kind != Kind.ENTITY and has_memory_tombstone(memory, tombstones)
        for node in memory
    }


def _nodes_to_write(
    contents: ExportContents, stored: Mapping[NodeId, Node], missing: Sequence[Node], blocked: set[NodeId]
) -> Sequence[Node]:
    """Return the nodes to write: not those derived from blocked memories, nor entities that no memory mentions.

    Entities that lose a mention have the spelling and times that they have after forgetting it.
    """
    derived: dict[NodeId, list[NodeId]] = {}
    for edge in contents.edges:
        if edge.link in SOURCE_LINKS.values():
            derived.setdefault(edge.dst, []).append(edge.src)
    excluded, frontier = set(blocked), list(blocked)
    while frontier:  # insights over insights too
        frontier = [node for source in frontier for node in derived.get(source, ()) if node not in excluded]
        excluded.update(frontier)
    mentioned_in: dict[NodeId, list[NodeId]] = {}
    changed: set[NodeId] = set()
    for edge in contents.edges:
        if edge.link not in MENTION_LINKS:
            continue
        if edge.src in excluded or edge.provenance in excluded:
            changed.add(edge.dst)
        elif not edge.src.startswith(ENTITY_PREFIX):
            mentioned_in.setdefault(edge.dst, []).append(edge.src)
    kept = [
        node for node in missing if node.id not in excluded and (node.kind != Kind.ENTITY or node.id in mentioned_in)
    ]
    nodes = {node.id: node for node in (*stored.values(), *kept)}
    places = {id_: place for place, id_ in enumerate(nodes)}

    def without_blocked_mentions(entity: Node) -> Node:
        sources = sorted(set(mentioned_in[entity.id]), key=places.__getitem__)
        return with_spelling_and_times(entity, [nodes[source] for source in sources])

    return [
        without_blocked_mentions(node) if node.kind == Kind.ENTITY and node.id in changed else node for node in kept
    ]


def _ends_to_write(
    contents: ExportContents, stored: Mapping[NodeId, Node], present_ids: Collection[NodeId]
) -> Sequence[ValidityEnd]:
    """Return the ends of validity of the nodes that are or will be present.

    As after forgetting, a memory that a missing one superseded ends only where another memory supersedes it too.
    """
    nodes = {node.id: node for node in (*stored.values(), *contents.nodes)}
    successors: dict[NodeId, list[NodeId]] = {}
    for edge in contents.edges:
        if edge.link == Link.SUPERSEDES and edge.dst in present_ids and nodes[edge.dst].kind == Kind.EPISODE:
            successors.setdefault(edge.dst, []).append(edge.src)
    remaining = {
        old: _ends_by_successors(nodes[old], [nodes[new] for new in news if new in present_ids])
        for old, news in successors.items()
        if any(new not in present_ids for new in news)
    }
    ends = []
    for end in contents.validity_ends:
        if end.node in remaining and end.valid_to not in remaining[end.node]:
            continue
        if end.node in present_ids:
            ends.append(end)
    known = {(end.node, end.valid_to) for end in ends}
    others = (end for by_time in remaining.values() for end in by_time.values())
    return [*ends, *(end for end in others if (end.node, end.valid_to) not in known)]


def _ends_by_successors(old: Node, successors: Sequence[Node]) -> Mapping[datetime, ValidityEnd]:
    """Return the ends of validity that the successors of a memory set, by their time."""
    ends = [ValidityEnd(old.id, max(new.happened_at, old.happened_at), new.recorded_at) for new in successors]
    return {end.valid_to: end for end in ends}


def _usable_vectors(
    contents: ExportContents, nodes: Sequence[Node], embedder: Embedder
) -> tuple[Mapping[NodeId, Vector], tuple[str, ...]]:
    """Return the file's vectors by this embedder of the nodes to write, and a notice about the other vectors."""
    node_ids = {node.id for node in nodes}
    of_model = {id_: vector for id_, (model, vector) in contents.vectors.items() if model == embedder.name}
    other_count = len(contents.vectors) - len(of_model)
    found = {id_: vector for id_, vector in of_model.items() if id_ in node_ids}
    for id_, vector in found.items():
        if vector.shape != (embedder.dim,):
            raise WrongVector(
                f"the vector of {id_!r} has {len(vector)} numbers, {embedder.name!r} makes {embedder.dim}"
            )
    if not other_count:
        return found, ()
    return found, (f"{other_count} vectors of another model than {embedder.name!r} were ignored and made again",)


def _split_tombstones(
    contents: ExportContents, current: WriteBatch, nodes: Sequence[Node], stored: Mapping[NodeId, Node]
) -> tuple[Mapping[NodeId, Sequence[Tombstone]], Sequence[Tombstone], int]:
    """Split the file's tombstones: by the node that came back, the others, and the number of living memories."""
    known = set(current.tombstones)
    new = [tombstone for tombstone in dict.fromkeys(contents.tombstones) if tombstone not in known]
    living = {tombstone for tombstone in new if tombstone.node in stored}
    node_by_key: dict[NodeId | bytes, NodeId] = {}
    for memory in _memories(nodes):
        first = memory[0]
        node_by_key.setdefault(first.document or first.id, first.id)
        node_by_key.setdefault(content_digest(*memory), first.id)
        for node in memory:
            node_by_key.setdefault(node.id, node.id)
    by_node: dict[NodeId, list[Tombstone]] = {}
    others = []
    for tombstone in new:
        returned = node_by_key.get(tombstone.node) or node_by_key.get(tombstone.digest)
        if tombstone in living:
            continue
        if returned is not None:
            by_node.setdefault(returned, []).append(tombstone)
        else:
            others.append(tombstone)
    in_file = contents.line_by_node.keys()  # these were restored before the export: not counted
    return by_node, others, len({tombstone.node for tombstone in living if tombstone.node not in in_file})


def _missing_items(items: Sequence[T], current: Iterable[T]) -> Sequence[T]:
    """Return the items that are not in the scope yet, each as often as it is missing."""
    remaining = Counter(current)
    missing = []
    for item in items:
        if remaining[item] > 0:
            remaining[item] -= 1
        else:
            missing.append(item)
    return missing


def _missing_accesses(accesses: Sequence[Access], current: Sequence[Access]) -> Sequence[Access]:
    """Return the accesses that are not in the scope yet, each as often as it is missing, without expired ones."""
    remaining = Counter(without_numbers(access) for access in current)
    oldest: dict[tuple[NodeId, AccessKind | Mark], Access] = {}
    for access in current:
        oldest.setdefault((access.node, access.kind), access)
    missing = []
    for access in accesses:
        first = oldest.get((access.node, access.kind))
        if remaining[without_numbers(access)] > 0:
            remaining[without_numbers(access)] -= 1
        elif first is None or access.at > first.at or first.count == 1 + (first.kind == AccessKind.ENCODED):
            missing.append(access)
    return missing
