"""Applies a committed write batch to a graph: the next graph, with what was added, ended and forgotten.

Forgetting: deletes memories and what depends on them, and leaves tombstones that block remembering them again.

A node derived from memories, such as an insight, is deleted with the first of its sources, an entity with its last
mention, an edge with either end or with the episode that supports it. Every store deletes the same.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.ma  # np.unique imports it when first called: better now than inside the first recall
from numpy.typing import NDArray

from .. import ids
from ..times import offset_minutes
from ..types import (
    ACCESS_KIND_CODES,
    ACCESS_KINDS,
    ENTITY_LINKS,
    MENTION_LINKS,
    SOURCE_LINKS,
    AccessKind,
    Edge,
    Kind,
    LogRetention,
    Mask,
    Node,
    NodeId,
    Rows,
    Tombstone,
    ValidityEnd,
    Vector,
    WriteBatch,
)
from . import media_spaces
from .columns import Table, Values
from .graph import KIND_CODES, LINK_CODES, NODE_ONLY_PROPERTIES, Graph, epoch_seconds
from .vectors import VectorColumn


def forget(nodes: Sequence[Node], tombstones: Collection[NodeId | bytes] = ()) -> WriteBatch:
    """The batch that erases nodes, and with them what depends on them; ``tombstones`` are the graph's.

    The nodes have all chunks of a long text or none. The tombstone of each has the digest of the whole text.
    """
    memories: dict[NodeId, list[Node]] = {}
    for node in nodes:
        memories.setdefault(node.document or node.id, []).append(node)
    found: list[Tombstone] = []
    for memory in memories.values():
        digest = content_digest(*memory)
        found += (Tombstone(node.id, digest) for node in memory)
        if is_date_uncertain(memory, tombstones):
            found.append(Tombstone(memory[0].id, content_digest(*without_date(memory))))
    return WriteBatch(tombstones=tuple(found))


def ids_of_everything(graph: Graph) -> list[NodeId]:
    """The nodes to forget so that the whole scope is erased; all else depends on them."""
    is_chosen = graph.of_kind(Kind.EPISODE, Kind.EXCHANGE)
    batch = WriteBatch(tombstones=tuple(Tombstone(graph.id(row), b"") for row in np.flatnonzero(is_chosen).tolist()))
    is_chosen |= kept_mask(graph, batch) & ~graph.of_kind(Kind.ENTITY)  # such as an imported insight without a source
    return [graph.id(row) for row in np.flatnonzero(is_chosen).tolist()]


# ---- what depends on deleted nodes


def kept_mask(graph: Graph, batch: WriteBatch) -> Mask:
    """The rows that stay when the tombstones of a batch are applied; stores keep the same ones."""
    keep = np.ones(len(graph), np.bool_)
    keep[graph.rows(tombstone.node for tombstone in batch.tombstones)] = False
    keep[_dependent_rows(graph, ~keep)] = False
    keep[_orphan_entities(graph, keep, batch)] = False
    return keep


def dependent_ids(graph: Graph, batch: WriteBatch, kind: Kind) -> tuple[NodeId, ...]:
    """The nodes of a kind that a batch deletes without a tombstone, as they depend on its forgotten nodes."""
    is_deleted = ~kept_mask(graph, batch) & graph.of_kind(kind)
    is_deleted[graph.rows(tombstone.node for tombstone in batch.tombstones)] = False
    return tuple(graph.id(row) for row in np.flatnonzero(is_deleted).tolist())


def _dependent_rows(graph: Graph, removed: Mask) -> Rows:
    """The rows that are derived from removed ones, as an insight is from its sources; insights over insights too."""
    sources = graph.edges_of_link(*SOURCE_LINKS.values())
    src, dst = graph.edges["src"][sources], graph.edges["dst"][sources]
    deleted, count = removed.copy(), -1
    while count != deleted.sum():
        count = deleted.sum()
        deleted[src[deleted[dst]]] = True
    return np.flatnonzero(deleted & ~removed & graph.of_kind(*SOURCE_LINKS))


def _orphan_entities(graph: Graph, keep: Mask, batch: WriteBatch) -> Rows:
    """The entities that nothing mentions if only the rows under a mask stay."""
    _, dst, stays = kept_mentions(graph, keep)
    orphans = np.unique(dst[~stays])
    orphans = orphans[graph.of_kind(Kind.ENTITY)[orphans]]
    orphans = orphans[~np.isin(orphans, dst[stays])]
    # An entity that was mentioned again before its last mention was deleted has never been an orphan.
    new_ids = {node.id for node in batch.nodes}
    mentioned_again = graph.rows(
        edge.dst for edge in batch.edges if edge.link in MENTION_LINKS and edge.dst not in new_ids
    )
    return orphans[~np.isin(orphans, mentioned_again)]


def kept_mentions(graph: Graph, keep: Mask) -> tuple[Rows, Rows, Mask]:
    """The ends of every mention of an entity, and whether it stays if only the rows under a mask do."""
    mentions = graph.edges_of_link(*MENTION_LINKS)
    src, dst, provenance = (graph.edges[name][mentions] for name in ("src", "dst", "provenance"))
    return src, dst, keep[src] & (keep[provenance] | (provenance < 0))


# ---- tombstones


def content_digest(*nodes: Node) -> bytes:
    """The digest of a memory's text, speaker and time, which recognizes a forgotten memory if it is remembered again.

    A memory is given as its node, or as the chunks of its text, in any order. The time of recording does not count: a
    memory without a date has a digest without one. The digest of a question or an exchange is of its id alone, so a
    deleted one blocks no memory with the same text.
    """
    first = nodes[0]
    if first.kind in {Kind.QUESTION, Kind.EXCHANGE}:
        return ids.content_digest(first.id)
    text = "".join(node.text for node in sorted(nodes, key=lambda node: node.position))
    dated = "" if first.happened_at == first.recorded_at else repr(epoch_seconds(first.happened_at))
    return ids.content_digest(text, first.speaker or "", dated)


def without_date(nodes: Sequence[Node]) -> list[Node]:
    """The nodes of a memory as they are if it has no date: it happened when it was recorded."""
    return [replace(node, recorded_at=node.happened_at) for node in nodes]


def is_date_uncertain(nodes: Sequence[Node], tombstones: Collection[NodeId | bytes]) -> bool:
    """Whether the times of a memory do not say if it has a date, because its text may have been replaced.

    Replacing a text leaves a tombstone of the memory's id, and the memory has a later time of recording.
    """
    first = nodes[0]
    known_ids = {first.document or first.id, f"{first.document or first.id}#1", *(node.id for node in nodes)}
    return first.happened_at != first.recorded_at and any(id_ in tombstones for id_ in known_ids)


def is_tombstoned(node: Node, tombstones: Collection[NodeId | bytes]) -> bool:
    """Whether a node was forgotten before: it has the id or the content of a tombstone."""
    return node.id in tombstones or content_digest(node) in tombstones


def has_memory_tombstone(nodes: Sequence[Node], tombstones: Collection[NodeId | bytes]) -> bool:
    """Whether a memory, given as its nodes, was forgotten before: the whole of it, not a text that shares chunks."""
    own_id = nodes[0].document or nodes[0].id
    has_known_id = any(id_ in tombstones for id_ in (own_id, f"{own_id}#1", *(node.id for node in nodes)))
    return has_known_id or has_content_tombstone(nodes, tombstones)


def has_content_tombstone(nodes: Sequence[Node], tombstones: Collection[NodeId | bytes]) -> bool:
    """Whether the whole content of a memory, given as its nodes, was forgotten before, under whatever id."""
    return content_digest(*nodes) in tombstones


_VECTOR_TABLES = ("vector_rows", "vectors")
_ENGLISH_TABLES = ("english_vector_rows", "english_vectors")
"""The fields of a graph with the rows of vectors and with the vectors."""


def apply_batch(graph: Graph, batch: WriteBatch) -> Graph:
    """Return a graph with a committed batch applied; the given graph stays as it is.

    The cost is proportional to the batch. Forgetting and ending validity cost the size of the graph, once each.
    """
    base = graph
    if len(graph._row_by_id) != len(graph):  # another graph was derived from this one and shares its index
        base = replace(graph, _row_by_id={node: row for row, node in enumerate(graph.nodes["ids"])})
    if batch.tombstones:
        base = _forget(base, batch)
    if batch.entities:
        base = _with_entity_times(base, batch.entities)
    if batch.restored_validity:
        rows = base.rows(node for node in batch.restored_validity if base.row(node) is not None)
        base = replace(base, nodes=base.nodes.replace(rows, valid_to=np.inf, valid_to_recorded_at=np.inf))
    graph = _with_nodes(base, batch) if batch.nodes else base
    graph = _with_vectors(graph, batch.vectors, use_english=False)
    graph = _with_vectors(graph, batch.english_vectors, use_english=True)
    if batch.media_vectors:
        spaces = media_spaces.with_vectors(graph.media_spaces, batch.media_vectors, graph._row_by_id)
        graph = replace(graph, media_spaces=spaces)
    graph = _with_edges(graph, batch.edges)
    graph = _with_validity_ends(graph, batch.validity_ends)
    graph = _with_accesses(graph, batch)
    has_late_vectors = len(base) > 0 and any(
        base.row(node) is not None for node in chain(batch.vectors, batch.english_vectors)
    )
    cursors = MappingProxyType({**base.cursors, **batch.cursors}) if batch.cursors else base.cursors
    tables = (
        "nodes", "terms", "identifiers", "time_mentions", "vector_rows", "vectors", "english_vector_rows",
        "english_vectors", "edges",
    )  # fmt: skip
    has_same_nodes = all(getattr(graph, name) is getattr(base, name) for name in tables)
    parent = None if has_late_vectors else base.columns_to_inherit(has_same_nodes=has_same_nodes)
    if batch.retention.through_seq > base.retention.through_seq:
        graph = _trim_accesses(graph, batch.retention)
        parent = parent and parent.without_log()
    grown = replace(graph, revision=batch.revision, cursors=cursors, _parent=parent)
    if len(grown) == len(base) and not has_late_vectors:  # what depends on the nodes alone is still valid
        grown.__dict__.update({name: base.__dict__[name] for name in NODE_ONLY_PROPERTIES if name in base.__dict__})
    return grown


def _forget(graph: Graph, batch: WriteBatch) -> Graph:
    removed = batch.tombstones
    tombstones = graph.tombstones | {gone.node for gone in removed} | {gone.digest for gone in removed}
    keep = kept_mask(graph, batch)
    if keep.all():
        return replace(graph, tombstones=tombstones)
    new_rows = np.cumsum(keep) - 1  # old row -> new row

    def keep_rows(table: Table, *row_columns: str) -> Table:
        mask = np.ones(len(table), np.bool_)
        for name in row_columns:
            mask &= keep[table[name]]
        shorter = table.keep(mask)
        return shorter.replace(np.arange(len(shorter)), **{name: new_rows[shorter[name]] for name in row_columns})

    edges = graph.edges.keep(keep[graph.edges["provenance"]] | (graph.edges["provenance"] < 0))
    edges = keep_rows(edges, "src", "dst")
    provenance = edges["provenance"]
    nodes = graph.nodes.keep(keep)
    codes = {name: getattr(graph, name).keep(nodes[name]) for name in ("speakers", "sessions", "documents", "sources")}
    return Graph(
        nodes=nodes.replace(np.arange(len(nodes)), **{name: numbers for name, (_, numbers) in codes.items()}),
        terms=keep_rows(graph.terms, "rows"),
        identifiers=keep_rows(graph.identifiers, "rows"),
        time_mentions=keep_rows(graph.time_mentions, "rows"),
        vector_rows=keep_rows(graph.vector_rows, "rows"),
        vectors=graph.vectors.select(keep[graph.vector_rows["rows"]]),
        english_vector_rows=keep_rows(graph.english_vector_rows, "rows"),
        english_vectors=graph.english_vectors.select(keep[graph.english_vector_rows["rows"]]),
        media_spaces=media_spaces.keep_rows(graph.media_spaces, keep, new_rows),
        edges=edges.replace(np.arange(len(edges)), provenance=np.where(provenance < 0, -1, new_rows[provenance])),
        accesses=keep_rows(graph.accesses, "rows"),
        **{name: names for name, (names, _) in codes.items()},
        tombstones=tombstones,
        cursors=graph.cursors,
        retention=graph.retention,
        _row_by_id={node: row for row, node in enumerate(nodes["ids"])},
    )


def _with_entity_times(graph: Graph, entities: Sequence[Node]) -> Graph:
    known = [one for one in entities if graph.row(one.id) is not None]
    nodes = graph.nodes.replace(
        graph.rows(one.id for one in known),
        happened=[epoch_seconds(one.happened_at) for one in known],
        offsets=[offset_minutes(one.happened_at) for one in known],
        recorded=[epoch_seconds(one.recorded_at) for one in known],
    )
    return replace(graph, nodes=nodes)


def _with_nodes(graph: Graph, batch: WriteBatch) -> Graph:
    nodes, first = batch.nodes, len(graph)
    speakers = graph.speakers.append(node.speaker for node in nodes)
    sessions = graph.sessions.append(node.session for node in nodes)
    documents = graph.documents.append(node.document for node in nodes)
    sources = graph.sources.append(node.source for node in nodes)
    analyses = [batch.analyses.get(node.id) for node in nodes]
    analyzed = [(first + i, analysis) for i, analysis in enumerate(analyses) if analysis is not None]
    hashes = _concatenate([analysis.term_hashes for _, analysis in analyzed], np.uint32)
    counts = _concatenate([analysis.term_counts for _, analysis in analyzed], np.uint8)
    term_rows = np.repeat([row for row, _ in analyzed], [len(analysis.term_hashes) for _, analysis in analyzed]).astype(
        np.intp
    )
    is_word = counts > 0  # the others are hashes of identifiers
    table = graph.nodes.append(
        ids=[node.id for node in nodes],
        kinds=[KIND_CODES[node.kind] for node in nodes],
        seq=[node.seq for node in nodes],
        happened=[epoch_seconds(node.happened_at) for node in nodes],
        recorded=[epoch_seconds(node.recorded_at) for node in nodes],
        valid_from=[-np.inf if node.valid_from is None else epoch_seconds(node.valid_from) for node in nodes],
        valid_to=[np.inf if node.valid_to is None else epoch_seconds(node.valid_to) for node in nodes],
        valid_to_recorded_at=[np.inf if node.valid_to is None else epoch_seconds(node.recorded_at) for node in nodes],
        offsets=[offset_minutes(node.happened_at) for node in nodes],
        trust=[node.trust for node in nodes],
        speakers=speakers.codes([node.speaker for node in nodes]),
        sessions=sessions.codes([node.session for node in nodes]),
        documents=documents.codes([node.document for node in nodes]),
        sources=sources.codes([node.source for node in nodes]),
        positions=[node.position for node in nodes],
        lengths=np.bincount(term_rows - first, counts, minlength=len(nodes)),
        is_question=[analysis is not None and analysis.is_question for analysis in analyses],
        metadata=[node.metadata or None for node in nodes],
    )
    # The index is shared with the parent graph, which ignores rows beyond its own length.
    index = graph._row_by_id
    index.update((node.id, first + i) for i, node in enumerate(nodes))
    mentions = [
        (row, epoch_seconds(time.start), epoch_seconds(time.end))
        for row, analysis in analyzed
        for time in analysis.time_mentions
    ]
    return replace(
        graph,
        nodes=table,
        terms=graph.terms.append(rows=term_rows[is_word], hashes=hashes[is_word], counts=counts[is_word]),
        identifiers=graph.identifiers.append(rows=term_rows[~is_word], hashes=hashes[~is_word]),
        time_mentions=graph.time_mentions.append(
            rows=[row for row, _, _ in mentions],
            starts=[start for _, start, _ in mentions],
            ends=[end for _, _, end in mentions],
        ),
        speakers=speakers,
        sessions=sessions,
        documents=documents,
        sources=sources,
        _row_by_id=index,
    )


def _with_vectors(graph: Graph, added: Mapping[NodeId, Vector], *, use_english: bool) -> Graph:
    """Add vectors of known nodes to the vectors of the scope's embedder, or to the English vectors."""
    index = graph._row_by_id
    row_by_id = {node: index[node] for node in added if node in index}
    if not row_by_id:
        return graph
    rows_name, values_name = _ENGLISH_TABLES if use_english else _VECTOR_TABLES
    table: Table = getattr(graph, rows_name)
    column: VectorColumn = getattr(graph, values_name)
    rows, values = list(row_by_id.values()), np.stack([added[node] for node in row_by_id])
    positions = graph.text_vectors(use_english=use_english).positions[rows]
    if (positions >= 0).any():  # re-embedded
        keep = np.ones(len(table), np.bool_)
        keep[positions[positions >= 0]] = False
        table, column = table.keep(keep), column.select(keep)
    if column.dim != values.shape[1]:
        column = VectorColumn.from_vectors(values[:0])
    changes: dict[str, Any] = {rows_name: table.append(rows=rows), values_name: column.append(values)}
    return replace(graph, **changes)


def _with_edges(graph: Graph, edges: Sequence[Edge]) -> Graph:
    """Add the edges between known nodes, but no edge that takes another node for an entity."""
    index = graph._row_by_id
    resolved = [(index[edge.src], index[edge.dst], edge) for edge in edges if edge.src in index and edge.dst in index]
    if not resolved:
        return graph
    src, dst = np.array([(src, dst) for src, dst, _ in resolved]).T
    links = np.array([LINK_CODES[edge.link] for _, _, edge in resolved])
    needs_entity = np.isin(links, [LINK_CODES[link] for link in ENTITY_LINKS])
    is_sound = ~needs_entity | (graph.nodes["kinds"][dst] == KIND_CODES[Kind.ENTITY])
    provenance = [-1 if edge.provenance is None else index.get(edge.provenance, -1) for _, _, edge in resolved]
    table = graph.edges.append(
        src=src[is_sound],
        dst=dst[is_sound],
        links=links[is_sound],
        weights=np.array([edge.weight for _, _, edge in resolved])[is_sound],
        provenance=np.array(provenance)[is_sound],
    )
    return replace(graph, edges=table)


def _with_validity_ends(graph: Graph, ends: Sequence[ValidityEnd]) -> Graph:
    rows = graph.rows(end.node for end in ends)
    if not len(rows):
        return graph
    known = [end for end in ends if graph.row(end.node) is not None]
    valid_to, recorded_at = (
        [epoch_seconds(end.valid_to) for end in known],
        [epoch_seconds(end.recorded_at) for end in known],
    )
    return replace(graph, nodes=graph.nodes.replace(rows, valid_to=valid_to, valid_to_recorded_at=recorded_at))


def _with_accesses(graph: Graph, batch: WriteBatch) -> Graph:
    """Log the accesses of a batch, and an ``ENCODED`` access for each new episode, with its ``seq`` and time."""
    index, nodes = graph._row_by_id, graph.nodes
    logged = [access for access in batch.accesses if access.node in index]
    new = graph.rows_of_kind(Kind.EPISODE, len(graph) - len(batch.nodes))
    if not logged and not len(new):
        return graph
    encoded = np.full(len(new), ACCESS_KIND_CODES[AccessKind.ENCODED])
    seq = np.concatenate([nodes["seq"][new], [access.seq for access in logged]])
    order = np.argsort(seq, kind="stable")
    table = graph.accesses.append(
        seq=seq[order],
        rows=np.concatenate([new, [index[access.node] for access in logged]])[order],
        at=np.concatenate([nodes["recorded"][new], [epoch_seconds(access.at) for access in logged]])[order],
        kinds=np.concatenate([encoded, [ACCESS_KIND_CODES[access.kind] for access in logged]])[order],
        strengths=np.concatenate([np.ones(len(new)), [access.strength for access in logged]])[order],
        counts=np.concatenate([np.ones(len(new)), [access.count for access in logged]])[order],
    )
    return replace(graph, accesses=table)


def _trim_accesses(graph: Graph, retention: LogRetention) -> Graph:
    """Drop the expired accesses, as stores do; the ``ENCODED`` access of storing an episode keep."""
    table = graph.accesses
    seq, counts = table["seq"], table["counts"]
    groups = table["rows"].astype(np.intp) * len(ACCESS_KINDS) + table["kinds"]  # one group per node and kind
    old = seq <= retention.through_seq
    last = np.zeros(len(graph) * len(ACCESS_KINDS), np.int64)
    np.maximum.at(last, groups[old], counts[old])
    keep = (counts > last[groups] - retention.keep_last) | (seq == graph.nodes["seq"][table["rows"]])
    return replace(graph, accesses=table if keep.all() else table.keep(keep), retention=retention)


def _concatenate(arrays: Sequence[NDArray[np.generic]], dtype: type[np.generic]) -> Values:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype)
