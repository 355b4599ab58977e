"""Co-occurrence: engrams mentioned in one memory. An undirected graph, derived from the mentions and never stored."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...graph import Graph
from ...grouping import best_of_group
from ...model import MENTION_LINKS, Link, Rows, Scores
from ..retrieval.rarity import rarity
from .engram_search import EngramIndex, Similarities

SINGLE_CERTAINTY, DOUBLE_CERTAINTY = 0.5, 0.75
"""The certainty that an engram is a name, found in one way or in two. Inferred, EcphoryRAG, section 4.12.3."""


@dataclass(frozen=True, slots=True)
class CoOccurrences:
    """Engrams by place, the strength of each, and the row of the memory that mentions it."""

    places: Rows
    strengths: Similarities
    episodes: Rows


@dataclass(frozen=True, slots=True)
class BestMentions:
    """The best engram that each row mentions: its score and its row; 0 and -1 where there is none."""

    scores: Scores
    engram_rows: Rows


def specificity(graph: Graph, mention_counts: NDArray[np.int64]) -> Similarities:
    """The specificity of entities by their mention counts: their rarity among the memories, in 0..1."""
    values: Similarities = rarity(mention_counts, int(graph.episodes.sum())).astype(np.float32)
    return values


def certainty(index: EngramIndex, places: Rows) -> Similarities:
    """The certainty that engrams are names: higher for those found both in texts and in titles."""
    title_counts = index.title_counts[places]
    found_twice = (title_counts > 0) & (index.mention_counts[places] > title_counts)
    return np.where(found_twice, DOUBLE_CERTAINTY, SINGLE_CERTAINTY).astype(np.float32)


def best_mentions(
    graph: Graph, index: EngramIndex, places: Rows, engram_scores: Similarities, *, use_specificity: bool
) -> BestMentions:
    """The best of some engrams that each memory mentions; ``engram_scores`` has an entry for each engram.

    With ``use_specificity`` a mention counts times the specificity of the engram, and in full only if the memory is
    about it.
    """
    rows = index.rows[places]
    edges, engram_index = graph.edges_to(rows)
    scores = engram_scores[engram_index]
    if use_specificity:
        is_about = graph.has_link(Link.ABOUT, edges=edges)
        scores = np.where(is_about, scores, scores * specificity(graph, index.mention_counts[places])[engram_index])
    memories = graph.edges["src"][edges]
    best = best_of_group(memories, scores, ties=-np.arange(len(edges)))
    result = BestMentions(graph.zeros(), np.full(len(graph), -1, np.intp))
    result.scores[memories[best]] = scores[best]
    result.engram_rows[memories[best]] = rows[engram_index[best]]
    return result


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
