"""Lossless export of a scope to JSON Lines, and import. An import analyzes texts again and makes missing vectors.

The first line is a header; then one line each for nodes in their order, vectors of media, edges, ends of validity,
accesses, tombstones, and, if asked for, vectors. Fields at their default are left out. Numbers that the store assigns
(``seq``, revisions) are not exported: they follow from the order of the lines, as the ``start`` of a chunk follows from
the chunks before it. The count of an access, ``nth``, is exported. Ends of validity are in the order of their nodes.

An import commits portion by portion (:mod:`.portions`): if it is interrupted, the scope is sound and the same import
continues from there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from typing import Any, TextIO, TypeVar

from .. import encode
from ..cancellation import current_cancellation
from ..errors import EmbedderMismatch, IdCollision, InvalidRecord, StaleWrite, StoreBusy, WrongVector
from ..forget import content_digest, is_tombstoned
from ..ids import ENTITY_PREFIX
from ..model import (
    MENTION_LINKS,
    SOURCE_LINKS,
    UNEMBEDDED_KINDS,
    UNINDEXED_KINDS,
    Access,
    AccessKind,
    Kind,
    Mark,
    MediaVector,
    Node,
    NodeId,
    Tombstone,
    TransferResult,
    Vector,
    WriteBatch,
)
from ..ports import Embedder, Progress, Store
from .json_lines import media_vector_to_json, to_json, to_line, vector_to_base64
from .media_vectors import check_media_vectors
from .portions import Portion, split_into_portions
from .records import FORMAT_VERSION, ExportContents, parse_export

NODES_PER_PORTION = 512
"""Nodes committed together, with their vectors, edges and ends; more where nodes belong together."""
ACCESSES_PER_COMMIT = 20_000
"""Accesses committed together."""
MAX_RETRIES = 20
"""How often an import is planned again because another process changed the scope meanwhile."""

T = TypeVar("T")


def export_scope(store: Store, scope: str, out: TextIO, *, now: datetime, vectors: bool = False) -> TransferResult:
    """Write a scope to a text file; ``now`` is the time of the export."""
    contents = store.changes_since(scope, 0)
    positions = {node.id: position for position, node in enumerate(contents.nodes)}
    ends = sorted(contents.validity_ends, key=lambda end: positions[end.node])  # stable for ends of one node
    tombstones = sorted({(gone.node, gone.digest) for gone in contents.tombstones})
    vector_ids = [node.id for node in contents.nodes if node.id in contents.vectors] if vectors else []
    header = {
        "ecphora": FORMAT_VERSION,
        "scope": scope,
        "embedder": contents.embedder,
        "exported_at": now.isoformat(),
        "revision": contents.revision,
        "vectors": vectors,
        **({"needs_full_log": True} if contents.needs_full_log else {}),
    }
    records: Iterable[Mapping[str, Any]] = chain(
        [header],
        ({"node": to_json(node, "seq", "start")} for node in contents.nodes),
        ({"media_vector": media_vector_to_json(vector)} for vector in contents.media_vectors),
        ({"edge": to_json(edge)} for edge in contents.edges),
        ({"validity_end": to_json(end)} for end in ends),
        ({"access": to_json(access, "seq")} for access in contents.accesses),
        ({"tombstone": {"node": node, "digest": digest.hex()}} for node, digest in tombstones),
        (
            {"vector": {"node": id_, "model": contents.embedder, "value": vector_to_base64(contents.vectors[id_])}}
            for id_ in vector_ids
        ),
    )
    out.writelines(to_line(record) for record in records)
    return TransferResult(
        nodes=len(contents.nodes),
        edges=len(contents.edges),
        validity_ends=len(contents.validity_ends),
        accesses=len(contents.accesses),
        tombstones=len(tombstones),
        vectors=len(vector_ids),
    )


def import_scope(
    lines: Iterable[str],
    store: Store,
    scope: str,
    embedder: Embedder,
    *,
    restore: bool = False,
    progress: Progress | None = None,
) -> TransferResult:
    """Import an export into a scope, which may hold memories already.

    Everything is checked before the first write. Existing items are left as they are, so that importing twice, or again
    after an interruption, is harmless. Memories that were forgotten in the scope stay forgotten, unless ``restore`` is
    set. Tombstones of the file are imported, but no existing memory is forgotten by them.

    Raises ``InvalidRecord`` with the number of an invalid line, ``IdCollision`` for an id that belongs to another
    memory in the scope, and ``EmbedderMismatch`` if the scope has another embedder.
    """
    contents = parse_export(lines)
    done = TransferResult()
    for _ in range(MAX_RETRIES):
        plan = _plan_import(contents, store.changes_since(scope, 0), scope, embedder, restore=restore)
        existing = plan.existing - done.nodes
        try:
            for batch in _write_batches(plan, embedder, progress):
                with current_cancellation().commit():
                    written = store.commit(scope, batch)
                done = _add_counts(done, written)
        except StaleWrite:
            continue  # another process has written meanwhile: plan again
        return replace(done, existing=existing, blocked=plan.blocked, notices=plan.notices)
    raise StoreBusy(f"other processes changed scope {scope!r} {MAX_RETRIES} times meanwhile; import again")


@dataclass(frozen=True, slots=True)
class _ImportPlan:
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
    notices: tuple[str, ...] = ()


def _plan_import(
    contents: ExportContents, current: WriteBatch, scope: str, embedder: Embedder, *, restore: bool
) -> _ImportPlan:
    """Compare an export with the scope; raises before anything is written."""
    if current.embedder is not None and current.embedder != embedder.name:
        raise EmbedderMismatch(
            f"scope {scope!r} was embedded by {current.embedder!r}, the import would use {embedder.name!r}; "
            f"import with {current.embedder!r}, or into another scope"
        )
    stored = {node.id: node for node in current.nodes}
    _check_collisions(contents, stored)
    _check_references(contents, stored)
    check_media_vectors(contents, current)
    tombstones: set[NodeId | bytes] = {tombstone.node for tombstone in current.tombstones}
    tombstones |= {tombstone.digest for tombstone in current.tombstones}
    missing_nodes = [node for node in contents.nodes if node.id not in stored]
    blocked = (
        set()
        if restore
        else {node.id for node in missing_nodes if node.kind != Kind.ENTITY and is_tombstoned(node, tombstones)}
    )
    nodes = _nodes_to_write(contents, missing_nodes, blocked)
    present_ids = stored.keys() | {node.id for node in nodes}
    vectors, notices = _usable_vectors(contents, nodes, embedder)
    tombstones_by_node, new_tombstones, living = _split_tombstones(contents, current, nodes, stored)
    if living:
        notices += (f"{living} memories that the file calls forgotten are here and stay; remove them with forget",)
    edges = [edge for edge in contents.edges if {edge.src, edge.dst, edge.provenance or edge.src} <= present_ids]
    ends = [end for end in contents.validity_ends if end.node in present_ids]
    return _ImportPlan(
        portions=split_into_portions(
            nodes, _missing_items(edges, current.edges), _missing_items(ends, current.validity_ends), NODES_PER_PORTION
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
        notices=notices,
    )  # fmt: skip


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


def _nodes_to_write(contents: ExportContents, missing: Sequence[Node], blocked: set[NodeId]) -> Sequence[Node]:
    """Return the nodes to write: not those derived from blocked memories, nor entities that no memory mentions."""
    derived: dict[NodeId, list[NodeId]] = {}
    for edge in contents.edges:
        if edge.link in SOURCE_LINKS.values():
            derived.setdefault(edge.dst, []).append(edge.src)
    excluded, frontier = set(blocked), list(blocked)
    while frontier:  # insights over insights too
        frontier = [node for source in frontier for node in derived.get(source, ()) if node not in excluded]
        excluded.update(frontier)
    mentions = [edge for edge in contents.edges if edge.link in MENTION_LINKS]
    stays = [edge.src not in excluded and edge.provenance not in excluded for edge in mentions]
    mentioned = {
        edge.dst
        for edge, is_kept in zip(mentions, stays, strict=True)
        if is_kept and not edge.src.startswith(ENTITY_PREFIX)
    }
    return [node for node in missing if node.id not in excluded and (node.kind != Kind.ENTITY or node.id in mentioned)]


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
    for node in nodes:
        node_by_key.setdefault(node.id, node.id)
        node_by_key.setdefault(content_digest(node), node.id)
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
    return by_node, others, sum(1 for tombstone in living if tombstone.node not in in_file)


def _write_batches(plan: _ImportPlan, embedder: Embedder, progress: Progress | None) -> Iterator[WriteBatch]:
    """Yield the batches of a plan: tombstones with the first portion, accesses from the last one on."""
    done, total = 0, sum(len(portion.nodes) for portion in plan.portions)
    accesses = [
        plan.accesses[start : start + ACCESSES_PER_COMMIT]
        for start in range(0, len(plan.accesses), ACCESSES_PER_COMMIT)
    ]
    for number, portion in enumerate(plan.portions, 1):
        returned = [gone for node in portion.nodes for gone in plan.tombstones_by_node.get(node.id, ())]
        is_last = number == len(plan.portions)
        batch = replace(
            _portion_batch(portion, plan.vectors, embedder),
            media_vectors=tuple(one for node in portion.nodes for one in plan.media_vectors.get(node.id, ())),
            tombstones=(*(plan.tombstones if number == 1 else ()), *returned),
            accesses=tuple(accesses.pop(0) if is_last and accesses else ()),
            needs_full_log=plan.needs_full_log and is_last,
        )
        if batch != WriteBatch():
            yield batch
        done += len(portion.nodes)
        if progress is not None and portion.nodes:
            progress(done, total)
    for part in accesses:
        yield WriteBatch(accesses=tuple(part), needs_full_log=plan.needs_full_log)


def _portion_batch(portion: Portion, vectors: Mapping[NodeId, Vector], embedder: Embedder) -> WriteBatch:
    """Return a portion with its analyses and vectors; missing vectors are made."""
    with_vector = [node for node in portion.nodes if node.kind not in UNEMBEDDED_KINDS]
    new = encode.embed_nodes(embedder, [node for node in with_vector if node.id not in vectors])
    all_vectors = {node.id: vectors[node.id] if node.id in vectors else new[node.id] for node in with_vector}
    return WriteBatch(
        nodes=tuple(portion.nodes),
        analyses={node.id: encode.analyze(node) for node in portion.nodes if node.kind not in UNINDEXED_KINDS},
        vectors=all_vectors,
        edges=tuple(portion.edges),
        validity_ends=tuple(portion.validity_ends),
        embedder=embedder.name if all_vectors else None,
    )


def _add_counts(result: TransferResult, written: WriteBatch) -> TransferResult:
    return replace(
        result,
        nodes=result.nodes + len(written.nodes),
        edges=result.edges + len(written.edges),
        validity_ends=result.validity_ends + len(written.validity_ends),
        accesses=result.accesses + len(written.accesses),
        tombstones=result.tombstones + len(written.tombstones),
        vectors=result.vectors + len(written.vectors),
    )


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
    remaining = Counter(_without_numbers(access) for access in current)
    oldest: dict[tuple[NodeId, AccessKind | Mark], Access] = {}
    for access in current:
        oldest.setdefault((access.node, access.kind), access)
    missing = []
    for access in accesses:
        first = oldest.get((access.node, access.kind))
        if remaining[_without_numbers(access)] > 0:
            remaining[_without_numbers(access)] -= 1
        elif first is None or access.at > first.at or first.nth == 1 + (first.kind == AccessKind.ENCODED):
            missing.append(access)
    return missing


def _without_numbers(access: Access) -> Access:
    return replace(access, seq=0, nth=0)
