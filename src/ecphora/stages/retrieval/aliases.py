"""Alias groups: entities that are the same, and the expansion of a query's entities to their whole groups."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...graph import CachedDerivation, Graph
from ...model import Link, Rows


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
