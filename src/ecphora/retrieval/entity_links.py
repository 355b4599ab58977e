"""Entities: the memories that they link, how rare they are, which of them are the same, and their vectors.

A link leads from a memory through an entity that it mentions to the memories about that entity, or that mention it.
Alias groups are entities that are the same.

An entity's vector is the mean of the vectors of the memories that mention it: EcphoryRAG's E, SYNAPSE's concepts. A
published engram is embedded as "name: description", its description written by a language model. The mean costs nothing
to write, follows every new mention, and keeps nothing of a memory that was forgotten. :func:`entity_vectors` keeps the
vectors of all entities of a graph; :func:`unit_vectors` makes the vectors of a few, from some of the memories.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.graph.columns import best_of_group, find_keys, group_starts, join_by_key
from ..model.graph.graph import CachedDerivation, Graph
from ..model.ports import ActivationPath
from ..model.types import MENTION_LINKS, Kind, Link, Mask, Rows, Scores, Vectors

MAX_SEEDS = 8
"""How many of the best memories are followed to the entities they mention."""
MAX_MENTIONS = 500
"""An entity with more mentions is not followed."""
MIN_MEMORY_COUNT = 2
"""The fewest memories that rarity is computed among; a scope with fewer counts as this many."""


@dataclass(frozen=True, slots=True)
class ReachedRows:
    """Rows reached by entity links, ascending, with the strength, the row each was reached from, and the entity."""

    rows: Rows
    strengths: Scores
    parent: Rows
    via_entity: Rows

    def strengths_of(self, rows: Rows) -> Scores:
        """The strength of each of ``rows``; 0 for those not reached."""
        found = np.zeros(len(rows), np.float32)
        index, is_reached = find_keys(self.rows, rows)
        found[is_reached] = self.strengths[index[is_reached]]
        return found

    def activation_path(self, graph: Graph) -> ActivationPath:
        """The paths by which the rows were reached."""
        path = ActivationPath(graph.no_rows(), graph.no_rows())
        path.parent[self.rows] = self.parent
        path.via_entity[self.rows] = self.via_entity
        return path


@dataclass(frozen=True, slots=True)
class Mentions:
    """The entities that some rows mention or are about: an entry for each edge, with the index of its row."""

    entities: Rows
    row_index: Rows


def entity_mentions(graph: Graph, rows: Rows) -> Mentions:
    """Look up the entities of some distinct rows."""
    edges, row_index = graph.edges_from(rows, *MENTION_LINKS)
    return Mentions(graph.edges["dst"][edges].astype(np.intp), row_index)


def rows_about(graph: Graph, query_entities: Rows) -> Rows:
    """The rows whose title is one of the query entities, ascending."""
    edges, _ = graph.edges_to(query_entities, Link.ABOUT)
    return np.unique(graph.edges["src"][edges]).astype(np.intp)


def entity_coverage(graph: Graph, query_entities: Rows, mentions: Mentions, row_count: int) -> Scores:
    """The rarity-weighted fraction of the query entities that each of ``row_count`` rows mentions or is about, in 0..1.

    One alias of a group is enough.
    """
    if not len(query_entities):
        return np.zeros(row_count, np.float32)
    distinct, group = np.unique(_representatives(graph, query_entities), return_inverse=True)
    weights = _rarity(graph, np.bincount(group, mention_counts(graph)[query_entities]))
    index, is_asked = find_keys(query_entities, mentions.entities)
    pairs = np.unique(mentions.row_index[is_asked] * len(distinct) + group[index[is_asked]])  # a title is mentioned too
    return np.bincount(pairs // len(distinct), (weights / weights.sum())[pairs % len(distinct)], row_count).astype(
        np.float32
    )


def follow_entities(
    graph: Graph, query_entities: Rows, seeds: Rows, strengths: Scores
) -> tuple[ReachedRows, ReachedRows]:
    """Follow the entities that the seeds mention and the query does not.

    Returns the rows *about* such an entity, each as strong as its best seed, and the rows that *share* such entities
    with a seed, each with the summed rarity of the shared entities times the strength of that seed; the best seed
    counts. ``strengths`` are the strengths of the seeds, clipped to 0..1.
    """
    edges = graph.edges
    out_edges, seed_index = graph.edges_from(seeds, Link.MENTIONS)
    to = edges["dst"][out_edges]
    is_asked = (to[:, None] == query_entities).any(axis=1)
    is_open = _is_rare(graph, to) & ~is_asked
    entities, entity_index = np.unique(to[is_open], return_inverse=True)
    seed_index = seed_index[is_open]
    # Every path seed -> entity -> row: the edges to each entity, once for each seed that mentions it.
    in_edges, in_entity = graph.edges_to(entities)
    first, last = join_by_key(entity_index, in_entity, len(entities))
    path_seed, path_entity, path_edges = seed_index[first], entity_index[first], in_edges[last]
    row = edges["src"][path_edges].astype(np.intp)
    strength = np.clip(strengths, 0, 1)[path_seed]
    is_other = row != seeds[path_seed]
    about, shared = (is_other & graph.has_link(link, edges=path_edges) for link in (Link.ABOUT, Link.MENTIONS))
    _, pair = np.unique((path_seed * len(graph) + row)[shared], return_inverse=True)
    sums = np.bincount(pair, (_entity_rarity(graph, entities)[path_entity] * strength)[shared]).astype(np.float32)
    return (
        _best_paths(row[about], strength[about], seeds[path_seed[about]], entities[path_entity[about]]),
        _best_paths(row[shared], sums[pair], seeds[path_seed[shared]], entities[path_entity[shared]]),
    )


def direct_mentions(graph: Graph, query_entities: Rows, seeds: Rows, strengths: Scores) -> ReachedRows:
    """The rows that mention an entity which the query or a seed mentions; each is as strong as its best entity.

    A query entity counts its rarity; an entity that a seed mentions counts its rarity times the seed's strength,
    clipped to 0..1. A row gets all of that if it is about the entity, else times the rarity once more. The path leads
    from the seed by the entity, or from the query itself.
    """
    mentions = entity_mentions(graph, seeds)
    entities = np.concatenate([query_entities, mentions.entities])
    values = np.concatenate([np.ones(len(query_entities), np.float32), np.clip(strengths, 0, 1)[mentions.row_index]])
    parent = np.concatenate([np.full(len(query_entities), -1), seeds[mentions.row_index]])
    best = best_of_group(entities, values)
    best = best[_is_rare(graph, entities[best]) & (values[best] > 0)]
    entities, values, parent = entities[best], values[best], parent[best]
    in_edges, in_entity = graph.edges_to(entities, *MENTION_LINKS)
    weights = _entity_rarity(graph, entities)
    is_about = graph.has_link(Link.ABOUT, edges=in_edges)
    strength = (values * weights)[in_entity] * np.where(is_about, 1, weights[in_entity])
    rows = graph.edges["src"][in_edges].astype(np.intp)
    return _best_paths(rows, strength.astype(np.float32), parent[in_entity], entities[in_entity])


def mention_counts(graph: Graph) -> NDArray[np.int64]:
    """How many edges mention each row or are about it."""
    return graph.derive("mention counts", _count_mentions)


def _count_mentions(graph: Graph, before: CachedDerivation[NDArray[np.int64]] | None) -> NDArray[np.int64]:
    start = before.edge_count if before is not None else 0
    mentions = graph.edges_of_link(*MENTION_LINKS, first=start)
    counts = np.bincount(graph.edges["dst"][mentions], minlength=len(graph))
    if before is not None:
        counts[: len(before.value)] += before.value
    return counts


def _is_rare(graph: Graph, entities: Rows) -> Mask:
    """Which entities are rare enough to be followed."""
    return mention_counts(graph)[entities] <= MAX_MENTIONS


def _entity_rarity(graph: Graph, entities: Rows) -> NDArray[np.float64]:
    return _rarity(graph, mention_counts(graph)[entities])


def _rarity(graph: Graph, counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    return rarity(counts, max(MIN_MEMORY_COUNT, graph.episode_count))


def _best_paths(rows: Rows, values: Scores, parent: Rows, via_entity: Rows) -> ReachedRows:
    """The strongest path to each row; the first of equal ones."""
    best = best_of_group(rows, values)
    return ReachedRows(rows[best], values[best], parent[best], via_entity[best])


def rarity(mention_counts: NDArray[np.float64] | NDArray[np.int64], memory_count: int) -> NDArray[np.float64]:
    """ln(1 + n / m) / ln(1 + n) of entities with m mentions in n memories, in 0..1: 1 for one mention.

    An entity that many memories mention says little about each of them. It is the specificity of Karen Spärck Jones, "A
    statistical interpretation of term specificity and its application in retrieval", 1972, smoothed, and divided by the
    specificity of an entity with a single mention. HippoRAG's node specificity 1 / m falls too steeply for dialogue,
    where the entities that matter are mentioned often. Terms have BM25's own idf instead (:func:`.bm25.idf`).
    """
    n = max(1, memory_count)
    return np.log1p(n / np.maximum(1, mention_counts)) / np.log1p(n)


@dataclass(frozen=True, slots=True)
class AliasGroups:
    """Groups of entities that are the same, from the alias edges of a graph.

    ``confidences`` has the weight of each pair's latest edge; weight 0 retracts the pair. ``support_counts`` has the
    number of edges of positive weight of each pair. ``representative`` maps each entity of a group to the least row of
    the group, and ``groups`` maps that row to all rows of the group, ascending.
    """

    confidences: Mapping[tuple[int, int], float]
    support_counts: Mapping[tuple[int, int], int]
    representative: Mapping[int, int]
    groups: Mapping[int, tuple[int, ...]]


def alias_groups(graph: Graph) -> AliasGroups:
    """The alias groups of a graph: the transitive closure of its alias edges."""
    return graph.derive("alias groups", _update_alias_groups)


def expand_aliases(graph: Graph, rows: Rows) -> Rows:
    """Entity rows with all their aliases, distinct and ascending; without alias groups, ``rows`` unchanged."""
    known = alias_groups(graph)
    if not known.representative:
        return rows
    expanded = {alias for row in rows.tolist() for alias in known.groups.get(known.representative.get(row, -1), (row,))}
    return np.array(sorted(expanded), np.intp)


def _update_alias_groups(graph: Graph, before: CachedDerivation[AliasGroups] | None) -> AliasGroups:
    known = AliasGroups({}, {}, {}, {}) if before is None else before.value
    start = before.edge_count if before is not None else 0
    edges = graph.edges
    new = graph.edges_of_link(Link.ALIAS, first=start)
    if not len(new):
        return known
    confidences, support_counts = dict(known.confidences), dict(known.support_counts)
    for src, dst, weight in zip(*(edges[name][new].tolist() for name in ("src", "dst", "weights")), strict=True):
        pair = (min(src, dst), max(src, dst))
        confidences[pair] = weight
        support_counts[pair] = support_counts.get(pair, 0) + (weight > 0)
    groups = union_find(pair for pair, weight in confidences.items() if weight > 0)
    return AliasGroups(
        confidences,
        support_counts,
        {row: representative for representative, group in groups.items() for row in group},
        groups,
    )


def union_find(pairs: Iterable[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    """The connected groups of some pairs, by their least member; members are ascending."""
    parent: dict[int, int] = {}

    def least(row: int) -> int:
        while (up := parent.setdefault(row, row)) != row:
            row = up
        return row

    for a, b in pairs:
        low, high = sorted((least(a), least(b)))
        parent[high] = low
    groups: dict[int, list[int]] = {}
    for row in sorted(parent):
        groups.setdefault(least(row), []).append(row)
    return {low: tuple(group) for low, group in groups.items() if len(group) > 1}


def _representatives(graph: Graph, query_entities: Rows) -> Rows:
    """For each query entity, the first query entity of the same alias group."""
    known = alias_groups(graph)
    if not known.representative:
        return query_entities
    least: dict[int, int] = {}
    return np.array(
        [least.setdefault(known.representative.get(row, row), row) for row in query_entities.tolist()], np.intp
    )


BLOCK = 8192
"""How many vectors are summed at a time."""
MIN_NORM = 1e-6
"""Vectors shorter than this have no direction."""


@dataclass(frozen=True, slots=True)
class EntityVectors:
    """The entities of a graph: their rows, ascending, and the vector sum of the memories that mention each.

    ``sums`` has shape ``(entities, dim)``. A memory that both mentions an entity and is about it counts twice.
    """

    rows: Rows
    sums: Vectors

    def index_of(self, rows: Rows) -> Rows:
        """The index of each entity row in ``rows``."""
        return np.searchsorted(self.rows, rows)


def entity_vectors(graph: Graph) -> EntityVectors:
    """The entity vectors of a graph, updated from the vectors of the earlier graph."""
    return graph.derive("entity vectors", _update)


def sum_vectors(graph: Graph, rows: Rows, mask: Mask) -> Vectors:
    """The sum of the vectors of the memories under a mask that mention each of some distinct entities.

    Descriptions of an entity that are under the mask count like memories.
    """
    vectors, positions = graph.vectors, graph.vector_positions
    sums = np.zeros((len(rows), vectors.dim), np.float32)
    edges, entity_index = graph.edges_to(rows, *MENTION_LINKS, Link.DESCRIBES)
    memories = graph.edges["src"][edges]
    is_used = (positions[memories] >= 0) & mask[memories]
    order = np.argsort(entity_index[is_used], kind="stable")
    entity_index, used_positions = entity_index[is_used][order], positions[memories[is_used][order]]
    for start in range(0, len(entity_index), BLOCK):
        part = entity_index[start : start + BLOCK]
        first = group_starts(part)
        sums[part[first]] += np.add.reduceat(vectors.rows(used_positions[start : start + BLOCK]), first, axis=0)
    return sums


def with_descriptions(graph: Graph, memories: Mask) -> Mask:
    """A mask of memories with the descriptions of entities in them."""
    edges = graph.edges_of_link(Link.DESCRIBED_IN)
    if not len(edges):
        return memories
    mask: Mask = memories.copy()
    mask[graph.edges["src"][edges]] = memories[graph.edges["dst"][edges]]
    return mask


def unit_vectors(graph: Graph, rows: Rows, mask: Mask) -> Vectors:
    """The unit vectors of some distinct entities, from the memories under a mask; 0 where none mentions one."""
    sums = sum_vectors(graph, rows, mask)
    unit: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1), MIN_NORM)[:, None]
    return unit


def _update(graph: Graph, before: CachedDerivation[EntityVectors] | None) -> EntityVectors:
    vectors, dim = graph.vectors, graph.vectors.dim
    first_node, first_edge = (before.node_count, before.edge_count) if before is not None else (0, 0)
    new_rows = graph.rows_of_kind(Kind.ENTITY, first_node)
    rows, sums = new_rows, np.zeros((len(new_rows), dim), np.float32)
    if before is not None and before.value.sums.shape[1] == dim:
        rows = np.concatenate([before.value.rows, new_rows])
        sums = np.concatenate([before.value.sums, sums])
    elif before is not None:  # the earlier graph had no vectors
        return _update(graph, None)
    edges = graph.edges
    new_edges = graph.edges_of_link(*MENTION_LINKS, first=first_edge)
    if len(new_edges):
        order = new_edges[np.argsort(edges["dst"][new_edges], kind="stable")]
        index = np.searchsorted(rows, edges["dst"][order])
        starts = group_starts(index)
        positions = graph.vector_positions[edges["src"][order]]
        added = (
            np.where((positions >= 0)[:, None], vectors.rows(positions), 0)
            if len(vectors)
            else np.zeros((len(positions), dim), np.float32)
        )
        sums[index[starts]] += np.add.reduceat(added, starts, axis=0)
    return EntityVectors(rows, sums)
