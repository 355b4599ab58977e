"""Co-occurrence: engrams mentioned in one memory. An undirected graph, derived from the mentions and never stored."""

from dataclasses import dataclass

import numpy as np

from ...model.graph.graph import Graph
from ...model.graph.grouping import best_of_group
from ...model.types import MENTION_LINKS, Rows, Scores
from .engram_index import EngramIndex, Similarities
from .engram_weights import specificity


@dataclass(frozen=True, slots=True)
class CoOccurrences:
    """Engrams by place, the strength of each, and the row of the memory that mentions it."""

    places: Rows
    strengths: Similarities
    episodes: Rows


def co_occurring_engrams(graph: Graph, index: EngramIndex, episodes: Rows, strengths: Scores) -> CoOccurrences:
    """The engrams that some memories mention, each once.

    ``strengths`` has an entry for each row. An engram is as strong as the strongest memory that mentions it, times its
    specificity. As these memories were recalled for engrams in them, this is a step along co-occurrence.
    """
    edges, episode_index = graph.edges_from(episodes, *MENTION_LINKS)
    places = index.places(graph.edges["dst"][edges])
    sources = episodes[episode_index]
    values = (strengths[sources] * specificity(graph, index.mention_counts[places])).astype(np.float32)
    best = best_of_group(places, values, ties=sources)
    return CoOccurrences(places[best], values[best], sources[best])
