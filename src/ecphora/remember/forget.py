"""Forgetting memories: what the batch of a forgetting holds besides the tombstones.

An entity that stays keeps nothing of a forgotten mention: it takes its spelling and times from a memory that stays.
What a forgotten memory superseded is valid again, unless another memory supersedes it too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import InvalidInput
from ..language.names.mentions import entity_id, names
from ..model import ids
from ..model.graph import updates
from ..model.graph.columns import group_starts
from ..model.graph.graph import Graph
from ..model.reprs import show
from ..model.types import SOURCE_LINKS, Kind, Link, Mask, Node, NodeId, ValidityEnd, WriteBatch
from ..retrieval.temporal import local_time

ReadNodes = Callable[[Sequence[NodeId]], Sequence[Node]]
"""Reads nodes by id."""
KINDS = tuple(Kind)
"""The kinds, by their number in the graph."""
MAX_SPELLING_SOURCES = 8
"""The most memories that are read for the spelling of an entity: the first that mention it."""


def plan_forget(nodes: Sequence[Node], graph: Graph, read: ReadNodes) -> WriteBatch:
    """The batch that forgets nodes of a graph, and with them what depends on them."""
    batch = updates.forget(nodes, graph.tombstones)
    keep = updates.kept_mask(graph, batch)
    restored, ends = _restored_validity(graph, keep)
    entities = tuple(_updated_entities(graph, keep, read))
    return replace(batch, entities=entities, restored_validity=restored, validity_ends=ends)


def check_forgettable(graph: Graph, ids: Iterable[NodeId]) -> None:
    """Raise ``InvalidInput`` for the id of a name, a claim or a description, which is read off memories.

    The next memory would bring it back, and its tombstone would keep the name.
    """
    for row in graph.rows(ids).tolist():
        id_, kind = show(graph.id(row)), KINDS[graph.nodes["kinds"][row]]
        if kind is Kind.ENTITY:
            raise InvalidInput(
                f"{id_} is a name, not a memory; recall the name, and forget the memories that mention it"
            )
        if kind in {Kind.CLAIM, Kind.DESCRIPTION}:
            edges, _ = graph.edges_from(np.array([row]), SOURCE_LINKS[kind])
            source = next((show(graph.id(one)) for one in graph.edges["dst"][edges].tolist()), "that memory")
            mend = " or, if it is wrong, use memory.facts.reject" if kind is Kind.CLAIM else ""
            raise InvalidInput(f"{id_} is a {kind.value} read off a memory; forget {source},{mend}".rstrip(","))


def _restored_validity(graph: Graph, keep: Mask) -> tuple[tuple[NodeId, ...], tuple[ValidityEnd, ...]]:
    """The memories that a forgotten memory superseded, and the ends of validity that others set to them."""
    links, happened = graph.edges_of_link(Link.SUPERSEDES), graph.nodes["happened"]
    new, old = graph.edges["src"][links], graph.edges["dst"][links]
    is_restored = keep[old] & ~keep[new] & graph.episodes[old]
    rows = np.unique(old[is_restored])
    others = np.isin(old, rows) & keep[new]
    ends = [
        ValidityEnd(
            graph.id(ended),
            max(local_time(graph, by, happened[by]), local_time(graph, ended, happened[ended])),
            local_time(graph, by, graph.nodes["recorded"][by]),
        )
        for by, ended in zip(new[others].tolist(), old[others].tolist(), strict=True)
    ]
    return tuple(graph.id(row) for row in rows.tolist()), tuple(ends)


def _updated_entities(graph: Graph, keep: Mask, read: ReadNodes) -> Iterator[Node]:
    """The entities that stay but lose a mention, where their spelling or times change."""
    src, dst, stays = updates.kept_mentions(graph, keep)
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
        updated = with_spelling_and_times(entity, memories)
        if updated != entity:
            yield updated


def with_spelling_and_times(entity: Node, memories: Sequence[Node]) -> Node:
    """An entity with a spelling and the times from the first memories that mention it, in their order."""
    first = memories[0]
    text = _spelling(entity, memories[:MAX_SPELLING_SOURCES])
    return replace(entity, text=text, happened_at=first.happened_at, recorded_at=first.recorded_at)


def _spelling(entity: Node, memories: Sequence[Node]) -> str:
    """The spelling of an entity that one of some memories has: its own, or else the first that means it."""
    if any(entity.text in (memory.title or "") or entity.text in memory.text for memory in memories):
        return entity.text
    spellings = (name for memory in memories for name in (memory.title or "", *names(memory.text)))
    return next((name for name in spellings if entity_id(name) == entity.id), entity.id.removeprefix(ids.ENTITY_PREFIX))
