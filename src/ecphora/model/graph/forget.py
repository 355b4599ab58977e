"""Forgetting: deletes memories and what depends on them, and leaves tombstones that block remembering them again.

A node derived from memories, such as an insight, is deleted with the first of its sources, an entity with its last
mention, an edge with either end or with the episode that supports it. Every store deletes the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from .. import ids
from ..types import MENTION_LINKS, SOURCE_LINKS, Kind, Mask, Node, NodeId, Rows, Tombstone, WriteBatch
from .graph import Graph, epoch_seconds


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
