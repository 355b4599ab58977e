"""Named links: from a memory by a name it mentions to the memories about that name, or that share it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Earlier, Graph
from ..model import Link, Mask, Rows, Scores
from ..ports import Trail

SEEDS = 8
"""How many of the best memories are asked for the names they mention."""
FAN = 500
"""A name that more memories mention leads nowhere in particular and is not followed."""

_MENTIONS = LINKS.index(Link.MENTIONS)
_ABOUT = LINKS.index(Link.ABOUT)
_ALIAS = LINKS.index(Link.ALIAS)


@dataclass(frozen=True, slots=True)
class Linked:
    """Rows reached by links, ascending: how strongly, from which row, and by which name."""

    rows: Rows
    values: Scores
    by: Rows
    via: Rows

    def at(self, rows: Rows) -> Scores:
        """How strongly some rows are reached, 0 for the others."""
        found = np.zeros(len(rows), np.float32)
        if len(self.rows):
            place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            here = self.rows[place] == rows
            found[here] = self.values[place[here]]
        return found

    def trail(self, graph: Graph) -> Trail:
        """The ways by which the rows were reached."""
        trail = Trail(np.full(len(graph), -1, np.intp), np.full(len(graph), -1, np.intp))
        trail.by[self.rows] = self.by
        trail.via[self.rows] = self.via
        return trail


@dataclass(frozen=True, slots=True)
class Naming:
    """The names that some rows mention or are about: an entry for each link, with the place of its row."""

    names: Rows
    of: Rows


def naming(graph: Graph, rows: Rows) -> Naming:
    """Look up the names of some distinct rows."""
    places, of = graph.edges_from(rows)
    names = _names(graph.edges["links"][places])
    return Naming(graph.edges["dst"][places[names]].astype(np.intp), of[names])


def titled(graph: Graph, asked: Rows) -> Rows:
    """The rows whose title is one of the names asked, ascending."""
    places, _ = graph.edges_to(asked)
    return np.unique(graph.edges["src"][places[graph.edges["links"][places] == _ABOUT]]).astype(np.intp)


def named(graph: Graph, asked: Rows, some: Naming, count: int) -> Scores:
    """The rarity-weighted part of the names asked that each of so many rows mentions or is about, in 0..1.

    Of names that are the same one is enough.
    """
    if not len(asked):
        return np.zeros(count, np.float32)
    meant, of = np.unique(_represented(graph, asked), return_inverse=True)
    rarity = _rare(graph, np.bincount(of, fans(graph)[asked]))
    place = np.minimum(np.searchsorted(asked, some.names), len(asked) - 1)
    here = asked[place] == some.names
    pairs = np.unique(some.of[here] * len(meant) + of[place[here]])  # a title is mentioned too
    return np.bincount(pairs // len(meant), (rarity / rarity.sum())[pairs % len(meant)], count).astype(np.float32)


def followed(graph: Graph, asked: Rows, seeds: Rows, strengths: Scores) -> tuple[Linked, Linked]:
    """Follow the names that the seeds mention and the cue does not; ``asked`` are those in the cue.

    Gives the rows *about* such a name, each as strong as its best seed, and the rows that *share* such names with a
    seed, each with the summed rarity of the names shared times the strength of that seed; the best seed counts.
    ``strengths`` are those of the seeds; they are cut to 0..1.
    """
    edges = graph.edges
    leaving, of_seed = graph.edges_from(seeds)
    to = edges["dst"][leaving]
    known = (to[:, None] == asked).any(axis=1)
    open_ = (edges["links"][leaving] == _MENTIONS) & _leads(graph, to) & ~known
    names, name_of = np.unique(to[open_], return_inverse=True)
    of_seed = of_seed[open_]
    # Every way seed -> name -> row: the links to each name, once for each seed that mentions it.
    arriving, of_name = graph.edges_to(names)
    fan = np.bincount(of_name, minlength=len(names))
    order = np.argsort(of_name, kind="stable")
    ways = fan[name_of]
    way_seed, way_name = np.repeat(of_seed, ways), np.repeat(name_of, ways)
    within = np.arange(len(way_name)) - np.repeat(np.cumsum(ways) - ways, ways)
    place = arriving[order[(np.cumsum(fan) - fan)[way_name] + within]]
    row, link = edges["src"][place].astype(np.intp), edges["links"][place]
    strength = np.clip(strengths, 0, 1)[way_seed]
    other = row != seeds[way_seed]
    about, shared = other & (link == _ABOUT), other & (link == _MENTIONS)
    _, of_pair = np.unique((way_seed * len(graph) + row)[shared], return_inverse=True)
    sums = np.bincount(of_pair, (_rarity(graph, names)[way_name] * strength)[shared]).astype(np.float32)
    return (
        _linked(row[about], strength[about], seeds[way_seed[about]], names[way_name[about]]),
        _linked(row[shared], sums[of_pair], seeds[way_seed[shared]], names[way_name[shared]]),
    )


def met(graph: Graph, asked: Rows, seeds: Rows, strengths: Scores) -> Linked:
    """The rows that mention a name which the cue or a seed mentions: each as strong as the best of its names.

    ``asked`` are the names in the cue. One of these is worth its rarity, one that a seed mentions that times the seed's
    strength, cut to 0..1; a row has it in full where it is about the name, else times the rarity once more. The way
    leads from the seed by the name, or from the cue itself.
    """
    some = naming(graph, seeds)
    names = np.concatenate([asked, some.names])
    worth = np.concatenate([np.ones(len(asked), np.float32), np.clip(strengths, 0, 1)[some.of]])
    by = np.concatenate([np.full(len(asked), -1), seeds[some.of]])
    best = _strongest(names, worth)
    best = best[_leads(graph, names[best]) & (worth[best] > 0)]
    names, worth, by = names[best], worth[best], by[best]
    arriving, of_name = graph.edges_to(names)
    named = _names(graph.edges["links"][arriving])
    arriving, of_name = arriving[named], of_name[named]
    rarity = _rarity(graph, names)
    about = graph.edges["links"][arriving] == _ABOUT
    value = (worth * rarity)[of_name] * np.where(about, 1, rarity[of_name])
    rows = graph.edges["src"][arriving].astype(np.intp)
    return _linked(rows, value.astype(np.float32), by[of_name], names[of_name])


def fans(graph: Graph) -> NDArray[np.int64]:
    """How many links mention each row or are about it."""
    return graph.derived("fans", _counted)


def _counted(graph: Graph, before: Earlier[NDArray[np.int64]] | None) -> NDArray[np.int64]:
    since = before.edges if before is not None else 0
    names = _names(graph.edges["links"][since:])
    counts = np.bincount(graph.edges["dst"][since:][names], minlength=len(graph))
    if before is not None:
        counts[: len(before.value)] += before.value
    return counts


@dataclass(frozen=True, slots=True)
class Same:
    """The names that are one: how sure each pair is by its latest link, and by how many links it is shown.

    ``of`` has the least row of its group for each name that has others, ``groups`` all names of a group, ascending.
    A link of weight 0 takes back what earlier ones say.
    """

    sure: Mapping[tuple[int, int], float]
    shown: Mapping[tuple[int, int], int]
    of: Mapping[int, int]
    groups: Mapping[int, tuple[int, ...]]


def same(graph: Graph) -> Same:
    """Which names of a graph are one, by its links of that kind; transitively."""
    return graph.derived("same names", _same)


def alike(graph: Graph, rows: Rows) -> Rows:
    """Some names, distinct and ascending, and all that are the same; where there are none, just these."""
    known = same(graph)
    if not known.of:
        return rows
    found = {one for row in rows.tolist() for one in known.groups.get(known.of.get(row, -1), (row,))}
    return np.array(sorted(found), np.intp)


def _same(graph: Graph, before: Earlier[Same] | None) -> Same:
    known = Same({}, {}, {}, {}) if before is None else before.value
    since = before.edges if before is not None else 0
    edges = graph.edges
    new = np.flatnonzero(edges["links"][since:] == _ALIAS) + since
    if not len(new):
        return known
    sure, shown = dict(known.sure), dict(known.shown)
    for src, dst, weight in zip(*(edges[name][new].tolist() for name in ("src", "dst", "weights")), strict=True):
        pair = (min(src, dst), max(src, dst))
        sure[pair] = weight
        shown[pair] = shown.get(pair, 0) + (weight > 0)
    groups = grouped(pair for pair, weight in sure.items() if weight > 0)
    return Same(sure, shown, {row: first for first, group in groups.items() for row in group}, groups)


def grouped(pairs: Iterable[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    """Put together what pairs join, each group by its least member."""
    first: dict[int, int] = {}

    def least(row: int) -> int:
        while (above := first.setdefault(row, row)) != row:
            row = above
        return row

    for one, two in pairs:
        low, high = sorted((least(one), least(two)))
        first[high] = low
    groups: dict[int, list[int]] = {}
    for row in sorted(first):
        groups.setdefault(least(row), []).append(row)
    return {low: tuple(group) for low, group in groups.items() if len(group) > 1}


def _represented(graph: Graph, asked: Rows) -> Rows:
    """For each name asked the least of those asked that are the same."""
    known = same(graph)
    if not known.of:
        return asked
    least: dict[int, int] = {}
    return np.array([least.setdefault(known.of.get(row, row), row) for row in asked.tolist()], np.intp)


def _names(link: NDArray[np.int8]) -> Mask:
    """Which links are to a name."""
    return (link == _MENTIONS) | (link == _ABOUT)


def _leads(graph: Graph, names: Rows) -> Mask:
    """Which names are rare enough to lead somewhere."""
    return fans(graph)[names] <= FAN


def _rarity(graph: Graph, names: Rows) -> NDArray[np.float64]:
    """How rare some names are: 1 for one that one memory mentions."""
    return _rare(graph, fans(graph)[names])


def _rare(graph: Graph, mentions: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    n = max(2, int(graph.episodes.sum()))
    return np.log1p(n / np.maximum(1, mentions)) / np.log1p(n)


def _linked(rows: Rows, values: Scores, by: Rows, via: Rows) -> Linked:
    """The strongest way to each row; of equal ones the first."""
    best = _strongest(rows, values)
    return Linked(rows[best], values[best], by[best], via[best])


def _strongest(keys: Rows, values: Scores) -> Rows:
    """Where each key, ascending, has its highest value; of equal ones the first."""
    order = np.lexsort((-values, keys))
    first = np.ones(len(keys), np.bool_)
    first[1:] = keys[order[1:]] != keys[order[:-1]]
    return order[first]
