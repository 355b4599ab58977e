"""Named links: from a memory by a name it mentions to the memories about that name, or that share it."""

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
    """The rarity-weighted part of the names asked that each of so many rows mentions or is about, in 0..1."""
    if not len(asked):
        return np.zeros(count, np.float32)
    rarity = _rarity(graph, asked)
    place = np.minimum(np.searchsorted(asked, some.names), len(asked) - 1)
    here = asked[place] == some.names
    pairs = np.unique(some.of[here] * len(asked) + place[here])  # a title is mentioned too
    return np.bincount(pairs // len(asked), (rarity / rarity.sum())[pairs % len(asked)], count).astype(np.float32)


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


def _names(link: NDArray[np.int8]) -> Mask:
    """Which links are to a name."""
    return (link == _MENTIONS) | (link == _ABOUT)


def _leads(graph: Graph, names: Rows) -> Mask:
    """Which names are rare enough to lead somewhere."""
    return fans(graph)[names] <= FAN


def _rarity(graph: Graph, names: Rows) -> NDArray[np.float64]:
    """How rare some names are: 1 for one that one memory mentions."""
    n = max(2, int(graph.episodes.sum()))
    return np.log1p(n / np.maximum(1, fans(graph)[names])) / np.log1p(n)


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
