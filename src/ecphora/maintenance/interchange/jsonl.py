"""Lossless export of a scope to JSON Lines, and import. An import analyzes texts again and makes missing vectors.

The first line is a header; then one line each for nodes in their order, vectors of media, edges, ends of validity,
accesses, tombstones, and, if asked for, vectors. Fields at their default are left out. Numbers that the store assigns
(``seq``, revisions) are not exported: they follow from the order of the lines, as the ``start`` of a chunk follows from
the chunks before it. The ``count`` of an access is exported. Ends of validity are in the order of their nodes.

An import commits portion by portion: if it is interrupted, the scope is sound and the same import
continues from there.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Any, TextIO

from ...errors import StaleWrite, StoreBusy
from ...model.cancellation import current_cancellation
from ...model.ids import IMPORT_PREFIX
from ...model.ports import Clock, Embedder, Progress, Store, UndoBatchStore, english_embedder
from ...model.times import utc_now
from ...model.types import UNEMBEDDED_KINDS, UNINDEXED_KINDS, NodeId, TransferResult, UndoBatch, Vector, WriteBatch
from ...remember import encode
from ...remember.encode import embed_english, with_english_vectors
from .import_plan import ImportPlan, Portion, plan_import
from .json_lines import media_vector_to_json, to_json, to_line, vector_to_base64
from .records import FORMAT_VERSION, parse_export

NODES_PER_PORTION = 512
"""Nodes committed together, with their vectors, edges and ends; more where nodes belong together."""
ACCESSES_PER_COMMIT = 20_000
"""Accesses committed together."""
MAX_RETRIES = 20
"""How often an import is planned again because another process changed the scope meanwhile."""


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
    change_existing: bool = False,
    clock: Clock = utc_now,
    progress: Progress | None = None,
) -> TransferResult:
    """Import an export into a scope, which may hold memories already.

    Everything is checked before the first write. Existing items are left as they are, so that importing twice, or again
    after an interruption, is harmless. Memories that were forgotten in the scope stay forgotten, unless ``restore`` is
    set. What would change memories that neither this import nor an earlier one of the same lines has brought is left
    out (``own_part``), unless ``change_existing`` is set. Tombstones of the file are imported if the scope holds
    nothing else, or with ``change_existing``; no existing memory is forgotten by them. All commits are one undo batch.

    Raises ``InvalidRecord`` with the number of an invalid line, ``IdCollision`` for an id that belongs to another
    memory in the scope, and ``EmbedderMismatch`` if the scope has another embedder.
    """
    contents = parse_export(lines)
    batch_id, now = f"{IMPORT_PREFIX}{contents.digest}", clock()
    done, own_ids = TransferResult(), set[NodeId]()
    for _ in range(MAX_RETRIES):
        current = store.changes_since(scope, 0)
        if isinstance(store, UndoBatchStore):
            own_ids.update(store.node_ids_of_batch(scope, batch_id))
        plan = plan_import(
            contents,
            current,
            scope,
            embedder,
            restore=restore,
            change_existing=change_existing,
            own_ids=own_ids,
            portion_size=NODES_PER_PORTION,
        )
        existing, revision = plan.existing - done.nodes, current.revision
        try:
            for batch in _write_batches(plan, embedder, progress):
                with current_cancellation().commit():
                    written = store.commit(scope, _as_part_of_import(batch, batch_id, now, revision))
                revision, done = written.revision, _add_counts(done, written)
                own_ids.update(node.id for node in written.nodes)
        except StaleWrite:
            continue  # another process has written meanwhile: plan again
        return replace(done, existing=existing, blocked=plan.blocked, skipped=plan.skipped, notices=plan.notices)
    raise StoreBusy(f"other processes changed scope {scope!r} {MAX_RETRIES} times meanwhile; import again")


def _as_part_of_import(batch: WriteBatch, batch_id: str, now: datetime, revision: int) -> WriteBatch:
    """A batch of an import with its undo batch; with tombstones, it may meet no memory written since it was planned."""
    undo_batch = UndoBatch(batch_id, now, {"nodes": len(batch.nodes), "edges": len(batch.edges)})
    return replace(batch, undo_batch=undo_batch, expected_revision=revision if batch.tombstones else None)


def _write_batches(plan: ImportPlan, embedder: Embedder, progress: Progress | None) -> Iterator[WriteBatch]:
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
    batch = WriteBatch(
        nodes=tuple(portion.nodes),
        analyses={node.id: encode.analyze(node) for node in portion.nodes if node.kind not in UNINDEXED_KINDS},
        vectors=all_vectors,
        edges=tuple(portion.edges),
        validity_ends=tuple(portion.validity_ends),
        embedder=embedder.name if all_vectors else None,
    )
    second = english_embedder(embedder)
    return with_english_vectors(batch, embed_english(second, portion.nodes), second)


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
