"""Plans an import: compares an export with the scope, and says what is left to write.

What was forgotten in the scope is left out, and so are its effects on other memories: names keep nothing of a mention
that is left out, and what a forgotten memory superseded does not end. Unless existing memories may be changed, only the
part of the file is planned that concerns the memories that it brings (:mod:`.own_part`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from ...errors import EmbedderMismatch, IdCollision, InvalidRecord, WrongVector
from ...model.graph.forget import content_digest, has_memory_tombstone
from ...model.ids import ENTITY_PREFIX
from ...model.ports import Embedder
from ...model.types import (
    MENTION_LINKS,
    SOURCE_LINKS,
    Access,
    AccessKind,
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
from .media_vectors import check_media_vectors
from .own_part import own_part, without_numbers
from .portions import Portion, split_into_portions
from .records import ExportContents

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
