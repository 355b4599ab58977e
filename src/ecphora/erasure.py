"""Erasing memories: what the batch of a forgetting holds beside the tombstones.

An entity that stays keeps nothing of a forgotten mention: its spelling and times become those of a memory that stays.
What a forgotten memory superseded is valid again, unless another memory supersedes it too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from . import forget, ids
from .graph import Graph
from .grouping import group_starts
from .language.name_normalization import entity_id
from .language.names import names
from .model import Kind, Link, Mask, Node, NodeId, ValidityEnd, WriteBatch
from .timeparse import from_epoch_seconds

ReadNodes = Callable[[Sequence[NodeId]], Sequence[Node]]
"""Reads nodes by id."""
MAX_SPELLING_SOURCES = 8
"""The most memories that are read for the spelling of an entity: the first that mention it."""


def erase(nodes: Sequence[Node], graph: Graph, read: ReadNodes) -> WriteBatch:
    """The batch that erases nodes of a graph, and with them what depends on them."""
    batch = forget.forget(nodes)
    keep = forget.kept_mask(graph, batch)
    reopened, ends = _reopened(graph, keep)
    entities = tuple(_updated_entities(graph, keep, read))
    return replace(batch, entities=entities, reopened=reopened, validity_ends=ends)


def _reopened(graph: Graph, keep: Mask) -> tuple[tuple[NodeId, ...], tuple[ValidityEnd, ...]]:
    """The memories that a forgotten one superseded, and the ends of validity that others set to them."""
    links, happened = graph.edges_of_link(Link.SUPERSEDES), graph.nodes["happened"]
    new, old = graph.edges["src"][links], graph.edges["dst"][links]
    is_reopened = keep[old] & ~keep[new] & graph.episodes[old]
    rows = np.unique(old[is_reopened])
    others = np.isin(old, rows) & keep[new]
    ends = [
        ValidityEnd(
            graph.id(ended),
            from_epoch_seconds(max(happened[by], happened[ended])),
            from_epoch_seconds(graph.nodes["recorded"][by]),
        )
        for by, ended in zip(new[others].tolist(), old[others].tolist(), strict=True)
    ]
    return tuple(graph.id(row) for row in rows.tolist()), tuple(ends)


def _updated_entities(graph: Graph, keep: Mask, read: ReadNodes) -> Iterator[Node]:
    """The entities that stay but lose a mention, where their spelling or times change."""
    src, dst, stays = forget.kept_mentions(graph, keep)
    is_concerned = np.zeros(len(graph), np.bool_)
    is_concerned[dst[~stays]] = True
    is_concerned &= keep & graph.of_kind(Kind.ENTITY)
    is_read = stays & is_concerned[dst]
    order = np.lexsort((src[is_read], dst[is_read]))
    src, dst = src[is_read][order], dst[is_read][order]
    starts = group_starts(dst)
    for entity_row, sources in zip(dst[starts].tolist(), np.split(src, starts[1:]), strict=len(dst) > 0):
        source_ids = [graph.id(row) for row in dict.fromkeys(sources.tolist())]
        id_ = graph.id(entity_row)
        nodes = {node.id: node for node in read([id_, *source_ids[:MAX_SPELLING_SOURCES]])}
        entity = nodes.pop(id_, None)
        memories = list(nodes.values())
        if entity is None or not memories:  # another process has deleted them meanwhile
            continue
        updated = replace(
            entity,
            text=_spelling(entity, memories),
            happened_at=memories[0].happened_at,
            recorded_at=memories[0].recorded_at,
        )
        if updated != entity:
            yield updated


def _spelling(entity: Node, memories: Sequence[Node]) -> str:
    """The spelling of an entity that one of some memories has: its own, or else the first that means it."""
    if any(entity.text in (memory.title or "") or entity.text in memory.text for memory in memories):
        return entity.text
    spellings = (name for memory in memories for name in (memory.title or "", *names(memory.text)))
    return next((name for name in spellings if entity_id(name) == entity.id), entity.id.removeprefix(ids.ENTITY_PREFIX))
