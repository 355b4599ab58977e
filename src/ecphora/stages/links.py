"""Named links: from a memory by a name it mentions to the memories about that name, or that share it."""

from dataclasses import dataclass

import numpy as np

from ..graph import LINKS, Graph
from ..model import Cue, Link, Rows, Scores
from ..ports import Trail

SEEDS = 8
"""How many of the best memories are asked for the names they mention."""
FAN = 500
"""A name that more memories mention leads nowhere in particular and is not followed."""

_MENTIONS = LINKS.index(Link.MENTIONS)
_ABOUT = LINKS.index(Link.ABOUT)
NAMING = np.array([_MENTIONS, _ABOUT])


@dataclass(frozen=True, slots=True)
class Linked:
    """Rows reached by links: how strongly, from which row, and by which name."""

    scores: Scores
    trail: Trail


def titled(graph: Graph, cue: Cue) -> Scores:
    """1 for each row whose title is a name in the cue."""
    scores = graph.zeros()
    places, _ = graph.edges_to(np.unique(graph.rows(cue.entities)))
    scores[graph.edges["src"][places[graph.edges["links"][places] == _ABOUT]]] = 1
    return scores


def named(graph: Graph, cue: Cue) -> Scores:
    """The rarity-weighted part of the cue's names that each row mentions or is about, in 0..1."""
    scores = graph.zeros()
    asked = np.unique(graph.rows(cue.entities))
    places, which = graph.edges_to(asked)
    naming = np.isin(graph.edges["links"][places], NAMING)
    places, which = places[naming], which[naming]
    if not len(places):
        return scores
    n = max(2, int(graph.episodes.sum()))
    rarity = np.minimum(1, np.log1p(n / np.maximum(1, np.bincount(which, minlength=len(asked)))) / np.log1p(n))
    pairs = np.unique(graph.edges["src"][places].astype(np.int64) * len(asked) + which)  # a title is mentioned too
    rows, which = np.divmod(pairs, len(asked))
    np.add.at(scores, rows, (rarity / rarity.sum())[which])
    return scores


def followed(graph: Graph, cue: Cue, scores: Scores, seeds: Rows) -> tuple[Linked, Linked]:
    """Follow the names that the seeds mention and the cue does not.

    Gives the rows *about* such a name, each as strong as its best seed, and the rows that *share* such names with a
    seed, each with the summed rarity of the names shared times the strength of that seed; the best seed counts.
    Strengths are those of ``scores``, cut to 0..1.
    """
    edges, n = graph.edges, max(2, int(graph.episodes.sum()))
    leaving, of_seed = graph.edges_from(seeds)
    mentions = edges["links"][leaving] == _MENTIONS
    names, name_of = np.unique(edges["dst"][leaving[mentions]], return_inverse=True)
    of_seed = of_seed[mentions]
    arriving, of_name = graph.edges_to(names)
    fan = np.bincount(of_name, minlength=len(names))
    rarity = np.log1p(n / np.maximum(1, fan)) / np.log1p(n)
    rarity[(fan > FAN) | np.isin(names, graph.rows(cue.entities))] = 0  # leads nowhere, or was asked for anyway
    # Every way seed -> name -> row: the edges into each name, once for each seed that mentions it.
    starts = np.cumsum(fan) - fan
    order = np.argsort(of_name, kind="stable")
    way_seed = np.repeat(of_seed, fan[name_of])
    way_name = np.repeat(name_of, fan[name_of])
    within = np.arange(len(way_name)) - np.repeat(np.cumsum(fan[name_of]) - fan[name_of], fan[name_of])
    place = arriving[order[starts[way_name] + within]]
    row, link = edges["src"][place].astype(np.intp), edges["links"][place]
    open_ = (rarity[way_name] > 0) & (row != seeds[way_seed])
    strength = np.clip(scores[seeds], 0, 1)[way_seed]
    about = open_ & (link == _ABOUT)
    shared = open_ & (link == _MENTIONS)
    pair = way_seed * len(graph) + row
    _, of_pair = np.unique(pair[shared], return_inverse=True)
    sums = np.bincount(of_pair, (rarity[way_name] * strength)[shared])
    return (
        _linked(graph, row[about], strength[about], seeds[way_seed[about]], names[way_name[about]]),
        _linked(graph, row[shared], sums[of_pair].astype(np.float32), seeds[way_seed[shared]], names[way_name[shared]]),
    )


def met(graph: Graph, cue: Cue, scores: Scores, seeds: Rows) -> Linked:
    """The rows that mention a name which the cue or a seed mentions: each as strong as the best of its names.

    A name of the cue is worth its rarity, one that a seed mentions that times the seed's strength, cut to 0..1; a row
    has it in full where it is about the name, else times the rarity once more. The way leads from the seed by the name,
    or from the cue itself.
    """
    edges, n = graph.edges, max(2, int(graph.episodes.sum()))
    leaving, of_seed = graph.edges_from(seeds)
    naming = np.isin(edges["links"][leaving], NAMING)
    asked = np.unique(graph.rows(cue.entities))
    names = np.concatenate([asked, edges["dst"][leaving[naming]]])
    worth = np.concatenate([np.ones(len(asked), np.float32), np.clip(scores[seeds], 0, 1)[of_seed[naming]]])
    by = np.concatenate([np.full(len(asked), -1), seeds[of_seed[naming]]])
    order = np.lexsort((-worth, names))  # of each name the strongest first
    first = order[np.r_[True, np.diff(names[order]) != 0]] if len(order) else order
    names, worth, by = names[first], worth[first], by[first]
    arriving, of_name = graph.edges_to(names)
    fan = np.bincount(of_name, minlength=len(names))
    rarity = np.where(fan > FAN, 0, np.log1p(n / np.maximum(1, fan)) / np.log1p(n))
    about = edges["links"][arriving] == _ABOUT
    value = (worth * rarity)[of_name] * np.where(about, 1, rarity[of_name])
    named = (value > 0) & np.isin(edges["links"][arriving], NAMING)
    arriving, of_name = arriving[named], of_name[named]
    rows = edges["src"][arriving].astype(np.intp)
    return _linked(graph, rows, value[named].astype(np.float32), by[of_name], names[of_name])


def _linked(graph: Graph, rows: Rows, values: Scores, by: Rows, via: Rows) -> Linked:
    """The strongest way to each row; of equal ones the first."""
    order = np.lexsort((-np.arange(len(rows)), values))  # the strongest is written last
    linked = Linked(graph.zeros(), Trail(np.full(len(graph), -1, np.intp), np.full(len(graph), -1, np.intp)))
    linked.scores[rows[order]] = values[order]
    linked.trail.by[rows[order]] = by[order]
    linked.trail.via[rows[order]] = via[order]
    return linked
