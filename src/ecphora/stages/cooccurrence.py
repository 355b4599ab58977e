"""Co-occurrence: engrams met in one memory. An undirected graph that is walked over the mentions and never stored."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph import LINKS, Graph
from ..model import MENTIONING, Link, Rows, Scores
from .hop import Index, Similarities

ONE_WAY, TWO_WAYS = 0.5, 0.75
"""How sure it is that an engram is one, found in one way or in two. Inferred, EcphoryRAG, section 4.12.3."""
_MENTIONING = np.array([LINKS.index(link) for link in MENTIONING])
_ABOUT = LINKS.index(Link.ABOUT)


@dataclass(frozen=True, slots=True)
class Met:
    """Engrams by place, how strongly each was met, and the row of the memory in which."""

    places: Rows
    strengths: Similarities
    by: Rows


@dataclass(frozen=True, slots=True)
class Mentioning:
    """The best engram of each row: how much it gives, and its own row; 0 and -1 where there is none."""

    scores: Scores
    by: Rows


def rarity(graph: Graph, mentions: NDArray[np.int64]) -> Similarities:
    """How much it tells to share a name that so many memories mention, in 0..1: 1 for one mention.

    ln(1 + n / m) / ln(1 + n) for n memories, as in :mod:`.links`. HippoRAG's node specificity 1 / m falls too steeply
    for talk, where the names that matter return.
    """
    n = max(1, int(graph.episodes.sum()))
    rare: Similarities = np.minimum(1, np.log1p(n / np.maximum(1, mentions)) / np.log1p(n)).astype(np.float32)
    return rare


def certainty(index: Index, places: Rows) -> Similarities:
    """How sure it is that some engrams are names: found both in texts and in titles, or in one way alone."""
    titles = index.titles[places]
    two = (titles > 0) & (index.mentions[places] > titles)
    return np.where(two, TWO_WAYS, ONE_WAY).astype(np.float32)


def mentioning(graph: Graph, index: Index, places: Rows, values: Similarities, *, rare: bool) -> Mentioning:
    """What each memory has of the best of some engrams it mentions; ``values`` has an entry an engram.

    ``rare`` lets a mention count by the rarity of the name, and in full only where the memory is about it.
    """
    rows = index.rows[places]
    edges, which = graph.edges_to(rows)
    given = values[which]
    if rare:
        about = graph.edges["links"][edges] == _ABOUT
        given = np.where(about, given, given * rarity(graph, index.mentions[places])[which])
    order = np.argsort(given, kind="stable")  # the strongest is written last
    mentions = graph.edges["src"][edges][order]
    found = Mentioning(graph.zeros(), np.full(len(graph), -1, np.intp))
    found.scores[mentions] = given[order]
    found.by[mentions] = rows[which[order]]
    return found


def met(graph: Graph, index: Index, episodes: Rows, strengths: Scores) -> Met:
    """The engrams that some memories mention, each once.

    ``strengths`` has an entry a row. An engram is met as strongly as the strongest memory that mentions it, times
    its rarity. As these memories were recalled for engrams in them, this is a step along co-occurrence.
    """
    edges, which = graph.edges_from(episodes)
    named = np.isin(graph.edges["links"][edges], _MENTIONING)
    places = index.places(graph.edges["dst"][edges[named]])
    by = episodes[which[named]]
    values = (strengths[by] * rarity(graph, index.mentions[places])).astype(np.float32)
    order = np.lexsort((by, -values, places))  # of each engram the strongest first
    first = order[np.r_[True, np.diff(places[order]) != 0]] if len(order) else order
    return Met(places[first], values[first], by[first])
